"""Boxes of runs of stored rows: what a part of the rows can reach is known before it is read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.compiled import njit
from dcsvm_dask.kernels.far import RUN_ROWS, affordable, extremes, separation
from dcsvm_dask.kernels.kernel import Kernel
from dcsvm_dask.kernels.kinds import L1_DISTANCE
from dcsvm_dask.kernels.vectors import SUM_FLAGS

Index = NDArray[np.int64]
Vector = NDArray[np.float64]

# Share of a budget that may be spent on whole runs. A run costs the most that any of its rows
# may; what is left is spent by smaller tiles.
_OF_RUNS = 0.125


@dataclass(frozen=True, slots=True)
class Boxes:
    """Bounding boxes of runs of consecutive rows, at most 256 in each, of one block."""

    borders: Index
    """Run r holds the rows from borders[r] to borders[r + 1]; shape (R + 1,)."""
    low: NDArray[np.float32]
    """Lowest value of every feature, shape (R, d)."""
    high: NDArray[np.float32]
    """Highest value of every feature, shape (R, d)."""

    @classmethod
    def of(cls, X: NDArray[np.float32], sizes: Index, order: Index | None = None) -> Boxes:
        """Return the boxes of blocks of these sizes, whose rows are in `kd_order`.

        Parameters
        ----------
        X : ndarray, shape (n, d), float32
        sizes : ndarray of int64
            Rows of each block.
        order : ndarray of int64, optional
            The rows of X, block after block; by default all as they are.
        """
        borders = _borders(sizes)
        low, high = np.empty((2, len(borders) - 1, X.shape[1]), np.float32)
        extremes(X, np.arange(len(X)) if order is None else order, borders, low, high)
        return cls(borders, low, high)

    @classmethod
    def stored(cls, sizes: Index, low: NDArray[np.float32], high: NDArray[np.float32]) -> Boxes:
        """Return the boxes that `of` made of a table of blocks of these sizes."""
        return cls(_borders(sizes), low, high)

    @classmethod
    def joined(cls, parts: list[Boxes]) -> Boxes:
        """Return the boxes of tables that follow each other."""
        firsts = np.cumsum([0, *(int(part.borders[-1]) for part in parts)])
        borders = [part.borders[:-1] + first for part, first in zip(parts, firsts, strict=False)]
        return cls(
            np.concatenate([*borders, firsts[-1:]]),
            np.concatenate([part.low for part in parts]),
            np.concatenate([part.high for part in parts]),
        )

    @property
    def centres(self) -> NDArray[np.float32]:
        """The middle of every box, shape (R, d)."""
        return 0.5 * (self.low + self.high)

    def runs_of(self, rows: Index) -> Index:
        """Return the run of each row."""
        return np.searchsorted(self.borders, rows, side="right") - 1

    def near(
        self, kernel: Kernel, rows: Index, columns: Index, v: Vector, budget: float
    ) -> tuple[Index, float]:
        """Find the columns of a product that some rows can reach.

        Parameters
        ----------
        kernel : Kernel
            Shift-invariant.
        rows : ndarray of int64
            The rows of the product, at least one, in any order.
        columns : ndarray of int64, shape (m,)
            Its columns, which are rows of the same table.
        v : ndarray, shape (m,)
        budget : float
            See `kernel_product`.

        Returns
        -------
        kept : ndarray of int64
            Positions in `columns`, ascending. Of the others the sum of the largest kernel value
            times sum |v_j| is at most a share of the budget, for every row.
        budget : float
            What is left of it.
        """
        own, of_column = np.unique(self.runs_of(rows)), self.runs_of(columns)
        mass = np.asarray(np.bincount(of_column, np.abs(v), len(self.low)), np.float64)
        gaps = np.full(len(mass), np.inf)
        used = np.flatnonzero(mass)
        _least_gaps(self.low, self.high, own, used, kernel.kind.argument == L1_DISTANCE, gaps)
        cost = kernel.value(gaps[used]) * mass[used]
        far = affordable(cost, _OF_RUNS * budget)
        is_near = np.zeros(len(mass), dtype=np.bool_)
        is_near[used[~far]] = True
        return np.flatnonzero(is_near[of_column]), budget - float(cost[far].sum())


def _borders(sizes: Index) -> Index:
    """Return the borders of the runs of blocks of these sizes; a run ends where its block does."""
    ends = np.cumsum(sizes, dtype=np.int64)
    starts = [np.arange(end - size, end, RUN_ROWS) for size, end in zip(sizes, ends, strict=True)]
    return np.concatenate([*starts, ends[-1:] if len(ends) else [0]]).astype(np.int64)


@njit(cache=True, nogil=True, fastmath=SUM_FLAGS)
def _least_gaps(low: Any, high: Any, own: Any, others: Any, l1: Any, out: Any) -> None:
    """out[s] = least squared distance (`l1`: L1 distance) of box s to one of the own boxes."""
    for s in others:
        least = np.inf
        for r in own:
            total = 0.0
            for f in range(low.shape[1]):
                total += separation(low[s, f], high[s, f], low[r, f], high[r, f], l1)
                if total >= least:
                    break
            least = min(least, total)
            if least == 0.0:
                break
        out[s] = least
