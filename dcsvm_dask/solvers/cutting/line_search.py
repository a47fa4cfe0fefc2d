"""The exact line search of OCAS (Franc, Sonnenburg, ICML 2008, appendix A), whole and in parts.

Along w_b + k (w_t - w_b) the objective is convex and piecewise quadratic: its slope rises on lines
between events, at which it jumps (losses with a kink) or its own slope changes (squared losses).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.solvers.cutting.losses import Losses

Vector = NDArray[np.float64]
# Of the histogram of parts: equal ones, and so many to an octave.
_BINS, _OF_OCTAVE = 1024, 24


@dataclass(frozen=True, slots=True)
class Events:
    """The slope of the risk along a line, by k > 0, of some rows."""

    slope: float
    """At k = 0, from the right."""
    bend: float
    """The slope's slope there."""
    at: Vector
    """Values of k above 0 where it changes, in any order."""
    jump: Vector
    """By how much the slope jumps at each, 0 or more."""
    bent: Vector
    """By how much its slope changes at each."""

    @classmethod
    def of(cls, losses: Losses, start: Vector, end: Vector) -> Events:
        """Find the events of the line between the outputs at k = 0 and those at k = 1.

        Parameters
        ----------
        losses : Losses
        start, end : array, shape (n,), float64
        """
        slope = bend = 0.0
        found: list[tuple[Vector, Vector, Vector]] = []
        for side, bound in ((-1.0, losses.upper), (1.0, -losses.lower)):
            # The side's excess is z + k d; the loss is bound (z + k d), or its square over 2 D.
            d = side * (end - start)
            rows = np.flatnonzero((bound > 0.0) & (d != 0.0))
            d, ridge, cost = d[rows], losses.ridge[rows], bound[rows]
            z = side * (start[rows] + losses.p[rows]) - losses.epsilon[rows]
            squared = ridge > 0.0
            cost = np.where(squared, 0.0, cost)
            curve = np.divide(d * d, ridge, out=np.zeros(len(d)), where=squared)
            with np.errstate(over="ignore"):  # of a subnormal d: an event that is never met
                k = -z / d
            active = (k > 0.0) == (d < 0.0)  # on the right of k = 0
            linear = np.divide(z * d, ridge, out=cost * d, where=squared)
            slope += float(linear[active].sum())
            bend += float(curve[active].sum())
            later = (k > 0.0) & np.isfinite(k)
            change = np.where(d > 0.0, curve, -curve)
            found.append((k[later], (cost * np.abs(d))[later], change[later]))
        at, jump, bent = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return cls(slope, bend, at, jump, bent)

    def slope_at(self, k: float) -> tuple[float, float]:
        """Return the slope at k, from the right, and its slope."""
        met = self.at <= k
        slope = self.slope + self.bend * k
        slope += float((self.jump[met] + self.bent[met] * (k - self.at[met])).sum())
        return slope, self.bend + float(self.bent[met].sum())

    def between(self, low: float, high: float) -> Events:
        """Return the events of (low, high], with k counted from low."""
        slope, bend = self.slope_at(low)
        kept = (self.at > low) & (self.at <= high)
        return Events(slope, bend, self.at[kept] - low, self.jump[kept], self.bent[kept])

    def joined(self) -> Events:
        """Return the same with one event for all at the same k, in order."""
        at, which = np.unique(self.at, return_inverse=True)
        jump, bent = np.zeros(len(at)), np.zeros(len(at))
        np.add.at(jump, which, self.jump)
        np.add.at(bent, which, self.bent)
        return Events(self.slope, self.bend, at, jump, bent)

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


def search(events: Events, slope: float, bend: float) -> float:
    """Return the k >= 0 at which the objective along the line is least.

    Parameters
    ----------
    events : Events
        Of the risk.
    slope, bend : float
        Of the regularizer: w_b'(w_t - w_b) and |w_t - w_b|^2.

    Returns
    -------
    float
        0 where the objective does not fall.
    """
    if slope + events.slope >= 0.0:
        return 0.0
    # Most events are met after k = 1, most answers are before it: few have to be sorted.
    if slope + bend + events.slope_at(1.0)[0] >= 0.0:
        return min(_sorted(events.between(0.0, 1.0), slope, bend), 1.0)
    return 1.0 + _sorted(events.between(1.0, np.inf), slope + bend, bend)


def _sorted(events: Events, slope: float, bend: float) -> float:
    """Find the k of `search` by all events in order."""
    slope, bend = slope + events.slope, bend + events.bend
    if slope >= 0.0:
        return 0.0
    order = np.argsort(events.at, kind="stable")
    at = np.concatenate([[0.0], events.at[order]])
    bends = bend + np.concatenate([[0.0], np.cumsum(events.bent[order])])
    # The slope before and after each event.
    before = slope + np.concatenate([[0.0], np.cumsum(bends[:-1] * np.diff(at))])
    jumps = np.concatenate([[0.0], np.cumsum(events.jump[order])])
    after = before + jumps
    met = int(np.searchsorted(np.maximum.accumulate(after), 0.0))
    if met < len(at) and after[met - 1] + bends[met - 1] * (at[met] - at[met - 1]) < 0.0:
        return float(at[met])
    return _zero(float(at[met - 1]), float(after[met - 1]), float(bends[met - 1]))


def _zero(k: float, slope: float, bend: float) -> float:
    """Return where a line through a slope below 0 is 0; k itself where it does not rise."""
    return k - slope / bend if bend > 0.0 else k


def edges_to(farthest: float) -> Vector:
    """Return edges of bins from 0 to a k above the answer: equal ones, and ever smaller ones.

    The objective F at k = 0 gives such a k: |w| <= sqrt(2 F) at the answer, so
    k <= (|w_b| + sqrt(2 F)) / |w_t - w_b|.
    """
    equal = np.linspace(0.0, farthest, _BINS + 1)
    return np.union1d(equal, farthest * np.exp2(-np.arange(_BINS) / _OF_OCTAVE))


def bracket(histogram: Vector, edges: Vector, slope: float, bend: float) -> tuple[float, float]:
    """Return the bin that holds the k of `search`, as (low, high]; (0, 0) where nothing falls.

    Parameters
    ----------
    histogram : array, shape (m,), float64
        The slope of the risk at each edge: the sum of those of all parts of the rows.
    edges : array, shape (m,), float64
        Of `edges_to`.
    slope, bend : float
        As for `search`.
    """
    slopes = histogram + slope + bend * edges
    if slopes[0] >= 0.0:
        return 0.0, 0.0
    bin_ = int(np.searchsorted(np.maximum.accumulate(slopes[1:-1]), 0.0))
    return float(edges[bin_]), float(edges[bin_ + 1])


def search_between(
    parts: Sequence[Events], slope: float, bend: float, low: float, high: float
) -> float:
    """Return the k of `search`, which lies in (low, high].

    Parameters
    ----------
    parts : sequence of Events
        What `Events.between` finds there in each part of the rows.
    slope, bend : float
        As for `search`.
    low, high : float
        Of `bracket`.
    """
    if high == 0.0:
        return 0.0
    at, jump, bent = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("at", "jump", "bent")
    )
    risk = Events(sum(p.slope for p in parts), sum(p.bend for p in parts), at, jump, bent)
    return low + min(search(risk, slope + bend * low, bend), high - low)
