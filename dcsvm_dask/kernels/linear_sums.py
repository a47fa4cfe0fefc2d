"""Sums of the linear kernel, sum_j x_i'z_j v_j = x_i'w, by the vector of weights w."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.kernels.bounds import unit
from dcsvm_dask.kernels.rows import Rows, is_sparse, squared_norms
from dcsvm_dask.kernels.threads import for_each

TILE = 512
"""Dense rows that are in float64 at a time."""
LITTLE = 1 << 20
"""Values up to which one thread is done before others have begun."""


def weights_of(Z: Rows, V: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return Z'V in float64.

    Parameters
    ----------
    Z : ndarray or CSR, shape (m, d), float32
    V : ndarray, shape (m, q), float64

    Returns
    -------
    ndarray, shape (d, q)
    """
    if is_sparse(Z):
        return np.asarray(Z.T @ V)
    found = np.zeros((Z.shape[1], V.shape[1]))
    for start in range(0, Z.shape[0], TILE):
        with np.errstate(over="ignore", invalid="ignore"):  # callers look for such sums
            found += Z[start : start + TILE].astype(np.float64).T @ V[start : start + TILE]
    return found


def times_weights(X: Rows, W: NDArray[np.float64], threads: int) -> NDArray[np.float64]:
    """Return XW in float64.

    Parameters
    ----------
    X : ndarray or CSR, shape (n, d), float32
    W : ndarray, shape (d, q), float64
    threads : int
        Threads that share the rows; the result is the same.

    Returns
    -------
    ndarray, shape (n, q)
    """
    out = np.empty((X.shape[0], W.shape[1]))

    def multiply(start: int) -> None:
        rows = X[start : start + TILE]
        with np.errstate(over="ignore", invalid="ignore"):
            out[start : start + TILE] = (rows if is_sparse(rows) else rows.astype(np.float64)) @ W

    if (X.nnz if is_sparse(X) else X.size) * W.shape[1] <= LITTLE:
        threads = 1
    for_each(multiply, range(0, X.shape[0], TILE), threads)
    return out


def sums_error(X: Rows, Z: Rows, v: NDArray[np.float64]) -> NDArray[np.float64]:
    """Bound the rounding error of every row's sum, shape (n,): that of float64.

    Every sum of k terms is within k units of that of their sizes.

    Parameters
    ----------
    X : ndarray or CSR, shape (n, d), float32
    Z : ndarray or CSR, shape (m, d), float32
    v : ndarray, shape (m,), float64
    """
    terms = int(np.diff(X.indptr).max(initial=0)) if is_sparse(X) else X.shape[1]
    size = float(np.sqrt(squared_norms(Z)) @ np.abs(v)) * np.sqrt(squared_norms(X))
    return np.asarray(unit(np.float64) * (Z.shape[0] + terms) * size)
