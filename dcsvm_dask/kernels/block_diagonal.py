"""A block-diagonal kernel matrix times a vector: every block of rows meets its own columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.compiled import njit
from dcsvm_dask.kernels.columns import (
    MOST_DIFFERENCES,
    ROWS,
    row_tile,
    widest_radius,
)
from dcsvm_dask.kernels.kernel import Kernel
from dcsvm_dask.kernels.kinds import LN2, SQUARED_DISTANCE
from dcsvm_dask.kernels.product import check_finite, kernel_product
from dcsvm_dask.kernels.rows import Rows, check_pair, is_sparse
from dcsvm_dask.kernels.tiles import (
    L1_DIFFERENCES,
    PRODUCTS,
    DenseTile,
    Function,
    Into,
    by_differences,
    by_l1_distances,
    by_products,
)
from dcsvm_dask.kernels.vectors import INNER, SUM_FLAGS

Vector = NDArray[np.float64]
Indices = NDArray[np.int64]


def block_diagonal_product(
    kernel: Kernel,
    X: Rows,
    members: Indices,
    borders: Indices,
    Z: Rows,
    offsets: Indices,
    v: Vector,
) -> Vector:
    """Return sum_j K(x_i, z_j) v_j over the columns j of the block of every row x_i.

    What `kernel_product` in float32 gives for each block on its own. Dense blocks are met in one
    compiled loop, because for a few hundred rows and columns a call costs more than the product.
    Give BLAS one thread.

    Parameters
    ----------
    kernel : Kernel
    X : ndarray or CSR, shape (n, d), float32
        Finite.
    members : ndarray, shape (m,), int64
        Rows of X, block after block; the sum of a row that is not among them is 0.
    borders : ndarray, shape (G + 1,), int64
        Block g has the rows members[borders[g]:borders[g + 1]].
    Z : ndarray or CSR, shape (k, d), float32
        Finite, stored in the same way as X.
    offsets : ndarray, shape (G + 1,), int64
        Block g has the columns from offsets[g] to offsets[g + 1].
    v : ndarray, shape (k,), float64

    Returns
    -------
    ndarray, shape (n,), float64

    Raises
    ------
    InputError
        If rows do not fit to each other, or the result is not finite.
    """
    X, Z = check_pair(X, Z)
    out = np.zeros(X.shape[0])
    blocks = np.flatnonzero((np.diff(borders) > 0) & (np.diff(offsets) > 0))
    if len(blocks) and not is_sparse(X):
        d = X.shape[1]
        # A tile of equal rows is of the kind of all that are narrow.
        like = row_tile(kernel, np.repeat(X[:1], ROWS, axis=0), np.float32, all_features=True)
        centred = kernel.kind.argument == SQUARED_DISTANCE and like.how == PRODUCTS
        widest = widest_radius(kernel, PRODUCTS, d) if centred else np.inf
        left = np.zeros(len(blocks), np.bool_)
        l1 = True if like.how == L1_DIFFERENCES else None
        _sum_blocks(
            like.function, like.how, l1, centred, widest, d <= MOST_DIFFERENCES, X, members,
            borders, Z, offsets, v, blocks, like.chunk, ROWS, out, left,
        )  # fmt: skip
        blocks = blocks[left]
    for g in blocks:
        rows, own = members[borders[g] : borders[g + 1]], slice(offsets[g], offsets[g + 1])
        out[rows] = kernel_product(kernel, X[rows], Z[own], v[own])[0]
    check_finite(kernel, out)
    return out


@njit(**INNER, fastmath=SUM_FLAGS)
def _mean(X: Any, rows: Any, centre: Any) -> None:
    total = np.zeros(len(centre))
    for i in rows:
        for f in range(len(centre)):
            total[f] += X[i, f]
    for f in range(len(centre)):
        centre[f] = total[f] / len(rows)


@njit(**INNER, fastmath=SUM_FLAGS)
def _take(X: Any, rows: Any, centre: Any, F: Any, squares: Any) -> float:
    """Put rows less the centre into F, by feature, their squared norms beside it: the largest."""
    most = 0.0
    for i in range(len(rows)):
        square = 0.0
        for f in range(len(centre)):
            x = F.dtype.type(X[rows[i], f]) - centre[f]
            F[f, i] = x
            square += np.float64(x) * np.float64(x)
        squares[i] = square
        most = max(most, square)
    return most


@njit(cache=True, nogil=True)
def _sum_blocks(
    function: Any,
    how: Any,
    l1: Any,
    centred: bool,
    widest: float,
    few: bool,
    X: Any,
    members: Any,
    borders: Any,
    Z: Any,
    offsets: Any,
    v: Any,
    blocks: Any,
    chunk: int,
    most_rows: int,
    out: Any,
    left: Any,
) -> None:
    """Sums of the rows of each block, in tiles as `row_tile` makes them; float64 ones are left.

    With L1 distances, where `l1` is not None, it is compiled by itself.
    """
    d = X.shape[1]
    origin, mean = np.zeros(d, np.float32), np.zeros(d, np.float32)
    no_spread, no_block = np.empty(0), np.empty((0, 0), np.float32)
    column = np.int64(0)  # a literal 0 would be a type of its own
    stop, group = np.zeros(1, np.int64), np.zeros(1, np.int64)
    every, none, all_count = np.empty(0, np.int64), np.empty(0), np.ones(d)
    of_differences = Function(
        function.function, np.float32(-0.5) * function.scale, function.degree, function.coef0
    )
    for q in range(len(blocks)):
        g = blocks[q]
        own, w = np.arange(offsets[g], offsets[g + 1]), v[offsets[g] : offsets[g + 1]]
        stop[0] = len(own)
        for start in range(borders[g], borders[g + 1], most_rows):
            rows = members[start : min(start + most_rows, borders[g + 1])]
            n = len(rows)
            F, a = np.empty((d, n), np.float32), np.zeros(n)
            centre, apart, own_function = origin, how != PRODUCTS, function
            if centred:
                _mean(X, rows, mean)
                centre = mean
            if _take(X, rows, centre, F, a) > widest * widest:
                if not few:
                    left[q] = True
                    break
                centre, apart, own_function = origin, True, of_differences
                _take(X, rows, centre, F, a)
            shifted = centred and not apart
            for i in range(n):
                a[i] *= -0.5 if shifted else 0.0
            sums = np.zeros((1, n))
            tile = DenseTile(F, a, centre, d, every, all_count if shifted else none)
            into = Into(w, no_spread, stop, group, sums, no_spread, no_block, column)
            if l1 is not None:
                by_l1_distances(own_function, tile, Z, own, chunk, into)
            elif apart:
                by_differences(own_function, tile, Z, own, chunk, into)
            else:
                by_products(own_function, tile, Z, own, chunk, into)
            for i in range(n):
                # What rounding `a` did is put right, to first order.
                slip = np.float64(own_function.scale) * (a[i] - np.float64(np.float32(a[i])))
                out[rows[i]] = sums[0, i] * (1 + LN2 * slip)
