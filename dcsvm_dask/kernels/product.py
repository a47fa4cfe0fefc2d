"""Kernel matrix times vector, fused: a kernel value lives in cache, for one use only."""

from __future__ import annotations

from functools import cache, partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels.bounds import CONFIDENCE, decay_error, dot_error, unit, whole_sums_error
from dcsvm_dask.kernels.columns import RowTile, row_tile, stored, tile_ranges
from dcsvm_dask.kernels.far import Segments, affordable, segments
from dcsvm_dask.kernels.kernel import Kernel
from dcsvm_dask.kernels.kinds import L1_DISTANCE
from dcsvm_dask.kernels.linear_sums import sums_error, times_weights, weights_of
from dcsvm_dask.kernels.matrix import threads_for
from dcsvm_dask.kernels.rows import Rows, check_pair, is_sparse, squared_norms
from dcsvm_dask.kernels.sampled_errors import in_question, sample, seen_share
from dcsvm_dask.kernels.threads import for_each
from dcsvm_dask.kernels.tiles import Into
from dcsvm_dask.kernels.whole_numbers import small_whole_numbers

Vector = NDArray[np.float64]


def kernel_product(
    kernel: Kernel,
    X: Rows,
    Z: Rows,
    v: Vector,
    *,
    groups: NDArray[np.int64] | None = None,
    dtype: Any = np.float32,
    budget: float = 0.0,
    tol: float | None = None,
    doubt: tuple[Vector, Vector] | None = None,
    threads: int = 1,
) -> tuple[Vector, int]:
    """Return sum_j K(x_i, z_j) v_j for every row x_i, and the number of kernel values computed.

    A tile of 512 rows (256 with a budget) meets columns by the hundred; products come from BLAS,
    the exponential is a polynomial, sums are in float64. Columns with v_j = 0 cost nothing. Of the
    linear kernel sums come from one vector of weights, in float64 and without kernel values. Give
    BLAS one thread.

    Parameters
    ----------
    kernel : Kernel
    X : ndarray or CSR, shape (n, d), float32
        Finite. Both in `kd_order` make `budget` work, and centres near the rows.
    Z : ndarray or CSR, shape (m, d), float32
        Finite, stored in the same way as X.
    v : ndarray, shape (m,)
    groups : ndarray, shape (G + 1,), optional
        Offsets from 0 to m, not falling: one sum for each run of columns.
    dtype : float32 or float64, default float32
        Precision of kernel values. In float32, exponents of shift-invariant kernels are computed so
        that the error of a kernel value has a standard deviation of at most 2^-18, whatever
        gamma is (in most tiles it is far less): tiles that are too wide for the fast way take
        differences of rows, or float64. For the others the error is relative to the size of
        products, as in any float32 product. In float64 errors are about 1e-14.
    budget : float, default 0.0
        From 0. Pairs of tiles are left out, the least important first, as long as the sum of
        their largest kernel value (from their bounding boxes) times sum |v_j| is at most this,
        for every row. For dense rows and shift-invariant kernels; others ignore it.
    tol : float, optional
        Above 0. Rows whose sums, by the estimate of `product_error_bound`, may be off by more
        than this (the sum over groups together) are computed again in float64. Where those are
        many, some of them show by how much the estimate is too careful.
    doubt : tuple (low, high) of ndarrays, shape (n,), optional
        With `tol`: a row whose sum is outside of low_i to high_i whatever its error is stays as
        it is. Infinite ends are possible.
    threads : int, default 1
        Threads that share the tiles; the result is the same.

    Returns
    -------
    product : ndarray, shape (n,) or, with groups, (n, G), float64
    computed : int

    Raises
    ------
    InputError
        If shapes do not fit, or the result is not finite.
    """
    X, Z = check_pair(X, Z)
    work = _Product(kernel, Z, v, _check_groups(groups, Z.shape[0]), budget)
    if kernel.is_linear:
        parts = pairwise(work.offsets.tolist())
        W = [weights_of(Z[start:stop], work.v[start:stop, None]) for start, stop in parts]
        out = times_weights(X, np.hstack([np.empty((Z.shape[1], 0)), *W]), threads)
        check_finite(kernel, out)
        return (out[:, 0] if groups is None else out), 0
    out = np.empty((X.shape[0], work.groups))
    compact = work.segments is not None
    computed: list[int] = []
    bounds = np.zeros(X.shape[0])

    def sum_tile(of: tuple[int, int]) -> None:
        start, stop = of
        rows = X[start:stop]
        chosen = work.near(rows)
        if not len(chosen):
            out[start:stop] = 0.0
            return
        tile = row_tile(kernel, rows, dtype, whole=work.is_whole)
        out[start:stop], bound = work.sums(tile, chosen, bounded=tol is not None)
        computed.append(rows.shape[0] * len(chosen))
        if tol is not None and tile.dtype == np.float32:
            bounds[start:stop] = bound

    def sum_exactly(rows: NDArray[np.int64]) -> None:
        chosen = work.near(X[rows])
        out[rows] = work.sums(row_tile(kernel, X[rows], np.float64), chosen)[0]
        bounds[rows] = 0.0
        computed.append(len(rows) * len(chosen))

    def sum_all_exactly(rows: NDArray[np.int64]) -> None:
        # Full tiles are the fastest; but rows of several compact ones are not compact.
        cuts = (
            np.searchsorted(rows, [start for start, _ in tiles])
            if compact
            else [start for start, _ in tile_ranges(X[rows])]
        )
        for_each(sum_exactly, [part for part in np.split(rows, cuts) if len(part)], threads)

    tiles = list(tile_ranges(X, compact=compact))
    threads = threads_for(X.shape[0], len(work.columns), X.shape[1], threads)
    for_each(sum_tile, tiles, threads)
    if tol is not None:
        some = sample(in_question(out, bounds, tol, doubt), bounds)
        rough, modelled = out[some], bounds[some]
        sum_all_exactly(some)
        bounds *= seen_share(modelled, np.abs(out[some] - rough).sum(axis=1))
        sum_all_exactly(in_question(out, bounds, tol, doubt))
    check_finite(kernel, out)
    return (out[:, 0] if groups is None else out), sum(computed)


