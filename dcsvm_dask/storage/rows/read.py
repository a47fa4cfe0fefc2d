"""Reading rows of a data set on disk, dense or CSR.

Rows are a Zarr group. Dense rows are one array ``X`` (n, d) float32 in chunks of rows; CSR rows
are ``data`` float32, ``indices`` int32 and ``indptr`` int64. The group's attributes are written
last, so rows whose writer died cannot be opened.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
import zarr
from numpy.typing import NDArray
from scipy import sparse

from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels.rows import Rows
from dcsvm_dask.storage.arrays import Form, open_array, read_rows
from dcsvm_dask.storage.checksums import Checksums
from dcsvm_dask.storage.chunks import MOST_CHUNKS
from dcsvm_dask.storage.location import Location

FORMAT = "dcsvm-rows"
VERSION = 1
_COUNTS = ("n_rows", "n_features", "chunk_rows", "nnz")


class RowReader(Protocol):
    """The interface of `RowArray` and `ConcatRows`."""

    n_rows: int
    n_features: int
    is_sparse: bool
    chunk_rows: int

    def read(self, start: int, stop: int) -> Rows:
        """Return the rows start:stop."""

    def take(self, index: NDArray[np.int64]) -> Rows:
        """Return rows in the order of an index."""

    def borders(self) -> NDArray[np.int64]:
        """Return the first row of every chunk of rows, and the number of rows."""

    def nbytes_of(self, start: int, stop: int) -> int:
        """Return about the number of bytes of the rows start:stop in memory."""


class RowArray:
    """Rows at a place, opened by `open_rows`; pickled by address.

    Attributes
    ----------
    place : Location
    n_rows, n_features : int
    is_sparse : bool
        Whether `read` returns csr_array instead of ndarray.
    chunk_rows : int
        Rows of a chunk, the unit of reading.
    nnz : int
        Stored values: n_rows * n_features when dense.
    """

    def __init__(
        self, place: Location, meta: dict[str, Any], checksums: Checksums | None = None
    ) -> None:
        self.place = place
        self._checksums = checksums
        self._meta = meta
        self.n_rows = int(meta["n_rows"])
        self.n_features = int(meta["n_features"])
        self.is_sparse = bool(meta["sparse"])
        self.chunk_rows = int(meta["chunk_rows"])
        self.nnz = int(meta["nnz"])
        self._arrays: dict[str, zarr.Array[Any]] = {}
        self._kept: tuple[int, NDArray[np.int64]] = 0, np.empty(0, np.int64)

    def __reduce__(self) -> tuple[Any, ...]:
        return RowArray, (self.place, self._meta, self._checksums)

    def __len__(self) -> int:
        return self.n_rows

    def __repr__(self) -> str:
        kind = "CSR" if self.is_sparse else "dense"
        return f"RowArray({self.place}, {self.n_rows} x {self.n_features} {kind})"

    @property
    def density(self) -> float:
        """Share of values that are stored: 1 when dense."""
        return self.nnz / max(1, self.n_rows * self.n_features)

    def read(self, start: int, stop: int) -> Rows:
        """Return the rows start:stop.

        Parameters
        ----------
        start, stop : int
            0 <= start <= stop <= n_rows.

        Returns
        -------
        ndarray or csr_array, shape (stop - start, n_features), float32

        Raises
        ------
        IndexError
            If the rows are not among those of the table.
        InputError
            If a chunk is missing or its checksum does not match.
        """
        if not 0 <= start <= stop <= self.n_rows:
            raise IndexError(f"rows {start}:{stop} of {self.n_rows}")
        if not self.is_sparse:
            if start == stop:
                return np.empty((0, self.n_features), np.float32)
            return self._read("X", start, stop)
        indptr = self._read_indptr(start, stop + 1)
        first, last = int(indptr[0]), int(indptr[-1])
        if last > first:
            data, indices = self._read("data", first, last), self._read("indices", first, last)
        else:
            data, indices = np.empty(0, np.float32), np.empty(0, np.int32)
        return as_csr(data, indices, indptr - first, self.n_features)

    def take(self, index: NDArray[np.int64]) -> Rows:
        """Return rows in the order of an index, which may repeat.

        Each chunk that is touched is read once; memory is the result and one chunk.

        Parameters
        ----------
        index : int64 array, shape (m,)
            Row numbers in 0..n_rows - 1, in any order.

        Returns
        -------
        ndarray or csr_array, shape (m, n_features), float32
        """
        return take_rows(self, np.asarray(index))

    def borders(self) -> NDArray[np.int64]:
        """Return the first row of every chunk of rows, and the number of rows."""
        return np.append(np.arange(0, self.n_rows, self.chunk_rows, dtype=np.int64), self.n_rows)

    def nbytes_of(self, start: int, stop: int) -> int:
        """Return about the number of bytes of the rows start:stop in memory.

        It is exact for dense rows, and from the mean number of values a row for sparse ones.
        """
        rows = stop - start
        if not self.is_sparse:
            return rows * self.n_features * 4
        return int(rows * self.nnz / max(1, self.n_rows)) * 8 + (rows + 1) * 8

    def _read_indptr(self, start: int, stop: int) -> NDArray[np.int64]:
        """Return indptr[start:stop], of a chunk that was read before where it is in one.

        A chunk of it is that of many chunks of values.
        """
        first, kept = self._kept
        if not first <= start < stop <= first + len(kept):
            step = self._array("indptr").chunks[0]
            first, last = start - start % step, -(-stop // step) * step
            if last - first > step * MOST_CHUNKS:
                return self._read("indptr", start, stop)
            kept = self._read("indptr", first, min(last, self.n_rows + 1))
            self._kept = first, kept
        return kept[start - first : stop - first]

    def _read(self, name: str, start: int, stop: int) -> NDArray[Any]:
        return read_rows(self._array(name), self.place / name, start, stop)

    def _array(self, name: str) -> zarr.Array[Any]:
        array = self._arrays.get(name)
        if array is None:
            checksums = None if self._checksums is None else self._checksums.below(name)
            array = open_array(self.place / name, self._forms()[name], checksums)
            if name == "X" and array.chunks != (self.chunk_rows, self.n_features):
                raise InputError(f"{self.place / name}: damaged array metadata ({array.chunks=})")
            self._arrays[name] = array
        return array

    def _forms(self) -> dict[str, Form]:
        return {
            "X": ((self.n_rows, self.n_features), np.float32),
            "data": ((self.nnz,), np.float32),
            "indices": ((self.nnz,), np.int32),
            "indptr": ((self.n_rows + 1,), np.int64),
        }


class ConcatRows:
    """Consecutive parts read as one table.

    Parameters
    ----------
    parts : sequence of RowArray or ConcatRows
        All dense or all sparse, with the same number of features.

    Raises
    ------
    InputError
        If the parts differ in features or in form, or there are none.
    """

    def __init__(self, parts: Sequence[RowReader]) -> None:
        if not parts:
            raise InputError("no parts to read rows from")
        self.parts = list(parts)
        head = self.parts[0]
        for part in self.parts:
            if part.n_features != head.n_features or part.is_sparse != head.is_sparse:
                raise InputError(f"{part} does not fit {head}: features or form differ")
        self.offsets = np.cumsum([0, *(p.n_rows for p in self.parts)])
        self.n_rows = int(self.offsets[-1])
        self.n_features = head.n_features
        self.is_sparse = head.is_sparse
        self.chunk_rows = max(p.chunk_rows for p in self.parts)

    def __len__(self) -> int:
        return self.n_rows

    def read(self, start: int, stop: int) -> Rows:
        """Return the rows start:stop; see `RowArray.read`."""
        if not 0 <= start <= stop <= self.n_rows:
            raise IndexError(f"rows {start}:{stop} of {self.n_rows}")
        found = [part.read(first, last) for part, first, last in self._pieces(start, stop)]
        return stack_rows(found, self.n_features, self.is_sparse)

    def take(self, index: NDArray[np.int64]) -> Rows:
        """Return rows in the order of an index; see `RowArray.take`."""
        return take_rows(self, np.asarray(index))

    def borders(self) -> NDArray[np.int64]:
        """Return the first row of every chunk of every part, and the number of rows."""
        firsts = (
            low + part.borders()[:-1] for part, low in zip(self.parts, self.offsets, strict=False)
        )
        return np.append(np.concatenate(list(firsts)), self.n_rows)

    def nbytes_of(self, start: int, stop: int) -> int:
        """Return about the number of bytes of the rows start:stop in memory."""
        return sum(part.nbytes_of(first, last) for part, first, last in self._pieces(start, stop))

    def _pieces(self, start: int, stop: int) -> Iterator[tuple[RowReader, int, int]]:
        """Yield the parts that have some of the rows start:stop, with the range in each part."""
        for part, low in zip(self.parts, self.offsets.tolist(), strict=False):
            first, last = max(start - low, 0), min(stop - low, part.n_rows)
            if first < last:
                yield part, first, last


def open_rows(place: Location, checksums: Checksums | None = None) -> RowArray:
    """Return the rows that `write_rows` wrote.

    Parameters
    ----------
    place : Location
    checksums : Checksums, optional
        Those of the place, against which each object is verified.

    Returns
    -------
    RowArray

    Raises
    ------
    InputError
        If there are none, the write did not end, or the place has other content.
    """
    try:
        described = (
            (place / "zarr.json").read_json() if checksums is None else checksums.read_json()
        )
    except FileNotFoundError as error:
        raise InputError(f"{place}: no rows there") from error
    meta = described.get("attributes")
    if not isinstance(meta, dict) or meta.get("format") != FORMAT:
        raise InputError(f"{place}: holds no rows of a data set")
    if meta.get("version") != VERSION:
        raise InputError(
            f"{place}: rows of version {meta.get('version')}, this dcsvm reads {VERSION}"
        )
    for name in (*_COUNTS, "sparse"):
        kind = bool if name == "sparse" else int
        if type(meta.get(name)) is not kind or not 0 <= meta[name] < 1 << 63:
            raise InputError(f"{place}: damaged description of rows ({name}: {meta.get(name)!r})")
    rows = RowArray(place, meta, checksums)
    if rows.chunk_rows < 1 or not (rows.is_sparse or rows.nnz == rows.n_rows * rows.n_features):
        raise InputError(f"{place}: damaged description of rows ({meta})")
    return rows


def as_csr(
    data: NDArray[np.float32], indices: NDArray[Any], indptr: NDArray[Any], n_features: int
) -> sparse.csr_array:
    """Return a csr_array of canonical parts without checking them.

    Parameters
    ----------
    data : ndarray, shape (nnz,), float32
    indices : ndarray of int, shape (nnz,)
        Sorted and distinct in each row.
    indptr : ndarray of int, shape (n + 1,)
    n_features : int

    Returns
    -------
    csr_array, shape (n, n_features)
    """
    kind = np.int32 if int(indptr[-1]) <= np.iinfo(np.int32).max else np.int64
    shape = (indptr.size - 1, n_features)
    rows = sparse.csr_array(
        (data, indices.astype(kind, copy=False), indptr.astype(kind, copy=False)), shape=shape
    )
    rows.has_sorted_indices = True
    rows.has_canonical_format = True
    return rows


def slice_rows(rows: Rows, start: int, stop: int) -> Rows:
    """Return some of the rows of a block, which share its memory.

    Parameters
    ----------
    rows : ndarray or csr_array
        Canonical if sparse.
    start, stop : int
        0 <= start <= stop <= n.

    Returns
    -------
    ndarray or csr_array
    """
    if isinstance(rows, np.ndarray):
        return rows[start:stop]
    if (start, stop) == (0, rows.shape[0]):
        return rows
    indptr = rows.indptr[start : stop + 1]
    first, last = int(indptr[0]), int(indptr[-1])
    return as_csr(rows.data[first:last], rows.indices[first:last], indptr - first, rows.shape[1])


def stack_rows(parts: list[Rows], n_features: int, is_sparse: bool) -> Rows:
    """Return blocks of rows as one block.

    Parameters
    ----------
    parts : list of ndarray or csr_array
    n_features : int
    is_sparse : bool

    Returns
    -------
    ndarray or csr_array, float32
    """
    if len(parts) == 1:
        return parts[0]
    if not is_sparse:
        return np.concatenate(parts) if parts else np.empty((0, n_features), np.float32)
    if not parts:
        return as_csr(
            np.empty(0, np.float32), np.empty(0, np.int32), np.zeros(1, np.int64), n_features
        )
    starts = np.cumsum([0, *(int(p.indptr[-1]) for p in parts)])
    indptr = [np.zeros(1, np.int64)]
    indptr += [p.indptr[1:].astype(np.int64) + s for p, s in zip(parts, starts, strict=False)]
    return as_csr(
        np.concatenate([p.data for p in parts]),
        np.concatenate([p.indices for p in parts]),
        np.concatenate(indptr),
        n_features,
    )


def take_rows(rows: RowReader, index: NDArray[Any]) -> Rows:
    """Gather rows chunk by chunk; see `RowArray.take`."""
    index = index.astype(np.int64, copy=False)
    if index.ndim != 1:
        raise IndexError("an index of rows has one axis")
    if index.size and not (index.min() >= 0 and index.max() < rows.n_rows):
        raise IndexError(f"row numbers {index.min()}..{index.max()} of {rows.n_rows}")
    order = None if bool((index[1:] >= index[:-1]).all()) else np.argsort(index, kind="stable")
    ordered = index if order is None else index[order]
    dense = None if rows.is_sparse else np.empty((index.size, rows.n_features), np.float32)
    found: list[Rows] = []
    chunk = np.searchsorted(rows.borders(), ordered, side="right")
    cuts = [*np.flatnonzero(np.diff(chunk, prepend=-1)).tolist(), index.size]
    for low, high in pairwise(cuts):
        wanted = ordered[low:high]
        first = int(wanted[0])
        block = rows.read(first, int(wanted[-1]) + 1)
        if dense is None:
            found.append(block[wanted - first])
        elif order is None:
            np.take(block, wanted - first, axis=0, out=dense[low:high], mode="clip")
        else:
            dense[order[low:high]] = block[wanted - first]
    if dense is not None:
        return dense
    gathered = stack_rows(found, rows.n_features, is_sparse=True)
    if order is None:
        return gathered
    inverse = np.empty_like(order)
    inverse[order] = np.arange(order.size)
    return gathered[inverse]
