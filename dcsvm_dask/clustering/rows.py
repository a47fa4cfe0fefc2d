"""Conversion and sampling of rows for clustering."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels import Rows, is_sparse


def as_rows(X: Rows, n_features: int | None = None) -> Rows:
    """Return X as C-contiguous float32, or as a float32 csr_array.

    Raises
    ------
    InputError
        If X is not a table, or has another number of features than the partition.
    """
    if is_sparse(X):
        X = sparse.csr_array(X)
        if X.dtype != np.float32:
            X = X.astype(np.float32)
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
    else:
        X = np.ascontiguousarray(X, dtype=np.float32)
        if X.ndim != 2:
            raise InputError(f"the rows have {X.ndim} axes; give a table of (rows, features).")
    if n_features is not None and X.shape[1] != n_features:
        raise InputError(
            f"the rows have {X.shape[1]} features and the partition was made from {n_features};"
            " give rows of the data set that it belongs to."
        )
    return X


def unit_rows(X: Rows) -> Rows:
    """Return the rows divided by their norms; zero rows stay zero."""
    if is_sparse(X):
        squares = np.asarray(X.astype(np.float64).power(2).sum(axis=1)).ravel()
    else:
        squares = np.einsum("ij,ij->i", X, X, dtype=np.float64)
    scale = np.zeros(len(squares))
    np.divide(1.0, np.sqrt(squares), out=scale, where=squares > 0)
    if is_sparse(X):
        return sparse.csr_array(sparse.diags_array(scale.astype(np.float32)) @ X)
    return X * scale[:, None].astype(np.float32)


def at_most(X: Rows, n_rows: int, rng: np.random.Generator) -> Rows:
    """Return a random sample of at most `n_rows` rows of X.

    Parameters
    ----------
    X : ndarray or CSR, shape (n, d)
    n_rows : int
    rng : numpy.random.Generator

    Returns
    -------
    ndarray or CSR
    """
    n = X.shape[0]
    return X if n <= n_rows else X[np.sort(rng.permutation(n)[:n_rows])]


def block_rows(labels: NDArray[np.integer]) -> list[NDArray[np.int64]]:
    """Return the row numbers of every non-empty block, ascending."""
    order = np.argsort(labels, kind="stable").astype(np.int64)
    return np.split(order, np.flatnonzero(np.diff(labels[order])) + 1) if order.size else []


def block_labels(blocks: list[NDArray[np.int64]]) -> NDArray[np.int32]:
    """Return the block of every row, given the rows of every block."""
    labels = np.empty(sum(map(len, blocks)), dtype=np.int32)
    for block, rows in enumerate(blocks):
        labels[rows] = block
    return labels
