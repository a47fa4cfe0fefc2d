"""Whether the kernel matrix of some rows is the identity matrix: features without a scale."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.kernels.kernel import Kernel
from dcsvm_dask.kernels.kinds import L1_DISTANCE
from dcsvm_dask.kernels.matrix import kernel_matrix
from dcsvm_dask.kernels.rows import Rows, is_sparse

COLUMNS = 64
"""Columns of the kernel matrix that are looked at."""
FEW_COLUMNS = 8
"""Columns that are looked at first: mostly they suffice to show that it is no identity matrix."""
FEW_ROWS = 2048
"""Below, values are in float64, as those of SVMs of so few rows: else float32 would be compiled for
this alone."""
NOTHING = 1e-6
"""Kernel values up to this add nothing to a decision value."""
SAME_ROW = 0.99
"""Kernel values from this on are those of a row with itself or with a repeat of it."""
MOST = 0.95
"""Share of the columns that have to be those of the identity matrix."""


def spread_rows(n: int, most: int) -> NDArray[np.int64]:
    """Return the positions of at most `most` of n rows, evenly spread."""
    return np.linspace(0, n - 1, min(n, most)).astype(np.int64)


def is_identity(kernel: Kernel, X: Rows) -> bool:
    """Return whether rows have no kernel value with other rows than their repeats.

    Parameters
    ----------
    kernel : Kernel
        Those that are not shift-invariant have no such matrix.
    X : ndarray or CSR, shape (n, d), float32
        Some ten thousand rows at most.

    Returns
    -------
    bool
    """
    if not kernel.is_shift_invariant or X.shape[0] < 2:
        return False
    columns = spread_rows(X.shape[0], COLUMNS)
    few = columns[:: max(1, len(columns) // FEW_COLUMNS)]
    most = (1.0 - MOST) * len(columns)
    if not is_sparse(X) and _seen(kernel, X[few]) > most:
        return False
    if (1.0 - _alone(kernel, X, few)) * len(few) > most:
        return False
    return _alone(kernel, X, columns) >= MOST


def _seen(kernel: Kernel, X: NDArray[np.float32]) -> int:
    """Return how many of some dense rows see another one of them.

    It is a tenth of the time of `_alone`, and mostly enough where all rows see each other.
    """
    rows = X.astype(np.float64)
    apart = np.abs(rows[:, None] - rows)
    is_sum = kernel.kind.argument == L1_DISTANCE
    with np.errstate(over="ignore"):  # of gamma times a distance
        K = kernel.value((apart if is_sum else apart**2).sum(axis=-1))
    return int(np.count_nonzero(((K > NOTHING) & (K < SAME_ROW)).any(axis=0)))


def _alone(kernel: Kernel, X: Rows, columns: NDArray[np.int64]) -> float:
    """Return the share of columns that are those of the identity matrix."""
    dtype = np.float64 if X.shape[0] < FEW_ROWS else np.float32
    K = kernel_matrix(kernel, X, X[columns], dtype=dtype)
    between = (K > NOTHING) & (K < SAME_ROW)
    other = (K < SAME_ROW).any(axis=0)  # where all rows are equal there is nothing to see
    return float((other & ~between.any(axis=0)).mean())
