"""Solving the blocks of a level, warm from the level below."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.solvers import Solution, bias
from dcsvm_dask.steps.block_table import block_name, read_table
from dcsvm_dask.steps.node import Step, run_node
from dcsvm_dask.steps.problem import Problem, read_problem
from dcsvm_dask.steps.rows_solver import RowsSolver
from dcsvm_dask.steps.shared_bias import PROBED, response
from dcsvm_dask.storage.run import Attempt, Record, RunFolder

Vector = NDArray[np.float64]


def solve_slot(
    run: RunFolder,
    attempt: Attempt,
    *,
    stage: str,
    slot: int,
    slots: int,
    below: str | None,
) -> Record:
    """Solve every `slots`-th block of a level."""
    del attempt  # the blocks are this node's output
    start = None if below is None else run.node(below, "commit").read("alpha")[0]
    blocks = read_table(run, stage).costliest_first(start, read_problem(run).C)[slot::slots]
    return run_blocks(run, stage, blocks, solve_block, {"stage": stage, "below": below})


def run_blocks(
    run: RunFolder, stage: str, blocks: NDArray[np.int64], step: Step, arguments: Record
) -> Record:
    """Run a step on some blocks, one after the other; each commits by itself."""
    url = run.place.url
    return sum_records(
        [
            run_node(url, stage, block_name(block), step, {**arguments, "block": int(block)})
            for block in blocks
        ]
    )


def solve_block(
    run: RunFolder, attempt: Attempt, *, stage: str, block: int, below: str | None
) -> Record:
    """Solve the problem of one block; with a bias for the one that the level below expects."""
    problem = read_problem(run)
    settings = problem.settings
    table = read_table(run, stage)
    index = table.rows(block)
    y, start, offset = problem.y[index], None, 0.0
    if below is not None:
        before = run.node(below, "commit")
        start, offset = before.read("alpha")[0, index], before.record["next_bias"]
    solver = RowsSolver(settings, problem.take(index), y, problem.C[index])
    tol = settings.alone_tol if table.alone else settings.level_tol
    solution = solver.solve(alpha=start, p=offset * y - 1.0, tol=tol)
    slope, answering = 0.0, 0
    if settings.fit_intercept and solver.in_memory and block % PROBED == 0:
        slope = response(solver, solution, tol)
        answering = int(np.count_nonzero(solution.alpha))
    write_block(attempt, problem, solution)
    return {
        **block_record(problem, index, solution, offset),
        "slope": slope,
        "answering": answering,
        "kernel_values": solver.kernel_values,
    }


def write_block(attempt: Attempt, problem: Problem, solution: Solution) -> None:
    """Write a block's alphas; with a bias their gradient too, from which they may go on."""
    attempt.write("alpha", solution.alpha[None, :])
    if problem.settings.fit_intercept:
        attempt.write("gradient", solution.gradient)


def block_record(
    problem: Problem, index: NDArray[np.int64], solution: Solution, offset: float
) -> Record:
    """Return what a block says of its solution for a bias that was given."""
    y = problem.y[index]
    balance = float(np.dot(y, solution.alpha))
    return {
        "rows": len(index),
        "support": int(np.count_nonzero(solution.alpha)),
        "objective": solution.objective - offset * balance,
        "violation": solution.violation,
        "converged": bool(solution.converged),
        "iterations": solution.n_iter,
        "bias": offset + bias(solution.gradient, solution.alpha, y, problem.C[index]),
        "balance": balance,
    }


def sum_records(records: list[Record]) -> Record:
    """Add up what blocks counted."""
    totals: dict[str, Any] = {"blocks": len(records)}
    keys = ("rows", "support", "objective", "iterations", "kernel_values", "balance")
    for key in (*keys, "slope", "answering"):
        totals[key] = sum(record[key] for record in records)
    totals["violation"] = max((record["violation"] for record in records), default=0.0)
    totals["converged"] = all(record["converged"] for record in records)
    return totals
