"""Figures as texts of the page."""

from __future__ import annotations

import math

NOTHING = "–"
ROUNDING = 1e-12
"""Share of a value up to which its error is rounding."""


def count(number: int) -> str:
    """Return a whole number with separated thousands."""
    return f"{number:,}"


def figure_of(value: float | None) -> str:
    """Return a figure of a record as text: all digits of an integer, three of another number."""
    if value is None:
        return NOTHING
    if isinstance(value, int):
        return count(value) if abs(value) < 10**9 else f"{value:.3g}"
    return f"{value:,.2f}" if 100 <= abs(value) < 1e9 else f"{value:.3g}"


def estimate_of(value: float, error: float) -> str:
    """Return an estimate with its standard error, rounded to two digits of the error."""
    if not (error > ROUNDING * abs(value) and math.isfinite(error)):
        return figure_of(float(value))
    digits = 1 - math.floor(math.log10(error))
    kept = max(0, digits)
    return f"{round(value, digits):,.{kept}f} ± {round(error, digits):,.{kept}f}"


def seconds_of(seconds: float | None) -> str:
    """Return a short duration as text."""
    return NOTHING if seconds is None else f"{seconds:.3g} s"


def host(address: str) -> str:
    """Return a worker's address without its protocol."""
    return address.split("://")[-1]
