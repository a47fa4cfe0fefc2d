"""A point of the whole problem with its f: how far it is from the answer, and what to do next."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.solvers import bias, duality_gap, objective, violation_box, violation_pair
from dcsvm_dask.steps.problem import Problem
from dcsvm_dask.steps.select import select_blocks
from dcsvm_dask.storage.run import Attempt, Record

Vector = NDArray[np.float64]

# A block is solved to this share of the present violation; steps cost little beside its matrix.
INNER_SHARE = 0.01
# ... but never further than this share of the tolerance asked for.
INNER_FLOOR = 0.3


@dataclass(frozen=True)
class Point:
    """Alphas of all variables and f on the rows of a scope.

    Attributes
    ----------
    rows : ndarray, shape (m,), int64
        The variables of the scope, ascending; alphas elsewhere are zero or stay as they are.
    alpha : ndarray, shape (n,), float64
    f : ndarray, shape (m,), float64
        Decision values without the bias.
    """

    rows: NDArray[np.int64]
    alpha: Vector
    f: Vector


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
        block of the worst violators.
    """
    y, C, a = problem.y[point.rows], problem.C[point.rows], point.alpha[point.rows]
    gradient = y * point.f - 1.0
    if problem.settings.fit_intercept:
        offset = bias(gradient, a, y, C)
        violation = violation_pair(gradient, a, y, C)
        gap = duality_gap(gradient, a, C, y)
    else:
        offset = 0.0
        violation = violation_box(gradient, a, C)
        gap = duality_gap(gradient, a, C)
    attempt.write("alpha", point.alpha[None, :])
    attempt.write("f", point.f)
    blocks = (
        []
        if violation <= tol
        else select_blocks(
            problem,
            point.rows,
            a,
            reach(gradient + y * offset, a, C),
            number=number,
            tol=tol,
            local=local,
        )
    )
    chosen = np.concatenate(blocks) if blocks else np.empty(0, dtype=np.int64)
    attempt.write("block_rows", point.rows[chosen])
    attempt.write("block_alpha", a[chosen])
    attempt.write("block_f", point.f[chosen])
    attempt.write("block_offsets", np.cumsum([0, *map(len, blocks)]).astype(np.int64))
    return {
        "objective": objective(a, gradient),
        "gap": gap,
        "violation": violation,
        "bias": offset,
        "support": int(np.count_nonzero(point.alpha)),
        "bounded": int(np.count_nonzero(a >= C)),
        "blocks": len(blocks),
        "active": len(chosen),
        "inner_tol": max(INNER_FLOOR * tol, INNER_SHARE * violation),
    }


def reach(gradient: Vector, alpha: Vector, C: Vector) -> Vector:
    """Return how far each variable violates optimality; below zero: how far it is from that."""
    up = np.where(alpha < C, -gradient, -np.inf)
    down = np.where(alpha > 0.0, gradient, -np.inf)
    return np.maximum(up, down)
