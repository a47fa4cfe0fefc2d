"""Computing f from scratch, at the start of rounds and to prove convergence."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.kernels import kernel_product, product_error_bound
from dcsvm_dask.methods.conquer.near import near
from dcsvm_dask.methods.conquer.point import Point, commit_point
from dcsvm_dask.methods.conquer.rounds import scope_rows
from dcsvm_dask.methods.problem import read_problem
from dcsvm_dask.methods.resources import threads
from dcsvm_dask.methods.solve_rows import FAR_PAIRS
from dcsvm_dask.solvers.doubt import BIAS_SLACK, doubt
from dcsvm_dask.storage.node import Attempt, Record
from dcsvm_dask.storage.run import RunFolder

Vector = NDArray[np.float64]

# Largest error of f by float32, as a share of the tolerance; other rows are computed in float64.
PRODUCT_ERROR = 0.25
# Rows of a task on which the rounding is estimated for the record.
BOUND_ROWS = 64


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
    """Compute f from all variables of a committed point, for a share of the chain's variables.

    Parameters
    ----------
    run : RunFolder
    attempt : Attempt
    scope : str or None
        The stage whose node ``scope`` has the variables of the chain; None: all.
    source, node : str
        The stage and the node of the point.
    part, parts : int
        The share and the number of shares.
    tol : float
        Tolerance of the chain, which bounds the error of f.
    local : bool
        Whether far pairs are skipped.
    """
    problem = read_problem(run)
    before = run.node(source, node)
    beta = before.read("beta")[0]
    mine = scope_rows(run, scope, part, parts)
    support = np.flatnonzero(beta)
    kept, budget = near(problem, mine, support, beta[support], FAR_PAIRS * tol if local else 0.0)
    support = support[kept]
    X, Z = problem.take(mine), problem.take(support)
    if not local:
        X, Z = problem.for_speed(X), problem.for_speed(Z)
    v, kernel = beta[support], problem.settings.kernel
    f, values = kernel_product(
        kernel,
        X,
        Z,
        v,
        budget=budget,
        tol=PRODUCT_ERROR * tol,
        doubt=doubt(
            beta[mine],
            problem.dual[mine].eased(before.record.get("epsilon", 0.0)),
            before.record.get("bias"),
            equality=problem.settings.fit_intercept,
        ),
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
    in_blocks: bool,
    rests: bool = False,
) -> Record:
    """Commit a point whose f was computed from scratch.

    At the start (number 0) solutions of separate blocks may overshoot together, so beta is scaled
    by s = min(1, -p'b / b'K b), the exact line search towards zero; with a kink epsilon'abs(b) is
    part of the linear term, with squared losses their diagonal of K. Where variables have a given
    sum they are as they are.

    Parameters
    ----------
    run : RunFolder
    attempt : Attempt
    stage : str
        The stage of the check.
    scope : str or None
        The stage whose node ``scope`` has the variables of the chain; None: all.
    source, node : str
        The stage and the node of the point.
    number : int
        Number of the round.
    layer : str
        Name of the nodes that computed f.
    parts : int
        Number of shares.
    tol : float
        Tolerance of the chain.
    in_blocks : bool
        Whether the blocks of the next round are chosen.
    rests : bool, default False
        See `commit_point`.
    """
    problem = read_problem(run)
    rows = scope_rows(run, scope, 0, 1)
    before = run.node(source, node)
    beta = before.read("beta")[0]
    found = [run.node(stage, f"{layer}-{part:04d}") for part in range(parts)]
    f = np.concatenate([part.read("f") for part in found])
    scale = 1.0
    if number == 0 and not problem.task.has_sum:
        dual = problem.dual
        quadratic, linear = float(np.dot(beta[rows], f)), float((dual.p * beta).sum())
        if dual.epsilon is not None:
            linear += float(dual.epsilon @ np.abs(beta))
        if dual.ridge is not None:
            quadratic += float(dual.ridge @ beta**2)
        scale = max(0.0, min(1.0, -linear / quadratic)) if quadratic > 0 else 1.0
        beta, f = scale * beta, scale * f
    record = commit_point(
        problem,
        attempt,
        Point(rows, beta, f),
        number=number,
        tol=tol,
        in_blocks=in_blocks,
        rests=rests,
    )
    changes = [
        abs(record[key] - before.record.get(key, record[key]))
        for key in ("bias", "epsilon")
        if key in record
    ]
    return {
        **record,
        # If the bias has changed by more, f must be computed once more.
        "from_scratch": sum(changes) <= BIAS_SLACK * problem.task.unit,
        "scale": scale,
        # Parts may have been committed before a resume with another tolerance.
        **{key: max(part.record[key] for part in found) for key in ("tol", "float32_error")},
    }
