"""The statistics of training rows that a scaling needs, collected block by block.

Memory: at most 160 bytes for each feature, compared with the memory bound before; none for a
scaling that is not learned.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dcsvm_dask.compiled import njit
from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels.rows import Rows
from dcsvm_dask.numbers import counted
from dcsvm_dask.readers.memory import check_bound
from dcsvm_dask.readers.scaling import AUTO, LEARNED, SCALES, Scaling

Vector = NDArray[np.float64]
Moments: TypeAlias = "tuple[Vector | float, Vector, Vector]"
"""Count, mean, and sum of squared deviations of each feature of a block of rows."""

STANDARDISED = 0.1
"""Deviation of a mean from 0, and of a standard deviation from 1, up to which rows count as
standardised: they may be some of the rows that were."""
BETWEEN = 1e-9
"""Mean of x - x^2 up to which a feature within [0, 1] counts as one of 0 and 1 alone."""
FEATURE_MEMORY = 160
"""Largest number of bytes of memory for each feature."""


class Ranges:
    """The least and the greatest value of every feature, collected block by block.

    The number of features may grow from block to block; missing values of sparse rows are zeros.
    """

    def __init__(self) -> None:
        self._n_rows = 0
        self._count, self._low, self._high = np.zeros(0, np.int64), np.zeros(0), np.zeros(0)

    def update(self, rows: Rows) -> None:
        """Add a block of rows."""
        self._n_rows += rows.shape[0]
        width = rows.shape[1]
        self._grow(width)
        if sparse.issparse(rows):
            _range_sparse(rows.indices, rows.data, self._low, self._high, self._count)
        else:
            self._count[:width] += rows.shape[0]
            _range_dense(rows, self._low, self._high)

    def merge(self, other: Ranges) -> None:
        """Add the ranges of other rows."""
        other._grow(self._low.size)
        self._grow(other._low.size)
        self._n_rows += other._n_rows
        self._count = self._count + other._count
        self._low = np.minimum(self._low, other._low)
        self._high = np.maximum(self._high, other._high)

    def limits(self, n_features: int, first: int = 0) -> tuple[Vector, Vector]:
        """Return the least and greatest values of features, from column ``first`` on."""
        self._grow(first + n_features)
        part = slice(first, first + n_features)
        zeros = self._count[part] < self._n_rows
        low, high = self._low[part], self._high[part]
        return (
            np.where(zeros, np.minimum(low, 0.0), low),
            np.where(zeros, np.maximum(high, 0.0), high),
        )

    def _grow(self, n_features: int) -> None:
        extra = max(0, n_features - self._low.size)
        self._count = np.pad(self._count, (0, extra))
        self._low = np.pad(self._low, (0, extra), constant_values=np.inf)
        self._high = np.pad(self._high, (0, extra), constant_values=-np.inf)


class ScalingStatistics:
    """Collects the statistics of a scaling from blocks of training rows.

    Parameters
    ----------
    kind : {"auto", "none", "minmax", "standard", "unit"}
        "auto" is chosen by `finish`.
    name : str
        The source, for messages.

    Attributes
    ----------
    reason : str
        Why "auto" became what it is; empty for other kinds, and before `finish`.

    Notes
    -----
    Means and sums of squares of blocks are merged as in Chan, Golub, LeVeque, "Updating formulae
    and a pairwise algorithm for computing sample variances", 1979. The number of features may grow
    from block to block; missing values of sparse rows are zeros.
    """

    def __init__(self, kind: str, name: str = "rows") -> None:
        if kind not in SCALES:
            raise InputError(f"scale must be one of {', '.join(SCALES)}, got {kind!r}")
        self.kind = kind
        self.reason = ""
        self.name = name
        self.n_rows = 0
        self._count = np.zeros(0)
        self._mean = np.zeros(0)
        self._squares = np.zeros(0)
        self._ranges = Ranges()

    def update(self, rows: Rows) -> None:
        """Add a block of rows."""
        self.n_rows += rows.shape[0]
        if self.kind not in LEARNED or rows.shape[0] == 0:
            return
        self._check_bound(rows.shape[1])
        self._ranges.update(rows)
        if self.needs_moments:
            self.add_moments(moments(rows))

    @property
    def needs_moments(self) -> bool:
        """Whether means and deviations are needed beside ranges."""
        return self.kind in (AUTO, "standard")

    def add_ranges(self, n_rows: int, ranges: Ranges) -> None:
        """Add the number and the ranges of other rows; see `add_moments`."""
        self.n_rows += n_rows
        self._ranges.merge(ranges)

    def add_moments(self, found: Moments) -> None:
        """Add the moments of a block whose rows are counted by `add_ranges`."""
        count, mean, squares = found
        width = mean.size
        self._grow(width)
        old = self._count[:width].copy()
        total = old + count
        safe = np.maximum(total, 1)
        step = mean - self._mean[:width]
        self._squares[:width] += squares + step**2 * old * count / safe
        self._mean[:width] += step * count / safe
        self._count[:width] = total

    def finish(self, n_features: int, is_sparse: bool, first: int = 0) -> Scaling | None:
        """Return the scaling for rows that are stored dense or sparse; None for "none".

        "auto" leaves rows alone whose values lie in [-1, 1] or are standardised. Others are
        standardised if they are dense, but for features of 0 and 1: a rare 1, such as that of a
        category, would lie far from all other rows. Sparse rows are divided by the largest absolute
        values, as "minmax" does.

        Parameters
        ----------
        n_features : int
        is_sparse : bool
            Whether the rows are stored as CSR; then they are not shifted.
        first : int, default 0
            Column of the first feature in the blocks.

        Returns
        -------
        Scaling or None

        Raises
        ------
        InputError
            If the statistics exceed the memory bound.
        """
        if self.kind == "none":
            return None
        if self.kind == "unit":
            return Scaling("unit")
        self._check_bound(first + n_features)
        low, high = self._ranges.limits(n_features, first)
        if self.kind == AUTO and max(-low.min(initial=0.0), high.max(initial=0.0)) <= 1.0:
            self.reason = "all values lie within [-1, 1] already"
            return None
        if self.kind == "minmax" or (self.kind == AUTO and is_sparse):
            if self.kind == AUTO:
                self.reason = "sparse rows are divided by the largest absolute values"
            if is_sparse:
                return Scaling("minmax", None, _inverse(np.maximum(np.abs(low), np.abs(high))))
            return Scaling("minmax", low, _inverse(high - low))
        self._grow(first + n_features)
        for name in ("_count", "_mean", "_squares"):
            setattr(self, name, getattr(self, name)[first : first + n_features])
        # Rows without stored values are a block with mean 0 and no spread.
        missing = self.n_rows - self._count
        total = max(1, self.n_rows)
        squares = self._squares + self._mean**2 * self._count * missing / total
        mean = self._mean * self._count / total
        deviation = np.sqrt(squares / total)
        # Rounding leaves a little spread in a constant column of large values.
        constant = (low == high) | (deviation <= 1e-13 * np.abs(mean))
        deviation[constant] = 0.0
        if self.kind == AUTO:
            if _are_standardised(mean, deviation, constant):
                self.reason = "the features are standardised already"
                return None
            binary = (low == 0.0) & (high == 1.0)
            binary &= mean - mean**2 - deviation**2 <= BETWEEN  # the mean of x - x^2
            mean[binary], deviation[binary] = 0.0, 1.0
            self.reason = "features of dense rows are standardised"
            if binary.any():
                self.reason += f", but for {int(binary.sum()):,} of 0 and 1"
            if constant.any():
                which = counted(int(constant.sum()), "constant feature")
                self.reason += f"; {which} set to 0"
        return Scaling("standard", None if is_sparse else mean, _inverse(deviation))

    def _grow(self, n_features: int) -> None:
        extra = n_features - self._count.size
        if extra <= 0:
            return
        for name, value in (("_count", 0), ("_mean", 0), ("_squares", 0)):
            setattr(self, name, np.pad(getattr(self, name), (0, extra), constant_values=value))

    def _check_bound(self, n_features: int) -> None:
        what = f"scaling {n_features:,} features by {self.kind}"
        check_bound(FEATURE_MEMORY * n_features, self.name, what)


def moments(rows: Rows) -> Moments:
    """Return the moments of the stored values of a block."""
    if not sparse.issparse(rows):
        n = float(rows.shape[0])
        if rows.shape[1] == 1:  # NumPy adds the values of one column pairwise
            mean = rows.mean(axis=0, dtype=np.float64)
            centred = rows - mean
            return n, mean, np.einsum("ij,ij->j", centred, centred)
        mean, squares = np.zeros(rows.shape[1]), np.zeros(rows.shape[1])
        _add_sums(rows, mean)
        mean /= n
        _add_squares(rows, mean, squares)
        return n, mean, squares
    width = rows.shape[1]
    count, sums, squares = np.zeros(width), np.zeros(width), np.zeros(width)
    _add_sparse_sums(rows.indices, rows.data, count, sums)
    mean = sums / np.maximum(count, 1)
    _add_sparse_squares(rows.indices, rows.data, mean, squares)
    return count, mean, squares


def _are_standardised(mean: Vector, deviation: Vector, constant: NDArray[np.bool_]) -> bool:
    """Return whether features have mean 0 and deviation 1; constant ones may be up to 1."""
    near = (np.abs(mean) <= STANDARDISED) & (np.abs(deviation - 1.0) <= STANDARDISED)
    return bool(np.where(constant, np.abs(mean) <= 1.0, near).all())


def _inverse(width: Vector) -> Vector:
    """Return 1 / width; 0 for features without any width or values."""
    usable = np.isfinite(width) & (width > 0)
    return np.where(usable, 1.0 / np.where(usable, width, 1.0), 0.0)


@njit(cache=True, nogil=True)
def _range_dense(rows: Any, low: Any, high: Any) -> None:
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            low[j] = min(low[j], rows[i, j])
            high[j] = max(high[j], rows[i, j])


@njit(cache=True, nogil=True)
def _add_sums(rows: Any, sums: Any) -> None:
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            sums[j] += rows[i, j]


@njit(cache=True, nogil=True)
def _add_squares(rows: Any, mean: Any, squares: Any) -> None:
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            distance = rows[i, j] - mean[j]
            squares[j] += distance * distance


@njit(cache=True, nogil=True)
def _range_sparse(indices: Any, data: Any, low: Any, high: Any, count: Any) -> None:
    for k in range(indices.size):
        j, value = indices[k], np.float64(data[k])  # values may be booleans
        count[j] += 1
        low[j] = min(low[j], value)
        high[j] = max(high[j], value)


@njit(cache=True, nogil=True)
def _add_sparse_sums(indices: Any, data: Any, count: Any, sums: Any) -> None:
    for k in range(indices.size):
        count[indices[k]] += 1.0
        sums[indices[k]] += np.float64(data[k])  # values may be booleans


@njit(cache=True, nogil=True)
def _add_sparse_squares(indices: Any, data: Any, mean: Any, squares: Any) -> None:
    for k in range(indices.size):
        distance = np.float64(data[k]) - mean[indices[k]]
        squares[indices[k]] += distance * distance
