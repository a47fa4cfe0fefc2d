"""Rows and columns in the form that compiled code takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.kernels.bounds import decay_error, decay_radius
from dcsvm_dask.kernels.kernel import Kernel
from dcsvm_dask.kernels.kinds import INNER_PRODUCT, L1_DISTANCE, LN2, SQUARED_DISTANCE
from dcsvm_dask.kernels.rows import Rows, is_sparse, row_sums, squared_norms
from dcsvm_dask.kernels.tiles import DIFFERENCES, LOOPS, PRODUCTS, SPARSE, SPLIT
from dcsvm_dask.kernels.whole_numbers import small_whole_numbers

Vector = NDArray[np.float64]

ROWS = 512
"""Rows of a tile where every pair is computed; fewer of very long sparse rows."""
COMPACT_ROWS = 256
"""Rows of a tile where far pairs are left out: smaller boxes reach less far."""
RARE = 32
"""A feature is rare in a tile of sparse rows if fewer than one row in so many uses it."""
TILE_VALUES = 2**24
"""Values that a tile of sparse rows may take up."""
ALWAYS_DIFFERENCES = 16
"""Features up to which differences are as fast as a BLAS product."""
MOST_DIFFERENCES = 64
"""Features up to which they cost a third more; above, float64 is the cheaper way to precision."""
PARTS = (2, 4, 8)
"""Into how many parts more features may be cut, whose products are summed in float64 ..."""
PART_FEATURES = 64
"""... of so many features at least."""
ERROR_WITH_FEW, ERROR_WITH_MANY = 2.0**-20, 2.0**-18
"""Deviation of shift-invariant kernels up to which a float32 product will do, by features."""


@dataclass(slots=True)
class RowTile:
    """A run of rows, feature by feature."""

    kernel: tuple[Any, ...]
    """(argument, how, function, scale, degree, coef0), as `tile_work` takes them."""
    F: NDArray[Any]
    """Shape (d, rows), less the centre; for CSR (features not rare, rows)."""
    a: NDArray[Any]
    """What each row adds to products, float64, shape (rows,): they become -1/2 times distances."""
    correction: Vector
    """Factors that put right, to first order, the rounding of `a` to the precision of the tile."""
    centre: NDArray[Any]
    """What was taken from each row, shape (d,)."""
    width: int
    """Features whose products are summed in the precision of the tile."""
    sparse: tuple[NDArray[Any], ...]
    """(position, rare_start, rare_row, rare_value), as `sparse_products` takes them."""
    radius: float
    """Largest norm of a row as stored (of L1 distances: L1 norm); 0 where differences are taken."""
    terms: int
    """Features that a sum over features meets at most."""
    exact: bool = False
    """Whether products have no error, as those of small whole numbers."""

    @property
    def arguments(self) -> tuple[Any, ...]:
        """The leading arguments of `tile_work`."""
        return *self.kernel, self.F, self.a, self.centre, self.width, *self.sparse

    @property
    def chunk(self) -> int:
        """Columns to take at a time: half a megabyte of values, 4 MB of gathered rows."""
        features, rows = self.F.shape
        most = 256
        if self.kernel[1] == SPLIT:  # values are in float64, too
            rows *= 2
        if self.kernel[1] == PRODUCTS:
            most = min(most, max(2**20 // (features * self.F.itemsize), 16))
        return 4 * min(max(2**15 // rows, 16), most)


def tile_ranges(X: Rows, *, compact: bool = False, rows: int = ROWS) -> Iterator[tuple[int, int]]:
    """Cut the rows into tiles, of `rows` at most: (start, stop) of each."""
    start = 0
    while start < X.shape[0]:
        stop = min(start + (COMPACT_ROWS if compact else rows), X.shape[0])
        if is_sparse(X):
            # A feature that is not rare has at least one entry for every RARE values of F.
            while stop - start > 1 and RARE * (X.indptr[stop] - X.indptr[start]) > TILE_VALUES:
                stop = start + (stop - start) // 2
        yield start, stop
        start = stop


def row_tile(
    kernel: Kernel,
    X: Rows,
    dtype: Any,
    *,
    alone: bool = False,
    whole: Callable[[], bool] | None = None,
) -> RowTile:
    """Make rows (a few hundred) into a tile of at least the given precision.

    Where the exponents of a float32 product would be too far off, dense rows meet by their
    differences, or if they are long by products of some features at a time, summed in float64, or
    all is in float64; but products of small whole numbers are exact. With `alone` the values of a
    column are the same, bit for bit, whatever other columns they are computed with. `whole` is
    asked, where it matters, whether the columns are small whole numbers (see
    `small_whole_numbers`).
    """
    dtype = np.dtype(dtype)
    d = X.shape[1]
    centre = np.zeros(d, dtype)
    if is_sparse(X):
        how, terms = SPARSE, int(np.diff(X.indptr).max())
        rows, sparse = _by_feature(X, dtype)
        norms = _norms(kernel, X)
    else:
        sparse = _no_features(dtype)
        how, terms = PRODUCTS, d
        rows = X.astype(dtype, copy=False)
        argument = kernel.kind.argument
        few = argument == SQUARED_DISTANCE and (alone or _prefers_differences(d, dtype))
        if alone and argument == INNER_PRODUCT:
            how = LOOPS
        elif few or argument == L1_DISTANCE:
            how = DIFFERENCES
        elif argument == SQUARED_DISTANCE:
            # Rounded to the precision of X, so that float32 differences are rounded only once.
            centre = X.mean(axis=0, dtype=np.float64).astype(X.dtype).astype(dtype)
            rows = rows - centre
        norms = _norms(kernel, rows)
    radius = 0.0 if how == DIFFERENCES else float(norms.max())
    decays = kernel.is_shift_invariant and dtype == np.float32
    if decays and radius > widest_radius(kernel, how, terms):
        if how in (PRODUCTS, SPARSE) and whole is not None and small_whole_numbers(X) and whole():
            centre = np.zeros(d, dtype)
            if how != SPARSE:
                rows = X.astype(dtype, copy=False)
                norms = _norms(kernel, X)
            return _tile(kernel, how, rows, norms, centre, sparse, radius, terms, exact=True)
        if how != PRODUCTS or d > MOST_DIFFERENCES:
            split = _split(kernel, rows, norms, centre) if how == PRODUCTS else None
            return row_tile(kernel, X, np.float64) if split is None else split
        how, radius, centre = DIFFERENCES, 0.0, np.zeros(d, dtype)
        rows = X.astype(dtype, copy=False)
    return _tile(kernel, how, rows, norms, centre, sparse, radius, terms)


def _split(
    kernel: Kernel, rows: NDArray[Any], norms: Vector, centre: NDArray[Any]
) -> RowTile | None:
    """Return a float32 tile of as few parts of the features as precision allows; None: of none.

    Errors of parts are independent: they add as squares, and so as fourth powers of radii.
    """
    n, d = rows.shape
    for parts in PARTS:
        width = -(-d // parts)
        if width < PART_FEATURES:
            break
        starts = np.arange(0, d, width)
        each = np.add.reduceat(rows.astype(np.float64) ** 2, starts, axis=1).max(axis=0)
        radius = float(np.sum(each**2)) ** 0.25
        if decay_error(kernel, np.float32, width, radius) <= ERROR_WITH_MANY:
            padded = np.zeros((n, width * len(starts)), rows.dtype)
            padded[:, :d] = rows
            sparse = _no_features(rows.dtype)
            return _tile(kernel, SPLIT, padded, norms, centre, sparse, radius, width)
    return None


def widest_radius(kernel: Kernel, how: int, terms: int) -> float:
    """Return the radius up to which a float32 tile will do (shift-invariant kernels)."""
    few = how == PRODUCTS and terms <= MOST_DIFFERENCES
    return decay_radius(kernel, np.float32, terms, ERROR_WITH_FEW if few else ERROR_WITH_MANY)


def _prefers_differences(features: int, dtype: np.dtype[Any]) -> bool:
    return dtype == np.float32 and features <= ALWAYS_DIFFERENCES


def storage_arguments(Z: Rows) -> tuple[NDArray[Any], ...]:
    """Return Z as `tile_work` takes it: (dense, data, indices, indptr), unused ones empty."""
    if is_sparse(Z):
        return (
            np.empty((0, 0), Z.data.dtype),
            Z.data,
            Z.indices.astype(np.int32, copy=False),
            Z.indptr.astype(np.int64, copy=False),
        )
    return Z, np.empty(0, Z.dtype), np.empty(0, np.int32), np.empty(0, np.int64)


def _by_feature(X: Rows, dtype: np.dtype[Any]) -> tuple[NDArray[Any], tuple[NDArray[Any], ...]]:
    """Return the features that are not rare, dense, as rows; and where every feature went."""
    n = X.shape[0]
    count = np.bincount(X.indices, minlength=X.shape[1])
    common = np.flatnonzero(RARE * count >= n)
    rare = np.flatnonzero((count > 0) & (RARE * count < n))
    position = np.full(X.shape[1], -1, dtype=np.int32)
    position[common] = np.arange(len(common), dtype=np.int32)
    position[rare] = -2 - np.arange(len(rare), dtype=np.int32)
    place = position[X.indices]
    row = np.repeat(np.arange(n, dtype=np.int32), np.diff(X.indptr))
    dense = place >= 0
    # Stored by feature: this is the order in which the tile is used.
    by_feature = np.zeros((len(common), n), dtype)
    by_feature[place[dense], row[dense]] = X.data[dense]
    order = np.flatnonzero(~dense)
    order = order[np.argsort(X.indices[order], kind="stable")]
    start = np.append(0, np.cumsum(count[rare]))
    return by_feature.T, (position, start, row[order], X.data[order].astype(dtype))


def _no_features(dtype: np.dtype[Any]) -> tuple[NDArray[Any], ...]:
    nothing = np.empty(0, np.int32)
    return nothing, np.empty(0, np.int64), nothing, np.empty(0, dtype)


def _norms(kernel: Kernel, rows: Rows) -> Vector:
    """Norms of the rows (for L1 distances: L1 norms)."""
    if kernel.kind.argument != L1_DISTANCE:
        return np.sqrt(squared_norms(rows))
    if is_sparse(rows):
        return row_sums(np.abs(rows.data, dtype=np.float64), rows.indptr)
    return np.asarray(np.abs(rows, dtype=np.float64).sum(axis=1))


def _tile(
    kernel: Kernel,
    how: int,
    rows: NDArray[Any],
    norms: Vector,
    centre: NDArray[Any],
    sparse: tuple[NDArray[Any], ...],
    radius: float,
    terms: int,
    *,
    exact: bool = False,
) -> RowTile:
    to = centre.dtype.type
    kind = kernel.kind
    scale, coef0 = to(kernel.gamma / kind.unit), to(kernel.coef0 / kind.unit)
    own = np.zeros(len(rows))
    if kind.is_shift_invariant and how == DIFFERENCES:
        scale = -scale
    elif kind.is_shift_invariant:
        scale = to(2 * kernel.gamma / kind.unit)
        own = -0.5 * (norms if kind.argument == L1_DISTANCE else norms**2)
    arguments = (kind.argument, how, kind.function, scale, int(kernel.degree), coef0)
    F = np.ascontiguousarray(rows.T)
    slip = np.zeros(len(rows)) if how == SPLIT else own - own.astype(centre.dtype)
    correction = 1 + LN2 * float(scale) * slip
    return RowTile(arguments, F, own, correction, centre, terms, sparse, radius, terms, exact)
