"""A selection of the rows of a reader."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.kernels.rows import Rows
from dcsvm_dask.storage.rows.cache import CachedRows


class SelectedRows:
    """The rows of an index, numbered by their position in it.

    Parameters
    ----------
    rows : CachedRows or SelectedRows
    index : ndarray of int64, shape (m,)
        Ascending row numbers.
    """

    def __init__(self, rows: CachedRows | SelectedRows, index: NDArray[np.int64]) -> None:
        self._rows = rows
        self._index = index
        self.n_rows = len(index)
        self.n_features: int = rows.n_features
        self.is_sparse: bool = rows.is_sparse

    def read(self, start: int, stop: int) -> Rows:
        """Return the rows start:stop."""
        if self.n_rows == self._rows.n_rows:
            return self._rows.read(start, stop)
        return self._rows.take(self._index[start:stop])

    def take(self, index: NDArray[np.int64]) -> Rows:
        """Return rows in the order of an index, which may repeat."""
        return self._rows.take(self._index[index])

    def borders(self) -> NDArray[np.int64]:
        """Return the first selected row of every chunk with any, and the number of rows."""
        return np.unique(np.searchsorted(self._index, self._rows.borders()))

    def nbytes_of(self, start: int, stop: int) -> int:
        """Return about the number of bytes of the rows start:stop in memory."""
        return self._rows.nbytes_of(0, self._rows.n_rows) * (stop - start) // self._rows.n_rows
