"""Writing rows of a data set to disk, as a stream."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import zarr
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels.rows import Rows
from dcsvm_dask.storage.arrays import create_array
from dcsvm_dask.storage.chunks import CHUNK_BYTES
from dcsvm_dask.storage.location import Location
from dcsvm_dask.storage.rows.read import FORMAT, VERSION, RowArray, open_rows


class ArrayWriter:
    """Writes an array of unknown length from consecutive pieces, whole chunks at a time.

    Parameters
    ----------
    place : Location
    width : tuple of int
        Sizes of the axes after the first.
    dtype : dtype
    chunk : int
        Rows of a chunk.
    """

    def __init__(
        self,
        place: Location,
        width: tuple[int, ...],
        dtype: DTypeLike,
        chunk: int,
    ) -> None:
        self._place = place
        self._dtype = np.dtype(dtype)
        self._chunk = max(1, chunk)
        self._width = width
        self._pieces: list[NDArray[Any]] = []
        self._pending = 0
        self.length = 0
        # Chunks do not depend on the array's length, which is set by `close`.
        self._array = self._create(1 << 60)

    def append(self, values: NDArray[Any]) -> None:
        """Add rows at the end."""
        self._pieces.append(values)
        self._pending += len(values)
        if self._pending >= self._chunk:
            self._write(self._pending - self._pending % self._chunk)

    def close(self) -> None:
        """Write the remaining rows and set the array's length."""
        if self._pending:
            self._write(self._pending)
        (self._place / "zarr.json").delete()
        self._create(self.length)

    def _create(self, length: int) -> zarr.Array[Any]:
        shape, chunks = (length, *self._width), (self._chunk, *self._width)
        return create_array(self._place, shape, self._dtype, chunks)

    def _write(self, rows: int) -> None:
        values = self._pieces[0] if len(self._pieces) == 1 else np.concatenate(self._pieces)
        # Zarr packs the chunks of one assignment in parallel.
        self._array[self.length : self.length + rows] = values[:rows]
        self.length += rows
        # A copy, so that a few remaining rows do not keep a large piece in memory.
        self._pieces = [values[rows:].copy()]
        self._pending = len(values) - rows


class RowWriter:
    """Writes rows, block by block; they cannot be opened before `close`.

    Parameters
    ----------
    place : Location
        A place without rows.
    n_features : int
    sparse : bool
        Whether to store CSR parts; other blocks are converted.
    chunk_rows : int
        Rows of a chunk, at least 1.
    nnz_per_row : float, optional
        Approximate number of values in a sparse row, for the chunks of CSR parts.
    """

    def __init__(
        self,
        place: Location,
        *,
        n_features: int,
        sparse: bool,
        chunk_rows: int,
        nnz_per_row: float | None = None,
    ) -> None:
        if chunk_rows < 1:
            raise InputError(f"chunk_rows must be 1 or more, got {chunk_rows}")
        self._place = place
        self._n_features = n_features
        self._sparse = sparse
        self._chunk_rows = chunk_rows
        self._n_rows = 0
        self._nnz = 0
        if sparse:
            chunk = value_chunk(chunk_rows, nnz_per_row)
            self._data = ArrayWriter(place / "data", (), np.float32, chunk)
            self._indices = ArrayWriter(place / "indices", (), np.int32, chunk)
            self._indptr = ArrayWriter(place / "indptr", (), np.int64, border_chunk(chunk_rows))
            self._indptr.append(np.zeros(1, np.int64))
        else:
            self._data = ArrayWriter(place / "X", (n_features,), np.float32, chunk_rows)

    def append(self, block: Rows) -> None:
        """Add a block of rows at the end."""
        if block.shape[1] != self._n_features:
            raise InputError(f"a block must have {self._n_features} features, got {block.shape[1]}")
        if not self._sparse:
            dense = block.toarray() if sparse.issparse(block) else block
            self._data.append(np.ascontiguousarray(dense, dtype=np.float32))
            self._nnz += dense.size
        else:
            rows = sparse.csr_array(block)
            if not rows.has_canonical_format:
                rows = rows.copy()
                rows.sum_duplicates()
            self._data.append(rows.data.astype(np.float32, copy=False))
            self._indices.append(rows.indices.astype(np.int32, copy=False))
            self._indptr.append(rows.indptr[1:].astype(np.int64) + self._nnz)
            self._nnz += int(rows.indptr[-1])
        self._n_rows += block.shape[0]

    def close(self) -> RowArray:
        """Complete the arrays and return the rows."""
        self._data.close()
        if self._sparse:
            self._indices.close()
            self._indptr.close()
        end_rows(
            self._place,
            n_rows=self._n_rows,
            n_features=self._n_features,
            sparse=self._sparse,
            chunk_rows=self._chunk_rows,
            nnz=self._nnz,
        )
        return open_rows(self._place)


def value_chunk(chunk_rows: int, nnz_per_row: float | None) -> int:
    """Return the number of values in a chunk of CSR parts."""
    longest = CHUNK_BYTES // 4
    values = longest if nnz_per_row is None else int(nnz_per_row * chunk_rows)
    # Chunks under a megabyte cost more in calls than in bytes.
    return min(max(values, longest // 4), longest)


def border_chunk(chunk_rows: int) -> int:
    """Return the number of entries of indptr in a chunk of CSR parts."""
    return max(chunk_rows, 1 << 16)


def end_rows(place: Location, **about: Any) -> None:
    """Write the group's attributes, so that its rows can be opened.

    Parameters
    ----------
    place : Location
    **about
        ``n_rows``, ``n_features``, ``sparse``, ``chunk_rows`` and ``nnz``.
    """
    zarr.create_group(place.store(), attributes={"format": FORMAT, "version": VERSION, **about})


def write_rows(
    place: Location,
    blocks: Iterable[Rows],
    *,
    n_features: int,
    sparse: bool,
    chunk_rows: int,
) -> RowArray:
    """Write rows as a stream, by one writer.

    Parameters
    ----------
    place : Location
        A place without rows.
    blocks : iterable of ndarray or csr_array
        Consecutive blocks of any size, (m, n_features) each.
    n_features : int
    sparse : bool
        Whether to store CSR parts; other blocks are converted.
    chunk_rows : int
        Rows of a chunk, at least 1.

    Returns
    -------
    RowArray
        The written rows.
    """
    writer = RowWriter(place, n_features=n_features, sparse=sparse, chunk_rows=chunk_rows)
    for block in blocks:
        writer.append(block)
    return writer.close()
