"""Which C and gamma a search within a time limit tries next, and which candidate it chooses."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from dcsvm_dask.runtime.short import BESIDE_HERE, BESIDE_WORKERS, SHORT
from dcsvm_dask.tasks.safe_choice import safest

FIRST_ROWS = 4000
"""Rows of the first sample: one block of a search, whose scores are exact."""
MORE_ROWS = 3
"""Factor from one sample to the next, as in successive halving."""
MOST_ROWS = FIRST_ROWS * MORE_ROWS
STEP = 4.0
"""Factor between neighbours of the grid."""
EQUAL = 0.25
"""Candidates whose scores are nearer than this share of the standard error count as equals."""
MOST_EDGES = 4
"""Rounds that extend the grid of a sample."""
SAFETY = 1.5
"""Factor of an estimated time: a larger C takes longer than those that were measured."""
ROUND_SECONDS = 1.0
"""Seconds that a round takes beside its SVMs."""

START, GRID, EDGE, FINE, MORE = "first candidate", "grid", "edge", "fine grid", "more rows"


@dataclass(frozen=True)
class Round:
    """Candidates that are scored together: every C with every gamma, on a sample of the rows."""

    kind: str
    rows: int
    C: tuple[float, ...]
    gamma: tuple[float, ...]


@dataclass(frozen=True)
class Scored:
    """A candidate with its score by cross-validation.

    Attributes
    ----------
    rows : int
        Rows of the sample.
    C, gamma : float
    score : float
        Mean over the folds; more is better.
    error : float
        Standard error of that mean.
    solved : bool
        Whether all SVMs reached the tolerance.
    seconds : float
        Of a core, for all folds.
    """

    rows: int
    C: float
    gamma: float
    score: float
    error: float
    solved: bool
    seconds: float


def sample_sizes(n: int) -> tuple[int, ...]:
    """Return the sizes of the samples, from the first, for a data set of n rows."""
    first = min(n, FIRST_ROWS)
    return (first,) if n <= FIRST_ROWS else (first, min(n, MOST_ROWS))


def choose(scored: Sequence[Scored]) -> Scored:
    """Return the candidate to train with.

    The largest sample decides, provided that the best candidate of the one before was scored on it,
    too. A candidate that was not solved within its budget of steps is not chosen where a solved one
    is within its standard error. Of those that are about equal (`EQUAL`) the nearest to the usual
    values, which were tried first, is chosen: the difference is within the noise.

    Parameters
    ----------
    scored : sequence of Scored
        At least one.
    """
    chosen = None
    for rows in sorted({one.rows for one in scored}):
        here = of_rows(scored, rows)
        known = {(one.C, one.gamma) for one in here}
        if chosen is None or (chosen.C, chosen.gamma) in known:
            chosen = _best(here, scored[0])
    assert chosen is not None
    return chosen


def _best(scored: Sequence[Scored], usual: Scored) -> Scored:
    number = safest(
        [one.score for one in scored],
        [one.error for one in scored],
        [one.solved for one in scored],
    )
    best = scored[number]
    least = best.score - EQUAL * best.error
    near = [one for one in scored if one.solved and one.score >= least] or [best]
    return min(near, key=lambda one: (_apart(one, usual), -one.score, one.C, one.gamma))


def _apart(one: Scored, usual: Scored) -> float:
    """Return how far a candidate is from the usual values, in steps of the grid."""
    factors = (one.C / usual.C, one.gamma / usual.gamma)
    return sum(abs(math.log(factor, STEP)) for factor in factors)


def of_rows(scored: Sequence[Scored], rows: int) -> list[Scored]:
    """Return the candidates that were scored on a sample of so many rows."""
    return [one for one in scored if one.rows == rows]


def edges(scored: Sequence[Scored], chosen: Scored) -> tuple[tuple[str, float], ...]:
    """Return where a candidate lies at the edge of those that were tried.

    Parameters
    ----------
    scored : sequence of Scored
        Those of a sample, or all.
    chosen : Scored

    Returns
    -------
    tuple of (str, float)
        "C" or "gamma", and the factor that leads out of the grid.
    """
    found = []
    for name in ("C", "gamma"):
        values = sorted({getattr(one, name) for one in scored})
        at = getattr(chosen, name)
        if len(values) > 1 and at in (values[0], values[-1]):
            found.append((name, STEP if at == values[-1] else 1 / STEP))
    return tuple(found)


def next_rounds(
    done: Sequence[Round], scored: Sequence[Scored], n: int, C: float, gamma: float
) -> list[Round]:
    """Return what may come next, the most candidates first; empty: the search has ended.

    First the usual values alone, so that there is a result; then a grid around them; where the best
    candidate is at an edge of it, beyond that edge; a finer grid around the best one; and its
    neighbours on a larger sample.

    Parameters
    ----------
    done : sequence of Round
    scored : sequence of Scored
        The candidates of these rounds.
    n : int
        Rows of the data set.
    C, gamma : float
        The usual values.
    """
    sizes = sample_sizes(n)
    if not scored:
        return [Round(START, sizes[0], (C,), (gamma,))]
    best = choose(scored)
    rows = done[-1].rows
    kinds = [one.kind for one in done if one.rows == rows]
    if kinds == [START]:
        return [
            Round(GRID, rows, _around(C, *costs), _around(gamma, *gammas))
            for costs, gammas in (((-1, 3), (-2, 1)), ((0, 2), (-1, 1)), ((0, 2), (0, 0)))
        ]
    out = edges(of_rows(scored, rows), best) if best.rows == rows else ()
    if out and kinds.count(EDGE) < MOST_EDGES:
        return _beyond(best, *out[0])
    if best.rows == rows and FINE not in kinds:
        fine = Round(FINE, rows, _around(best.C, step=2.0), _around(best.gamma, step=2.0))
        return [fine, *_on_more(best, rows, sizes)]
    return _on_more(best, rows, sizes) if best.rows == rows else []


def _on_more(best: Scored, rows: int, sizes: tuple[int, ...]) -> list[Round]:
    if rows == sizes[-1]:
        return []
    more = sizes[sizes.index(rows) + 1]
    gammas = _around(best.gamma, step=2.0)
    return [
        Round(MORE, more, _around(best.C, -1, 1), gammas),
        Round(MORE, more, _around(best.C, 0, 1), (best.gamma,)),
    ]


def _beyond(best: Scored, name: str, factor: float) -> list[Round]:
    """Return rounds with values of a parameter beyond an edge, the larger one first.

    It has two more values, and the other parameter around the best one; the smaller one has one
    more
    value, and the best one of the other parameter.
    """
    at = getattr(best, name)
    many = {"C": _around(best.C), "gamma": _around(best.gamma)}
    many[name] = tuple(sorted((at * factor, at * factor**2)))
    one = {"C": (best.C,), "gamma": (best.gamma,), name: (at * factor,)}
    return [Round(EDGE, best.rows, **many), Round(EDGE, best.rows, **one)]


def _around(value: float, low: int = -1, high: int = 1, step: float = STEP) -> tuple[float, ...]:
    # Powers of two, so that values that are reached in two ways are equal.
    return tuple(value * step**power for power in range(low, high + 1))


def round_seconds(one: Round, scored: Sequence[Scored]) -> float:
    """Return the estimated seconds of a round, by the slowest candidate of the nearest sample."""
    if not scored:
        return 0.0
    rows = max(each.rows for each in scored if each.rows <= one.rows)
    slowest = max(each.seconds for each in of_rows(scored, rows))
    known = {(each.C, each.gamma) for each in of_rows(scored, one.rows)}
    new = sum(pair not in known for pair in product(one.C, one.gamma))
    return ROUND_SECONDS + SAFETY * new * slowest * (one.rows / rows) ** 2


def training_seconds(best: Scored, n: int, folds: int) -> float:
    """Return the estimated seconds of training on n rows, by what a fold of a sample took.

    Beside the SVM these are evaluation and the report, and the start of worker processes where the
    training is long enough to have some.
    """
    trained = best.rows * (folds - 1) / folds
    solving = SAFETY * best.seconds / folds * max(1.0, n / trained) ** 2
    return solving + (BESIDE_HERE if solving <= SHORT else BESIDE_WORKERS)
