"""The nearest centre in input space, one row at a time, for dense and CSR rows.

A row's products with all centres are summed feature by feature in float64, in one fixed order, and
never through BLAS: its label depends on the row alone, not on the rows that happen to stand beside
it in a chunk, and is the same for dense and CSR rows. Zeros are skipped.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from dcsvm_dask.clustering.tree import Tree
from dcsvm_dask.kernels import Rows, is_sparse

_FLAGS = {"contract"}


def transposed_centres(tree: Tree, centres: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return every node's centres as (d, centres of the node), one node after the other."""
    parts = [
        centres[start:stop].T.ravel()
        for start, stop in zip(tree.offsets[:-1], tree.offsets[1:], strict=True)
    ]
    return np.concatenate(parts)


def nearest(
    X: Rows,
    tree: Tree,
    flat: NDArray[np.float32],
    half_squares: NDArray[np.float64],
    *,
    cosine: bool,
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return each row's block, and half its squared distance to the centre less half its norm.

    `flat` comes from `transposed_centres`; half_squares is |c|^2 / 2 for every centre. With
    `cosine` the row is divided by its norm first (a zero row stays zero).
    """
    labels = np.empty(X.shape[0], dtype=np.int32)
    scores = np.empty(X.shape[0])
    if is_sparse(X):
        _nearest_csr(
            X.data, X.indices, X.indptr, flat, half_squares, tree.offsets, tree.child,
            X.shape[1], cosine, labels, scores,
        )  # fmt: skip
    else:
        _nearest_dense(
            X, flat, half_squares, tree.offsets, tree.child, cosine, labels, scores
        )  # fmt: skip
    return labels, scores


@njit(cache=True, nogil=True, fastmath=_FLAGS)
def _add_four(
    a: float, b: float, c: float, d: float, A: Any, B: Any, C: Any, D: Any, dots: Any
) -> None:
    for k in range(dots.shape[0]):
        dots[k] += (
            a * np.float64(A[k])
            + b * np.float64(B[k])
            + c * np.float64(C[k])
            + d * np.float64(D[k])
        )


@njit(cache=True, nogil=True, fastmath=_FLAGS)
def _add_one(a: float, A: Any, dots: Any) -> None:
    for k in range(dots.shape[0]):
        dots[k] += a * np.float64(A[k])


@njit(cache=True, nogil=True, fastmath=_FLAGS)
def _products(values: Any, columns: Any, count: int, centres: Any, dots: Any) -> None:
    """Products of one row, given by its non-zeros, with centres (d, k) that lie end to end."""
    k = dots.shape[0]
    dots[:] = 0.0
    e = 0
    while e + 4 <= count:
        first, second = columns[e] * k, columns[e + 1] * k
        third, fourth = columns[e + 2] * k, columns[e + 3] * k
        _add_four(
            values[e],
            values[e + 1],
            values[e + 2],
            values[e + 3],
            centres[first : first + k],
            centres[second : second + k],
            centres[third : third + k],
            centres[fourth : fourth + k],
            dots,
        )
        e += 4
    while e < count:
        first = columns[e] * k
        _add_one(values[e], centres[first : first + k], dots)
        e += 1


@njit(cache=True, nogil=True, fastmath=_FLAGS)
def _descend(
    values: Any,
    columns: Any,
    count: int,
    flat: Any,
    half_squares: Any,
    offsets: Any,
    child: Any,
    d: int,
    cosine: bool,
    dots: Any,
) -> tuple[int, float]:
    """Follow one row from the first node to its block."""
    scale = 1.0
    if cosine:
        square = 0.0
        for e in range(count):
            square += values[e] * values[e]
        scale = 1.0 / np.sqrt(square) if square > 0 else 0.0
    node, best = np.int64(0), 0.0
    while node >= 0:
        first, last = offsets[node], offsets[node + 1]
        own = dots[: last - first]
        _products(values, columns, count, flat[d * first : d * last], own)
        best, where = np.inf, first
        for c in range(last - first):
            score = half_squares[first + c] - scale * own[c]
            if score < best:
                best, where = score, first + c
        node = np.int64(child[where])
    return int(-1 - node), best


@njit(cache=True, nogil=True, fastmath=_FLAGS)
def _nearest_dense(
    X: Any,
    flat: Any,
    half_squares: Any,
    offsets: Any,
    child: Any,
    cosine: bool,
    labels: Any,
    scores: Any,
) -> None:
    n, d = X.shape
    dots = np.empty(np.max(np.diff(offsets)))
    values, columns = np.empty(d + 1), np.empty(d + 1, dtype=np.int64)
    for i in range(n):
        count = 0
        for j in range(d):
            values[count] = X[i, j]
            columns[count] = j
            count += X[i, j] != 0
        labels[i], scores[i] = _descend(
            values, columns, count, flat, half_squares, offsets, child, d, cosine, dots
        )


@njit(cache=True, nogil=True, fastmath=_FLAGS)
def _nearest_csr(
    data: Any,
    indices: Any,
    indptr: Any,
    flat: Any,
    half_squares: Any,
    offsets: Any,
    child: Any,
    d: int,
    cosine: bool,
    labels: Any,
    scores: Any,
) -> None:
    dots = np.empty(np.max(np.diff(offsets)))
    longest = np.max(np.diff(indptr)) if indptr.shape[0] > 1 else 0
    values, columns = np.empty(longest + 1), np.empty(longest + 1, dtype=np.int64)
    for i in range(indptr.shape[0] - 1):
        count = 0
        for e in range(indptr[i], indptr[i + 1]):
            values[count] = data[e]
            columns[count] = indices[e]
            count += data[e] != 0
        labels[i], scores[i] = _descend(
            values, columns, count, flat, half_squares, offsets, child, d, cosine, dots
        )
