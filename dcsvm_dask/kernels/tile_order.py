"""An order of the rows in which tiles are compact, and outliers have tiles of their own."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.kernels.columns import widest_in_float32
from dcsvm_dask.kernels.kernel import Kernel
from dcsvm_dask.kernels.order import kd_order
from dcsvm_dask.kernels.rows import Rows, is_sparse, squared_norms

MOST_OUTLIERS = 1 / 2
"""Of more rows than this share no centre is near: they are left where they are."""


def tile_order(kernel: Kernel, X: Rows) -> NDArray[np.int64]:
    """Return an order of the rows for `kernel_product` and `kernel_matrix`.

    That of `kd_order`, with outliers last: a row that lies too far out for products in float32
    makes those of all rows of its tile take float64, and tables with heavy tails have such a row
    in nearly every tile.

    Parameters
    ----------
    kernel : Kernel
        Others than shift-invariant ones keep the order of the rows.
    X : ndarray or CSR, shape (n, d), float32
        Of sparse rows only outliers change their place.

    Returns
    -------
    ndarray, shape (n,), int64
        A permutation. The same rows give the same one.
    """
    if not kernel.is_shift_invariant:
        return np.arange(X.shape[0], dtype=np.int64)
    widest = widest_in_float32(kernel, X)
    if widest == np.inf:
        return kd_order(X)
    centre = None if is_sparse(X) else X.mean(axis=0, dtype=np.float64)
    outlying = squared_norms(X, centre) > widest**2
    if not 0 < np.count_nonzero(outlying) <= MOST_OUTLIERS * X.shape[0]:
        return kd_order(X)
    parts = np.flatnonzero(~outlying), np.flatnonzero(outlying)
    return np.concatenate([part[kd_order(X[part])] for part in parts])
