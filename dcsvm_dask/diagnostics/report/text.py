"""Numbers as texts of a report."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

from dcsvm_dask.numbers import duration

NOTHING = "–"  # an en dash
THOUSAND_NAMES = ("", " thousand", " million", " billion", " trillion")

Format = Callable[[Any], str]


def whole(value: float | None) -> str:
    """Return a count as text."""
    return NOTHING if value is None else f"{value:,.0f}"


def number(value: float | None, digits: int = 4) -> str:
    """Return a number with some significant digits."""
    if value is None:
        return NOTHING
    if value == 0 or 1e-3 <= abs(value) < 10**digits:
        return f"{value:.{digits}g}"
    if abs(value) < 1e9 and abs(value) >= 1:
        return f"{value:,.0f}"
    return f"{value:.{digits - 1}e}"


def exact(value: float | None) -> str:
    """Return an objective with ten digits, at most six of them decimals."""
    if value is None:
        return NOTHING
    before = len(f"{abs(value):.0f}")
    return f"{value:,.{max(0, min(6, 10 - before))}f}"


def percent(value: float | None) -> str:
    """Return a share in per cent."""
    return NOTHING if value is None else f"{100 * value:.2f} %"


def seconds(value: float | None) -> str:
    """Return a duration as text."""
    if value is None:
        return NOTHING
    return f"{value:.3f} s" if value < 0.1 else duration(value)


def size(value: float | None) -> str:
    """Return a number of bytes as text."""
    if value is None:
        return NOTHING
    for unit in ("B", "KiB", "MiB"):
        if value < 1000:
            return f"{value:.3g} {unit}"
        value /= 1024
    return f"{value:,.3g} GiB"


def large(value: float | None) -> str:
    """Return a large count in words."""
    if value is None:
        return NOTHING
    name = 0
    while abs(value) >= 1000 and name < len(THOUSAND_NAMES) - 1:
        value, name = value / 1000, name + 1
    return f"{value:.3g}{THOUSAND_NAMES[name]}"


def moment(value: float | None) -> str:
    """Return a time (seconds since 1970) as date and time, UTC."""
    if value is None:
        return NOTHING
    when = dt.datetime.fromtimestamp(value, dt.UTC)
    return f"{when:%Y-%m-%d %H:%M:%S} UTC"


def word(value: Any) -> str:
    """Return a value of any type as text."""
    if value is None or value == "":
        return NOTHING
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)
