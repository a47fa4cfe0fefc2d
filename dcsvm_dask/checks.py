"""Checks of the parameters that users give."""

from __future__ import annotations

import math
from typing import Any

from dcsvm_dask.errors import InputError


def is_a(value: object, kind: type) -> bool:
    """Whether a value is of a kind; true and false are no numbers to a user."""
    return isinstance(value, kind) and not isinstance(value, bool)


def check(holds: bool, name: str, value: object, wanted: str) -> None:
    """Refuse a parameter's value unless something holds.

    Raises
    ------
    InputError
    """
    if not holds:
        raise InputError(f"{name.replace('_', '-')} must be {wanted}, got {value!r:.80}")


def is_finite(value: Any) -> bool:
    """Return whether a number is one that a float64 can hold, which not every int is."""
    try:
        return math.isfinite(value)
    except OverflowError:
        return False
