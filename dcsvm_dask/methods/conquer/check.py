"""f from scratch: where rounds start, and what a claim of convergence rests on."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.kernels import kernel_product, product_error_bound
from dcsvm_dask.methods.conquer.point import Point, commit_point
from dcsvm_dask.methods.conquer.rounds import scope_rows
from dcsvm_dask.methods.problem import Problem, read_problem
from dcsvm_dask.methods.resources import threads
from dcsvm_dask.methods.solve_rows import FAR_PAIRS
from dcsvm_dask.storage.node import Attempt, Record
from dcsvm_dask.storage.run import RunFolder

Vector = NDArray[np.float64]

# Share of the tolerance that rounding in float32 may take from f; rows that may lose more are
# computed in float64.
PRODUCT_ERROR = 0.25
# Rows of a task on which the rounding is estimated for the record.
BOUND_ROWS = 64
# How far the bias may move from what it was before, for f to be as exact as a claim needs.
BIAS_SLACK = 0.1


def product_of_point(
    run: RunFolder,
    attempt: Attempt,
    *,
    scope: str | None,
    source: str,
    node: str,
    part: int,
    parts: int,
    tol: float,
    local: bool,
) -> Record:
    """Compute f from all variables of a committed point, for a share of the scope's rows."""
    problem = read_problem(run)
    before = run.node(source, node)
    beta = before.read("beta")[0]
    mine = scope_rows(run, scope, part, parts)
    support = np.flatnonzero(beta)
    X, Z = problem.take(mine), problem.take(support)
    v = beta[support]
    kernel, budget = problem.settings.kernel, FAR_PAIRS * tol if local else 0.0
    f, values = kernel_product(
        kernel,
        X,
        Z,
        v,
        budget=budget,
        tol=PRODUCT_ERROR * tol,
        doubt=doubt(problem, mine, beta, before.record.get("bias")),
        threads=threads() if parts == 1 else 1,
    )
    attempt.write("f", f)
    sample = X[:: max(1, len(mine) // BOUND_ROWS)]
    bound = product_error_bound(kernel, sample, Z, v, budget=budget)
    return {
        "rows": len(mine),
        "tol": tol,
        "kernel_values": values,
        "float32_error": float(np.max(bound, initial=0.0)),
    }


def doubt(
    problem: Problem, rows: NDArray[np.int64], beta: Vector, bias: float | None
) -> tuple[Vector, Vector] | None:
    """Return between which values of f a row's error could make or hide a violation.

    A variable at zero that can move to one side only is optimal where its gradient f + p + b
    points to the other, and how far does not matter; support vectors make the objective.

    Parameters
    ----------
    bias : float or None
        What the bias was before, if there is one: it may move by `BIAS_SLACK`. None: nothing is
        known of it, and nothing is beyond doubt.
    """
    slack = 0.0
    if problem.settings.fit_intercept:
        if bias is None:
            return None
        slack = BIAS_SLACK
    dual, zero = problem.dual[rows], beta[rows] == 0.0
    rises, falls = zero & (dual.lower >= 0.0), zero & (dual.upper <= 0.0)
    edge = -dual.p + np.where(rises, slack, -slack) - (bias or 0.0)
    return np.where(falls, edge, -np.inf), np.where(rises, edge, np.inf)


def commit_check(
    run: RunFolder,
    attempt: Attempt,
    *,
    stage: str,
    scope: str | None,
    source: str,
    node: str,
    number: int,
    layer: str,
    parts: int,
    tol: float,
    local: bool,
) -> Record:
    """Measure a point whose f was computed from scratch.

    Number 0 is a start: what blocks found apart may overshoot when put together, so beta is
    scaled by s = min(1, -p'b / b'K b), the exact line search towards zero.
    """
    problem = read_problem(run)
    rows = scope_rows(run, scope, 0, 1)
    before = run.node(source, node)
    beta = before.read("beta")[0]
    found = [run.node(stage, f"{layer}-{part:04d}") for part in range(parts)]
    f = np.concatenate([part.read("f") for part in found])
    scale = 1.0
    if number == 0:
        quadratic, linear = float(np.dot(beta[rows], f)), float((problem.dual.p * beta).sum())
        scale = min(1.0, -linear / quadratic) if quadratic > 0 else 1.0
        beta, f = scale * beta, scale * f
    record = commit_point(
        problem, attempt, Point(rows, beta, f), number=number, tol=tol, local=local
    )
    return {
        **record,
        # Where the bias moved further than was allowed for, f is to be computed once more.
        "from_scratch": abs(record["bias"] - before.record.get("bias", record["bias"]))
        <= BIAS_SLACK,
        "scale": scale,
        # Parts may have been committed before a resume with another tolerance.
        **{key: max(part.record[key] for part in found) for key in ("tol", "float32_error")},
    }
