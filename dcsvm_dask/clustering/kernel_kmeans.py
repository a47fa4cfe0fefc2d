"""Kernel k-means of a sample whose kernel matrix is in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.compiled import njit


def kernel_kmeans(
    K: NDArray[np.float64],
    n_clusters: int,
    rng: np.random.Generator,
    *,
    n_starts: int = 3,
    max_iter: int = 30,
) -> NDArray[np.int64]:
    """Cluster rows by k-means in kernel space and return the labels of the best of several starts.

    The distance of row i to the mean of cluster c in kernel space is
    K_ii - 2/|c| sum_{j in c} K_ij + 1/|c|^2 sum_{j, l in c} K_jl (Girolami, 2002; the first of
    the two steps in Chitta, Jin, Havens and Jain, KDD 2011). Each start is seeded as k-means++
    in that distance. Sums of kernel values are stored for every cluster and updated for the rows
    that move.

    Parameters
    ----------
    K : ndarray, shape (m, m), float64
        Symmetric kernel matrix.
    n_clusters : int
        At least 1.
    rng : numpy.random.Generator
    n_starts : int, default 3
    max_iter : int, default 30

    Returns
    -------
    ndarray, shape (m,), int64
        Labels 0 to k - 1, all of them used; k is below n_clusters where fewer rows differ in kernel
        space.
    """
    best, best_labels = np.inf, np.zeros(len(K), dtype=np.int64)
    for _ in range(n_starts):
        seeds = _seeds(K, n_clusters, rng)
        labels = np.argmin(K.diagonal()[seeds, None] - 2 * K[seeds], axis=0)
        cost = _sweeps(K, labels, len(seeds), max_iter)
        if cost < best:
            best, best_labels = cost, labels
        if len(seeds) == 1:
            break
    return np.asarray(np.unique(best_labels, return_inverse=True)[1], dtype=np.int64)


def _seeds(K: NDArray[np.float64], n_clusters: int, rng: np.random.Generator) -> NDArray[np.int64]:
    diagonal = K.diagonal()
    noise = 1e-12 * float(np.max(np.abs(diagonal), initial=0.0))

    def squared_distances(i: int) -> NDArray[np.float64]:
        squares = diagonal + diagonal[i] - 2 * K[i]
        return np.where(squares > noise, squares, 0.0)

    picked = [int(rng.integers(len(K)))]
    distance = squared_distances(picked[0])
    while len(picked) < n_clusters:
        total = np.cumsum(distance)
        if total[-1] <= 0:
            break
        picked.append(int(np.searchsorted(total, rng.random() * total[-1], side="right")))
        distance = np.minimum(distance, squared_distances(picked[-1]))
    return np.array(picked, dtype=np.int64)


@njit(cache=True, nogil=True, fastmath={"contract"})
def _move(row: Any, sums: Any, sign: float) -> None:
    for i in range(row.shape[0]):
        sums[i] += sign * row[i]


@njit(cache=True, nogil=True, fastmath={"contract"})
def _sweeps(K: Any, labels: Any, k: int, max_iter: int) -> float:
    """Move rows to their nearest centres until none moves; return the sum of their distances.

    `labels` is changed in place. The distances leave out K_ii, which no label changes.
    """
    m = K.shape[0]
    sums = np.zeros((k, m))
    sizes = np.zeros(k)
    for i in range(m):
        sizes[labels[i]] += 1
        _move(K[i], sums[labels[i]], 1.0)
    best = np.empty(m)
    where = np.zeros(m, dtype=np.int64)
    for _ in range(max_iter):
        within = np.zeros(k)
        for i in range(m):
            within[labels[i]] += sums[labels[i], i]
        best[:] = np.inf
        for c in range(k):
            if sizes[c] == 0:
                continue
            constant = within[c] / (sizes[c] * sizes[c])
            slope = 2.0 / sizes[c]
            for i in range(m):
                distance = constant - slope * sums[c, i]
                if distance < best[i]:
                    best[i] = distance
                    where[i] = c
        moved = 0
        for i in range(m):
            if where[i] != labels[i]:
                _move(K[i], sums[labels[i]], -1.0)
                _move(K[i], sums[where[i]], 1.0)
                sizes[labels[i]] -= 1
                sizes[where[i]] += 1
                labels[i] = where[i]
                moved += 1
        if moved == 0:
            break
    return np.sum(best)
