"""NumPy's file format as a stream of rows; pickled objects are never loaded.

Memory: twice what is read at a time and 8 bytes for each of its numbers. That is a block of rows,
at least one row, and of an array in Fortran order that cannot be mapped the whole. It is compared
with the memory bound before anything is read.
"""

from __future__ import annotations

import contextlib
import io
import math
import os
import sys
import tokenize
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.errors import InputError
from dcsvm_dask.readers.memory import check_bound

_PREFIX = {1: 10, 2: 12}
"""Bytes before the header, by version of the format."""
_MOST_HEAD = 1 << 16
_PIECE = 8 << 20
"""Bytes read at a time: a header may speak of more than there is."""


class NpyStream:
    """An array in .npy format, read from the front in pieces.

    An array in Fortran order, whose rows are scattered over the whole file, is mapped into memory
    where it is a local file as it is; packed, inside of an archive or behind a URL it is held
    whole.

    Parameters
    ----------
    file : file object
        Opened for reading bytes; does not need random access.
    name : str
        For messages.

    Attributes
    ----------
    shape : tuple of int
    dtype : dtype

    Raises
    ------
    InputError
        If this is no such array, is damaged, holds Python objects, or takes too much memory.
    """

    def __init__(self, file: IO[bytes], name: str) -> None:
        self.name = name
        self._file = file
        self.shape, by_columns, self.dtype = _read_head(file, name)
        if self.dtype.hasobject:
            raise InputError(f"{name}: holds Python objects, which are not loaded; save numbers")
        sizes = all(type(size) is int and size >= 0 for size in self.shape)
        # NumPy counts bytes by 64 bits, also of arrays without any.
        sizes = sizes and math.prod(max(1, s) for s in self.shape) * self.dtype.itemsize < 2**62
        if self.dtype.kind == "V" or not self.dtype.itemsize or not sizes:
            raise InputError(
                f"{name}: an array of type {self.dtype} and shape {self.shape} holds neither "
                "numbers nor words"
            )
        self._width = self.shape[1:]
        self._row = self.dtype.itemsize * math.prod(self._width)
        self._held: NDArray[Any] | None = None
        self._next = 0
        if by_columns and len(self.shape) > 1:
            self._held = self._columns()

    def rows_of(self, size: int) -> int:
        """Return how many rows take about so many bytes, also as float32; at least one."""
        return max(1, size // max(1, self._row, 4 * math.prod(self._width)))

    def flatten(self) -> None:
        """Make it an array of one axis, before anything is read."""
        if self._held is not None:
            self._held = self._held.reshape(-1)
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
        if self._held is not None:
            return self._held[start:stop]
        return self._numbers((stop - start) * self._row).reshape(stop - start, *self._width)

    def _columns(self) -> NDArray[Any]:
        if isinstance(self._file, io.BufferedReader) and self._file.seekable():
            with contextlib.suppress(OSError):  # nothing that can be mapped
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
        raise InputError(f"{name}: NumPy format {version} is not known here")
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
        *(MemoryError, RecursionError),  # brackets or signs, thousands deep
    ) as error:
        raise InputError(f"{name}: damaged or no NumPy array ({error})") from error
