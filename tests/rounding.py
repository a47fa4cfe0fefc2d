"""Comparisons with room for rounding: BLAS sums in another order on another kind of processor."""

from __future__ import annotations

from typing import Any

import numpy as np

ROOM = 2.0**-46
"""64 units in the last place of float64, relative."""


def at_most(values: Any, bounds: Any) -> bool:
    """Return whether no value is above its bound, but for rounding."""
    values, bounds = np.asarray(values, np.float64), np.asarray(bounds, np.float64)
    return bool(np.all(values <= bounds + ROOM * np.abs(bounds)))


def never_rises(values: Any) -> bool:
    """Return whether no value is above the one before it, but for rounding."""
    values = np.asarray(values, np.float64)
    return at_most(values[1:], values[:-1])
