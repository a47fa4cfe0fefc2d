"""A point of the whole problem with its f: how far it is from the answer, and the next round.

The next round's blocks or working set are selected by the violations at the point.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.clustering import bisect
from dcsvm_dask.methods.problem import Problem
from dcsvm_dask.random_streams import ROUND_CLUSTERS, ROUND_ORDER, generator
from dcsvm_dask.solvers import (
    bias,
    duality_gap,
    first_set,
    inner_tol,
    objective,
    reach,
    select_set,
)
from dcsvm_dask.solvers.optimality import violation as violation_of
from dcsvm_dask.storage.node import Attempt, Record

Index = NDArray[np.int64]
Vector = NDArray[np.float64]

# Variables at a bound are active when they are this share of the violation away from violating:
# a step of the others would make many of them violate.
MARGIN = 0.1
# A single block takes in the nearest others up to this many times its active variables.
FILL = 2
# Products with the blocks' steps take a float64 a row and block, so of more blocks than these the
# ones that violate most are solved in this round.
MOST_BLOCKS = 64
# A cluster in which nothing violates by this share of the tolerance is left out.
WORTH = 0.5


def select_blocks(
    problem: Problem,
    rows: Index,
    beta: Vector,
    reach: Vector,
    *,
    number: int,
    tol: float,
) -> list[Index]:
    """Return the blocks of the next round as positions in `rows`, ascending within a block.

    Active are the free variables, the violators and what is near to violating. Where they fit
    into one block, that is all. Else they are clustered, anew in every round so that no two blocks
    fight over the same border twice, and of many clusters those that violate most are taken. In
    every other round what violates most gets a block of its own: it may couple rows of any two
    clusters.

    Parameters
    ----------
    reach : ndarray, shape (m,)
        How far each variable violates; below zero: how far it is from that.
    """
    cap = problem.settings.block_cap
    free = problem.dual[rows].is_free(beta)
    active = np.flatnonzero(free | (reach > -MARGIN * reach.max()))
    # Equals in random order: at a start from zero all are, and the first come from all clusters.
    shuffled = generator(problem.settings.seed, ROUND_ORDER, number).permutation(len(rows))
    ranks = shuffled[np.argsort(-reach[shuffled], kind="stable")]
    if len(active) <= cap:
        near = np.zeros(len(rows), dtype=np.bool_)
        near[active] = True
        room = min(cap, FILL * len(active)) - len(active)
        near[ranks[~near[ranks]][:room]] = True
        return [np.flatnonzero(near)]
    if number % 2 == 0:
        return _clusters(problem, rows, active, reach, number, tol)
    worst = np.sort(ranks[: cap // 2])
    rest = np.setdiff1d(active, worst, assume_unique=True)
    return [worst, *_clusters(problem, rows, rest, reach, number, tol)]


def _clusters(
    problem: Problem, rows: Index, active: Index, reach: Vector, number: int, tol: float
) -> list[Index]:
    """Cluster active variables; clusters in which nothing violates are left out."""
    settings = problem.settings
    rng = generator(settings.seed, ROUND_CLUSTERS, number)
    blocks = [
        active[members] for members in bisect(problem.take(rows[active]), settings.block_cap, rng)
    ]
    worth = [block for block in blocks if reach[block].max() > WORTH * tol]
    violating = [float(np.maximum(reach[block], 0.0).sum()) for block in worth]
    first = np.sort(np.argsort(violating, kind="stable")[::-1][: MOST_BLOCKS - 1])
    return [worth[i] for i in first]


# A working set's next violation is about the square of the last: below this many times the root
# of the tolerance it is likely to be the end, and f is summed from scratch at once.
CLOSING = 2.0
# The next step reaches at most about so many times as far as the last one.
SMALLER = 0.5
# Kernel values of a set's matrix and product, times features, that one task may as well do: about
# a second of a core.
SMALL_WORK = 1e11


@dataclass(frozen=True)
class Point:
    """All dual variables and f on the rows of a scope.

    Attributes
    ----------
    rows : ndarray, shape (m,), int64
        The variables of the scope, ascending; variables elsewhere are zero or stay as they are.
    beta : ndarray, shape (n,), float64
    f : ndarray, shape (m,), float64
        Decision values without the bias.
    expected : ndarray, shape (m,), float64, optional
        Where f is to end, if that is known better than by f itself.
    bias : float, optional
        The one that goes with `expected`.
    active : ndarray of bool, shape (m,), optional
        Rows whose f holds; of the others, all of them zero, `expected` is all that is known.
    furthest : float, optional
        How far beyond its margin a row was that the step to here led near to violating.
    """

    rows: NDArray[np.int64]
    beta: Vector
    f: Vector
    expected: Vector | None = None
    bias: float | None = None
    active: NDArray[np.bool_] | None = None
    furthest: float | None = None


def commit_point(
    problem: Problem, attempt: Attempt, point: Point, *, number: int, tol: float, local: bool
) -> Record:
    """Measure a point, write it with the blocks of the next round, and return the record.

    Parameters
    ----------
    number : int
        Number of the round that led here; it seeds the choice of blocks.
    tol : float
        The violation that ends the rounds.
    local : bool
        Whether the kernel is local, so that blocks are clusters; otherwise the next round has one
        working set.
    """
    dual, b = problem.dual[point.rows], point.beta[point.rows]
    expected = point.f if point.expected is None else point.expected
    active = np.ones(len(b), dtype=np.bool_) if point.active is None else point.active
    gradient = np.where(active, point.f, expected) + dual.p
    equality, offset = problem.settings.fit_intercept, 0.0
    if equality:
        offset = bias(gradient, b, dual) if point.bias is None else point.bias
    violation = violation_of(gradient, b, dual, equality=equality)
    attempt.write("beta", point.beta[None, :])
    attempt.write("f", point.f)
    if not local:
        attempt.write("expected", expected)
        attempt.write("active", active)
    blocks: list[NDArray[np.int64]] = []
    if violation > tol and local:
        far = reach(gradient + offset, b, dual)
        blocks = select_blocks(problem, point.rows, b, far, number=number, tol=tol)
    elif violation > tol:
        blocks = [next_set(problem, point, offset, tol)]
    chosen = np.concatenate(blocks) if blocks else np.empty(0, dtype=np.int64)
    # One task would take the f of rows that rest for true.
    at_once = not local and bool(active.all())
    at_once = at_once and len(chosen) * problem.n * problem.row_values <= SMALL_WORK
    closing = at_once or (
        not local
        and (violation <= CLOSING * math.sqrt(tol) or covers(problem, point, offset, chosen))
    )
    attempt.write("block_rows", point.rows[chosen])
    attempt.write("block_beta", b[chosen])
    attempt.write("block_f", point.f[chosen])
    attempt.write("block_offsets", np.cumsum([0, *map(len, blocks)]).astype(np.int64))
    return {
        "objective": objective(b, gradient, dual.p),
        "gap": duality_gap(gradient, b, dual, equality=equality),
        "violation": violation,
        "bias": offset,
        "support": int(np.count_nonzero(point.beta)),
        "bounded": int(np.count_nonzero(dual.is_bounded(b))),
        "blocks": len(blocks),
        "active": len(chosen),
        "at_once": at_once,
        "closing": closing,
        "inner_tol": inner_tol(violation, tol, whole=closing),
    }


def covers(problem: Problem, point: Point, offset: float, chosen: NDArray[np.int64]) -> bool:
    """Return whether a set holds every row that its step is likely to lead to violate."""
    if point.furthest is None:
        return False
    far = reach((point.f + offset) + problem.dual.p, point.beta, problem.dual)
    far[chosen] = -np.inf
    if point.active is not None:
        far[~point.active] = -np.inf
    return bool(far.max(initial=-np.inf) <= -SMALLER * point.furthest)


def next_set(problem: Problem, point: Point, offset: float, tol: float) -> NDArray[np.int64]:
    """Return the working set of the next round."""
    dual, cap = problem.dual, problem.settings.set_cap
    expected = point.f if point.expected is None else point.expected
    gradient = (expected + offset) + dual.p
    if not point.beta.any():
        return first_set(reach(gradient, point.beta, dual), cap)
    return select_set(
        point.beta,
        dual,
        gradient,
        tol,
        cap,
        equality=problem.settings.fit_intercept,
        resting=None if point.active is None else ~point.active,
    )
