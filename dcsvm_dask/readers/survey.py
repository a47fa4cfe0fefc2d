"""A survey of a source's features: ranges, which look like an index, which have whole numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dcsvm_dask.kernels.rows import Rows
from dcsvm_dask.readers.identifiers import names_identifier
from dcsvm_dask.readers.statistics import Ranges, Vector

LEAST_ROWS = 20
"""Number of rows from which on the values 0..n-1 or 1..n are hardly a coincidence."""

MOST_COLUMNS = 4096
"""Largest number of columns of dense rows that are tested for an index."""
RANGED = 1024
"""Most features whose ranges are stored; wider tables have no column that anyone knows by name."""

_TILE = 1024
"""Rows that are looked at together, so that they stay in the cache."""
_UNNAMED = re.compile(r"\s*|Unnamed: \d+|__index_level_\d+__", re.IGNORECASE)
"""Names of index columns written by pandas and pyarrow."""


class Survey:
    """Ranges of features, and features that look like the number of the row or may have thousands.

    Row numbers have the values 0..n-1 or 1..n in some order: whole, distinct within every
    block, between these limits and with their sum. A few rows rule most features out.
    """

    def __init__(self) -> None:
        self._ranges = Ranges()
        self._n_rows = 0
        self._possible: NDArray[np.int64] | None = None
        self._sums = np.zeros(0)
        self._kinds = np.zeros((2, 0), np.bool_)

    def update(self, rows: Rows) -> None:
        """Add a block of rows."""
        # Sparse and wide rows may have billions of columns, which are not tested for an index.
        wide = sparse.issparse(rows) or rows.shape[1] > MOST_COLUMNS
        self._ranges.update(rows[:, : RANGED + 1] if rows.shape[1] > MOST_COLUMNS else rows)
        self._n_rows += rows.shape[0]
        if self._possible is None:
            self._possible = np.arange(0 if wide else rows.shape[1])
            self._sums = np.zeros(self._possible.size)
        for part in (rows[:64], rows) if self._possible.size else ():
            self._keep([_are_distinct_whole(part[:, j]) for j in self._possible.tolist()])
        if not wide:
            self._note_kinds(rows)
        if self._possible.size:
            self._sums += rows[:, self._possible].sum(axis=0, dtype=np.float64)

    def merge(self, other: Survey) -> None:
        """Add the survey of other rows."""
        self._ranges.merge(other._ranges)
        self._n_rows += other._n_rows
        width = max(self._kinds.shape[1], other._kinds.shape[1])
        self._kinds = _widened(self._kinds, width) | _widened(other._kinds, width)
        if other._possible is None:
            return
        if self._possible is None:
            self._possible, self._sums = other._possible, other._sums
            return
        both, mine, theirs = np.intersect1d(
            self._possible, other._possible, assume_unique=True, return_indices=True
        )
        self._possible, self._sums = both, self._sums[mine] + other._sums[theirs]

    def ranges(self, n_features: int, first: int) -> list[list[float]]:
        """Return the least and the greatest value of each feature, from column ``first`` on."""
        low, high = self._ranges.limits(n_features, first)
        return np.column_stack([low, high]).tolist()

    def limits(self, n_features: int) -> tuple[Vector, Vector]:
        """Return the least and the greatest values of features."""
        return self._ranges.limits(n_features)

    def index_like(self, names: Sequence[str] | None) -> list[int]:
        """Return the features that look like an index by their values or names."""
        found = set() if self._possible is None else self._numbered().intersection(self._possible)
        unnamed = {k for k, name in enumerate(names or ()) if _UNNAMED.fullmatch(name)}
        return sorted(found | unnamed)

    def id_like(self, names: Sequence[str] | None) -> list[int]:
        """Return other features that identify rows by their names and are distinct whole numbers.

        They are distinct within every block.
        """
        if self._possible is None or self._n_rows < LEAST_ROWS:
            return []
        others = set(self._possible.tolist()).difference(self.index_like(names))
        named = names or ()
        return [k for k in sorted(others) if k < len(named) and names_identifier(named[k])]

    def mixed(self) -> list[int]:
        """Return features below 1,000 in size that have whole numbers and others.

        Sparse and wide rows are not looked at.
        """
        low, high = self._ranges.limits(self._kinds.shape[1])
        small = (low > -1000) & (high < 1000)
        return np.flatnonzero(self._kinds.all(axis=0) & small).tolist()

    def whole(self) -> list[int]:
        """Return features that have whole numbers alone, none negative, up to 1,000 or more.

        Sparse and wide rows are not looked at.
        """
        low, high = self._ranges.limits(self._kinds.shape[1])
        only = self._kinds[0] & ~self._kinds[1]
        return np.flatnonzero(only & (low >= 0) & (high >= 1000)).tolist()

    def _note_kinds(self, rows: Rows) -> None:
        """Note which features have whole numbers, and which have others."""
        self._kinds = _widened(self._kinds, rows.shape[1])
        for part in (rows[:64], rows):
            left = np.flatnonzero(~self._kinds.all(axis=0))
            for start in range(0, len(part) if left.size else 0, _TILE):
                tile = part[start : start + _TILE]
                tile = tile[:, left] if left.size < tile.shape[1] else tile
                whole = tile == np.floor(tile)
                self._kinds[:, left] |= (whole.any(axis=0), ~whole.all(axis=0))

    def _numbered(self) -> set[int]:
        assert self._possible is not None
        n = self._n_rows
        if n < LEAST_ROWS or not self._possible.size:
            return set()
        low, high = self._ranges.limits(int(self._possible[-1]) + 1)
        low, high = low[self._possible], high[self._possible]
        counts = np.isin(low, (0.0, 1.0)) & (high - low == n - 1)
        near = np.abs(self._sums - n * (low + high) / 2) <= 1e-9 * n * n
        return set(self._possible[counts & near].tolist())

    def _keep(self, possible: list[bool]) -> None:
        assert self._possible is not None
        self._possible, self._sums = self._possible[possible], self._sums[possible]


def _widened(kinds: NDArray[np.bool_], width: int) -> NDArray[np.bool_]:
    return np.pad(kinds, ((0, 0), (0, width - kinds.shape[1])))


def _are_distinct_whole(column: Vector) -> bool:
    return bool((column == np.floor(column)).all()) and np.unique(column).size == column.size
