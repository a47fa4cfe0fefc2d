"""The nearest point within the bounds whose sums are given."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.tasks import Dual
from dcsvm_dask.tasks.dual import UNBOUNDED

Vector = NDArray[np.float64]
Flags = NDArray[np.bool_]

# A value of mu at which a variable would meet a bound that it never reaches.
_FAR_KINK = 0.5 * UNBOUNDED
# A sum is kept if it is off by this little, relative to itself.
_EXACT = 1e-9


def sums_of(dual: Dual, equality: bool) -> list[Flags]:
    """Return the variables of each sum that is kept, as flags of shape (n,)."""
    if not equality:
        return []
    flags = np.zeros((len(dual.groups), len(dual)), dtype=np.bool_)
    for mine, group in zip(flags, dual.groups, strict=True):
        mine[group] = True
    return list(flags)


def project(
    point: Vector,
    lower: Vector,
    upper: Vector,
    sums: Sequence[Flags],
    totals: Sequence[float] | Vector,
) -> Vector:
    """Return the point within the bounds that is nearest to `point` and has the sums given.

    For each sum the point is clip(point - mu) with the multiplier mu that gives the sum (Dai,
    Fletcher, Math. Program. 106, 2006): the sum falls with mu and is linear between the values of
    mu at which a variable meets a bound. A variable is part of one sum at most, so that every sum
    has its own multiplier: Brugger's (50) to (52) for the two constraints of nu-SVC.

    Parameters
    ----------
    point, lower, upper : ndarray, shape (n,), float64
    sums : sequence of ndarray of bool, shape (n,)
        The variables of each sum; disjoint.
    totals : sequence of float
        Of each sum; the nearest possible where the bounds do not allow it.

    Returns
    -------
    ndarray, shape (n,), float64
    """
    nearest = np.clip(point, lower, upper)
    for mine, total in zip(sums, totals, strict=True):
        nearest[mine] = _with_sum(point[mine], lower[mine], upper[mine], float(total))
    return nearest


def restored(
    beta: Vector, dual: Dual, sums: Sequence[Flags], totals: Sequence[float] | Vector
) -> Vector:
    """Return a point whose sums are off by rounding with the sums given.

    The free variables take the difference up; where they cannot, all do.

    Parameters
    ----------
    beta : ndarray, shape (n,), float64
        Within the bounds.
    dual : Dual
    sums : sequence of ndarray of bool, shape (n,)
    totals : sequence of float
    """
    free = dual.is_free(beta)
    low, high = np.where(free, dual.lower, beta), np.where(free, dual.upper, beta)
    if dual.epsilon is not None:  # none is to pass its kink
        low = np.where(free & (beta > 0.0) & (dual.epsilon > 0.0), 0.0, low)
        high = np.where(free & (beta < 0.0) & (dual.epsilon > 0.0), 0.0, high)
    point = project(beta, low, high, sums, totals)
    off = [abs(float(point[mine].sum()) - t) for mine, t in zip(sums, totals, strict=True)]
    if any(o > _EXACT * (1.0 + abs(t)) for o, t in zip(off, totals, strict=True)):
        return project(beta, dual.lower, dual.upper, sums, totals)
    return point


def _with_sum(point: Vector, lower: Vector, upper: Vector, total: float) -> Vector:
    def excess(mu: float) -> float:
        return float(np.clip(point - mu, lower, upper).sum()) - total

    if len(point) == 0:
        return point
    kinks = np.sort(np.concatenate([point - lower, point - upper]))
    low, high = 0, len(kinks) - 1
    # The sum falls with mu: between which two kinks does it pass its total?
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if excess(kinks[middle]) >= 0.0 else (low, middle)
    if max(-kinks[low], kinks[high]) > _FAR_KINK:
        return _between(point, lower, upper, total, kinks[low], kinks[high])
    a, b = excess(kinks[low]), excess(kinks[high])
    part = 0.0 if a == b else min(max(a / (a - b), 0.0), 1.0)
    return np.clip(point - (kinks[low] + part * (kinks[high] - kinks[low])), lower, upper)


def _between(
    point: Vector, lower: Vector, upper: Vector, total: float, low: float, high: float
) -> Vector:
    """Return the point with a sum for a mu between two kinks, one of which is too far to compute.

    Between them the same variables are free, and mu is what spreads evenly over these.
    """
    inside = 0.0
    if low > -_FAR_KINK:
        inside = low + 1.0
    elif high < _FAR_KINK:
        inside = high - 1.0
    free = (point - inside > lower) & (point - inside < upper)
    held = np.clip(point - inside, lower, upper)
    if not free.any():
        return held
    mu = (float(point[free].sum()) + float(held[~free].sum()) - total) / np.count_nonzero(free)
    return np.clip(point - mu, lower, upper)
