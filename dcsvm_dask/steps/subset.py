"""Foresight for smooth kernels: the machine of a random subset tells the others' side.

Where every row sees every other, clusters do not know the answer, but a random sample does: with
boxes scaled to n C / m its machine comes close to the whole one. A chain of nested subsets, each
four times the one before, foresees which rows will be support vectors at a small part of the cost
of knowing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.kernels import kernel_product
from dcsvm_dask.solvers import bias, first_set, solve_working_sets
from dcsvm_dask.steps.problem import Problem, read_problem
from dcsvm_dask.steps.resources import threads
from dcsvm_dask.steps.rounds import scope_rows
from dcsvm_dask.storage.run import Attempt, Record, RunFolder

Index = NDArray[np.int64]
Vector = NDArray[np.float64]

RATIO = 4
# The first subset is solved whole, so it is small.
FIRST_ROWS = 6000
# Foreseeing needs no more precision than this.
SUBSET_TOL = 0.1


@dataclass(frozen=True)
class Machine:
    """What a subset taught, in variables of the whole problem."""

    rows: Index
    """Its support vectors, ascending."""
    coef: Vector
    bias: float
    seen: Index
    """The subset, ascending."""
    f: Vector
    """Its decision values, without bias."""

    def decide(self, problem: Problem, rows: Index, threads: int = 1) -> tuple[Vector, int]:
        """Return the decision values of some rows, without bias, and the kernel values computed."""
        place = np.minimum(np.searchsorted(self.seen, rows), len(self.seen) - 1)
        known = self.seen[place] == rows
        found = np.where(known, self.f[place], 0.0)
        found[~known], values = kernel_product(
            problem.settings.kernel,
            problem.take(rows[~known]),
            problem.take(self.rows),
            self.coef,
            threads=threads,
        )
        return found, values


def solve_subsets(run: RunFolder, attempt: Attempt) -> Record:
    """Commit the machine of the largest of nested random subsets."""
    machine, record = train_machine(read_problem(run))
    for name in ("rows", "coef", "seen", "f"):
        attempt.write(name, getattr(machine, name))
    return record


def train_machine(problem: Problem) -> tuple[Machine, Record]:
    """Solve nested random subsets, each on the rows that the one before takes for near."""
    settings = problem.settings
    order = np.random.default_rng([settings.seed, 6000]).permutation(problem.n)
    machine: Machine | None = None
    counted, steps = 0, 0
    sizes = subset_sizes(problem.n, settings.set_cap)
    for size in sizes:
        rows = np.sort(order[:size]).astype(np.int64)
        X, y = problem.take(rows), problem.y[rows]
        C = problem.C[rows] * (problem.n / size)
        first = np.arange(size)
        if machine is not None:
            expected, values = machine.decide(problem, rows, threads())
            first = first_set(1.0 - y * (expected + machine.bias), settings.set_cap)
            counted += values
        found = solve_working_sets(
            settings.kernel,
            X,
            y,
            C,
            alpha=np.zeros(size),
            f=np.zeros(size),
            first=first,
            equality=settings.fit_intercept,
            tol=SUBSET_TOL,
            cap=settings.set_cap,
            threads=threads(),
        )
        counted += found.kernel_values
        steps += found.n_iter
        kept = np.flatnonzero(found.alpha)
        offset = bias(y * found.f - 1.0, found.alpha, y, C) if settings.fit_intercept else 0.0
        machine = Machine(rows[kept], y[kept] * found.alpha[kept], offset, rows, found.f)
    assert machine is not None
    return machine, {
        "sizes": sizes,
        "bias": machine.bias,
        "n_support": len(machine.rows),
        "iterations": steps,
        "kernel_values": counted,
    }


def foresee(run: RunFolder, attempt: Attempt, *, subset: str, part: int, parts: int) -> Record:
    """Compute the subset's decision values for a share of the rows."""
    problem = read_problem(run)
    node = run.node(subset, "commit")
    machine = Machine(
        node.read("rows"),
        node.read("coef"),
        float(node.record["bias"]),
        node.read("seen"),
        node.read("f"),
    )
    mine = scope_rows(run, None, part, parts)
    expected, values = machine.decide(problem, mine)
    attempt.write("expected", expected)
    return {"rows": len(mine), "kernel_values": values}


def subset_sizes(n: int, cap: int) -> list[int]:
    """Return the sizes of the subsets, ascending; the first can be solved whole."""
    sizes = [max(1, min(n // RATIO, RATIO * cap))]
    while sizes[-1] > min(cap, FIRST_ROWS):
        sizes.append(max(1, sizes[-1] // RATIO))
    return sizes[::-1]
