"""A sample of the rows that an ingest reads, for a look at what their features may mean."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dcsvm_dask.kernels.rows import Rows
from dcsvm_dask.readers.survey import MOST_COLUMNS

MOST_ROWS = 4096
MOST_BYTES = 16 << 20
"""Of the rows of a sample; it has fewer rows where they are wide."""
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""2^64 divided by the golden ratio: multiples of it are spread evenly, and so are their rows."""


class RowSample:
    """Rows that are spread evenly over a source, at least half as many as it may have.

    Sparse rows become dense ones. Those with more than `MOST_COLUMNS` columns are not looked at.
    """

    def __init__(self) -> None:
        self._seen, self._halved, self._width = 0, 0, 0
        self._keys = np.zeros(0, np.uint64)
        self._rows: list[NDArray[np.float64]] = []
        self._y: list[NDArray[Any]] = []

    def update(self, rows: Rows, y: NDArray[Any]) -> None:
        """Add a block of rows with their provisional codes of classes, or their targets."""
        n = rows.shape[0]
        # Of svmlight text later blocks may have more columns.
        self._width = max(self._width, rows.shape[1])
        if self._width > MOST_COLUMNS:
            self._keys, self._rows, self._y = self._keys[:0], [], []
            return
        keys = np.arange(self._seen, self._seen + n, dtype=np.uint64) * _GOLDEN
        self._seen += n
        most = min(MOST_ROWS, MOST_BYTES // (8 * max(1, self._width)))
        before = self._halved
        while _count(self._keys, self._limit()) + _count(keys, self._limit()) > most:
            self._halved += 1
        if self._halved > before:
            self._keep(self._keys <= self._limit())
        kept = np.flatnonzero(keys <= self._limit())
        self._keys = np.concatenate([self._keys, keys[kept]])
        own = rows[kept].toarray() if sparse.issparse(rows) else rows[kept]
        self._rows.append(np.asarray(own, np.float64))
        self._y.append(np.asarray(y)[kept])

    def read(self) -> tuple[NDArray[np.float64], NDArray[Any]]:
        """Return the rows, and their codes or targets."""
        if not self._rows:
            return np.zeros((0, 0)), np.zeros(0, np.int64)
        wide = [np.pad(one, ((0, 0), (0, self._width - one.shape[1]))) for one in self._rows]
        return np.concatenate(wide), np.concatenate(self._y)

    @property
    def is_all(self) -> bool:
        """Whether the sample has all rows."""
        return not self._halved

    def _limit(self) -> np.uint64:
        return np.uint64((2**64 - 1) >> self._halved)

    def _keep(self, kept: NDArray[np.bool_]) -> None:
        rows, y = self.read()
        if len(rows):
            self._keys, self._rows, self._y = self._keys[kept], [rows[kept]], [y[kept]]


def _count(keys: NDArray[np.uint64], limit: np.uint64) -> int:
    return int(np.count_nonzero(keys <= limit))
