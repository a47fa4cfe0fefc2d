"""A point of the whole problem with its f: how far it is from the answer, and what to do next."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.solvers import (
    bias,
    duality_gap,
    first_set,
    inner_tol,
    objective,
    reach,
    select_set,
    violation_box,
    violation_pair,
)
from dcsvm_dask.steps.problem import Problem
from dcsvm_dask.steps.select import select_blocks
from dcsvm_dask.storage.node import Attempt, Record

Vector = NDArray[np.float64]

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
    """Alphas of all variables and f on the rows of a scope.

    Attributes
    ----------
    rows : ndarray, shape (m,), int64
        The variables of the scope, ascending; alphas elsewhere are zero or stay as they are.
    alpha : ndarray, shape (n,), float64
    f : ndarray, shape (m,), float64
        Decision values without the bias.
    expected : ndarray, shape (m,), float64, optional
        Where f is to end, if that is known better than by f itself.
    bias : float, optional
        The one that goes with `expected`.
    awake : ndarray of bool, shape (m,), optional
        Rows whose f holds; of the others, all of alpha zero, `expected` is all that is known.
    furthest : float, optional
        How far beyond its margin a row was that the step to here led near to violating.
    """

    rows: NDArray[np.int64]
    alpha: Vector
    f: Vector
    expected: Vector | None = None
    bias: float | None = None
    awake: NDArray[np.bool_] | None = None
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
    y, C, a = problem.y[point.rows], problem.C[point.rows], point.alpha[point.rows]
    expected = point.f if point.expected is None else point.expected
    awake = np.ones(len(a), dtype=np.bool_) if point.awake is None else point.awake
    gradient = y * np.where(awake, point.f, expected) - 1.0
    if problem.settings.fit_intercept:
        offset = bias(gradient, a, y, C) if point.bias is None else point.bias
        violation = violation_pair(gradient, a, y, C)
        gap = duality_gap(gradient, a, C, y)
    else:
        offset = 0.0
        violation = violation_box(gradient, a, C)
        gap = duality_gap(gradient, a, C)
    attempt.write("alpha", point.alpha[None, :])
    attempt.write("f", point.f)
    if not local:
        attempt.write("expected", expected)
        attempt.write("awake", awake)
    blocks: list[NDArray[np.int64]] = []
    if violation > tol and local:
        far = reach(gradient + y * offset, a, C)
        blocks = select_blocks(problem, point.rows, a, far, number=number, tol=tol)
    elif violation > tol:
        blocks = [next_set(problem, point, offset, tol)]
    chosen = np.concatenate(blocks) if blocks else np.empty(0, dtype=np.int64)
    # One task would take the f of rows that rest for true.
    at_once = not local and bool(awake.all())
    at_once = at_once and len(chosen) * problem.n * problem.row_values <= SMALL_WORK
    closing = at_once or (
        not local
        and (violation <= CLOSING * math.sqrt(tol) or covers(problem, point, offset, chosen))
    )
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
        "at_once": at_once,
        "closing": closing,
        "inner_tol": inner_tol(violation, tol, whole=closing),
    }


def covers(problem: Problem, point: Point, offset: float, chosen: NDArray[np.int64]) -> bool:
    """Return whether a set holds every row that its step is likely to lead to violate."""
    if point.furthest is None:
        return False
    gradient = problem.y * (point.f + offset) - 1.0
    far = reach(gradient, point.alpha, problem.C)
    far[chosen] = -np.inf
    if point.awake is not None:
        far[~point.awake] = -np.inf
    return bool(far.max(initial=-np.inf) <= -SMALLER * point.furthest)


def next_set(problem: Problem, point: Point, offset: float, tol: float) -> NDArray[np.int64]:
    """Return the working set of the next round."""
    C, cap = problem.C, problem.settings.set_cap
    expected = point.f if point.expected is None else point.expected
    gradient = problem.y * (expected + offset) - 1.0
    if not point.alpha.any():
        return first_set(-gradient, cap)
    return select_set(
        point.alpha,
        C,
        gradient,
        tol,
        cap,
        y=problem.y if problem.settings.fit_intercept else None,
        resting=None if point.awake is None else ~point.awake,
    )
