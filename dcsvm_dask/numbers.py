"""Numbers as people read them: times, counts, objectives that stand below each other."""

from __future__ import annotations

import math


def clock(seconds: float) -> str:
    """Return a duration as 0:42 or 1:02:03."""
    whole = max(0, round(seconds))
    hours, minutes = divmod(whole // 60, 60)
    return f"{hours}:{minutes:02d}:{whole % 60:02d}" if hours else f"{minutes}:{whole % 60:02d}"


def duration(seconds: float) -> str:
    """Return a duration with three digits, in seconds, minutes or hours."""
    if seconds < 60:
        return f"{seconds:.3g} s"
    if seconds < 3600:
        return f"{seconds / 60:.3g} min"
    return f"{seconds / 3600:.3g} h"


def megabytes(n_bytes: float) -> str:
    """Return a size in MiB."""
    return f"{n_bytes / 2**20:,.0f} MiB"


def counted(number: int, what: str) -> str:
    """Return a count with its noun: 1 block, 1,170 blocks."""
    return f"{number:,} {what}" + ("s" if number != 1 else "")


def brief(value: float) -> str:
    """Return a number with three digits, or with all digits of its whole part."""
    if abs(value) >= 1e8:
        return f"{value:.2e}"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def decimals_of(value: float) -> int:
    """Return the number of decimals of an objective that show the change from round to round."""
    whole = len(str(int(abs(value)))) if math.isfinite(value) else 9
    return max(1, min(6, 9 - whole))


def aligned(value: float, decimals: int, *, exact: bool) -> str:
    """Return a number as text whose decimal point lines up with others of as many decimals.

    Parameters
    ----------
    value : float
    decimals : int
        Digits after the point.
    exact : bool
        Whether the value is exact; an estimate gets a leading "~" and spaces for its decimals.

    Returns
    -------
    str
    """
    if exact:
        return f"{value:,.{decimals}f}"
    return f"~{value:,.0f}" + " " * (decimals + 1)
