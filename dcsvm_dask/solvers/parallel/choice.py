"""The choice of a working set (Brugger 2006, section 4.1; Zanni, Serafini, Zanghirati 2006)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.solvers.parallel.candidates import Candidates, Ranked
from dcsvm_dask.solvers.parallel.working_set import WorkingSet

Vector = NDArray[np.float64]
Index = NDArray[np.int64]

MOST_IDLE, IDLE_GAIN = 100, 1e-10
"""Steps without a smaller violation after which it is done, unless the objective has fallen by a
larger share of what it fell by in all: nothing but rounding moves."""
ONE_IN, FEWEST = 10, 10
"""One variable in so many of a set may always enter, and so many variables."""


@dataclass(frozen=True, slots=True)
class _Pairs:
    """Pairs of variables of which the first gains by rising and the second by falling."""

    gain: Vector
    first: Index
    second: Index


def choose(
    before: WorkingSet,
    found: Candidates,
    *,
    size: int,
    equality: bool,
    tol: float,
    fixed_signs: bool = True,
    one_in: int = ONE_IN,
) -> WorkingSet:
    """Return the working set of the next step, or that it is done.

    Pairs enter from both ends of the order of all variables by their slopes, as many as may; the
    rest are the most recent ones of the last set: first its free variables, then those at zero,
    then those at another bound. Of variables without a sum the worst ones enter, each by itself.
    How many may enter falls as fewer do, so that variables do not come and go.

    Parameters
    ----------
    before : WorkingSet
        Of the last step.
    found : Candidates
        Of all variables; at least ``before.entering`` of each kind, as far as there are.
    size : int
        Variables of the set.
    equality : bool
        Whether variables have a sum.
    tol : float
        Violation at which it is done.
    fixed_signs : bool, default True
        Where negative and positive variables have sums of their own: whether a variable can only
        have one sign.
    one_in : int, default 10
        One variable in so many of the set may always enter.

    Returns
    -------
    WorkingSet
        With the figures of `before`; ``index`` and ``age`` are those of the new set.
    """
    violation, _ = violation_of(found, equality=equality, fixed_signs=fixed_signs)
    first = before.first_violation if before.steps else violation
    idle = 0 if violation < before.least_violation else before.idle + 1
    before = replace(
        before,
        least_violation=min(violation, before.least_violation),
        idle=idle,
        idle_gain=before.idle_gain if idle else 0.0,
    )
    stalls = idle >= MOST_IDLE and before.idle_gain <= IDLE_GAIN * before.gained
    if before.is_done or violation <= tol or stalls:
        return replace(before, violation=violation, first_violation=first, is_done=True)
    entering = _worst(found, before.entering, equality=equality, fixed_signs=fixed_signs)
    index = np.sort(_filled(entering, before, size))
    stays = np.isin(index, before.index, assume_unique=True)
    new, last = int(np.count_nonzero(~stays)), before.entering
    least = max(FEWEST, _even_below(size / one_in), _even_below(new))
    age = np.ones(len(index), np.int64)
    age[stays] += before.age[np.searchsorted(before.index, index[stays])]
    return replace(
        before,
        index=index,
        age=age,
        place=np.zeros(len(index), np.int8),
        entering=min(last, least) if len(before.index) else last,
        violation=violation,
        first_violation=first,
    )


def violation_of(
    found: Candidates, *, equality: bool, fixed_signs: bool
) -> tuple[float, tuple[float, float]]:
    """Return the violation, and the bias and multiplier of sizes between those that are optimal.

    See `dcsvm_dask.solvers.optimality`, whose measures of all variables need their worst ones
    alone.

    Parameters
    ----------
    found : Candidates
    equality, fixed_signs : bool
        As for `choose`.
    """
    ends = [(_top(up), -_top(down)) for up, down in zip(found.rising, found.falling, strict=True)]
    if not equality:
        (up, down) = ends[0]
        return max(0.0, up, -down), (0.0, 0.0)
    middles = [_middle(m, M) for m, M in ends]
    violation = max(0.0, *(m - M for m, M in ends))
    if not found.by_sign:
        return violation, (middles[0], 0.0)
    multiplier = 0.5 * (middles[1] - middles[0])
    if not fixed_signs:
        violation = max(violation, -multiplier)
    return violation, (0.5 * (middles[0] + middles[1]), multiplier)


def _worst(found: Candidates, most: int, *, equality: bool, fixed_signs: bool) -> Index:
    """Return the variables that enter, from the worst on."""
    if not equality:
        (up, rising), (down, falling) = found.rising[0], found.falling[0]
        values, index = np.concatenate([up, down]), np.concatenate([rising, falling])
        order = np.lexsort((index, -values))
        return _distinct(index[order[values[order] > 0.0]])[:most]
    pairs = [_pairs(up, down) for up, down in zip(found.rising, found.falling, strict=True)]
    if found.by_sign and not fixed_signs:  # a negative and a positive variable may shrink
        pairs.append(_pairs(found.rising[0], found.falling[1]))
    order = np.argsort(-np.concatenate([one.gain for one in pairs]), kind="stable")
    ends = [np.concatenate([getattr(one, end) for one in pairs]) for end in ("first", "second")]
    both = np.stack([end[order] for end in ends], axis=1)
    return _distinct(both.ravel())[:most]


def _pairs(rising: Ranked, falling: Ranked) -> _Pairs:
    """Return the pairs that violate: the k-th to rise with the k-th to fall."""
    count = min(len(rising[0]), len(falling[0]))
    gain = rising[0][:count] + falling[0][:count]
    count = int(np.count_nonzero(gain > 0.0))
    return _Pairs(gain[:count], rising[1][:count], falling[1][:count])


def _filled(entering: Index, before: WorkingSet, size: int) -> Index:
    """Return the variables that enter, filled up with those of the last set."""
    others = np.setdiff1d(before.index, entering, assume_unique=True)
    at = np.searchsorted(before.index, others)
    order = np.lexsort((others, before.age[at], before.place[at]))
    return np.concatenate([entering, others[order[: max(0, size - len(entering))]]])


def _distinct(index: Index) -> Index:
    """Return each variable where it comes first."""
    _, first = np.unique(index, return_index=True)
    return index[np.sort(first)]


def _even_below(value: float) -> int:
    """Return the largest even number below a value."""
    return max(0, 2 * int(np.ceil(value / 2.0) - 1))


def _top(ranked: Ranked) -> float:
    return float(ranked[0][0]) if len(ranked[0]) else -np.inf


def _middle(m: float, M: float) -> float:
    if np.isinf(m) or np.isinf(M):
        return 0.0 if np.isinf(m) and np.isinf(M) else (M if np.isinf(m) else m)
    return 0.5 * (m + M)