def check_finite(kernel: Kernel, sums: Vector) -> None:
    """Raise InputError if sums of kernel values are not all finite."""
    if not np.isfinite(sums).all():
        raise InputError(
            f"The {kernel.name} kernel has values that are not finite; look for such values in "
            "the rows, scale the features, or lower gamma or degree."
        )


def product_error_bound(
    kernel: Kernel, X: Rows, Z: Rows, v: Vector, *, dtype: Any = np.float32, budget: float = 0.0
) -> Vector:
    """Bound the rounding error of every row's sum in `kernel_product` with the same arguments.

    Errors of kernel values, of a standard deviation that follows from the tile's radius and the
    values themselves, add as squares, weighted by v; the bound is five standard deviations and a
    unit of the sum itself. It is a model, not a proof (see `dcsvm_dask.kernels.bounds`): where Z
    repeats rows many times, or distances take only a few different values, errors are alike and
    their sum can be larger. Costs as much as the product; meant for a sample of the rows.

    Returns
    -------
    ndarray, shape (n,), float64
    """
    X, Z = check_pair(X, Z)
    if kernel.is_linear:
        return sums_error(X, Z, v)
    work = _Product(kernel, Z, v, np.array([0, Z.shape[0]]), budget)
    out = np.empty(X.shape[0])
    for start, stop in tile_ranges(X, compact=work.segments is not None):
        rows = X[start:stop]
        tile = row_tile(kernel, rows, dtype, whole=work.is_whole)
        out[start:stop] = work.sums(tile, work.near(rows), bounded=True)[1]
    return out


class _Product:
    """The columns and weights of a product, and what they give with a tile of rows."""

    def __init__(
        self, kernel: Kernel, Z: Rows, v: Vector, offsets: NDArray[np.int64], budget: float
    ) -> None:
        self.kernel = kernel
        self.v = np.asarray(v, dtype=np.float64)
        if self.v.shape != (Z.shape[0],):
            raise InputError(
                f"v has shape {self.v.shape}; give one number for each of {Z.shape[0]} rows."
            )
        self.offsets = offsets
        self.groups = len(offsets) - 1
        self.budget = budget
        self.columns = np.flatnonzero(self.v)
        self.is_whole = cache(partial(small_whole_numbers, Z))
        self.storage = stored(Z)
        self.segments: Segments | None = None
        if budget > 0 and kernel.is_shift_invariant and not is_sparse(Z):
            self.segments = segments(Z, self.columns, self.v[self.columns])
        self.norms = None if kernel.is_shift_invariant else np.sqrt(squared_norms(Z))

    def near(self, rows: Rows) -> NDArray[np.int64]:
        """Return the columns that the budget does not let a tile leave out."""
        if self.segments is None:
            return self.columns
        gaps = self.segments.gaps(rows, self.kernel.kind.argument == L1_DISTANCE)
        cost = self.kernel.value(gaps) * self.segments.mass
        return self.columns[self.segments.columns(~affordable(cost, self.budget))]

    def sums(
        self, tile: RowTile, chosen: NDArray[np.int64], *, bounded: bool = False
    ) -> tuple[Vector, Vector]:
        """Return the sums over the chosen columns, (rows, groups), and if asked their bounds."""
        rows = tile.n_rows
        stops = np.searchsorted(chosen, self.offsets[1:])
        used = np.flatnonzero(np.diff(stops, prepend=0))
        sums = np.zeros((self.groups, rows))
        spread = np.zeros(rows if bounded else 0)
        v = self.v[chosen]
        of_errors = np.empty(0) if not bounded else np.abs(v) if tile.exact else v**2
        nowhere = np.empty((0, 0), tile.dtype)
        into = Into(v, of_errors, stops[used], used, sums, spread, nowhere, 0)
        tile.meet(self.storage, chosen, into)
        sums *= tile.correction
        if bounded and tile.exact:
            return sums.T, whole_sums_error(spread, float(np.abs(v).sum()))
        if bounded:
            if self.norms is None:
                one = decay_error(self.kernel, tile.dtype, tile.terms, tile.radius)
                spread = one * np.sqrt(spread)
            else:
                norms = self.norms[chosen]
                each = dot_error(self.kernel, tile.dtype, tile.terms, tile.radius, norms)
                spread = np.full(rows, np.sqrt(v**2 @ each**2))
            # Errors that all values share (of the rounded gamma, above all) scale the sums.
            shared = unit(tile.dtype) * np.abs(sums).sum(axis=0)
            spread = CONFIDENCE * spread + shared
        return sums.T, spread


def _check_groups(groups: NDArray[np.int64] | None, n: int) -> NDArray[np.int64]:
    if groups is None:
        return np.array([0, n])
    groups = np.asarray(groups, dtype=np.int64)
    if groups.ndim != 1 or len(groups) < 1 or groups[0] != 0 or groups[-1] != n:
        raise InputError(f"groups must be offsets that start at 0 and end at {n}.")
    if np.any(np.diff(groups) < 0):
        raise InputError("groups must be offsets that do not fall.")
    return groups
