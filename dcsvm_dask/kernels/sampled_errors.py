"""Errors of float32 sums as a few rows show them, where the model of `bounds` is too careful.

The model takes the terms of inner products to have one sign, as those of near rows with features
that agree; over many features partial sums are far smaller than that, and so are errors. Some
rows are summed in float64: the model, times what it is off by there, then bounds the others.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]

ROWS = 64
"""Rows that are summed in float64 to see their errors."""
WORTH = 8
"""... where at least so many times as many are in question: float64 costs little for fewer."""
_MARGIN = 2.0
"""Between the largest error of a sample, about 2.5 standard deviations, and the bound: of five."""
_LEAST = 0.005
"""Share of the model's bound below which a sample is not believed."""


def in_question(
    sums: Vector, bounds: Vector, tol: float, doubt: tuple[Vector, Vector] | None = None
) -> NDArray[np.int64]:
    """Return the rows whose sums may be off by more than `tol`, where that matters.

    Parameters
    ----------
    sums : ndarray, shape (n,) or (n, G)
        Those of groups count together.
    bounds : ndarray, shape (n,)
        What they may be off by.
    tol : float
    doubt : tuple (low, high) of ndarrays, shape (n,), optional
        Outside of low_i to high_i, whatever its error is, a sum does not matter.
    """
    wrong = bounds > tol
    if doubt is not None:
        total = sums if sums.ndim == 1 else sums.sum(axis=1)
        wrong &= (total + bounds >= doubt[0]) & (total - bounds <= doubt[1])
    return np.flatnonzero(wrong)


def sample(rows: NDArray[np.int64], bounds: Vector) -> NDArray[np.int64]:
    """Return `ROWS` of the given rows, evenly spread over their order; none of too few.

    Only of rows that have sums: where `bounds`, those of all rows, are infinite there are none.
    """
    rows = rows[np.isfinite(bounds[rows])]
    if len(rows) < WORTH * ROWS:
        return rows[:0]
    return rows[(np.arange(ROWS) * len(rows)) // ROWS]


def seen_share(bounds: Vector, errors: Vector) -> float:
    """Return the share of the model's bounds, at most 1, within which errors are expected.

    Parameters
    ----------
    bounds : ndarray, shape (m,)
        Those of the rows of a sample: finite, above 0.
    errors : ndarray, shape (m,)
        Absolute values of what their float32 sums were off by.
    """
    if not len(bounds):
        return 1.0
    return float(np.clip(_MARGIN * (errors / bounds).max(), _LEAST, 1.0))
