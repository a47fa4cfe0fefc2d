"""Foresight for smooth kernels: the machine of nested random subsets and what it says."""

from __future__ import annotations

from typing import Any

from dcsvm_dask.solvers import SubsetMachine, train_on_subsets
from dcsvm_dask.steps.problem import Problem, read_problem
from dcsvm_dask.steps.resources import threads
from dcsvm_dask.steps.rounds import scope_rows
from dcsvm_dask.storage.node import Attempt, Record
from dcsvm_dask.storage.run import RunFolder


def solve_subsets(run: RunFolder, attempt: Attempt) -> Record:
    """Commit the machine of the largest of nested random subsets."""
    machine, record = train_machine(read_problem(run))
    for name in ("rows", "coef", "seen", "f"):
        attempt.write(name, getattr(machine, name))
    return record


def train_machine(problem: Problem) -> tuple[SubsetMachine, Record]:
    """Solve nested random subsets, each on the rows that the one before takes for near."""
    settings = problem.settings
    machine, work = train_on_subsets(
        settings.kernel,
        problem.take,
        problem.y,
        problem.C,
        equality=settings.fit_intercept,
        cap=settings.set_cap,
        seed=[settings.seed, 6000],
        threads=threads(),
    )
    return machine, {
        "sizes": work.sizes,
        "bias": machine.bias,
        "n_support": len(machine.rows),
        "iterations": work.n_iter,
        "kernel_values": work.kernel_values,
    }


def foresee(run: RunFolder, attempt: Attempt, *, subset: str, part: int, parts: int) -> Record:
    """Compute the subset's decision values for a share of the rows."""
    problem = read_problem(run)
    node = run.node(subset, "commit")
    known: dict[str, Any] = {name: node.read(name) for name in ("rows", "coef", "seen", "f")}
    machine = SubsetMachine(problem.settings.kernel, bias=float(node.record["bias"]), **known)
    mine = scope_rows(run, None, part, parts)
    expected, values = machine.decide(problem.take, mine)
    attempt.write("expected", expected)
    return {"rows": len(mine), "kernel_values": values}
