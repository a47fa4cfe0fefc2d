"""Products with the kernel matrix of some rows whose columns are kept from one to the next."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dcsvm_dask.compiled import njit
from dcsvm_dask.kernels.columns import RowTile, row_tile
from dcsvm_dask.kernels.kernel import Kernel
from dcsvm_dask.kernels.rows import Rows, is_sparse
from dcsvm_dask.kernels.threads import for_each
from dcsvm_dask.kernels.tiled import tile_width, write_values
from dcsvm_dask.kernels.vectors import INNER, LOOP_FLAGS, prefer_wide_vectors
from dcsvm_dask.kernels.whole_numbers import small_whole_numbers, whole_rows

Vector = NDArray[np.float64]
Index = NDArray[np.int64]

MOST_PIECE, PIECE_BYTES = 256, 8 << 20
"""Columns that are taken at a time, at most, and their bytes, about."""
TILE_ROWS = 256
"""Rows of a tile of dense rows: its features and their products fit into a core's cache."""
STRIP = 2048
"""Rows that are summed at a time."""


class ColumnCache:
    """Columns K[:, j] of some rows x_i, kept while there is room for them.

    Values of a column are the same, bit for bit, whenever and with whatever others they are
    computed: products do not depend on what is kept.

    Parameters
    ----------
    kernel : Kernel
    X : ndarray or CSR, shape (n, d), float32
        The rows i.
    n_bytes : int
        Memory of the columns that are kept, and of the rows that they belong to where these are
        dense; those used least recently make room.

    Attributes
    ----------
    used, made : int
        Columns that products have taken, and those of them that had to be computed.
    """

    def __init__(self, kernel: Kernel, X: Rows, n_bytes: int) -> None:
        self.n = X.shape[0]
        width = tile_width(X) if is_sparse(X) else TILE_ROWS
        self._starts = list(range(0, self.n, width))
        tiles = [X[start : start + width] for start in self._starts]
        self._tiles = cache(partial(_tiles, kernel, tiles))
        self._is_whole = small_whole_numbers(X)
        self.used = self.made = 0
        slots = int(n_bytes // max(1, 4 * (self.n + (0 if is_sparse(X) else X.shape[1]))))
        self._piece = piece_of(self.n)
        self._slots = slots if slots >= self._piece else 0
        # Behind the slots there is room for a piece that is not kept.
        self._columns = np.empty((self._slots + self._piece, self.n), np.float32)
        self._rows = np.empty((0 if is_sparse(X) else len(self._columns), X.shape[1]), np.float32)
        self._slot_of: dict[int, int] = {}
        self._owner = np.full(self._slots, -1, np.int64)
        self._last = np.full(self._slots, -1, np.int64)
        self._clock = 0

    def product(self, index: Index, Z: Rows, w: Vector, threads: int = 1) -> Vector:
        """Return sum_j K(x_i, z_j) w_j of every row x_i, summed in float64 in the order of j.

        Parameters
        ----------
        index : ndarray of int64, shape (m,)
            What columns are known by: a number for each row that ever comes.
        Z : ndarray or CSR, shape (m, d), float32
            Stored in the same way as X.
        w : ndarray, shape (m,), float64
        threads : int, default 1
            Threads that share the work; the result is the same.

        Returns
        -------
        ndarray, shape (n,), float64
        """
        out = np.zeros(self.n)
        self._clock += 1
        # Where there is room for all, those that are absent are computed together: a tile costs
        # about as much with few columns as with many.
        known = self._find(index, Z, threads) if len(index) <= self._slots else None
        for start in range(0, len(index), self._piece):
            piece = slice(start, start + self._piece)
            where = self._find(index[piece], Z[piece], threads) if known is None else known[piece]
            weights = w[piece]

            def add(first: int, where: Index = where, weights: Vector = weights) -> None:
                last = first + STRIP
                _add_columns(self._columns, where, weights, first, out[first:last])

            for_each(add, range(0, self.n, STRIP), threads)
        return out

    def _find(self, index: Index, Z: Rows, threads: int) -> Index:
        """Return where some columns are, after computing those that are not there."""
        where = np.array([self._slot_of.get(int(j), -1) for j in index], np.int64)
        self._last[where[where >= 0]] = self._clock
        absent = np.flatnonzero(where < 0)
        self.used += len(index)
        self.made += len(absent)
        if len(absent):
            where[absent] = self._make_room(index[absent])
            self._compute(Z[absent], where[absent], threads)
        return where

    def _make_room(self, index: Index) -> Index:
        """Return the slots of new columns: those used least recently, but not by this product."""
        count = min(len(index), self._slots)
        slots = np.argpartition(self._last, count - 1)[:count] if count else np.empty(0, np.int64)
        slots = np.sort(slots[self._last[slots] < self._clock])
        for j, slot in zip(index[: len(slots)].tolist(), slots.tolist(), strict=True):
            self._slot_of.pop(int(self._owner[slot]), None)
            self._slot_of[j] = slot
        self._owner[slots] = index[: len(slots)]
        self._last[slots] = self._clock
        return np.concatenate([slots, self._slots + np.arange(len(index) - len(slots))])

    def _compute(self, Z: Rows, slots: Index, threads: int) -> None:
        """Compute the columns of some rows into their slots, which ascend."""
        whole = whole_rows(Z) if self._is_whole else np.zeros(len(slots), np.bool_)
        if is_sparse(Z):
            rows = _spread(Z, slots, len(self._columns))
        else:
            rows = self._rows
            rows[slots] = Z
        # Not all columns at once: what one is must not depend on the others.
        for kind in (False, True):
            of = slots[whole == kind]
            if len(of):
                self._write(self._tiles(kind), rows, of, threads)

    def _write(self, tiles: list[RowTile], rows: Rows, slots: Index, threads: int) -> None:
        """Compute the columns of those rows that stand where slots are."""

        def work(t: int) -> None:
            write_values(tiles[t], rows, self._columns, self._starts[t], slots)

        for_each(work, range(len(tiles)), threads)


def _spread(Z: Rows, slots: Index, n: int) -> Rows:
    """Return n sparse rows: those of Z where the slots are, and empty ones."""
    indptr = np.zeros(n + 1, Z.indptr.dtype)
    indptr[slots + 1] = np.diff(Z.indptr)
    np.cumsum(indptr, out=indptr)
    return sparse.csr_array((Z.data, Z.indices, indptr), shape=(n, Z.shape[1]))


def _tiles(kernel: Kernel, tiles: list[Rows], whole: bool) -> list[RowTile]:
    return [row_tile(kernel, X, np.float32, alone=True, whole=lambda: whole) for X in tiles]


def piece_of(n: int) -> int:
    """Return the columns of `n` rows that are taken at a time.

    Sums are made of four columns at a time, so that they are the same for all multiples of four.
    """
    return min(MOST_PIECE, max(32, PIECE_BYTES // (16 * max(1, n)) * 4))


@njit(**INNER, fastmath=LOOP_FLAGS)
def _add_strip(K: Any, where: Any, w: Any, first: Any, out: Any) -> None:
    prefer_wide_vectors()
    whole = len(where) // 4 * 4
    for c in range(0, whole, 4):
        p, q, s, t = K[where[c]], K[where[c + 1]], K[where[c + 2]], K[where[c + 3]]
        wp, wq, ws, wt = w[c], w[c + 1], w[c + 2], w[c + 3]
        for i in range(len(out)):
            j = first + i
            near = np.float64(p[j]) * wp + np.float64(q[j]) * wq
            out[i] += near + (np.float64(s[j]) * ws + np.float64(t[j]) * wt)
    for c in range(whole, len(where)):
        p, wp = K[where[c]], w[c]
        for i in range(len(out)):
            out[i] += np.float64(p[first + i]) * wp


@njit(cache=True, nogil=True)
def _add_columns(K: Any, where: Any, w: Any, first: Any, out: Any) -> None:
    """out[i] += sum_c K[where[c], first + i] w[c], in the order of c."""
    _add_strip(K, where, w, first, out)
