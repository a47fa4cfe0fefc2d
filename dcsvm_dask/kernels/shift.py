"""Rows shifted so that most of their values are 0, which changes no distance between them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dcsvm_dask.kernels.kernel import Kernel
from dcsvm_dask.kernels.kinds import SQUARED_DISTANCE
from dcsvm_dask.kernels.rows import (
    FEW_FEATURES,
    SPARSE_BELOW,
    Rows,
    is_sparse,
    squared_norms,
    stacked,
    stored_for_speed,
)

SAMPLE = 513
"""Rows that show which value of a feature is the most common: the median of half or more."""
FEWEST_ROWS = 1024
"""Of fewer rows all kernel values cost less than a second look at the table."""
FARTHEST = 2.0**9
"""Largest squared norm of a shifted row times gamma: rounding it to float32 then changes no kernel
value by more than 2^-19, less than products in float32 may."""
# Rows that are shifted at a time: a second table would take as much memory as the first.
_TILE = 4096


def solved_rows(kernel: Kernel, X: Rows, rows: NDArray[np.int64] | None = None) -> Rows:
    """Return rows that meet no others as solvers are fastest with, of the same kernel values.

    Parameters
    ----------
    kernel : Kernel
    X : ndarray or CSR, shape (n, d), float32
    rows : ndarray of int64, optional
        As for `shifted`.

    Returns
    -------
    ndarray or CSR, shape (n, d), float32
    """
    return stored_for_speed(shifted(kernel, X, rows))


def shifted(kernel: Kernel, X: Rows, rows: NDArray[np.int64] | None = None) -> Rows:
    """Return dense rows less the most common value of each feature, as CSR where few are left.

    Standardised categories in one-hot codes, and counts that are mostly 0, become what they were
    before they were standardised: kernel values cost a fraction of those of dense rows.

    Parameters
    ----------
    kernel : Kernel
    X : ndarray or CSR, shape (n, d), float32
    rows : ndarray of int64, optional
        Those that show which values are common; all by default. Given in an order of their own,
        the result does not follow that of X.

    Returns
    -------
    ndarray or CSR, shape (n, d), float32
        X itself for other kernels than those of squared distances, or where most values are left.
    """
    if is_sparse(X) or kernel.kind.argument != SQUARED_DISTANCE:
        return X
    n, d = X.shape
    if n < FEWEST_ROWS or d <= FEW_FEATURES:
        return X
    rows = np.arange(n) if rows is None else rows
    if len(rows) < FEWEST_ROWS:
        return X
    seen = X[rows[np.linspace(0, len(rows) - 1, SAMPLE).astype(np.int64)]]
    common = np.partition(seen, SAMPLE // 2, axis=0)[SAMPLE // 2]
    if np.count_nonzero(seen != common) >= SPARSE_BELOW * seen.size:
        return X
    parts, left = [], SPARSE_BELOW * n * d
    for start in range(0, n, _TILE):
        with np.errstate(over="ignore"):  # infinite norms are too large
            part = sparse.csr_array(X[start : start + _TILE] - common)
        left -= part.nnz
        if left <= 0.0 or not kernel.gamma * squared_norms(part).max() <= FARTHEST:
            return X
        parts.append(part)
    return stacked(parts)
