"""Rows shifted so that most of their values are 0, which changes no distance between them."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from dcsvm_dask.kernels.kernel import Kernel
from dcsvm_dask.kernels.kinds import SQUARED_DISTANCE
from dcsvm_dask.kernels.rows import FEW_FEATURES, SPARSE_BELOW, Rows, is_sparse, squared_norms

SAMPLE = 513
"""Rows that show which value of a feature is the most common: the median of half or more."""
FEWEST_ROWS = 1024
"""Of fewer rows all kernel values cost less than a second look at the table."""
FARTHEST = 2.0**12
"""Largest squared norm of a shifted row times gamma: rounding it to float32 then changes no kernel
value by more than products in float32 do, 2^-18."""


def shifted(kernel: Kernel, X: Rows) -> Rows:
    """Return dense rows less the most common value of each feature, as CSR where few are left.

    Standardised categories in one-hot codes, and counts that are mostly 0, become what they were
    before they were standardised: kernel values cost a fraction of those of dense rows.

    Parameters
    ----------
    kernel : Kernel
    X : ndarray or CSR, shape (n, d), float32

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
    seen = X[np.linspace(0, n - 1, SAMPLE).astype(np.int64)]
    common = np.partition(seen, SAMPLE // 2, axis=0)[SAMPLE // 2]
    if np.count_nonzero(seen != common) >= SPARSE_BELOW * seen.size:
        return X
    found = sparse.csr_array(X - common)
    is_near = kernel.gamma * squared_norms(found).max() <= FARTHEST
    return found if is_near and found.nnz < SPARSE_BELOW * n * d else X
