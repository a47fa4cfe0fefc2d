"""Scratch copies on local disk during an ingest, in bounded memory.

Files are anonymous (they vanish with the process) and are in the folder for temporary files,
which ``TMPDIR`` sets.
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
from dcsvm_dask.storage.rows.read import as_csr

COPIED_VALUES = 1 << 20
"""Values that are copied at a time."""


class Column:
    """A growing array of one dtype in an anonymous file.

    Parameters
    ----------
    dtype : dtype
    width : int, default 1
        Values in a row of the array.
    """

    def __init__(self, dtype: DTypeLike, width: int = 1) -> None:
        self._file = tempfile.TemporaryFile(prefix="dcsvm-")  # noqa: SIM115 - closed by close()
        self.dtype = np.dtype(dtype)
        self._width = width
        self.length = 0

    def append(self, values: NDArray[Any]) -> None:
        """Add rows at the end."""
        self._file.seek(0, 2)
        self._file.write(np.ascontiguousarray(values, dtype=self.dtype).data)
        self.length += values.shape[0]

    def read(self, start: int, stop: int) -> NDArray[Any]:
        """Return the rows start:stop."""
        self._file.flush()
        self._file.seek(start * self._width * self.dtype.itemsize)
        values = np.fromfile(self._file, self.dtype, (stop - start) * self._width)
        return values.reshape(-1, self._width) if self._width > 1 else values

    def copy_as(self, dtype: DTypeLike) -> Column:
        """Return a copy with another dtype."""
        copy = Column(dtype, self._width)
        step = max(1, COPIED_VALUES // self._width)
        for start in range(0, self.length, step):
            copy.append(self.read(start, min(start + step, self.length)))
        return copy

    def close(self) -> None:
        """Free the disk space."""
        self._file.close()


class RowSpool:
    """Rows copied from a source in one pass, to be read again.

    Values are stored in float32 until a block of float64 is added; from then on all are float64.

    Parameters
    ----------
    is_sparse : bool
        Whether blocks are CSR. Their number of features may grow from block to block.
    """

    def __init__(self, is_sparse: bool) -> None:
        self.is_sparse = is_sparse
        self.n_rows = 0
        self.n_features = 0
        self._form: np.dtype[Any] = np.dtype(np.float32)
        self._columns: dict[str, Column] = {}
        if is_sparse:
            self._columns = {
                "data": Column(self._form),
                "indices": Column(np.int32),
                "indptr": Column(np.int64),
            }
            self._columns["indptr"].append(np.zeros(1, np.int64))

    @property
    def nnz(self) -> int:
        """Number of stored values."""
        if self.is_sparse:
            return self._columns["data"].length
        return self.n_rows * self.n_features

    @property
    def nbytes(self) -> int:
        """Bytes of all rows."""
        per_value = self._form.itemsize + (4 if self.is_sparse else 0)
        return per_value * self.nnz + 8 * self.n_rows

    def append(self, rows: Rows) -> None:
        """Copy a block."""
        columns = self._columns
        self.n_features = max(self.n_features, rows.shape[1])
        if rows.dtype == np.float64 and self._form != np.float64:
            self._widen()
        if sparse.issparse(rows):
            columns["indptr"].append(rows.indptr[1:].astype(np.int64) + columns["data"].length)
            columns["data"].append(rows.data)
            columns["indices"].append(rows.indices)
        else:
            if not columns:
                columns["X"] = Column(self._form, rows.shape[1])
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

    def _widen(self) -> None:
        """Store all values in float64 from now on."""
        self._form = np.dtype(np.float64)
        name = "data" if self.is_sparse else "X"
        narrow = self._columns.get(name)
        if narrow is not None:
            self._columns[name] = narrow.copy_as(self._form)
            narrow.close()

    def close(self) -> None:
        """Free the disk space."""
        for column in self._columns.values():
            column.close()
