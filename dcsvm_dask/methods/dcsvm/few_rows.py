"""A problem of few rows: one task solves it in memory, others prove it."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

import numpy as np

from dcsvm_dask.methods.conquer.graph import (
    MOST_IDLE,
    Chain,
    Reached,
    check_stage,
    holds,
    last_point,
    stage_name,
)
from dcsvm_dask.methods.conquer.point import largest_set
from dcsvm_dask.methods.graph import Graph, Keep, Layer, Node, Stage
from dcsvm_dask.methods.node import Step
from dcsvm_dask.methods.problem import Problem, read_problem
from dcsvm_dask.methods.progress import set_reporter
from dcsvm_dask.methods.resources import threads
from dcsvm_dask.methods.shape import Shape
from dcsvm_dask.methods.stages import probe_stage
from dcsvm_dask.methods.stall import Stall
from dcsvm_dask.solvers import (
    bias,
    select_set,
    size_multiplier,
    solve_working_sets,
    train_on_subsets,
)
from dcsvm_dask.solvers.working_sets import INNER_FLOOR
from dcsvm_dask.storage.node import Attempt, Record
from dcsvm_dask.storage.run import RunFolder

SOLVE = "solve-0000"
PREDICTED_ABOVE = 6000
"""Fewer variables make one working set: predicting the support vectors costs more than it saves."""


def solve_rows(run: RunFolder, attempt: Attempt, *, previous: str | None, tol: float) -> Record:
    """Solve the problem by as many working sets as it takes.

    Parameters
    ----------
    run : RunFolder
    attempt : Attempt
    previous : str or None
        The stage of the point to start from; None: zero, where an SVM of a random subset predicts
        the first working set.
    tol : float
        Tolerance of the chain.
    """
    problem = read_problem(run)
    settings, n = problem.settings, problem.n
    beta = f = np.zeros(n)
    cap = largest_set(problem, settings.set_cap)
    first, counted = np.arange(n), 0
    if previous is not None:
        before = run.node(previous, "commit")
        beta, f = before.read("beta")[0], before.read("f")
        dual = problem.dual_at(beta).eased(before.record.get("epsilon", 0.0))
        gradient = dual.gradient(f + before.record["bias"], beta)
        first = select_set(
            beta,
            dual,
            gradient,
            tol,
            cap,
            equality=settings.fit_intercept,
            by_sign=problem.size is not None,
        )
    elif n > PREDICTED_ABOVE:
        first, counted = predicted_set(problem)
    dual = problem.dual_at(beta)
    found = solve_working_sets(
        settings.kernel,
        problem.solved_rows(problem.X.read(0, n)),
        dual,
        beta=beta,
        f=f,
        first=first,
        equality=settings.fit_intercept,
        tol=INNER_FLOOR * tol,
        cap=cap,
        inner=settings.inner,
        threads=threads(),
        shrinking=True,
        solved=set_reporter(),
    )
    attempt.write("beta", found.beta[None, :])
    at: dict[str, Any] = {"bias": 0.0}
    if settings.fit_intercept:
        dual = problem.dual_at(found.beta)
        gradient = dual.gradient(found.f, found.beta)
        at = {"bias": bias(gradient, found.beta, dual)}
        if problem.size is not None:
            at["epsilon"] = size_multiplier(gradient, found.beta, dual)
    return {
        "rows": n,
        **at,
        "sets": found.sets,
        "iterations": found.n_iter,
        "fallbacks": found.fallbacks,
        "kernel_values": counted + found.kernel_values,
    }


def predicted_set(problem: Problem) -> tuple[np.ndarray, int]:
    """Return the rows that an SVM of nested random subsets takes for support vectors.

    Parameters
    ----------
    problem : Problem

    Returns
    -------
    rows : ndarray of int64
    kernel_values : int
        Number of kernel values computed.
    """
    settings, every = problem.settings, np.arange(problem.n)
    machine, work = train_on_subsets(
        settings.kernel,
        problem.take,
        problem.dual,
        equality=settings.fit_intercept,
        cap=settings.set_cap,
        seed=[settings.seed, 6000],
        threads=threads(),
    )
    expected, values = machine.decide(problem.take, every, threads())
    return machine.first_set(expected, problem.dual, settings.set_cap), work.kernel_values + values


def first_look(shape: Shape) -> list[Stage]:
    """Return the stages by which a plan knows how large working sets will be.

    Of fewer variables it knows: all of them make one set.
    """
    return [probe_stage(one_set=True)] if shape.n_variables > PREDICTED_ABOVE else []


def few_rows(
    chain: Chain,
    *,
    has_sum: bool = False,
    solve: Step = solve_rows,
    before: Sequence[Stage] = (),
) -> Generator[Graph, dict[str, Record], Reached]:
    """Yield stages that solve all rows in one task and compute f from scratch.

    Parameters
    ----------
    chain : Chain
        Its source is where the solution starts, unless `has_sum`.
    has_sum : bool, default False
        Whether variables have a sum that is not that of zero: the start is one that has it.
    solve : callable
        The step that solves, as `solve_rows` does.
    before : sequence of Stage
        Stages that go first.
    """
    number, stall = int(not has_sum), Stall(MOST_IDLE)
    stage = check_stage(chain, 0, None) if has_sum else solve_stage(chain, 1, chain.source, solve)
    record = (yield [*before, stage])[stage.name]
    while number < chain.max_rounds:
        stall.see(record)
        if holds(chain, record) and not record["released"]:
            return Reached(stage.name, record, converged=True)
        if stall.is_over and record["from_scratch"] and not record["released"]:
            break
        number += 1
        if record["violation"] <= chain.tol or stall.is_over:
            stage = check_stage(chain, number, stage.name, scoped=False)
        else:
            stage = solve_stage(chain, number, stage.name, solve)
        record = (yield [stage])[stage.name]
    return last_point(chain, stage, record, stall)


def solve_stage(chain: Chain, number: int, previous: str | None, solve: Step = solve_rows) -> Stage:
    """Return the stage of a solution and of its f from scratch.

    Parameters
    ----------
    chain : Chain
    number : int
    previous : str or None
        The stage of the point to start from; None: zero.
    solve : callable
        The step that solves.
    """
    name = stage_name(chain, number)
    node = Node(SOLVE, solve, {"previous": previous, "tol": chain.tol})
    look = check_stage(chain, number, name, node=SOLVE, layer="close", scoped=False)
    layers = (Layer("solve", (node,), Keep.STAGE), *look.layers)
    replaced = None if previous == chain.source else previous
    return Stage(name, layers, chain.name, supersedes=replaced)
