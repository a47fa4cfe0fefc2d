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
from dcsvm_dask.kernels.tiles import (
    DIFFERENCES,
    L1_DIFFERENCES,
    LOOPS,
    PRODUCTS,
    SPARSE,
    SPLIT,
    WAYS,
    Csr,
    DenseTile,
    Function,
    Into,
    SparseTile,
)
from dcsvm_dask.kernels.varying import varying_features
from dcsvm_dask.kernels.whole_numbers import small_whole_numbers

Vector = NDArray[np.float64]
Index = NDArray[np.int64]

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
PARTS = (2, 4, 8, 16, 32)
"""Into how many parts more features may be cut, whose products are summed in float64 ..."""
PART_FEATURES = 64
"""... of so many features at least."""
ERROR_WITH_FEW, ERROR_WITH_MANY = 2.0**-20, 2.0**-18
"""Deviation of shift-invariant kernels up to which a float32 product will do, by features."""


@dataclass(slots=True)
class RowTile:
    """A run of rows, feature by feature."""

    how: int
    """How they meet others: a key of `WAYS`."""
    function: Function
    rows: DenseTile | SparseTile
    correction: Vector
    """Factors that put right, to first order, the rounding of `a` to the precision of the tile."""
    radius: float
    """Largest norm of a row as stored (of L1 distances: L1 norm); 0 where differences are taken."""
    terms: int
    """Features that a sum over features meets at most."""
    exact: bool = False
    """Whether products have no error, as those of small whole numbers."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """The precision of products and kernel values."""
        return self.rows.F.dtype

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return self.rows.F.shape[1]

    @property
    def chunk(self) -> int:
        """Columns to take at a time: half a megabyte of values, 4 MB of gathered rows."""
        features, rows = self.rows.F.shape
        most = 256
        if self.how == SPLIT:  # values are in float64, too
            rows *= 2
        if self.how == PRODUCTS:
            most = min(most, max(2**20 // (features * self.dtype.itemsize), 16))
        return 4 * min(max(2**15 // rows, 16), most)

    def meet(self, Z: NDArray[Any] | Csr, chosen: Index, into: Into) -> None:
        """Sum or write down the kernel values with the chosen rows of Z; see `stored`."""
        WAYS[self.how](self.function, self.rows, Z, chosen, self.chunk, into)


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
    all_features: bool = False,
) -> RowTile:
    """Make rows (a few hundred) into a tile of at least the given precision.

    Features that are fixed, as most of those for categories are among dense rows that lie close
    together, meet a column once, not once for each row; with `all_features` they do not.
    Where the exponents of a float32 product would be too far off, dense rows meet by their
    differences, or if they are long by products of some features at a time, summed in float64, or
    all is in float64; but products of small whole numbers are exact. With `alone` the values of a
    column are the same, bit for bit, whatever other columns they are computed with. `whole` is
    asked, where it matters, whether the columns are small whole numbers (see
    `small_whole_numbers`).
    """
    dtype = np.dtype(dtype)
    if is_sparse(X):
        how, terms, centre = SPARSE, int(np.diff(X.indptr).max()), np.zeros(X.shape[1], dtype)
        rows, norms = X, _norms(kernel, X)
        features = np.empty(0, np.int64)
    else:
        argument = kernel.kind.argument
        features = np.empty(0, np.int64)
        if not all_features:
            features = varying_features(X, at_zero=argument == INNER_PRODUCT)
        how = _way(argument, len(features) or X.shape[1], dtype, alone=alone)
        centre = _centre(X, features, dtype, mean=how == PRODUCTS and argument == SQUARED_DISTANCE)
        rows = _less(X, features, centre)
        terms = rows.shape[1]
        norms = _norms(kernel, rows)
    radius = 0.0 if how in (DIFFERENCES, L1_DIFFERENCES) else float(norms.max())
    decays = kernel.is_shift_invariant and dtype == np.float32
    if decays and radius > widest_radius(kernel, how, terms):
        if how in (PRODUCTS, SPARSE) and whole is not None and small_whole_numbers(X) and whole():
            if how != SPARSE:
                features = varying_features(X, at_zero=True) if len(features) else features
                centre = np.zeros_like(centre)
                rows = _less(X, features, centre)
                norms = _norms(kernel, X)
            return _tile(kernel, how, rows, norms, centre, features, radius, terms, exact=True)
        if how != PRODUCTS or terms > MOST_DIFFERENCES:
            split = _split(kernel, X - centre, norms, centre) if how == PRODUCTS else None
            return row_tile(kernel, X, np.float64) if split is None else split
        how, radius = DIFFERENCES, 0.0
        centre = _centre(X, features, dtype, mean=False)
        rows = _less(X, features, centre)
    return _tile(kernel, how, rows, norms, centre, features, radius, terms)


def _way(argument: int, features: int, dtype: np.dtype[Any], *, alone: bool) -> int:
    """Return how dense rows meet, as long as they do not lie too far apart."""
    if argument == INNER_PRODUCT:
        return LOOPS if alone else PRODUCTS
    if argument == L1_DISTANCE:
        return L1_DIFFERENCES
    return DIFFERENCES if alone or _prefers_differences(features, dtype) else PRODUCTS


def _centre(X: Rows, features: Index, dtype: np.dtype[Any], *, mean: bool) -> NDArray[Any]:
    """Return what is taken from rows: the values of features that are fixed, of others the mean."""
    if mean:
        # Rounded to the precision of X, so that float32 differences are rounded only once.
        return X.mean(axis=0, dtype=np.float64).astype(X.dtype).astype(dtype)
    centre = np.zeros(X.shape[1], dtype)
    if len(features):
        centre[:] = X[0]
        centre[features] = 0
    return centre


def _less(X: Rows, features: Index, centre: NDArray[Any]) -> NDArray[Any]:
    """Return rows, of the features that vary, less the centre."""
    if len(features):
        return X[:, features].astype(centre.dtype) - centre[features]
    return X.astype(centre.dtype, copy=False) - centre


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
            every = np.empty(0, np.int64)
            return _tile(kernel, SPLIT, padded, norms, centre, every, radius, width)
    return None


def widest_radius(kernel: Kernel, how: int, terms: int) -> float:
    """Return the radius up to which a float32 tile will do (shift-invariant kernels)."""
    few = how == PRODUCTS and terms <= MOST_DIFFERENCES
    return decay_radius(kernel, np.float32, terms, ERROR_WITH_FEW if few else ERROR_WITH_MANY)


def widest_in_float32(kernel: Kernel, X: Rows) -> float:
    """Return how far out rows may lie for their products in float32; infinite: as far as they like.

    From their centre where they are dense. Up to `MOST_DIFFERENCES` features those that lie
    farther out cost little more.
    """
    argument = kernel.kind.argument
    if argument != SQUARED_DISTANCE or X.shape[1] <= MOST_DIFFERENCES:
        return np.inf
    if is_sparse(X):
        return widest_radius(kernel, SPARSE, int(np.diff(X.indptr).max(initial=0)))
    return widest_radius(kernel, PRODUCTS, X.shape[1])


def _prefers_differences(features: int, dtype: np.dtype[Any]) -> bool:
    return dtype == np.float32 and features <= ALWAYS_DIFFERENCES


def stored(Z: Rows) -> NDArray[Any] | Csr:
    """Return rows as `RowTile.meet` takes them."""
    if not is_sparse(Z):
        return Z
    indices = Z.indices.astype(np.int32, copy=False)
    return Csr(Z.data, indices, Z.indptr.astype(np.int64, copy=False))


def _sparse_tile(X: Rows, dtype: np.dtype[Any], own: Vector, argument: int) -> SparseTile:
    """Return CSR rows by feature: those that are not rare dense, and where every feature went."""
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
    value = X.data[order].astype(dtype)
    l1, inner = argument == L1_DISTANCE, argument == INNER_PRODUCT
    return SparseTile(by_feature, own, position, start, row[order], value, l1, inner)


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
    rows: Rows,
    norms: Vector,
    centre: NDArray[Any],
    features: Index,
    radius: float,
    terms: int,
    *,
    exact: bool = False,
) -> RowTile:
    to, kind = centre.dtype.type, kernel.kind
    scale, coef0 = to(kernel.gamma / kind.unit), to(kernel.coef0 / kind.unit)
    own, apart = np.zeros(rows.shape[0]), how in (DIFFERENCES, L1_DIFFERENCES)
    if kind.is_shift_invariant and apart:
        scale = -scale
    elif kind.is_shift_invariant:
        scale = to(2 * kernel.gamma / kind.unit)
        own = -0.5 * (norms if kind.argument == L1_DISTANCE else norms**2)
    function = Function(kind.function, scale, int(kernel.degree), coef0)
    slip = np.zeros(len(own)) if how == SPLIT else own - own.astype(centre.dtype)
    correction = 1 + LN2 * float(scale) * slip
    made: DenseTile | SparseTile
    if is_sparse(rows):
        made = _sparse_tile(rows, centre.dtype, own, kind.argument)
    else:
        counted = np.ones(0 if apart or kind.argument == INNER_PRODUCT else len(centre))
        if apart and len(features):
            # b is -1/2 of it; the features' own are there already
            counted = np.full(len(centre), -2.0)
            counted[features] = 0.0
        F = np.ascontiguousarray(rows.T)
        made = DenseTile(F, own, centre, terms, features, counted)
    return RowTile(how, function, made, correction, radius, terms, exact)
