"""NumPy's file format as a stream of rows; pickled objects are never loaded."""

from __future__ import annotations

import contextlib
import io
import math
import os
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.errors import InputError


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
        If this is no such array, is damaged, or holds Python objects.
    """

    def __init__(self, file: IO[bytes], name: str) -> None:
        self.name = name
        self._file = file
        try:
            version = np.lib.format.read_magic(file)
            if version == (1, 0):
                head = np.lib.format.read_array_header_1_0(file)
            elif version == (2, 0):
                head = np.lib.format.read_array_header_2_0(file)
            else:
                raise InputError(f"{name}: NumPy format {version} is not known here")
        except ValueError as error:
            if isinstance(error, InputError):
                raise
            raise InputError(f"{name}: damaged or no NumPy array ({error})") from error
        self.shape, by_columns, self.dtype = head
        if self.dtype.hasobject:
            raise InputError(f"{name}: holds Python objects, which are not loaded; save numbers")
        self._width = self.shape[1:]
        self._row = self.dtype.itemsize * math.prod(self._width)
        self._held: NDArray[Any] | None = None
        self._next = 0
        if by_columns and len(self.shape) > 1:
            self._held = self._columns()

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
        pieces = bytearray()
        while len(pieces) < size:
            piece = self._file.read(size - len(pieces))
            if not piece:
                raise InputError(f"{self.name}: damaged: it ends too early")
            pieces += piece
        return np.frombuffer(pieces, self.dtype)
