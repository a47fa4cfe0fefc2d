"""NumPy files as sources: a matrix in .npy, arrays of an archive in .npz (dense or CSR).

The format is read as a stream of rows; pickled objects are never loaded.

Memory: twice the bytes that are read at a time and 8 bytes for each of their numbers. That is a
block of rows of about 8 MB, at least one row, and the whole of an array in Fortran order that
cannot be mapped. It is compared with the memory bound before anything is read. Members of an
archive are decompressed piece by piece; its table of contents takes at most 1/32 of the bound.
"""

from __future__ import annotations

import contextlib
import errno
import io
import math
import os
import struct
import sys
import tokenize
import zipfile
import zlib
from collections.abc import Iterator
from typing import IO, Any, cast

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.errors import InputError
from dcsvm_dask.readers.archive import ArchiveNames, archive_names
from dcsvm_dask.readers.columns import Expected, column_layout, listed
from dcsvm_dask.readers.csr import csr_blocks
from dcsvm_dask.readers.files import open_bytes, open_raw, plain_errors
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

_PREFIX = {1: 10, 2: 12}
"""Bytes before the header, by version of the format."""
_MOST_HEAD = 1 << 16
_PIECE = 8 << 20
"""Bytes read at a time: a header may state more than the file has."""


class NpyStream:
    """An array in .npy format, read sequentially in pieces.

    An array in Fortran order, whose rows are scattered over the whole file, is mapped into memory
    if it is an uncompressed local file; otherwise it is read as a whole.

    Parameters
    ----------
    file : file object
        Opened for reading bytes; need not support random access.
    name : str
        For messages.

    Attributes
    ----------
    shape : tuple of int
    dtype : dtype

    Raises
    ------
    InputError
        If this is no such array, is damaged, has Python objects, or exceeds the memory bound.
    """

    def __init__(self, file: IO[bytes], name: str) -> None:
        self.name = name
        self._file = file
        self.shape, by_columns, self.dtype = _read_head(file, name)
        if self.dtype.hasobject:
            raise InputError(
                f"{name}: has Python objects, which are not loaded; save numbers, or labels as "
                "strings (y.astype(str))"
            )
        sizes = all(type(size) is int and size >= 0 for size in self.shape)
        # NumPy counts bytes in 64 bits, also for empty arrays.
        sizes = sizes and math.prod(max(1, s) for s in self.shape) * self.dtype.itemsize < 2**62
        if self.dtype.names:
            raise InputError(
                f"{name}: its rows have fields ({listed(self.dtype.names)}), which are not read; "
                "write a table of them: pandas.DataFrame(numpy.load(FILE)).to_csv(NEW, index=False)"
            )
        if self.dtype.kind == "V" or not self.dtype.itemsize or not sizes:
            raise InputError(
                f"{name}: an array of type {self.dtype} and shape {self.shape} holds neither "
                "numbers nor words"
            )
        self._width = self.shape[1:]
        self._row = self.dtype.itemsize * math.prod(self._width)
        self._array: NDArray[Any] | None = None
        self._next = 0
        if by_columns and len(self.shape) > 1:
            self._array = self._columns()

    def rows_of(self, size: int) -> int:
        """Return the number of rows of about `size` bytes, also as float32; at least one."""
        return max(1, size // max(1, self._row, 4 * math.prod(self._width)))

    def flatten(self) -> None:
        """Make it an array of one axis; call this before reading."""
        if self._array is not None:
            self._array = self._array.reshape(-1)
        self.shape, self._width = (math.prod(self.shape),), ()
        self._row = self.dtype.itemsize

    def read(self, rows: int) -> NDArray[Any]:
        """Return the next rows, fewer at the end.

        Raises
        ------
        InputError
            If the file ends before the array does.
        """
        start = self._next
        stop = min(start + rows, self.shape[0])
        self._next = stop
        if self._array is not None:
            return self._array[start:stop]
        return self._numbers((stop - start) * self._row).reshape(stop - start, *self._width)

    def _columns(self) -> NDArray[Any]:
        if isinstance(self._file, io.BufferedReader) and self._file.seekable():
            with contextlib.suppress(OSError):  # the file cannot be mapped
                at = self._file.tell()
                if os.fstat(self._file.fileno()).st_size < at + self._row * self.shape[0]:
                    raise InputError(f"{self.name}: damaged: it ends too early")
                return np.memmap(self._file, self.dtype, "r", at, self.shape, "F")
        flat = self._numbers(self._row * self.shape[0])
        return flat.reshape(self.shape[::-1]).T

    def _numbers(self, size: int) -> NDArray[Any]:
        wanted = 2 * size + 8 * (size // self.dtype.itemsize)
        what = f"an array of shape {self.shape}, {self.dtype}, read by {size:,} bytes,"
        check_bound(wanted, self.name, what)
        pieces = bytearray()
        while len(pieces) < size:
            piece = self._file.read(min(size - len(pieces), _PIECE))
            if not piece:
                raise InputError(f"{self.name}: damaged: it ends too early")
            pieces += piece
        if self.dtype.kind == "U":
            points = np.frombuffer(pieces, np.dtype(np.uint32).newbyteorder(self.dtype.byteorder))
            if points.max(initial=0) > sys.maxunicode:
                raise InputError(f"{self.name}: damaged: words of bytes that are no characters")
        return np.frombuffer(pieces, self.dtype)


def _read_head(file: IO[bytes], name: str) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Return shape, whether it is in Fortran order, and dtype."""
    begin = file.read(8)
    version = tuple(begin[6:])
    if begin.startswith(b"\x93NUMPY") and version not in ((1, 0), (2, 0)):
        raise InputError(
            f"{name}: NumPy format {version} is not supported; save it with NumPy's default format"
        )
    size = file.read(_PREFIX[version[0]] - 8) if begin.startswith(b"\x93NUMPY") else b""
    length = int.from_bytes(size, "little")
    if not 0 < length < _MOST_HEAD:
        raise InputError(f"{name}: damaged or no NumPy array (a header of {length} bytes)")
    head = io.BytesIO(size + file.read(length))
    try:
        if version == (1, 0):
            return np.lib.format.read_array_header_1_0(head)
        return np.lib.format.read_array_header_2_0(head)
    except (
        *(ValueError, TypeError, SyntaxError, tokenize.TokenError, OverflowError),
        *(MemoryError, RecursionError),  # deeply nested brackets or signs
    ) as error:
        raise InputError(f"{name}: damaged or no NumPy array ({error})") from error


CONTENTS_MEMORY = 32
"""Largest number of bytes of memory for each byte of an archive's table of contents."""


class NpySource:
    """Rows of a matrix in a .npy file; one of its columns is the label.

    Parameters
    ----------
    path : str
        Local path or URL.
    label : int, optional
        Column of the label, negative from the end; by default the last one.
    expected : Expected, optional
        Columns of the training table, for later rows; these may lack labels.
    """

    parses = False
    is_sparse = False
    feature_names: list[str] | None = None

    def __init__(
        self, path: str, *, label: str | int | None = None, expected: Expected | None = None
    ) -> None:
        self.name = path
        with open_bytes(path) as file:
            stream = NpyStream(file, path)
        check_shape(stream.shape, stream.dtype, path)
        layout = column_layout(path, stream.shape[1], None, label=label, expected=expected)
        self._label = layout.label
        self.reading = Reading("NumPy matrix", position=layout.position)
        self.n_features: int | None = layout.n_features
        if self.n_features == 0:
            raise InputError(f"{path}: has one column; a label and features are needed")

    def blocks(self) -> Iterator[Block]:
        """Yield the blocks in order."""
        with open_bytes(self.name) as file:
            stream = NpyStream(file, self.name)
            step = stream.rows_of(BLOCK_BYTES)
            for start in range(0, stream.shape[0], step):
                table = stream.read(step)
                labels = None
                if self._label is not None:
                    labels = np.array(table[:, self._label])
                    table = np.delete(table, self._label, axis=1)
                yield finish_block(table, self.name, start), labels


class NpzSource:
    """One part of a NumPy archive: ``X_train, y_train`` and so on, dense or CSR.

    Arrays of more than two axes (images) are flattened to a vector for each row.

    Parameters
    ----------
    path : str
        Local path or URL.
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
        with _open_archive(path) as archive:
            self._names: ArchiveNames = archive_names(
                path,
                _members(archive),
                part,
                label,
                needs_labels=n_features is None,
                data=data,
                data_required=n_features is None,
            )
            self.is_sparse = self._names.is_sparse
            if self.is_sparse:
                name = f"{self._names.rows}_shape"
                shape = self._whole(archive, name)
                check_shape_array(shape.shape, shape.dtype, f"{path}: {name}")
                self._shape = (int(shape[0]), int(shape[1]))
            else:
                with self._open(archive, self._names.rows) as stream:
                    check_shape(stream.shape, stream.dtype, f"{path}, {self._names.rows}", 99)
                    self._shape = (stream.shape[0], math.prod(stream.shape[1:]))
            if self._names.labels is not None:
                with self._open(archive, self._names.labels) as stream:
                    if math.prod(stream.shape) != self._shape[0]:
                        raise InputError(
                            f"{path}: {self._shape[0]} rows in {self._names.rows}, but "
                            f"{math.prod(stream.shape)} labels in {self._names.labels}"
                        )
        self.n_features: int | None = self._shape[1]
        self.reading = Reading(ARCHIVES[0], label=self._names.labels, array=data)

    def blocks(self) -> Iterator[Block]:
        """Yield the blocks in order."""
        with contextlib.ExitStack() as stack:
            archive = stack.enter_context(_open_archive(self._path))
            labels = None
            if self._names.labels is not None:
                labels = stack.enter_context(self._open(archive, self._names.labels))
                labels.flatten()
            start = 0
            for rows in self._rows(archive, stack):
                found = None if labels is None else labels.read(rows.shape[0]).reshape(-1)
                yield finish_block(rows, self.name, start), found
                start += rows.shape[0]

    def _rows(self, archive: zipfile.ZipFile, stack: contextlib.ExitStack) -> Iterator[Any]:
        name = self._names.rows
        if self.is_sparse:
            parts = [
                stack.enter_context(self._open(archive, f"{name}_{part}"))
                for part in ("data", "indices", "indptr")
            ]
            yield from csr_blocks(*parts, shape=self._shape, name=f"{self._path}, {name}")
            return
        stream = stack.enter_context(self._open(archive, name))
        step = stream.rows_of(BLOCK_BYTES)
        if self._names.labels is not None:
            with self._open(archive, self._names.labels) as labels:
                labels.flatten()
                step = min(step, labels.rows_of(BLOCK_BYTES))
        for _ in range(0, self._shape[0], step):
            rows = stream.read(step)
            yield rows.reshape(rows.shape[0], -1)

    @contextlib.contextmanager
    def _open(self, archive: zipfile.ZipFile, name: str) -> Iterator[NpyStream]:
        if archive.getinfo(f"{name}.npy").compress_type == zipfile.ZIP_LZMA:
            raise InputError(
                f"{self._path}, {name}: compressed by LZMA, whose memory is unbounded; save the "
                "archive with numpy.savez_compressed"
            )
        try:
            member = archive.open(f"{name}.npy")
        except (RuntimeError, UnicodeDecodeError) as error:  # a password, or an invalid name
            raise InputError(f"{self._path}, {name}: cannot be opened ({error})") from error
        with member as file:
            yield NpyStream(file, f"{self._path}, {name}")

    def _whole(self, archive: zipfile.ZipFile, name: str) -> NDArray[Any]:
        with self._open(archive, name) as stream:
            if len(stream.shape) != 1:
                raise InputError(f"{self._path}: {name} must have one axis")
            return stream.read(stream.shape[0])


class _Bounded:
    """A file whose reads are compared with the memory bound: zipfile reads a table of contents at
    once.
    """

    def __init__(self, file: Any, name: str) -> None:
        self._file = file
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes."""
        what = f"a table of contents of {show_size(size)}"
        check_bound(CONTENTS_MEMORY * size, self._name, what)
        found: bytes = self._file.read(size)
        return found


def npz_parts(path: str) -> list[str]:
    """Return the parts that an archive has: train, and perhaps test."""
    with _open_archive(path) as archive:
        names = _members(archive)
    found = {n.removesuffix("_data") for n in names}
    return ["train", "test"] if found & {"X_test", "x_test"} else ["train"]


@contextlib.contextmanager
def _open_archive(path: str) -> Iterator[zipfile.ZipFile]:
    try:
        with plain_errors(path), open_raw(path) as file, _zip(file, path) as archive:
            yield archive
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, struct.error) as error:
        raise InputError(f"{path}: damaged archive ({error!s:.200})") from error
    except OSError as error:
        if error.errno != errno.EINVAL:  # an offset before the file's beginning
            raise
        raise InputError(f"{path}: damaged archive ({error})") from error


def _zip(file: Any, path: str) -> zipfile.ZipFile:
    return zipfile.ZipFile(cast("IO[bytes]", _Bounded(file, path)))


def _members(archive: zipfile.ZipFile) -> list[str]:
    return [n.removesuffix(".npy") for n in archive.namelist() if n.endswith(".npy")]
