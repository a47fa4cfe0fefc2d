"""Rows that are given dense and are mostly zeros, such as pixels, without their zeros."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from dcsvm_dask.compiled import njit
from dcsvm_dask.kernels import Rows, is_sparse
from dcsvm_dask.solvers.linear.loops import OPTIONS

# Up to this share of values that are not zero CSR takes at most half of the bytes ...
_MOST_SHARE = 0.25
# ... which is what a pass costs once rows are larger than the cache of the processor.
_LEAST_VALUES = 1 << 21


def without_zeros(X: Rows) -> Rows:
    """Return dense rows in CSR where most of their values are zeros; other rows as they are.

    Parameters
    ----------
    X : array or CSR, shape (n, d)

    Returns
    -------
    array or CSR, shape (n, d)
        Of the same type of values; indices are int32.
    """
    if is_sparse(X) or X.size < _LEAST_VALUES:
        return X
    indptr = np.zeros(X.shape[0] + 1, dtype=np.int64)
    count_values(X, indptr)
    total = int(indptr[-1])
    if total > min(_MOST_SHARE * X.size, np.iinfo(np.int32).max):
        return X
    # One more than there are: a zero is written, too, and overwritten by what follows.
    data, indices = np.empty(total + 1, X.dtype), np.empty(total + 1, np.int32)
    take_values(X, data, indices)
    arrays = data[:total], indices[:total], indptr.astype(np.int32)
    return sparse.csr_array(arrays, shape=X.shape)


@njit(**OPTIONS)
def count_values(X: Any, indptr: Any) -> None:
    """Write where each row's values begin that are not zero, as CSR has it."""
    total = 0
    for i in range(X.shape[0]):
        for f in range(X.shape[1]):
            total += 1 if X[i, f] != 0.0 else 0
        indptr[i + 1] = total


@njit(**OPTIONS)
def take_values(X: Any, data: Any, indices: Any) -> None:
    """Write the values that are not zero, and their features, row by row."""
    at = 0
    for i in range(X.shape[0]):
        for f in range(X.shape[1]):
            data[at], indices[at] = X[i, f], f
            at += 1 if X[i, f] != 0.0 else 0
