"""k-means in input space (Lloyd), for dense and CSR rows of a sample."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.clustering.nearest import nearest, transposed_centres
from dcsvm_dask.clustering.tree import Tree
from dcsvm_dask.compiled import njit
from dcsvm_dask.kernels import Rows, is_sparse


def kmeans(
    X: Rows,
    n_clusters: int,
    rng: np.random.Generator,
    *,
    n_starts: int = 3,
    max_iter: int = 20,
) -> NDArray[np.float32]:
    """Cluster rows by Lloyd's algorithm and return the centres of the best of several starts.

    Each start is seeded as k-means++ (Arthur and Vassilvitskii, 2007).

    Parameters
    ----------
    X : ndarray or CSR, shape (m, d), float32
    n_clusters : int
        At least 1. Fewer centres are returned if X has fewer distinct rows, or if a centre
        loses its last row.
    rng : numpy.random.Generator
    n_starts : int, default 3
    max_iter : int, default 20
        A start also ends when no more than one row in 200 moves.

    Returns
    -------
    ndarray, shape (at most n_clusters, d), float32
    """
    best, best_centres = np.inf, np.empty((0, X.shape[1]), dtype=np.float32)
    for _ in range(n_starts):
        centres, inertia = _lloyd(X, X[_seeds(X, n_clusters, rng)], max_iter)
        if inertia < best:
            best, best_centres = inertia, centres
        if len(best_centres) == 1:
            break
    return best_centres


def _lloyd(X: Rows, seeds: Rows, max_iter: int) -> tuple[NDArray[np.float32], float]:
    """Return the centres of a start, and the sum of the scores of `nearest` at the end."""
    m = X.shape[0]
    centres = seeds.toarray() if is_sparse(seeds) else seeds
    labels = np.full(m, -1, dtype=np.int32)
    scores = np.zeros(m)
    for _ in range(max_iter):
        tree = Tree.flat(len(centres))
        half = 0.5 * np.einsum("ij,ij->i", centres, centres, dtype=np.float64)
        new, scores = nearest(X, tree, transposed_centres(tree, centres), half, cosine=False)
        if np.count_nonzero(new != labels) <= m // 200:
            break
        # A centre without rows is dropped.
        sizes = np.bincount(new, minlength=len(centres))
        number = np.cumsum(sizes > 0, dtype=np.int32) - np.int32(1)
        labels, sizes = number[new], sizes[sizes > 0]
        sums = np.zeros((len(sizes), X.shape[1]))
        if is_sparse(X):
            _add_csr(X.data, X.indices, X.indptr, labels, sums)
        else:
            _add_dense(X, labels, sums)
        sums /= sizes[:, None]
        centres = sums.astype(np.float32)
    return centres, float(scores.sum())


def _seeds(X: Rows, n_clusters: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw distinct rows, in proportion to their squared distances to the nearest drawn one."""
    picked = [int(rng.integers(X.shape[0]))]
    distance = _squared_distances(X, picked[0])
    while len(picked) < n_clusters:
        total = np.cumsum(distance)
        if total[-1] <= 0:
            break
        picked.append(int(np.searchsorted(total, rng.random() * total[-1], side="right")))
        distance = np.minimum(distance, _squared_distances(X, picked[-1]))
    return np.array(picked, dtype=np.int64)


def _squared_distances(X: Rows, i: int) -> NDArray[np.float64]:
    """Return the squared distances of all rows to one of them, shape (m,)."""
    if not is_sparse(X):
        return np.asarray(_distances_dense(X, i))
    centre = np.zeros(X.shape[1], dtype=np.float64)
    row = slice(X.indptr[i], X.indptr[i + 1])
    centre[X.indices[row]] = X.data[row]
    return np.asarray(_distances_csr(X.data, X.indices, X.indptr, centre))


@njit(cache=True, nogil=True)
def _add_dense(X: Any, labels: Any, sums: Any) -> None:
    for i in range(X.shape[0]):
        row, own = X[i], sums[labels[i]]
        for j in range(row.shape[0]):
            own[j] += row[j]


@njit(cache=True, nogil=True)
def _add_csr(data: Any, indices: Any, indptr: Any, labels: Any, sums: Any) -> None:
    for i in range(indptr.shape[0] - 1):
        for e in range(indptr[i], indptr[i + 1]):
            sums[labels[i], indices[e]] += data[e]


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc", "nsz", "arcp"})
def _distances_dense(X: Any, i: int) -> Any:
    out = np.empty(X.shape[0])
    for r in range(X.shape[0]):
        total = np.float32(0)
        for j in range(X.shape[1]):
            step = X[r, j] - X[i, j]
            total += step * step
        out[r] = total
    return out


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc", "nsz", "arcp"})
def _distances_csr(data: Any, indices: Any, indptr: Any, centre: Any) -> Any:
    out = np.empty(indptr.shape[0] - 1)
    whole = np.sum(centre * centre)
    for r in range(out.shape[0]):
        # |c|^2 + sum over the row's entries of (x - c)^2 - c^2: exact zero for an equal row.
        total = 0.0
        covered = 0.0
        for e in range(indptr[r], indptr[r + 1]):
            c = centre[indices[e]]
            step = data[e] - c
            total += step * step
            covered += c * c
        others = whole - covered
        out[r] = total + others if others > 1e-12 * whole else total
    return out
