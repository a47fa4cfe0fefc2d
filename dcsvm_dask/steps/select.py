"""Which variables the next conquer round works on, and in which blocks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.clustering import bisect
from dcsvm_dask.steps.problem import Problem

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
    alpha: Vector,
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
    free = (alpha > 0.0) & (alpha < problem.C[rows])
    active = np.flatnonzero(free | (reach > -MARGIN * reach.max()))
    # Equals in random order: at a start from zero all are, and the first come from all clusters.
    shuffled = np.random.default_rng([problem.settings.seed, 4000, number]).permutation(len(rows))
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
    rng = np.random.default_rng([settings.seed, 3000, number])
    blocks = [
        active[members] for members in bisect(problem.take(rows[active]), settings.block_cap, rng)
    ]
    worth = [block for block in blocks if reach[block].max() > WORTH * tol]
    violating = [float(np.maximum(reach[block], 0.0).sum()) for block in worth]
    first = np.sort(np.argsort(violating, kind="stable")[::-1][: MOST_BLOCKS - 1])
    return [worth[i] for i in first]
