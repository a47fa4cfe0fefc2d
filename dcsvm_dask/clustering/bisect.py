"""Blocks of equal size by halving: fast, and with other borders for every seed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.clustering.rows import as_rows, at_most
from dcsvm_dask.kernels import Rows

LLOYD_STEPS = 3
SAMPLED = 4096
"""Rows by which the two means of a cut are found, at most."""


def bisect(
    X: Rows, cap: float, rng: np.random.Generator, weights: NDArray[np.integer] | None = None
) -> list[NDArray[np.int64]]:
    """Halve rows until no block is larger than a cap.

    Each cut is at the median of the projection onto the line through two means (2-means of a
    sample from two random rows, a few steps), as in a random projection tree (Dasgupta, Freund,
    STOC 2008).

    Parameters
    ----------
    X : ndarray or CSR, shape (n, d), float32
    cap : float
        Largest number of rows of a block, at least 1; with weights the largest sum of theirs.
    rng : numpy.random.Generator
    weights : ndarray of integers, shape (n,), optional
        Above 0. A row that weighs more than the cap is a block of its own.

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
        if len(rows) == 1 or (len(rows) if weights is None else weights[rows].sum()) <= cap:
            blocks.append(np.sort(rows))
            continue
        some = X[rows]
        along = some @ _direction(at_most(some, SAMPLED, rng), rng)
        if weights is None:
            half = len(rows) // 2
            order = np.argpartition(along, half)
        else:
            order = np.argsort(along, kind="stable")
            before = np.cumsum(weights[rows[order]])
            half = max(1, int(np.searchsorted(before, before[-1] // 2, side="right")))
        pending += [rows[order[:half]], rows[order[half:]]]
    return blocks


def _direction(X: Rows, rng: np.random.Generator) -> NDArray[np.float32]:
    """Return the way from one of two means to the other."""
    first, second = rng.choice(X.shape[0], size=2, replace=False)
    upper, lower = _mean(X[[first]]), _mean(X[[second]])
    for _ in range(LLOYD_STEPS):
        direction = upper - lower
        side = X @ direction > 0.5 * (upper + lower) @ direction
        if side.all() or not side.any():
            break
        upper, lower = _mean(X[side]), _mean(X[~side])
    return (upper - lower).astype(np.float32)


def _mean(X: Rows) -> NDArray[np.float64]:
    return np.asarray(X.mean(axis=0), dtype=np.float64).ravel()
