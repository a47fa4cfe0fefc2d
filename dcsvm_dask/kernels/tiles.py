"""Compiled work on one tile: a run of rows against columns that are taken by the hundred.

The columns of a chunk are gathered and shifted into B; T of shape (columns, rows) takes inner
products or distances first, then kernel values, and is small enough to stay in cache. Sums are
in float64. Every way in which pairs of rows meet is a function of its own, so that those that are
not used are not compiled.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.compiled import njit
from dcsvm_dask.kernels.kinds import LN2
from dcsvm_dask.kernels.pairs import (
    gather,
    inner_products,
    manhattan_distances,
    sparse_products,
    split_products,
    squared_distances,
)
from dcsvm_dask.kernels.values import to_values
from dcsvm_dask.kernels.vectors import INNER, LOOP_FLAGS, prefer_wide_vectors

Index = NDArray[np.int64]
Vector = NDArray[np.float64]


PRODUCTS, DIFFERENCES, L1_DIFFERENCES, LOOPS, SPLIT, SPARSE = range(6)
"""How pairs of rows meet: by BLAS, by squared or absolute differences of features, by products
feature by feature, by BLAS for some features at a time, or through the features in use.
"""


class Function(NamedTuple):
    """What makes kernel values of products or distances; see `to_values`."""

    function: int
    scale: Any
    degree: int
    coef0: Any


class DenseTile(NamedTuple):
    """Dense rows of a tile."""

    F: NDArray[Any]
    """Shape (features, rows), less the centre."""
    a: Vector
    """What each row adds to products, shape (rows,)."""
    centre: NDArray[Any]
    """What was taken from each row, shape (d,)."""
    width: int
    """As `split_products` takes it."""
    features: Index
    """Those of F, as `gather` takes them."""
    counted: Vector
    """By how much each feature counts in what a column adds, as `gather` takes them."""


class SparseTile(NamedTuple):
    """CSR rows of a tile, as `sparse_products` takes them."""

    F: NDArray[Any]
    """Shape (features, rows): the features that are not rare."""
    a: Vector
    """What each row adds to products, shape (rows,)."""
    position: NDArray[np.int32]
    rare_start: Index
    rare_row: NDArray[np.int32]
    rare_value: NDArray[Any]
    l1: bool
    """Whether L1 distances are asked for, ..."""
    inner: bool
    """... or inner products as they are."""


class Csr(NamedTuple):
    """CSR rows that meet a tile."""

    data: NDArray[Any]
    indices: NDArray[np.int32]
    indptr: Index


class Into(NamedTuple):
    """What the kernel values of a tile of rows x_i with the chosen z_j are summed or written into.

    Where `sums` has rows: sums[g, i] += K(x_i, z_j) w_j over the chosen j; those of group
    run_group[q] are the chosen from run_stop[q - 1] to run_stop[q].
    Where `spread` is not empty: spread[i] += K(x_i, z_j) u_j over all chosen j.
    Where `block` has rows: block[j, column + i] = K(x_i, z_j).
    """

    w: Vector
    u: Vector
    run_stop: Index
    run_group: Index
    sums: Vector
    spread: Vector
    block: NDArray[Any]
    column: Any


def written(block: NDArray[Any], column: int) -> Into:
    """Return what writes kernel values into a block, from a column on."""
    none, nowhere = np.empty(0, np.int64), np.empty(0)
    return Into(nowhere, nowhere, none, none, np.empty((0, 0)), nowhere, block, column)


@njit(**INNER, fastmath=LOOP_FLAGS)
def accumulate(T: Any, start: Any, stop: Any, w: Any, out: Any) -> None:
    """out[i] += sum over j from start to stop of T[j, i] w[j], in float64."""
    prefer_wide_vectors()
    whole = start + (stop - start) // 4 * 4
    for j in range(start, whole, 4):
        w0, w1, w2, w3 = w[j], w[j + 1], w[j + 2], w[j + 3]
        for i in range(T.shape[1]):
            near = np.float64(T[j, i]) * w0 + np.float64(T[j + 1, i]) * w1
            out[i] += near + (np.float64(T[j + 2, i]) * w2 + np.float64(T[j + 3, i]) * w3)
    for j in range(whole, stop):
        for i in range(T.shape[1]):
            out[i] += np.float64(T[j, i]) * w[j]


@njit(**INNER)
def finish(
    function: Any, T: Any, own: Any, square: Any, part: Any, first: Any, run: Any, into: Any
) -> Any:
    """Make kernel values of a chunk's products or distances, and put them where they belong.

    `part` are the chosen from `first` on, `run` is the group of the first of them; returns that of
    the next. `square` are the squared norms (or L1 norms) of the columns.
    """
    n, rows = T.shape
    b = np.empty(n, T.dtype)
    for r in range(n):
        b[r] = -0.5 * square[r]
    to_values(T, function.function, function.scale, function.degree, function.coef0, own, b)
    if into.sums.shape[0] > 0:
        weight = np.empty(n)
        for r in range(n):
            # b was rounded: put right what that did, to first order, in the weight.
            slip = -0.5 * square[r] - np.float64(b[r])
            weight[r] = into.w[first + r] * (1 + LN2 * function.scale * slip)
        start = np.int64(0)  # a literal 0 would be a type of its own
        while start < n:
            stop = min(into.run_stop[run] - first, n)
            accumulate(T, start, stop, weight, into.sums[into.run_group[run]])
            start = stop
            if first + stop == into.run_stop[run]:
                run += 1
    if len(into.spread) > 0:
        accumulate(T, np.int64(0), n, into.u[first : first + n], into.spread)
    if into.block.shape[0] > 0:
        for r in range(n):
            for i in range(rows):
                into.block[part[r], into.column + i] = T[r, i]
    return run


@njit(cache=True, nogil=True)
def by_products(function: Any, tile: Any, Z: Any, chosen: Any, chunk: Any, into: Any) -> None:
    """Let dense rows meet by a product of BLAS."""
    own, square = tile.a.astype(tile.F.dtype), np.zeros(chunk)
    B = np.empty((chunk, tile.F.shape[0]), tile.F.dtype)
    buffer = np.empty((chunk, tile.F.shape[1]), tile.F.dtype)
    run = np.int64(0)
    for first in range(0, len(chosen), chunk):
        part = chosen[first : first + chunk]
        T = buffer[: len(part)]
        gather(Z, part, tile.centre, tile.features, tile.counted, False, B, square)
        np.dot(B[: len(part)], tile.F, T)
        run = finish(function, T, own, square, part, first, run, into)


@njit(cache=True, nogil=True)
def by_differences(function: Any, tile: Any, Z: Any, chosen: Any, chunk: Any, into: Any) -> None:
    """Let dense rows meet by squared differences; `chunk` is a multiple of four."""
    own, square = tile.a.astype(tile.F.dtype), np.zeros(chunk)
    B = np.empty((chunk, tile.F.shape[0]), tile.F.dtype)
    buffer = np.empty((chunk, tile.F.shape[1]), tile.F.dtype)
    run = np.int64(0)
    for first in range(0, len(chosen), chunk):
        part = chosen[first : first + chunk]
        gather(Z, part, tile.centre, tile.features, tile.counted, False, B, square)
        squared_distances(B[: len(part)], tile.F, buffer)
        run = finish(function, buffer[: len(part)], own, square, part, first, run, into)


@njit(cache=True, nogil=True)
def by_l1_distances(function: Any, tile: Any, Z: Any, chosen: Any, chunk: Any, into: Any) -> None:
    """Let dense rows meet by absolute differences; `chunk` is even."""
    own, square = tile.a.astype(tile.F.dtype), np.zeros(chunk)
    B = np.empty((chunk, tile.F.shape[0]), tile.F.dtype)
    buffer = np.empty((chunk, tile.F.shape[1]), tile.F.dtype)
    run = np.int64(0)
    for first in range(0, len(chosen), chunk):
        part = chosen[first : first + chunk]
        gather(Z, part, tile.centre, tile.features, tile.counted, True, B, square)
        manhattan_distances(B[: len(part)], tile.F, buffer)
        run = finish(function, buffer[: len(part)], own, square, part, first, run, into)


@njit(cache=True, nogil=True)
def by_loops(function: Any, tile: Any, Z: Any, chosen: Any, chunk: Any, into: Any) -> None:
    """Let dense rows meet by products feature by feature; `chunk` is a multiple of four."""
    own, square = tile.a.astype(tile.F.dtype), np.zeros(chunk)
    B = np.empty((chunk, tile.F.shape[0]), tile.F.dtype)
    buffer = np.empty((chunk, tile.F.shape[1]), tile.F.dtype)
    run = np.int64(0)
    for first in range(0, len(chosen), chunk):
        part = chosen[first : first + chunk]
        gather(Z, part, tile.centre, tile.features, tile.counted, False, B, square)
        inner_products(B[: len(part)], tile.F, buffer)
        run = finish(function, buffer[: len(part)], own, square, part, first, run, into)


@njit(cache=True, nogil=True)
def by_parts(function: Any, tile: Any, Z: Any, chosen: Any, chunk: Any, into: Any) -> None:
    """Let dense rows meet by BLAS for some features at a time, whose sum is in float64."""
    rows = tile.F.shape[1]
    # What rows and columns add is in the sum already.
    own, square = np.zeros(rows, tile.F.dtype), np.zeros(chunk)
    total = np.empty((chunk, rows))
    buffer = np.empty((chunk, rows), tile.F.dtype)
    run = np.int64(0)
    for first in range(0, len(chosen), chunk):
        part = chosen[first : first + chunk]
        T = buffer[: len(part)]
        split_products(Z, part, tile.centre, tile.F, tile.width, tile.a, total, T)
        run = finish(function, T, own, square, part, first, run, into)


@njit(cache=True, nogil=True)
def by_features_in_use(
    function: Any, tile: Any, Z: Any, chosen: Any, chunk: Any, into: Any
) -> None:
    """Let CSR rows meet through the features in use."""
    own, square = tile.a.astype(tile.F.dtype), np.zeros(chunk)
    buffer = np.empty((chunk, tile.F.shape[1]), tile.F.dtype)
    run = np.int64(0)
    for first in range(0, len(chosen), chunk):
        part = chosen[first : first + chunk]
        T = buffer[: len(part)]
        sparse_products(
            Z.data,
            Z.indices,
            Z.indptr,
            part,
            tile.position,
            tile.F,
            tile.rare_start,
            tile.rare_row,
            tile.rare_value,
            tile.l1,
            T,
            square,
        )
        if tile.inner:
            square[:] = 0
        run = finish(function, T, own, square, part, first, run, into)


WAYS = {
    PRODUCTS: by_products,
    DIFFERENCES: by_differences,
    L1_DIFFERENCES: by_l1_distances,
    LOOPS: by_loops,
    SPLIT: by_parts,
    SPARSE: by_features_in_use,
}
"""Called as way(function, tile, Z, chosen, chunk, into), for the rows of Z that are chosen."""
