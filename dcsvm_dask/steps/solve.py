"""Solving the blocks of a level, warm from the level below."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.kernels import Rows, counted_kernel_matrix
from dcsvm_dask.solvers import Solution, bias, solve_decomposition, solve_smo
from dcsvm_dask.steps.node import run_node
from dcsvm_dask.steps.problem import ARRANGE, read_problem
from dcsvm_dask.steps.regime import are_alone
from dcsvm_dask.steps.settings import Settings
from dcsvm_dask.storage.run import Attempt, Record, RunFolder

Vector = NDArray[np.float64]

# Kernel values below this are zero in a block's matrix; its rows lie in k-d order.
NEGLIGIBLE = 1e-10
# Share of the tolerance that a product may lose by skipping far pairs of tiles; far below what
# the violation needs, since the objective sums these errors over all rows.
FAR_PAIRS = 1e-4


def solve_slot(
    run: RunFolder,
    attempt: Attempt,
    *,
    stage: str,
    slot: int,
    slots: int,
    below: str | None,
    prefix: str = "block",
) -> Record:
    """Solve every `slots`-th block of a level's table, largest first; each commits by itself."""
    del attempt  # the blocks are this node's output
    offsets = block_offsets(run, stage)
    table = np.argsort(-np.diff(offsets), kind="stable")
    records = [
        run_node(
            run.place.url,
            stage,
            f"{prefix}-{block:05d}",
            solve_block,
            {"stage": stage, "block": int(block), "below": below},
        )
        for block in table[slot::slots]
    ]
    return sum_records(records)


def solve_block(
    run: RunFolder, attempt: Attempt, *, stage: str, block: int, below: str | None
) -> Record:
    """Solve the problem of one block, without a bias."""
    problem = read_problem(run)
    index = block_index(run, stage, block)
    start = None if below is None else run.node(below, "commit").read("alpha")[0, index]
    solution, values = solve_rows(
        problem.settings,
        problem.take(index),
        problem.y[index],
        problem.C[index],
        alpha=start,
        tol=tolerance(run, problem.settings, stage),
    )
    attempt.write("alpha", solution.alpha[None, :])
    return {
        "rows": len(index),
        "support": int(np.count_nonzero(solution.alpha)),
        "objective": solution.objective,
        "violation": solution.violation,
        "converged": bool(solution.converged),
        "iterations": solution.n_iter,
        "kernel_values": values,
        "bias": bias(solution.gradient, solution.alpha, problem.y[index], problem.C[index]),
    }


def tolerance(run: RunFolder, settings: Settings, stage: str) -> float:
    """Return the violation at which a level's blocks are solved."""
    cluster = run.node(stage if run.find(stage, "cluster") else ARRANGE, "cluster")
    return settings.alone_tol if are_alone(cluster.record["choice"]) else settings.level_tol


def solve_rows(
    settings: Settings,
    X: Rows,
    y: Vector,
    C: Vector,
    *,
    alpha: Vector | None,
    tol: float,
    gradient: Vector | None = None,
    equality: bool = False,
) -> tuple[Solution, int]:
    """Solve the problem of some rows: in memory up to the cap, by decomposition above it.

    Returns
    -------
    solution : Solution
    kernel_values : int
    """
    if len(y) <= settings.block_cap:
        K, values = counted_kernel_matrix(settings.kernel, X, least=NEGLIGIBLE)
        solution = solve_smo(K, y, C, alpha=alpha, gradient=gradient, equality=equality, tol=tol)
        return solution, values
    return solve_decomposition(
        settings.kernel,
        X,
        y,
        C,
        alpha=alpha,
        gradient=gradient,
        equality=equality,
        tol=tol,
        working_size=settings.block_cap,
        budget=FAR_PAIRS * tol,
        # Levels are only starts, and of a round's step no more is believed than what it brings.
        verify=False,
    )


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


def sum_records(records: list[Record]) -> Record:
    """Add up what blocks counted."""
    totals: dict[str, Any] = {"blocks": len(records)}
    for key in ("rows", "support", "objective", "iterations", "kernel_values"):
        totals[key] = sum(record[key] for record in records)
    totals["violation"] = max((record["violation"] for record in records), default=0.0)
    totals["converged"] = all(record["converged"] for record in records)
    return totals
