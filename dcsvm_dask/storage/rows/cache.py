"""A cache of decompressed chunks of rows."""

from __future__ import annotations

import threading
from collections import OrderedDict

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.kernels.rows import Rows
from dcsvm_dask.storage.rows.read import RowReader, slice_rows, stack_rows, take_rows


class CachedRows:
    """A reader of rows that caches the chunks used last, up to a number of bytes.

    Threads may share one.

    Parameters
    ----------
    rows : RowArray or ConcatRows
    limit : int
        Largest number of bytes of cached chunks.
    """

    def __init__(self, rows: RowReader, limit: int) -> None:
        self._rows = rows
        self._limit = limit
        self._chunks: OrderedDict[int, Rows] = OrderedDict()
        self._bytes = 0
        self._guard = threading.Lock()
        self._borders = rows.borders()
        self.n_rows = rows.n_rows
        self.n_features = rows.n_features
        self.is_sparse = rows.is_sparse
        self.chunk_rows = rows.chunk_rows

    def read(self, start: int, stop: int) -> Rows:
        """Return the rows start:stop; see `RowArray.read`."""
        if start >= stop:
            return self._rows.read(start, stop)
        first = int(np.searchsorted(self._borders, start, side="right")) - 1
        last = int(np.searchsorted(self._borders, stop, side="left"))
        parts = []
        for chunk in range(first, last):
            low, high = self._span(chunk)
            parts.append(
                slice_rows(self._chunk(chunk), max(start, low) - low, min(stop, high) - low)
            )
        return stack_rows(parts, self.n_features, self.is_sparse)

    def take(self, index: NDArray[np.int64]) -> Rows:
        """Return rows in the order of an index; see `RowArray.take`."""
        return take_rows(self, np.asarray(index))

    def borders(self) -> NDArray[np.int64]:
        """Return the first row of every chunk of rows, and the number of rows."""
        return self._borders

    def nbytes_of(self, start: int, stop: int) -> int:
        """Return about how many bytes the rows start:stop take in memory."""
        return self._rows.nbytes_of(start, stop)

    def _span(self, chunk: int) -> tuple[int, int]:
        return int(self._borders[chunk]), int(self._borders[chunk + 1])

    def _chunk(self, chunk: int) -> Rows:
        with self._guard:
            if chunk in self._chunks:
                self._chunks.move_to_end(chunk)
                return self._chunks[chunk]
        rows = self._rows.read(*self._span(chunk))  # several threads may read at a time
        with self._guard:
            if chunk not in self._chunks:
                self._bytes += self._rows.nbytes_of(*self._span(chunk))
            self._chunks[chunk] = rows
            while self._bytes > self._limit and len(self._chunks) > 1:
                oldest, _ = self._chunks.popitem(last=False)
                self._bytes -= self._rows.nbytes_of(*self._span(oldest))
        return rows
