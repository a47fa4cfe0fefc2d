"""Which pairs of tiles can be left out: kernels that decay are all but zero between far tiles."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.compiled import njit
from dcsvm_dask.kernels.vectors import SUM_FLAGS

RUN_ROWS = 256
"""Consecutive rows that callers keep compact; no segment of columns crosses a multiple of it."""
WIDTH = 64
"""Columns of a segment, at most."""


@dataclass(frozen=True, slots=True)
class Segments:
    """Columns in use, cut into runs, each with the weight it carries and its bounding box."""

    cuts: NDArray[np.int64]
    """Segment s holds the columns in use from cuts[s] to cuts[s + 1]; shape (S + 1,)."""
    mass: NDArray[np.float64]
    """sum |v| of each segment."""
    low: NDArray[Any]
    """Lowest value of every feature, shape (S, d)."""
    high: NDArray[Any]
    """Highest value of every feature, shape (S, d)."""

    def columns(self, kept: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return the positions of the columns in the segments that are kept."""
        return np.flatnonzero(np.repeat(kept, np.diff(self.cuts)))

    def gaps(self, rows: NDArray[Any], l1: bool) -> NDArray[np.float64]:
        """Least squared distance (`l1`: L1 distance) between the rows' box and every segment's."""
        out = np.empty(len(self.mass))
        _gaps(rows.min(axis=0), rows.max(axis=0), self.low, self.high, l1, out)
        return out


def segments(Z: NDArray[Any], columns: NDArray[np.int64], v: NDArray[np.float64]) -> Segments:
    """Cut the columns in use (rows of dense Z, with weights v) into compact segments."""
    runs = np.unique(np.searchsorted(columns, np.arange(0, Z.shape[0], RUN_ROWS)))
    first = [np.arange(a, b, WIDTH) for a, b in pairwise([*runs, len(columns)])]
    start = np.concatenate([np.empty(0, np.int64), *first])
    cuts = np.append(start, len(columns))
    boxes = np.empty((2, len(start), Z.shape[1]), dtype=Z.dtype)
    extremes(Z, columns, cuts, *boxes)
    mass = np.add.reduceat(np.abs(v), start) if len(start) else np.empty(0)
    return Segments(cuts, mass, *boxes)


def affordable(cost: NDArray[np.float64], budget: float) -> NDArray[np.bool_]:
    """Choose the cheapest, as many as have a sum of costs within the budget."""
    # What is this cheap fits together whatever the rest is; only the rest needs sorting.
    chosen = cost <= budget / max(len(cost), 1)
    rest = np.flatnonzero(~chosen & (cost <= budget))
    order = rest[np.argsort(cost[rest], kind="stable")]
    spent = cost[chosen].sum() + np.cumsum(cost[order])
    chosen[order[: np.searchsorted(spent, budget, side="right")]] = True
    return chosen


@njit(cache=True, nogil=True)
def extremes(Z: Any, columns: Any, cuts: Any, low: Any, high: Any) -> None:
    """Find the box of each run of columns, from cuts[s] to cuts[s + 1]."""
    for s in range(len(cuts) - 1):
        for f in range(Z.shape[1]):
            low[s, f] = high[s, f] = Z[columns[cuts[s]], f]
        for q in range(cuts[s] + 1, cuts[s + 1]):
            j = columns[q]
            for f in range(Z.shape[1]):
                low[s, f] = min(low[s, f], Z[j, f])
                high[s, f] = max(high[s, f], Z[j, f])


@njit(cache=True, nogil=True, fastmath=SUM_FLAGS)
def separation(low: Any, high: Any, other_low: Any, other_high: Any, l1: Any) -> float:
    """Return what a feature adds to the least squared distance (`l1`: L1 distance) of two boxes."""
    gap = max(np.float64(low) - other_high, np.float64(other_low) - high)
    gap = gap if gap > 0.0 else 0.0
    return gap if l1 else gap * gap


@njit(cache=True, nogil=True, fastmath=SUM_FLAGS)
def _gaps(low: Any, high: Any, lows: Any, highs: Any, l1: Any, out: Any) -> None:
    for s in range(len(out)):
        total = 0.0
        for f in range(len(low)):
            total += separation(lows[s, f], highs[s, f], low[f], high[f], l1)
        out[s] = total
