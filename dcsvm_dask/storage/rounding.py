"""The loss by rounding rows to float32: changed values, and distinct rows that become equal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dcsvm_dask.compiled import njit
from dcsvm_dask.kernels.rows import Rows
from dcsvm_dask.storage.hashing import row_hashes

Vector: TypeAlias = NDArray[np.float64]

MOST_SHARE = 1e-4
"""Share of a feature's range up to which rounding may change its values without a warning.

A kernel depends on differences of rows. Ordinary features are rounded by 6e-8 of their values; the
share is large where the values are far from 0 and close to each other, as times in seconds are."""
LEAST_SHARE = 1e-6
"""Share above which rows are compared: rows that become equal differed at least so much."""
MOST_FEATURES = 1 << 20
"""Largest number of features that are compared: more are words or hashes, not measurements."""
SCALE = (
    "scale the features (--scale minmax or standard), which is done before rounding, or subtract "
    "a constant from them"
)


class RoundingLoss:
    """Compares rows before and after rounding, block by block.

    Distinct rows that become equal are counted within a block of some megabytes, so the count is a
    lower bound.
    """

    def __init__(self) -> None:
        self.merged = 0
        self._error, self._low, self._high = np.zeros(0), np.zeros(0), np.zeros(0)

    def update(self, rows: Rows, rounded: Rows) -> None:
        """Compare a block of float64 rows with the same rows in float32."""
        if rows.shape[1] > MOST_FEATURES:
            return
        error, low, high = _compared(rows, rounded)
        self._widen(error, low, high)
        if (_shares(error, low, high) > LEAST_SHARE).any():
            distinct = _count_distinct(rounded)
            if distinct < rows.shape[0]:
                self.merged += _count_distinct(_as_halves(rows)) - distinct

    def merge(self, other: RoundingLoss) -> None:
        """Add the result of other rows."""
        self.merged += other.merged
        if other._error.size:
            self._widen(other._error, other._low, other._high)

    def _widen(self, error: Vector, low: Vector, high: Vector) -> None:
        if self._error.size:
            self._error = np.maximum(self._error, error)
            self._low, self._high = np.minimum(self._low, low), np.maximum(self._high, high)
        else:
            self._error, self._low, self._high = error, low, high

    def warning(self, names: Sequence[str] | None, advice: str = SCALE) -> str | None:
        """Return a warning for the user; None if there is nothing to report."""
        share = _shares(self._error, self._low, self._high)
        if self.merged == 0 and not (share > MOST_SHARE).any():
            return None
        k = int(np.argmax(share))
        name = repr(names[k]) if names is not None else str(k)
        text = f"rounding to float32 changes values of the feature {name} by up to "
        text += f"{self._error[k]:.3g}, in a range of {self._low[k]:.10g} to {self._high[k]:.10g}"
        if self.merged:
            text += f", and makes at least {self.merged:,} rows equal to others"
        return f"{text}; {advice}"


def _shares(error: Vector, low: Vector, high: Vector) -> Vector:
    """Return the largest change of each feature over its range, 0 for constant features."""
    width = high - low
    return np.where(width > 0, error / np.where(width > 0, width, 1.0), 0.0)


def _compared(rows: Rows, rounded: Rows) -> tuple[Vector, Vector, Vector]:
    """Return the largest change, the least and the greatest value of each feature."""
    if sparse.issparse(rows):
        found = abs(rows - rounded).max(axis=0), rows.min(axis=0), rows.max(axis=0)
        error, low, high = (one.toarray().reshape(-1).astype(np.float64) for one in found)
        return error, low, high
    limits = np.full((3, rows.shape[1]), np.inf)
    limits[0], limits[2] = 0.0, -np.inf
    _compare_dense(rows, rounded, limits[0], limits[1], limits[2])
    return limits[0], limits[1], limits[2]


@njit(cache=True, nogil=True)
def _compare_dense(rows: Any, rounded: Any, error: Any, low: Any, high: Any) -> None:
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            value = rows[i, j]
            error[j] = max(error[j], abs(value - rounded[i, j]))
            low[j] = min(low[j], value)
            high[j] = max(high[j], value)


def _count_distinct(rows: Rows) -> int:
    hashes = row_hashes(rows, np.zeros(rows.shape[0], np.int32))
    return int(np.unique(hashes[:, 0]).size)


def _as_halves(rows: Rows) -> Rows:
    """Return float64 rows as float32 rows of twice the width, with the same bits."""
    if not sparse.issparse(rows):
        return np.ascontiguousarray(rows).view(np.float32)
    indices = np.repeat(2 * rows.indices.astype(np.int64), 2)
    indices[1::2] += 1
    data = np.ascontiguousarray(rows.data).view(np.float32)
    shape = rows.shape[0], 2 * rows.shape[1]
    return sparse.csr_array((data, indices, 2 * rows.indptr.astype(np.int64)), shape)
