"""Kernel values with rows that are met again and again: their tiles are kept."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.kernels.columns import RowTile, row_tile
from dcsvm_dask.kernels.kernel import Kernel
from dcsvm_dask.kernels.rows import Rows
from dcsvm_dask.kernels.threads import for_each
from dcsvm_dask.kernels.tiled import tile_width, write_values
from dcsvm_dask.kernels.whole_numbers import small_whole_numbers

Index = NDArray[np.int64]


class KeptRows:
    """Some rows of a data set, changed little by little, as tiles.

    Kernel values of a few rows with many others cost less than the making of those others' tiles.

    Parameters
    ----------
    kernel : Kernel
    X : ndarray or CSR, shape (n, d), float32
    threads : int, default 1
        Threads that share the tiles; the result is the same. Give BLAS one.
    """

    def __init__(self, kernel: Kernel, X: Rows, threads: int = 1) -> None:
        self._kernel, self._X, self._threads = kernel, X, threads
        self._is_whole = cache(partial(small_whole_numbers, X))
        self._width = tile_width(X)
        self._kept = np.empty(0, np.int64)
        self._tiles: list[RowTile] = []

    def values(self, rows: Index, kept: Index, out: NDArray[Any]) -> int:
        """Write K(x_i, x_j) into ``out[:m, :h]``; return the number of kernel values computed.

        Parameters
        ----------
        rows : ndarray of int64, shape (m,)
            The rows i.
        kept : ndarray of int64, shape (h,)
            The rows j. Of tiles in which none has changed since the last call, nothing is made
            anew.
        out : ndarray, shape (m or more, h or more), float32
        """
        self._keep(kept)
        X = self._X[rows]

        def work(t: int) -> None:
            write_values(self._tiles[t], X, out, t * self._width)

        for_each(work, range(len(self._tiles)), self._threads)
        return len(rows) * len(kept)

    def _keep(self, kept: Index) -> None:
        """Make the tiles anew whose rows have changed."""
        before, self._kept = self._kept, kept.copy()
        del self._tiles[-(-len(kept) // self._width) :]
        for t, start in enumerate(range(0, len(kept), self._width)):
            rows = kept[start : start + self._width]
            if t < len(self._tiles) and np.array_equal(rows, before[start : start + self._width]):
                continue
            tile = row_tile(self._kernel, self._X[rows], np.float32, whole=self._is_whole)
            self._tiles[t : t + 1] = [tile]
