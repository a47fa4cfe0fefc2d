"""Blocks of the kernel matrix."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.kernels.bounds import CONFIDENCE, decay_error, dot_error, unit, whole_sums_error
from dcsvm_dask.kernels.columns import ROWS, row_tile, stored, tile_ranges
from dcsvm_dask.kernels.far import segments
from dcsvm_dask.kernels.kernel import Kernel
from dcsvm_dask.kernels.kinds import L1_DISTANCE
from dcsvm_dask.kernels.mirror import mirror, mirror_tile
from dcsvm_dask.kernels.rows import Rows, check_pair, check_rows, is_sparse, squared_norms
from dcsvm_dask.kernels.threads import for_each
from dcsvm_dask.kernels.tiles import written
from dcsvm_dask.kernels.whole_numbers import small_whole_numbers

MIRRORED = 1024
"""Rows that a thread mirrors at a time."""
MUCH_WORK = 10**8
"""Multiplications of a matrix that are worth more tiles: about a millisecond."""
LITTLE_WORK, FUNCTION = 3e7, 50
"""Multiplications of a matrix up to which one thread is done sooner than others have begun, and as
how many of them the function of a kernel counts.
"""
SumsError = Callable[
    [NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]
]


def kernel_matrix(
    kernel: Kernel,
    X: Rows,
    Z: Rows | None = None,
    *,
    dtype: Any = np.float32,
    tile_dtype: Any = None,
    least: float = 0.0,
    threads: int = 1,
) -> NDArray[Any]:
    """Return K(x_i, z_j) for all pairs of rows; see `counted_kernel_matrix`."""
    return counted_kernel_matrix(
        kernel, X, Z, dtype=dtype, tile_dtype=tile_dtype, least=least, threads=threads
    )[0]


def counted_kernel_matrix(
    kernel: Kernel,
    X: Rows,
    Z: Rows | None = None,
    *,
    dtype: Any = np.float32,
    tile_dtype: Any = None,
    least: float = 0.0,
    threads: int = 1,
    memory: NDArray[Any] | None = None,
) -> tuple[NDArray[Any], int]:
    """Return K(x_i, z_j) for all pairs of rows, and the number of kernel values computed.

    Parameters
    ----------
    kernel : Kernel
    X : ndarray or CSR, shape (n, d), float32
        Finite.
    Z : ndarray or CSR, shape (m, d), float32, optional
        None stands for X: every pair is then computed once, the result is exactly symmetric, and
        for shift-invariant kernels its diagonal is exactly 1.
    dtype : float32 or float64, default float32
        Of the result.
    tile_dtype : float32 or float64, optional
        Precision of the computation; `dtype` by default. Errors are those of `kernel_product`:
        in float32, for shift-invariant kernels, a standard deviation of at most 2^-18 whatever
        gamma is, mostly far less. Float64 computation with a float32 result leaves one rounding: a
        relative error of 2^-24.
    least : float, default 0.0
        Pairs of tiles whose kernel values are all below this, by their bounding boxes, are left
        at zero. For dense rows and shift-invariant kernels, best in `kd_order`.
    threads : int, default 1
        Threads that share the tiles; the result is the same. Give BLAS one.
    memory : ndarray, shape (n m or more,), `dtype`, optional
        What K is written into, from its start on: callers that make one matrix after the other
        need the memory of one.

    Returns
    -------
    K : ndarray, shape (n, m), `dtype`
        With `memory` a view of it.
    computed : int

    Raises
    ------
    InputError
        If the shapes of X and Z do not fit.
    """
    X, other = (check_rows(X, "X"),) * 2 if Z is None else check_pair(X, Z)
    storage = stored(X)
    n, m = X.shape[0], other.shape[0]
    everything = np.arange(n)
    far = None
    if least > 0 and kernel.is_shift_invariant and not is_sparse(X):
        far = segments(X, everything, np.ones(n))
    if memory is not None:
        out = memory[: n * m].reshape(n, m)
        if far is not None:
            out.fill(0)
    else:
        out = np.empty((n, m), dtype=dtype) if far is None else np.zeros((n, m), dtype=dtype)
    computed: list[int] = []
    is_whole = cache(partial(small_whole_numbers, X))

    def work(of: tuple[int, int]) -> None:
        start, stop = of
        rows = other[start:stop]
        tile = row_tile(kernel, rows, dtype if tile_dtype is None else tile_dtype, whole=is_whole)
        first = start if Z is None else 0
        chosen = everything[first:]
        if far is not None:
            gaps = far.gaps(rows, kernel.kind.argument == L1_DISTANCE)
            near = far.columns(kernel.value(gaps) >= least)
            chosen = near[np.searchsorted(near, first) :]
        computed.append(len(chosen) * (stop - start))
        direct = tile.dtype == out.dtype
        block = out if direct else np.empty((n, stop - start), tile.dtype)
        tile.meet(storage, chosen, written(block, start if direct else 0))
        if not direct:
            out[chosen, start:stop] = block[chosen]
        if far is not None and Z is None:
            # Only what is near needs its mirror image; it is a small part of the matrix.
            mirror_tile(out, start, stop, chosen)

    height = tile_height(m, n * other.shape[1])
    threads = threads_for(n, m, other.shape[1], threads)
    for_each(work, tile_ranges(other, compact=far is not None, rows=height), threads)
    if Z is None and far is None:
        for_each(lambda first: mirror(out, first, first + MIRRORED), range(0, n, MIRRORED), threads)
    if Z is None and kernel.is_shift_invariant:
        np.fill_diagonal(out, 1)
    return out, sum(computed)


def threads_for(n: int, m: int, features: int, threads: int) -> int:
    """Return how many of the threads are worth it for so many kernel values: one for few.

    Parameters
    ----------
    n, m, features : int
        Rows of both sides, and their features.
    threads : int
    """
    return 1 if n * m * (features + FUNCTION) <= LITTLE_WORK else threads


def tile_height(rows: int, each: int) -> int:
    """Return the rows of a tile; `each` is the multiplications that a row takes, at most.

    Where a tile is much work there are eight, so that several threads end at about the same time.
    """
    if rows * each < MUCH_WORK:
        return ROWS
    return min(ROWS, max(64, 64 * -(-rows // 512)))


def matrix_sums_error(kernel: Kernel, X: Rows) -> SumsError:
    """Return what bounds the errors of sums of rows of the float32 kernel matrix of X.

    As `product_error_bound`, five standard deviations and a unit of the sum; a model, no proof.

    Parameters
    ----------
    kernel : Kernel
    X : ndarray or CSR, shape (n, d), float32

    Returns
    -------
    callable
        Given v, sums of K(x_i, x_j) v_j and of K(x_i, x_j) |v_j|, it bounds errors of the former.
    """
    if not kernel.is_shift_invariant:
        return partial(_dot_sums_error, kernel, X)
    is_whole, largest, exact = cache(partial(small_whole_numbers, X)), 0.0, False
    for start, stop in tile_ranges(X):
        tile = row_tile(kernel, X[start:stop], np.float32, whole=is_whole)
        exact |= tile.exact
        if not tile.exact:
            largest = max(largest, decay_error(kernel, tile.dtype, tile.terms, tile.radius))
    one = largest + unit(np.float32)  # of float64 tiles, too, the matrix has float32 values

    def bound(
        v: NDArray[np.float64], sums: NDArray[np.float64], sizes: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        weights = np.abs(v)
        squares = weights.max(initial=0.0) * sizes
        modelled = CONFIDENCE * one * np.sqrt(squares) + unit(np.float32) * np.abs(sums)
        if exact:
            return np.maximum(modelled, whole_sums_error(sizes, float(weights.sum())))
        return np.asarray(modelled)

    return bound


def dot_products_error(kernel: Kernel, X: Rows, v: NDArray[np.float64]) -> float:
    """Return what sums of float32 kernel values may be off by through their inner products.

    A part of what `matrix_sums_error` bounds, which is known without the sums.

    Parameters
    ----------
    kernel : Kernel
        Of inner products.
    X : ndarray or CSR, shape (n, d), float32
    v : ndarray, shape (n,)
        The factors of the kernel values K(x_i, x_j) v_j.
    """
    norms = np.sqrt(squared_norms(X))
    terms = int(np.diff(X.indptr).max()) if is_sparse(X) else X.shape[1]
    each = dot_error(kernel, np.float32, terms, float(norms.max()), norms)
    return CONFIDENCE * float(np.linalg.norm(v * each))


def _dot_sums_error(
    kernel: Kernel,
    X: Rows,
    v: NDArray[np.float64],
    sums: NDArray[np.float64],
    sizes: NDArray[np.float64],
) -> NDArray[np.float64]:
    return dot_products_error(kernel, X, v) + unit(np.float32) * (np.abs(sums) + sizes)
