"""Memory for one kernel matrix after the other."""

from __future__ import annotations

import threading
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Memory: TypeAlias = NDArray[Any]


class MatrixMemory:
    """Memory of kernel matrices that SVMs use in turn: each writes over that of an earlier one.

    A system hands out new memory page by page, which for hundreds of megabytes takes up to as long
    as their kernel values. Pages that no matrix has reached take no memory.

    Parameters
    ----------
    rows : int
        Rows of the largest matrix.
    dtype : float32 or float64, default float32
        Of its values.
    """

    def __init__(self, rows: int, dtype: Any = np.float32) -> None:
        self.rows, self.dtype = rows, dtype
        self._free: list[Memory] = []
        self._lock = threading.Lock()

    def has_float64(self, rows: int) -> bool:
        """Return whether memory of float32 has room for a matrix of so many rows in float64."""
        return 2 * rows**2 <= self.rows**2

    def take(self) -> Memory:
        """Return memory that nobody else has, shape (rows^2,), of any content."""
        with self._lock:
            return self._free.pop() if self._free else np.empty(self.rows**2, self.dtype)

    def give_back(self, memory: Memory) -> None:
        """Make memory available to the next `take`.

        Parameters
        ----------
        memory : ndarray
            As `take` returned it.
        """
        with self._lock:
            self._free.append(memory)

    def release(self) -> None:
        """Free the memory that is not taken; `take` allocates anew."""
        with self._lock:
            self._free.clear()


def room_for_float64(memory: Memory, rows: int) -> Memory | None:
    """Return the beginning of memory of float32 for a matrix in float64, if it has room for one.

    Parameters
    ----------
    memory : ndarray of float32
    rows : int
        Of the matrix.
    """
    size = 2 * rows**2
    return memory[:size].view(np.float64) if size <= len(memory) else None


class Scratch:
    """Memory that is used again: each request invalidates what the last one returned."""

    def __init__(self) -> None:
        self._bytes = np.empty(0, np.uint8)

    def of(self, size: int, dtype: Any) -> Memory:
        """Return memory for so many values, of any content; what was there before is lost.

        Parameters
        ----------
        size : int
        dtype : dtype
        """
        needed = size * np.dtype(dtype).itemsize
        if self._bytes.size < needed:
            self._bytes = np.empty(0, np.uint8)  # freed before more is allocated
            self._bytes = np.empty(needed, np.uint8)
        return self._bytes[:needed].view(dtype)
