"""Which features of a few rows vary: the others need no multiplication for each pair of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

LEAST_ROWS = 16
"""Rows of a tile from which it pays to look."""
LEAST_SHARE = 1 / 8
"""Share of the features that must be fixed for it to pay to leave them out."""


def varying_features(X: NDArray[Any], *, at_zero: bool = False) -> NDArray[np.int64]:
    """Return the features that differ between rows, at least one; none stand for all of them.

    In an order in which neighbours lie close together few of the columns that stand for categories
    do, and those that are nearly always zero seldom.

    Parameters
    ----------
    X : ndarray, shape (n, d)
        Rows of a tile.
    at_zero : bool, default False
        Whether only features that are 0 in all rows are fixed.

    Returns
    -------
    ndarray of int64, ascending
        Empty where nearly all vary.
    """
    n, d = X.shape
    least = LEAST_SHARE * d
    everything = np.empty(0, np.int64)
    if n < LEAST_ROWS or d < 2:
        return everything
    first = X[0]
    # Most tables end here.
    fixed = (X[n // 2] == first) & (X[-1] == first)
    if at_zero:
        fixed &= first == 0
    if np.count_nonzero(fixed) < least:
        return everything
    likely = np.flatnonzero(fixed)
    fixed[likely] = (X[:, likely] == first[likely]).all(axis=0)
    if np.count_nonzero(fixed) < least:
        return everything
    fixed[0] &= not fixed.all()
    return np.flatnonzero(~fixed)
