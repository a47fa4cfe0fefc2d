"""Foreign Zarr groups as sources, with arrays named as in a NumPy archive.

Memory: three times a row of chunks, whose sizes are compared with the memory bound before a chunk
is read, see also zarr_chunks.py; and 50 times the metadata of an array or of the group, likewise
(where they are in a local folder).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import zarr
from numpy.typing import NDArray
from zarr.abc.store import Store
from zarr.errors import NodeNotFoundError
from zarr.storage import FsspecStore, LocalStore

from dcsvm_dask.errors import InputError
from dcsvm_dask.readers.archive import archive_names
from dcsvm_dask.readers.csr import csr_blocks
from dcsvm_dask.readers.files import plain_errors
from dcsvm_dask.readers.folders import no_group
from dcsvm_dask.readers.memory import check_bound, show_size
from dcsvm_dask.readers.source import (
    ARCHIVES,
    BLOCK_BYTES,
    Block,
    Reading,
    check_shape,
    check_shape_array,
    finish_block,
)
from dcsvm_dask.readers.urls import check_url, is_url
from dcsvm_dask.readers.zarr_chunks import check_chunks, check_codecs, count_stored

METADATA_ERRORS = (
    *(ValueError, TypeError, AttributeError, LookupError, ArithmeticError),
    *(AssertionError, RuntimeError, SystemError),
)
"""Errors that Zarr raises for invalid metadata."""

MANY_CHUNKS = 20_000
"""Number of chunks from which on at least one in a hundred must be stored."""
METADATA = ("zarr.json", ".zgroup", ".zarray", ".zattrs", ".zmetadata")
METADATA_MEMORY = 50
"""Largest number of bytes of memory for each byte of metadata."""

_MOST = 2**63 - 1
MOST_PACKED = 10_000
"""Largest ratio of an array's bytes to its stored bytes; chunks may be missing."""


