"""The exact line search of OCAS (Franc, Sonnenburg, ICML 2008, appendix A), whole and in parts.

Along w_b + k (w_t - w_b) the objective is convex and piecewise quadratic: its slope rises on lines
between events, at which it jumps (losses with a kink) or its own slope changes (squared losses).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.solvers.cutting.loops import crossing
from dcsvm_dask.solvers.cutting.losses import Losses, Span

Vector = NDArray[np.float64]
# Bins of the histograms of parts: equal ones, those of an octave, and equal ones inside of a bin.
_BINS, _OCTAVE_BINS, _SUBBINS = 1024, 24, 4096
STRETCHES = (0.0, 0.25, 1.0, np.inf)
"""Where the stretches of a line end that are searched one after the other. Most answers are in the
first one, most events behind it."""


@dataclass(frozen=True, slots=True)
class Events:
    """The slope of the risk along a stretch of a line, by k from where it begins, of some rows."""

    slope: float
    """Where it begins, from the right."""
    bend: float
    """The slope's slope there."""
    last: float
    """The slope where it ends, from the right; of no use where it has no end."""
    at: Vector
    """Values of k above 0 where it changes, in any order."""
    jump: Vector
    """By how much the slope jumps at each, 0 or more."""
    bent: Vector
    """By how much its slope changes at each."""

    @classmethod
    def of(
        cls,
        losses: Losses,
        start: Vector,
        end: Vector,
        low: float = 0.0,
        high: float = np.inf,
        rows: Span | None = None,
    ) -> Events:
        """Find those of the stretch (low, high] of the line between two points.

        Parameters
        ----------
        losses : Losses
        start, end : array, shape (n,), float64
            The outputs at the points, where the line's k is 0 and where it is 1.
        low, high : float
        rows : (int, int), optional
            The first of the rows that count, and the one behind the last; all by default.
        """
        slope, bend = losses.slopes_at(start, end, low, rows)
        last = losses.slopes_at(start, end, high, rows)[0] if high < np.inf else np.nan
        return cls(slope, bend, last, *losses.events(start, end, low, high, rows))

    @classmethod
    def of_parts(cls, parts: Sequence[Events]) -> Events:
        """Return those of all rows, given those of each part."""
        if len(parts) == 1:
            return parts[0]
        slope, bend, last = (
            sum(getattr(part, name) for part in parts) for name in ("slope", "bend", "last")
        )
        at, jump, bent = (
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("at", "jump", "bent")
        )
        return cls(slope, bend, last, at, jump, bent)

    def histogram(self, edges: Vector) -> Vector:
        """Return the slope at each edge, from the right; those of parts of the rows add up.

        Parameters
        ----------
        edges : array, shape (m,), float64
            Ascending.

        Returns
        -------
        array, shape (m,), float64
        """
        m = len(edges)
        bins = np.searchsorted(edges, self.at, side="left")
        jump, bent, moment = (
            np.cumsum(np.bincount(bins, weight, m + 1)[:m])
            for weight in (self.jump, self.bent, self.bent * self.at)
        )
        return np.asarray(self.slope + self.bend * edges + jump + bent * edges - moment)


def search_line(find: Callable[[float, float], Events], slope: float, bend: float) -> float:
    """Return the k >= 0 at which the objective along a line is least; 0 where it does not fall.

    Parameters
    ----------
    find : callable
        Returns the events of a stretch of the line. It is asked for those of `STRETCHES` in turn,
        up to the one that holds the answer.
    slope, bend : float
        Of the regularizer: w_b'(w_t - w_b) and |w_t - w_b|^2.
    """
    k = 0.0
    for low, high in pairwise(STRETCHES):
        events = find(low, high)
        k = low + min(search(events, slope + low * bend, bend), high - low)
        if high == np.inf or slope + high * bend + events.last >= 0.0:
            break
    return k


def search(events: Events, slope: float, bend: float) -> float:
    """Return the k >= 0, of a stretch of a line, at which the objective is least.

    Parameters
    ----------
    events : Events
        Of the risk.
    slope, bend : float
        Of the regularizer, where the stretch begins.
    """
    slope, bend = slope + events.slope, bend + events.bend
    if slope >= 0.0:
        return 0.0
    copies = (one.copy() for one in (events.at, events.jump, events.bent))
    return float(crossing(*copies, slope, bend))


def edges_to(farthest: float) -> Vector:
    """Return edges of bins from 0 to a k above the answer: equal ones, and ever smaller ones.

    The objective F at k = 0 gives such a k: |w| <= sqrt(2 F) at the answer, so
    k <= (|w_b| + sqrt(2 F)) / |w_t - w_b|.
    """
    equal = np.linspace(0.0, farthest, _BINS + 1)
    return np.union1d(equal, farthest * np.exp2(-np.arange(_BINS) / _OCTAVE_BINS))


def edges_between(low: float, high: float) -> Vector:
    """Return edges of equal bins of a stretch of a line, which a first histogram has found."""
    return np.linspace(low, high, _SUBBINS + 1)


def bracket(
    histogram: Vector, edges: Vector, slope: float, bend: float
) -> tuple[float, float, float]:
    """Return the bin that holds the k of `search`, and k as far as the bin tells it.

    Parameters
    ----------
    histogram : array, shape (m,), float64
        The slope of the risk at each edge: the sum of those of all parts of the rows.
    edges : array, shape (m,), float64
        Of `edges_to` or `edges_between`.
    slope, bend : float
        As for `search_line`.

    Returns
    -------
    low, high : float
        Both 0 where the objective does not fall along the line.
    k : float
        Where the chord between the slopes at both is 0. The objective there is above the least one
        by less than the events of the bin change the slope, times the width of the bin.
    """
    slopes = histogram + slope + bend * edges
    if edges[0] == 0.0 and slopes[0] >= 0.0:
        return 0.0, 0.0, 0.0
    bin_ = int(np.searchsorted(np.maximum.accumulate(slopes[1:-1]), 0.0))
    low, high = float(edges[bin_]), float(edges[bin_ + 1])
    below, above = float(slopes[bin_]), float(slopes[bin_ + 1])
    if below >= 0.0 or above <= 0.0:
        return low, high, low if below >= 0.0 else high
    return low, high, low - below * (high - low) / (above - below)
