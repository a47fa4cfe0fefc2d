"""Names of columns that identify rows, such as ``id``, ``customer_id`` or ``Invoice Nr``."""

from __future__ import annotations

import re

_LAST_WORDS = ("id", "nr", "number", "key")
_ENGLISH = (
    "acid", "aid", "amid", "avoid", "bid", "covid", "fluid", "grid", "hybrid", "humid", "kid",
    "lid", "liquid", "mid", "orchid", "paid", "prepaid", "pyramid", "rapid", "rigid", "said",
    "solid", "squid", "unpaid", "valid", "void",
)  # fmt: skip
"""Words that end in "id" and identify nothing."""
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


def words_of(name: str) -> list[str]:
    """Return the words of a column's name, such as ``customer_id`` or ``InvoiceNr``."""
    return _WORD.findall(name)


def names_identifier(name: str) -> bool:
    """Return whether the last word of a column's name means that it identifies rows."""
    words = words_of(name)
    if not words or not name.rstrip().endswith(words[-1]):
        return False
    last = words[-1].lower()
    return last in _LAST_WORDS or (last.endswith("id") and last not in _ENGLISH)
