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
_BINS = 1024
_ROUNDS = 4
_FEW = 1024


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

    def histogram(self, edges: Vector) -> NDArray[np.float64]:
        """Return the slope at each edge, from the right, and how many events lie at or below it.

        Parameters
        ----------
        edges : array, shape (m,), float64
            Ascending.

        Returns
        -------
        array, shape (2, m), float64
            Histograms of parts add up to that of all rows.
        """
        m = len(edges)
        bins = np.searchsorted(edges, self.at, side="left")
        jump, bent, moment, count = (
            np.cumsum(np.bincount(bins, weight, m + 1)[:m])
            for weight in (self.jump, self.bent, self.bent * self.at, None)
        )
        slope = self.slope + self.bend * edges + jump + bent * edges - moment
        return np.stack([slope, count.astype(np.float64)])


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


def search_parts(parts: Sequence[Events], slope: float, bend: float, farthest: float) -> float:
    """Return the k that `search` finds, with rows in parts and sums of a fixed size of each.

    A round adds up the parts' histograms of the slope over 1,024 bins and goes on inside of the
    bin in which the slope changes its sign. As soon as a bin holds few events, those are searched
    exactly; after four rounds the bin is below 1e-12 of the range.

    Parameters
    ----------
    parts : sequence of Events
        Of the risk over the rows of each part.
    slope, bend : float
        As for `search`.
    farthest : float
        A k above the answer. The objective F at k = 0 gives one: |w| <= sqrt(2 F) at the answer, so
        k <= (|w_b| + sqrt(2 F)) / |w_t - w_b|.
    """
    if slope + sum(part.slope for part in parts) >= 0.0:
        return 0.0
    low, high = 0.0, farthest
    for _ in range(_ROUNDS):
        edges = np.linspace(low, high, _BINS + 1)
        slopes, counts = np.sum([part.histogram(edges) for part in parts], axis=0)
        slopes = slopes + slope + bend * edges
        bin_ = int(np.searchsorted(np.maximum.accumulate(slopes[1:-1]), 0.0))
        low, high = float(edges[bin_]), float(edges[bin_ + 1])
        if counts[bin_ + 1] - counts[bin_] <= _FEW:
            break
    else:
        return _chord(low, high, float(slopes[bin_]), float(slopes[bin_ + 1]))
    few = [part.between(low, high) for part in parts]
    at, jump, bent = (
        np.concatenate([getattr(part, name) for part in few]) for name in ("at", "jump", "bent")
    )
    risk = Events(sum(p.slope for p in few), sum(p.bend for p in few), at, jump, bent)
    return low + min(search(risk, slope + bend * low, bend), high - low)


def _chord(low: float, high: float, below: float, above: float) -> float:
    """Return where the chord between the slopes of two k is zero."""
    if below >= 0.0 or above <= 0.0:
        return low if below >= 0.0 else high
    return low - below * (high - low) / (above - below)
