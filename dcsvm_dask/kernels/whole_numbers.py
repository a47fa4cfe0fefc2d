"""Rows of small whole numbers, whose products and distances float32 has exactly."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.kernels.rows import Rows, is_sparse, squared_norms

LARGEST = 2.0**23
"""Squared norm up to which sums of products, and half of a squared norm, are float32 numbers."""


def small_whole_numbers(X: Rows) -> bool:
    """Return whether all rows are.

    Parameters
    ----------
    X : ndarray or CSR, shape (n, d)
    """
    values = X.data if is_sparse(X) else X
    # Most tables show it in their first rows.
    if not _whole(values[:512]).all() or not _whole(values).all():
        return False
    return bool((squared_norms(X) <= LARGEST).all())


def whole_rows(X: Rows) -> NDArray[np.bool_]:
    """Return which rows are.

    Parameters
    ----------
    X : ndarray or CSR, shape (n, d)

    Returns
    -------
    ndarray of bool, shape (n,)
    """
    small = squared_norms(X) <= LARGEST
    if not is_sparse(X):
        return np.asarray(small & _whole(X).all(axis=1))
    broken = np.append(0, np.cumsum(~_whole(X.data)))
    return np.asarray(small & (np.diff(broken[X.indptr]) == 0))


def _whole(values: NDArray[Any]) -> NDArray[np.bool_]:
    return np.asarray(np.rint(values) == values)