class ZarrSource:
    """One part of a Zarr group: ``X_train, y_train`` or ``X, y`` and so on, dense or CSR parts.

    Parameters
    ----------
    path : str
        Local path or URL of the group.
    part : {"train", "test"}
    label : str, optional
        Name of the array of labels, with or without ``_train`` at its end; by default y.
    n_features : int, optional
        Number of features, if it is known. Labels may then be missing.
    data : str, optional
        Name of the array of rows; by default X.
    """

    parses = False
    feature_names: list[str] | None = None

    def __init__(
        self,
        path: str,
        *,
        part: str = "train",
        label: str | int | None = None,
        n_features: int | None = None,
        data: str | None = None,
    ) -> None:
        self.name = f"{path} ({part} part)" if part != "train" else path
        self._path = path
        group = _open_group(path)
        self._names = archive_names(
            path,
            _names(group, path),
            part,
            label,
            needs_labels=n_features is None,
            data=data,
            data_required=n_features is None,
        )
        self.is_sparse = self._names.is_sparse
        if self.is_sparse:
            name = f"{self._names.rows}_shape"
            parts = _array(group, name, path)
            check_shape_array(parts.shape, parts.dtype, f"{path}: {name}")
            shape = ZarrStream(parts, path).read(2)
            self._shape = (int(shape[0]), int(shape[1]))
        else:
            X = _array(group, self._names.rows, path)
            check_shape(X.shape, X.dtype, f"{path}, {self._names.rows}")
            self._shape = (X.shape[0], X.shape[1])
        if self._names.labels is not None:
            y = _array(group, self._names.labels, path)
            if y.shape != (self._shape[0],):
                raise InputError(
                    f"{path}: {self._shape[0]} rows in {self._names.rows}, but labels of shape "
                    f"{y.shape} in {self._names.labels}"
                )
        self.n_features: int | None = self._shape[1]
        self.reading = Reading(ARCHIVES[1], label=self._names.labels, array=data)

    def blocks(self) -> Iterator[Block]:
        """Yield the blocks in order."""
        group = _open_group(self._path)
        labels = None
        if self._names.labels is not None:
            labels = ZarrStream(_array(group, self._names.labels, self._path), self._path)
        start = 0
        for rows in self._rows(group):
            found = None if labels is None else labels.read(rows.shape[0])
            yield finish_block(rows, self.name, start), found
            start += rows.shape[0]

    def _rows(self, group: zarr.Group) -> Iterator[Any]:
        name = self._names.rows
        if self.is_sparse:
            parts = [
                ZarrStream(_array(group, f"{name}_{part}", self._path), self._path)
                for part in ("data", "indices", "indptr")
            ]
            yield from csr_blocks(*parts, shape=self._shape, name=f"{self._path}, {name}")
            return
        stream = ZarrStream(_array(group, name, self._path), self._path)
        step = max(1, BLOCK_BYTES // (4 * self._shape[1]))
        for _ in range(0, self._shape[0], step):
            yield stream.read(step)


class ZarrStream:
    """An array that is read sequentially, each chunk of rows once."""

    def __init__(self, array: zarr.Array[Any], path: str) -> None:
        self.shape = array.shape
        self.dtype = array.dtype
        self._array = array
        self._path = path
        row = array.dtype.itemsize * math.prod(array.shape[1:])
        rows = max(1, min(array.shape[0], max(array.chunks[:1] + (array.shards or ())[:1])))
        check_bound(
            3 * rows * row, f"{path}, {array.basename}", f"a row of chunks of {rows:,} rows"
        )
        self._buffer = np.empty((0, *array.shape[1:]), array.dtype)
        self._next = 0

    def read(self, rows: int) -> NDArray[Any]:
        """Return the next rows, fewer at the end."""
        if self._buffer.shape[0] < rows and self._next < self.shape[0]:
            chunk = self._array.chunks[0]
            stop = self._next + max(rows - self._buffer.shape[0], 1)
            stop = min(-(-stop // chunk) * chunk, self.shape[0])
            try:
                check_chunks(self._array, self._next, stop)
                piece = np.asarray(self._array[self._next : stop])
            except METADATA_ERRORS as error:
                raise InputError(
                    f"{self._path}: damaged: rows {self._next}:{stop} cannot be read "
                    f"({error!s:.200})"
                ) from error
            self._buffer = np.concatenate([self._buffer, piece]) if self._buffer.size else piece
            self._next = stop
        out, self._buffer = self._buffer[:rows], self._buffer[rows:]
        return out


def zarr_parts(path: str) -> list[str]:
    """Return the parts that a group has: train, and perhaps test."""
    found = {n.removesuffix("_data") for n in _names(_open_group(path), path)}
    return ["train", "test"] if found & {"X_test", "x_test"} else ["train"]


def _store(path: str) -> Store:
    """Return the store of a group, without passing paths with ``::`` to fsspec."""
    if not is_url(path):
        return LocalStore(path, read_only=True)
    check_url(path)
    return FsspecStore.from_url(path, read_only=True)


def _open_group(path: str) -> zarr.Group:
    with plain_errors(path):
        _check_metadata(path)
        try:
            return zarr.open_group(_store(path), mode="r")
        except (NodeNotFoundError, *METADATA_ERRORS) as error:
            if not is_url(path) and Path(path).is_dir() and not path.rstrip("/").endswith(".zarr"):
                raise InputError(f"{path}: {no_group(Path(path))}") from error
            raise InputError(f"{path}: no Zarr group there ({error!s:.200})") from error


def _check_metadata(path: str) -> None:
    """Raise an error for a local group with a metadata file that exceeds the memory bound."""
    if "://" in path:
        return
    for pattern in (f"{folder}{name}" for folder in ("", "*/") for name in METADATA):
        for file in Path(path).expanduser().glob(pattern):
            size = file.stat().st_size
            check_bound(METADATA_MEMORY * size, str(file), f"metadata of {show_size(size)}")


def _names(group: zarr.Group, path: str) -> list[str]:
    try:
        return list(group.array_keys())
    except METADATA_ERRORS as error:
        raise InputError(f"{path}: damaged metadata of an array ({error!s:.200})") from error


def _array(group: zarr.Group, name: str, path: str) -> zarr.Array[Any]:
    """Return an array whose metadata fit its stored bytes and which cannot run code."""
    found = group[name]
    assert isinstance(found, zarr.Array)
    meta = found.metadata
    if min(found.chunks, default=1) < 1 or max(found.shape, default=0) > _MOST:
        raise InputError(
            f"{path}, {name}: damaged metadata: shape {found.shape}, chunks of {found.chunks}"
        )
    if meta.zarr_format == 2:
        # Older versions of numcodecs unpickle the output of such a codec.
        for codec in (*(meta.filters or ()), meta.compressor):
            if getattr(codec, "codec_id", "") == "pickle":
                raise InputError(f"{path}, {name}: has pickled objects, which are not loaded")
    try:
        check_codecs(found, f"{path}, {name}")
    except METADATA_ERRORS as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path}, {name}: damaged metadata ({error!s:.200})") from error
    if found.nchunks > MANY_CHUNKS and found.nchunks > 100 * (stored := count_stored(found)):
        raise InputError(
            f"{path}, {name}: damaged: its metadata state {found.nchunks:,} chunks, "
            f"but {stored:,} are stored"
        )
    if found.nbytes > 1 << 30 and found.nbytes > MOST_PACKED * found.nbytes_stored():
        raise InputError(
            f"{path}, {name}: damaged: its metadata state {found.nbytes} bytes, "
            f"but {found.nbytes_stored()} are stored"
        )
    return found
