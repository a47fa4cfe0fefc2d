"""Where in a TOML file a key stands, for messages: parsers do not say."""

from __future__ import annotations

import re

_HEADER = re.compile(r"\s*(\[\[?)\s*([\w.\"'-]+)\s*\]\]?")


def line_of(text: str, table: str, key: str | None = None, number: int = 0) -> int | None:
    """Return the line of a key, from 1; of the table's header where no key is asked for.

    Parameters
    ----------
    text : str
    table : str
        Its name, as ``[table]`` or ``[[table]]`` has it.
    key : str, optional
    number : int, default 0
        Of several tables of that name, which one.

    Returns
    -------
    int or None
        None where it stands otherwise, for example as a dotted key.
    """
    seen, inside = -1, False
    for place, line in enumerate(text.splitlines(), start=1):
        header = _HEADER.match(line)
        if header:
            inside = header[2].strip("\"'") == table
            seen += inside
            if inside and seen == number and key is None:
                return place
        elif inside and seen == number and key is not None and _begins(line, key):
            return place
    return None


def _begins(line: str, key: str) -> bool:
    return re.match(rf"\s*[\"']?{re.escape(key)}[\"']?\s*=", line) is not None
