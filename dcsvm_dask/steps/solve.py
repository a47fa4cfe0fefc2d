"""Solving the blocks of a level, warm from the level below."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.solvers import Solution, bias
from dcsvm_dask.steps.node import Step, run_node
from dcsvm_dask.steps.problem import ARRANGE, Problem, read_problem
from dcsvm_dask.steps.regime import are_alone
from dcsvm_dask.steps.rows_solver import RowsSolver
from dcsvm_dask.steps.settings import Settings
from dcsvm_dask.steps.shared_bias import response
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
    arguments = {"stage": stage, "below": below}
    return run_blocks(run, stage, block_offsets(run, stage), solve_block, arguments, slot, slots)


def run_blocks(
    run: RunFolder,
    stage: str,
    offsets: NDArray[np.int64],
    step: Step,
    arguments: Record,
    slot: int,
    slots: int,
) -> Record:
    """Run a step on every `slots`-th block of a table, largest first; each commits by itself."""
    table = np.argsort(-np.diff(offsets), kind="stable")
    return sum_records(
        [
            run_node(
                run.place.url, stage, block_name(block), step, {**arguments, "block": int(block)}
            )
            for block in table[slot::slots]
        ]
    )


def solve_block(
    run: RunFolder, attempt: Attempt, *, stage: str, block: int, below: str | None
) -> Record:
    """Solve the problem of one block; with a bias for the one that the level below expects."""
    problem = read_problem(run)
    settings = problem.settings
    index = block_index(run, stage, block)
    y, start, offset = problem.y[index], None, 0.0
    if below is not None:
        before = run.node(below, "commit")
        start, offset = before.read("alpha")[0, index], before.record["next_bias"]
    solver = RowsSolver(settings, problem.take(index), y, problem.C[index])
    tol = tolerance(run, settings, stage)
    solution = solver.solve(alpha=start, p=offset * y - 1.0, tol=tol)
    slope = 0.0
    if settings.fit_intercept and below is None:
        slope = response(solver, solution, tol)
    write_block(attempt, problem, solution)
    return {
        **block_record(problem, index, solution, offset),
        "slope": slope,
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


def tolerance(run: RunFolder, settings: Settings, stage: str) -> float:
    """Return the violation at which a level's blocks are solved."""
    cluster = run.node(stage if run.find(stage, "cluster") else ARRANGE, "cluster")
    return settings.alone_tol if are_alone(cluster.record["choice"]) else settings.level_tol


def block_offsets(run: RunFolder, stage: str) -> NDArray[np.int64]:
    """Return the borders of a level's blocks."""
    found = run.find(stage, "order")
    source = run.node(ARRANGE, "commit") if found is None else run.node(stage, "order")
    return source.read("offsets").astype(np.int64)


def block_index(run: RunFolder, stage: str, block: int) -> NDArray[np.int64]:
    """Return the variables of one block of a level; ascending."""
    offsets = block_offsets(run, stage)
    start, stop = int(offsets[block]), int(offsets[block + 1])
    if run.find(stage, "order") is None:
        return np.arange(start, stop)
    return run.node(stage, "order").read("index", slice(start, stop))


def block_name(block: int) -> str:
    """Return the name of a block's node."""
    return f"block-{block:05d}"


def sum_records(records: list[Record]) -> Record:
    """Add up what blocks counted."""
    totals: dict[str, Any] = {"blocks": len(records)}
    keys = ("rows", "support", "objective", "iterations", "kernel_values", "balance", "slope")
    for key in keys:
        totals[key] = sum(record[key] for record in records)
    totals["violation"] = max((record["violation"] for record in records), default=0.0)
    totals["converged"] = all(record["converged"] for record in records)
    return totals
