"""What a command says instead of what the pipeline file says."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from typing import Any

from dcsvm_dask.errors import InputError


def override(content: dict[str, Any], changes: Sequence[str]) -> None:
    """Put ``TABLE.KEY=VALUE`` into what a file says, in place.

    Parameters
    ----------
    content : dict
        The file's tables.
    changes : sequence of str
        TABLE is ``data``, ``every``, ``test``, ``output``, ``method`` (all methods), or the name
        of one (its ``as``, else its ``name``); VALUE is TOML, or a word.

    Raises
    ------
    InputError
        If one is of another form, or there is no such table.
    """
    for change in changes:
        place, equals, text = change.partition("=")
        table, dot, key = place.strip().partition(".")
        if not (equals and dot and key):
            raise InputError(f"set: {change!r:.80} is not possible; write TABLE.KEY=VALUE")
        value = value_of(text)
        methods = content.get("method")
        listed = methods if isinstance(methods, list) else [methods]
        tables = [one for one in listed if isinstance(one, dict)]
        named = [one for one in tables if one.get("as", one.get("name")) == table]
        if table in ("data", "every", "test", "output"):
            chosen = [content.setdefault(table, {})]
        else:
            chosen = tables if table == "method" else named
        if not chosen:
            known = [str(one.get("as", one.get("name"))) for one in tables]
            raise InputError(
                f"set: {table!r:.80} is no table; there are data, every, test, output, method, "
                f"{', '.join(known)}"
            )
        for one in chosen:
            if isinstance(one, dict):
                one[key] = value


def value_of(text: str) -> Any:
    """Return a value as TOML has it; what is none is a word."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text.strip()
