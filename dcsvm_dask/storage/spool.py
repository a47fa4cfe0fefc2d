"""Scratch copies on local disk while a source is taken in: bounded memory, nothing left behind.

Files have no names (they vanish with the process) and lie in the folder for temporary files,
which ``TMPDIR`` moves.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

from dcsvm_dask.kernels.rows import Rows
from dcsvm_dask.readers.source import spans
from dcsvm_dask.storage.rows_read import as_csr


class Column:
    """A growing array of one type in a nameless file.

    Parameters
    ----------
    dtype : dtype
    width : int
        Values in a row of the array.
    """

    def __init__(self, dtype: DTypeLike, width: int = 1) -> None:
        self._file = tempfile.TemporaryFile(prefix="dcsvm-")  # noqa: SIM115 - closed by close()
        self._dtype = np.dtype(dtype)
        self._width = width
        self.length = 0

    def append(self, values: NDArray[Any]) -> None:
        """Add rows at the end."""
        self._file.seek(0, 2)
        self._file.write(np.ascontiguousarray(values, dtype=self._dtype).data)
        self.length += values.shape[0]

    def read(self, start: int, stop: int) -> NDArray[Any]:
        """Return the rows start:stop."""
        self._file.flush()
        self._file.seek(start * self._width * self._dtype.itemsize)
        values = np.fromfile(self._file, self._dtype, (stop - start) * self._width)
        return values.reshape(-1, self._width) if self._width > 1 else values

    def close(self) -> None:
        """Free the disk space."""
        self._file.close()


class RowSpool:
    """Rows copied from a source in one pass, to be read again.

    Parameters
    ----------
    is_sparse : bool
        Whether blocks are CSR. Their number of features may grow from block to block.
    """

    def __init__(self, is_sparse: bool) -> None:
        self.is_sparse = is_sparse
        self.n_rows = 0
        self.n_features = 0
        self._columns: dict[str, Column] = {}
        if is_sparse:
            self._columns = {
                "data": Column(np.float32),
                "indices": Column(np.int32),
                "indptr": Column(np.int64),
            }
            self._columns["indptr"].append(np.zeros(1, np.int64))

    @property
    def nnz(self) -> int:
        """Values stored."""
        if self.is_sparse:
            return self._columns["data"].length
        return self.n_rows * self.n_features

    @property
    def nbytes(self) -> int:
        """Bytes that all rows take."""
        return (8 if self.is_sparse else 4) * self.nnz + 8 * self.n_rows

    def append(self, rows: Rows) -> None:
        """Copy a block."""
        columns = self._columns
        self.n_features = max(self.n_features, rows.shape[1])
        if sparse.issparse(rows):
            columns["indptr"].append(rows.indptr[1:].astype(np.int64) + columns["data"].length)
            columns["data"].append(rows.data)
            columns["indices"].append(rows.indices)
        else:
            if not columns:
                columns["X"] = Column(np.float32, rows.shape[1])
            columns["X"].append(rows)
        self.n_rows += rows.shape[0]

    def blocks(self) -> Iterator[Rows]:
        """Return the rows in order, in blocks."""
        for start, stop in self.spans():
            yield self.read(start, stop)

    def spans(self) -> Iterator[tuple[int, int]]:
        """Return (start, stop) of blocks of a few megabytes."""
        return spans(self.n_rows, self.nbytes // max(1, self.n_rows))

    def read(self, start: int, stop: int) -> Rows:
        """Return the rows start:stop."""
        columns = self._columns
        if not self.is_sparse:
            return columns["X"].read(start, stop).reshape(stop - start, self.n_features)
        indptr = columns["indptr"].read(start, stop + 1)
        first, last = int(indptr[0]), int(indptr[-1])
        data = columns["data"].read(first, last)
        return as_csr(data, columns["indices"].read(first, last), indptr - first, self.n_features)

    def close(self) -> None:
        """Free the disk space."""
        for column in self._columns.values():
            column.close()
