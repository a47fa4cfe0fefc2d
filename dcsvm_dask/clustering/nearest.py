"""The nearest centre in input space for dense and CSR rows.

A row's products with all centres are summed feature by feature in float64, in a fixed order and
without BLAS: its label depends on the row only, not on other rows of a chunk, and is the same for
dense and CSR rows. Zeros are skipped.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.clustering.tree import Tree
from dcsvm_dask.compiled import njit
from dcsvm_dask.kernels import Rows, is_sparse
from dcsvm_dask.kernels.vectors import INNER, LOOP_FLAGS, prefer_wide_vectors


class Centres(NamedTuple):
    """The centres of a tree, as compiled code takes them."""

    flat: NDArray[np.float32]
    """Result of `transposed_centres`."""
    half_squares: NDArray[np.float64]
    """|c|^2 / 2 of every centre, shape (n_centres,)."""
    offsets: NDArray[np.integer]
    """As those of `Tree`."""
    child: NDArray[np.integer]
    """As those of `Tree`."""
    d: int
    """Number of features."""
    cosine: bool
    """Whether rows are divided by their norms."""


def transposed_centres(tree: Tree, centres: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the transposed centres (d, n_centres) of each node, one node after the other."""
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
    """Return each row's block and score.

    The score is half the squared distance to the block's centre, less half the row's squared norm.

    Parameters
    ----------
    X : ndarray or CSR, shape (n, d), float32
    tree : Tree
    flat : ndarray, float32
        Result of `transposed_centres`.
    half_squares : ndarray, shape (n_centres,), float64
        |c|^2 / 2 of every centre.
    cosine : bool
        Whether to divide rows by their norms; a zero row stays zero.

    Returns
    -------
    labels : ndarray, shape (n,), int32
    scores : ndarray, shape (n,), float64
    """
    labels = np.empty(X.shape[0], dtype=np.int32)
    scores = np.empty(X.shape[0])
    room = np.empty(np.diff(tree.offsets).max())
    longest = np.diff(X.indptr).max(initial=0) if is_sparse(X) else X.shape[1]
    values, columns = np.empty(longest + 1), np.empty(longest + 1, dtype=np.int64)
    centres = Centres(flat, half_squares, tree.offsets, tree.child, X.shape[1], cosine)
    if is_sparse(X):
        rows = X.data, X.indices, X.indptr
        _nearest_csr(*rows, centres, values, columns, room, labels, scores)
    else:
        _nearest_dense(X, centres, values, columns, room, labels, scores)
    return labels, scores


@njit(**INNER, fastmath=LOOP_FLAGS)
def _score(
    values: Any, columns: Any, count: int, centres: Any, first: int, last: int, scores: Any
) -> None:
    """Compute scores[q] = |c|^2 / 2 - x.c of a row x for the centres c = first + q below last.

    The row is given by its first `count` `values`, which are not 0, and their `columns`. Slices are
    made inside: passing them costs as much as a short row.
    """
    prefer_wide_vectors()
    flat, half_squares = centres.flat, centres.half_squares
    start, k = centres.d * first, last - first
    for q in range(k):
        scores[q] = half_squares[first + q]
    e = 0
    while e + 4 <= count:
        A = flat[start + columns[e] * k : start + (columns[e] + 1) * k]
        B = flat[start + columns[e + 1] * k : start + (columns[e + 1] + 1) * k]
        C = flat[start + columns[e + 2] * k : start + (columns[e + 2] + 1) * k]
        D = flat[start + columns[e + 3] * k : start + (columns[e + 3] + 1) * k]
        for q in range(k):
            two = values[e] * np.float64(A[q]) + values[e + 1] * np.float64(B[q])
            more = values[e + 2] * np.float64(C[q]) + values[e + 3] * np.float64(D[q])
            scores[q] -= two + more
        e += 4
    while e < count:
        A = flat[start + columns[e] * k : start + (columns[e] + 1) * k]
        for q in range(k):
            scores[q] -= values[e] * np.float64(A[q])
        e += 1


@njit(cache=True, nogil=True)
def _descend(values: Any, columns: Any, count: int, centres: Any, scores: Any) -> tuple[int, float]:
    """Return the block of a row and its score, from the first node down."""
    if centres.cosine:
        square = 0.0
        for e in range(count):
            square += values[e] * values[e]
        for e in range(count):
            values[e] /= np.sqrt(square)
    node, best = np.int64(0), 0.0
    while node >= 0:
        first, last = centres.offsets[node], centres.offsets[node + 1]
        _score(values, columns, count, centres, first, last, scores)
        best, where = np.inf, first
        for c in range(last - first):
            if scores[c] < best:
                best, where = scores[c], first + c
        node = np.int64(centres.child[where])
    return int(-1 - node), best


@njit(cache=True, nogil=True)
def _nearest_dense(
    X: Any, centres: Any, values: Any, columns: Any, room: Any, labels: Any, scores: Any
) -> None:
    """Write the block of every row and its score; `values`, `columns` and `room` are scratch."""
    for i in range(X.shape[0]):
        count = np.int64(0)  # a literal 0 would be a type of its own
        for j in range(centres.d):
            values[count] = X[i, j]
            columns[count] = j
            count += X[i, j] != 0
        labels[i], scores[i] = _descend(values, columns, count, centres, room)


@njit(cache=True, nogil=True)
def _nearest_csr(
    data: Any,
    indices: Any,
    indptr: Any,
    centres: Any,
    values: Any,
    columns: Any,
    room: Any,
    labels: Any,
    scores: Any,
) -> None:
    """Do as `_nearest_dense` for CSR rows."""
    for i in range(indptr.shape[0] - 1):
        count = np.int64(0)
        for e in range(indptr[i], indptr[i + 1]):
            values[count] = data[e]
            columns[count] = indices[e]
            count += data[e] != 0
        labels[i], scores[i] = _descend(values, columns, count, centres, room)
