"""Kernel matrix times matrix: several SVMs share their support vectors' kernel values."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels.kernel import Kernel
from dcsvm_dask.kernels.linear_sums import times_weights, weights_of
from dcsvm_dask.kernels.matrix import kernel_matrix, threads_for, tile_height
from dcsvm_dask.kernels.product import check_finite
from dcsvm_dask.kernels.rows import Rows, check_pair
from dcsvm_dask.kernels.threads import for_each

TILE = 512
"""Rows that a thread has at hand, and columns that they meet at a time: 1 MiB in float32."""


def kernel_products(
    kernel: Kernel,
    X: Rows,
    Z: Rows,
    V: NDArray[np.float64],
    *,
    groups: NDArray[np.int64] | None = None,
    dtype: Any = np.float32,
    threads: int = 1,
) -> NDArray[np.float64]:
    """Return sum_j K(x_i, z_j) V_jq for every row x_i and column q.

    Parameters
    ----------
    kernel : Kernel
    X : ndarray or CSR, shape (n, d), float32
    Z : ndarray or CSR, shape (m, d), float32
        Stored in the same way as X.
    V : ndarray, shape (m, q), float64
    groups : ndarray, shape (G + 1,), optional
        Offsets from 0 to m, not falling: one sum for each run of rows of Z.
    dtype : float32 or float64, default float32
        Precision of kernel values, see `counted_kernel_matrix`; sums are in float64. The linear
        kernel has sums without kernel values, in float64.
    threads : int, default 1
        Threads that share the rows; the result is the same. Give BLAS one.

    Returns
    -------
    ndarray, shape (n, q) or, with groups, (n, G, q), float64

    Raises
    ------
    InputError
        If shapes do not fit, or the result is not finite.
    """
    X, Z = check_pair(X, Z)
    V = np.asarray(V, dtype=np.float64)
    if V.ndim != 2 or V.shape[0] != Z.shape[0]:
        raise InputError(f"V has shape {V.shape}; give a row for each of {Z.shape[0]} rows of Z.")
    offsets = [0, Z.shape[0]] if groups is None else groups.tolist()
    runs = list(pairwise(offsets))
    out = np.zeros((X.shape[0], len(runs), V.shape[1]))
    if kernel.is_linear:
        W = np.hstack([weights_of(Z[start:stop], V[start:stop]) for start, stop in runs])
        out = times_weights(X, W, threads).reshape(out.shape)
    else:
        threads = threads_for(X.shape[0], Z.shape[0], X.shape[1], threads)
        height = min(TILE, tile_height(X.shape[0], Z.shape[0] * X.shape[1]))
        parts = [(Z[j : j + TILE], _pieces(runs, j)) for j in range(0, Z.shape[0], TILE)]

        def multiply(start: int) -> None:
            rows = X[start : start + height]
            for some, pieces in parts:
                # The rows of the tile lie side by side: K' here.
                K = kernel_matrix(kernel, some, rows, dtype=dtype).astype(np.float64, copy=False)
                for group, mine, of_all in pieces:
                    out[start : start + height, group] += K[mine].T @ V[of_all]

        for_each(multiply, range(0, X.shape[0], height), threads)
    check_finite(kernel, out)
    return out[:, 0] if groups is None else out


def _pieces(runs: list[tuple[int, int]], first: int) -> list[tuple[int, slice, slice]]:
    """Return which runs have rows of a tile: their numbers, their rows in it, and of all rows."""
    found = []
    for number, (start, stop) in enumerate(runs):
        start, stop = max(start, first), min(stop, first + TILE)
        if start < stop:
            found.append((number, slice(start - first, stop - first), slice(start, stop)))
    return found
