"""A point of the whole problem: its measures, and the blocks of the next round."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.clustering import bisect
from dcsvm_dask.clustering.rows import block_labels, block_rows
from dcsvm_dask.kernels.far import RUN_ROWS
from dcsvm_dask.methods.problem import Problem
from dcsvm_dask.random_streams import ROUND_CLUSTERS, ROUND_ORDER, generator
from dcsvm_dask.solvers import (
    bias,
    duality_gap,
    eased,
    inner_tol,
    objective,
    reach,
    size_multiplier,
)
from dcsvm_dask.solvers.optimality import violation as violation_of
from dcsvm_dask.storage.node import Attempt, Record

Index = NDArray[np.int64]
Vector = NDArray[np.float64]

# Variables at a bound are active if their margin is less than this share of the violation: a step
# of the others would make many of them violate.
MARGIN = 0.1
# A single block is filled with the variables nearest to violating, up to so many times the active.
FILL = 2
# Products with the blocks' steps take a float64 a row and block; of more blocks, those that violate
# most are solved.
MOST_BLOCKS = 64
# A cluster whose violation is below this share of the tolerance is left out.
WORTH = 0.5
# Variables at zero rest where their margin is more than this, in units of `Dual.margin`, and more
# than this share of the violation.
REST_MARGIN, REST_SHARE = 0.2, 0.5


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

    Free variables, violators and variables near to violating are active. If they do not fit into
    one block, they are clustered, anew in every round so that the borders between blocks change,
    and the clusters that violate most are taken. In every other round the worst violators are a
    block of their own, since they may couple rows of any two clusters.

    Parameters
    ----------
    problem : Problem
    rows : ndarray of int64, shape (m,)
        The variables of the chain.
    beta : ndarray, shape (n,)
    reach : ndarray, shape (m,)
        Violation of each variable; below zero: its margin.
    number : int
        Number of the round, which seeds the clusters.
    tol : float
        Tolerance of the chain.
    """
    cap = largest_set(problem, problem.settings.block_cap)
    free = problem.dual[rows].is_free(beta)
    near = free | (reach > -MARGIN * reach.max())
    active = np.flatnonzero(near)
    rng = generator(problem.settings.seed, ROUND_ORDER, number)
    if len(active) <= cap:
        room = min(cap, FILL * len(active)) - len(active)
        near[_furthest(np.flatnonzero(~near), reach, room, rng)] = True
        return [np.flatnonzero(near)]
    if number % 2 == 0:
        return _clusters(problem, rows, active, reach, number, tol)
    worst = np.sort(_furthest(active, reach, cap // 2, rng))
    rest = np.setdiff1d(active, worst, assume_unique=True)
    return [worst, *_clusters(problem, rows, rest, reach, number, tol)]


def _furthest(rows: Index, reach: Vector, count: int, rng: np.random.Generator) -> Index:
    """Return the rows that violate most, equals by lot.

    At a start from zero all are equal, and the first are to come from all clusters.
    """
    if count >= len(rows):
        return rows
    shuffled = rng.permutation(rows)
    return shuffled[np.argpartition(-reach[shuffled], count)[:count]] if count else rows[:0]


def _clusters(
    problem: Problem, rows: Index, active: Index, reach: Vector, number: int, tol: float
) -> list[Index]:
    """Cluster active variables; clusters in which nothing violates are left out."""
    settings = problem.settings
    rng = generator(settings.seed, ROUND_CLUSTERS, number)
    cap = largest_set(problem, settings.block_cap)
    blocks = [active[members] for members in _cut(problem, rows[active], cap, rng)]
    worth = [block for block in blocks if reach[block].max() > WORTH * tol]
    violating = [float(np.maximum(reach[block], 0.0).sum()) for block in worth]
    first = np.sort(np.argsort(violating, kind="stable")[::-1][: MOST_BLOCKS - 1])
    return [worth[i] for i in first]


# Blocks are cut between runs of rows where one may have at least so many whole runs.
_FEW_RUNS = 8


def _cut(problem: Problem, rows: Index, cap: int, rng: np.random.Generator) -> list[Index]:
    """Return blocks of at most `cap` of some rows, ascending, as positions in `rows`.

    By the boxes of runs of rows, where there are some: no row has to be read.
    """
    if problem.boxes is None or cap < _FEW_RUNS * RUN_ROWS:
        return bisect(problem.take(rows), cap, rng)
    runs, of_row, counts = np.unique(
        problem.boxes.runs_of(rows), return_inverse=True, return_counts=True
    )
    label = block_labels(bisect(problem.boxes.centres[runs], cap, rng, counts))
    return block_rows(label[of_row])


# Where the sums of both signs are kept, solvers hold the matrix of up to twice as many variables
# beside that of the rows: so many rows take no more memory than one matrix of the cap.
OF_SIGNS = 0.46


def largest_set(problem: Problem, cap: int) -> int:
    """Return the most rows of a block or working set, for a cap on kernel matrices."""
    return cap if problem.size is None else max(2, int(OF_SIGNS * cap))


@dataclass(frozen=True)
class Point:
    """All dual variables, and f of the variables of a chain.

    Attributes
    ----------
    rows : ndarray, shape (m,), int64
        The variables of the chain whose f is kept up to date, ascending; others do not change.
    beta : ndarray, shape (n,), float64
    f : ndarray, shape (m,), float64
        Decision values without the bias.
    """

    rows: NDArray[np.int64]
    beta: Vector
    f: Vector


def commit_point(
    problem: Problem,
    attempt: Attempt,
    point: Point,
    *,
    number: int,
    tol: float,
    in_blocks: bool,
    rests: bool,
) -> Record:
    """Measure a point, write it with the blocks of the next round, and return the record.

    Parameters
    ----------
    problem : Problem
    attempt : Attempt
    point : Point
    number : int
        Number of the round of the point; it seeds the choice of blocks.
    tol : float
        Tolerance of the chain.
    in_blocks : bool
        Whether the blocks of the next round are chosen; else there are none.
    rests : bool
        Whether variables rest that are clearly at zero: the next round does not bring their f up to
        date, and only a check from scratch looks at them again. It finds the others in ``rows``.
    """
    dual, b = problem.dual_at(point.beta)[point.rows], point.beta[point.rows]
    gradient = dual.gradient(point.f, b)
    equality = problem.settings.fit_intercept
    offset = bias(gradient, b, dual) if equality else 0.0
    violation = violation_of(gradient, b, dual, equality=equality)
    epsilon = size_multiplier(gradient, b, dual)
    attempt.write("beta", point.beta[None, :])
    blocks: list[NDArray[np.int64]] = []
    watched = np.ones(len(point.rows), dtype=np.bool_)
    if in_blocks and violation > tol:
        centred, near_dual = eased(gradient + offset, dual, epsilon)
        far = reach(centred, b, near_dual)
        blocks = select_blocks(problem, point.rows, b, far, number=number, tol=tol)
        if rests:
            clear = max(REST_MARGIN * dual.margin, REST_SHARE * violation)
            watched = (b != 0.0) | (far >= -clear)
    chosen = np.concatenate(blocks) if blocks else np.empty(0, dtype=np.int64)
    watched[chosen] = True
    if blocks:  # only a round needs to know of which
        attempt.write("rows", point.rows[watched])
    attempt.write("f", point.f[watched])
    attempt.write("block_rows", point.rows[chosen])
    attempt.write("block_beta", b[chosen])
    attempt.write("block_f", point.f[chosen])
    attempt.write("block_offsets", np.cumsum([0, *map(len, blocks)]).astype(np.int64))
    return {
        "objective": objective(b, gradient, dual),
        "gap": duality_gap(gradient, b, dual, equality=equality),
        "violation": violation,
        "bias": offset,
        **({} if problem.size is None else {"epsilon": epsilon, "spare": dual.spare}),
        "support": int(np.count_nonzero(point.beta)),
        "bounded": int(np.count_nonzero(dual.is_bounded(b))),
        "blocks": len(blocks),
        "active": len(chosen),
        "watched": int(np.count_nonzero(watched)),
        "inner_tol": inner_tol(violation, tol, whole=False),
    }
