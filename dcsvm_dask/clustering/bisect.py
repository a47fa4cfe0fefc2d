"""Blocks of equal size by halving: fast, and with other borders for every seed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.clustering.rows import as_rows
from dcsvm_dask.kernels import Rows

LLOYD_STEPS = 3


def bisect(X: Rows, cap: int, rng: np.random.Generator) -> list[NDArray[np.int64]]:
    """Halve rows until no block is larger than a cap.

    Each cut is at the median of the projection onto the line through two means (2-means from two
    random rows, a few steps), as in a random projection tree (Dasgupta, Freund, STOC 2008).

    Parameters
    ----------
    X : ndarray or CSR, shape (n, d), float32
    cap : int
        Largest number of rows of a block, at least 1.
    rng : numpy.random.Generator

    Returns
    -------
    list of ndarray, int64
        The rows of each block, ascending.
    """
    X = as_rows(X)
    pending = [np.arange(X.shape[0], dtype=np.int64)]
    blocks: list[NDArray[np.int64]] = []
    while pending:
        rows = pending.pop()
        if len(rows) <= cap:
            blocks.append(np.sort(rows))
            continue
        order = np.argsort(_projection(X[rows], rng), kind="stable")
        half = len(rows) // 2
        pending += [rows[order[:half]], rows[order[half:]]]
    return blocks


def _projection(X: Rows, rng: np.random.Generator) -> NDArray[np.float64]:
    first, second = rng.choice(X.shape[0], size=2, replace=False)
    direction = _mean(X[[first]]) - _mean(X[[second]])
    shift = 0.5 * (_mean(X[[first]]) + _mean(X[[second]]))
    for _ in range(LLOYD_STEPS):
        values = X @ direction - shift @ direction
        side = values > 0
        if side.all() or not side.any():
            break
        upper, lower = _mean(X[side]), _mean(X[~side])
        direction, shift = upper - lower, 0.5 * (upper + lower)
    return np.asarray(X @ direction, dtype=np.float64)


def _mean(X: Rows) -> NDArray[np.float64]:
    return np.asarray(X.mean(axis=0), dtype=np.float64).ravel()
