"""Records of solved SVMs: of each block of a task, and sums over blocks and tasks."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import TypeVar

import numpy as np

from dcsvm_dask.methods.progress import BlockReporter
from dcsvm_dask.solvers import Solution, duality_gap
from dcsvm_dask.solvers.optimality import total
from dcsvm_dask.storage.node import Record
from dcsvm_dask.tasks import Dual

T = TypeVar("T")

EACH = (
    "rows",
    "support",
    "bounded",
    "objective",
    "violation",
    "iterations",
    "kernel_values",
    "seconds",
)
"""Keys of a block's record that are reported, and kept for each block."""
SUMS = (
    "blocks",
    "rows",
    "support",
    "bounded",
    "objective",
    "own_gap",
    "iterations",
    "kernel_values",
    "fallbacks",
)
"""Keys of records that add up over blocks and tasks."""


@dataclass(frozen=True, slots=True)
class SolvedRecord:
    """The record of a solved SVM.

    Attributes
    ----------
    rows : int
        Number of its variables.
    support, bounded : int
        Number of support vectors, and of those at a bound.
    objective : float
        Dual objective, without the term of a given bias.
    own_gap : float
        Duality gap of its own problem.
    violation : float
        Violation of its own problem; see `dcsvm_dask.solvers.optimality.violation`.
    converged : bool
        Whether the violation is within the tolerance.
    iterations : int
        Steps of the solver.
    kernel_values : int
        Kernel values computed for it.
    bias : float
        Bias of the decision function.
    fallbacks : int
        See `Solution.fallbacks`.
    blocks : int
        Number of blocks: 1.
    """

    rows: int
    support: int
    bounded: int
    objective: float
    own_gap: float
    violation: float
    converged: bool
    iterations: int
    kernel_values: int
    bias: float
    fallbacks: int
    blocks: int = 1

    @classmethod
    def of(
        cls,
        dual: Dual,
        solution: Solution,
        *,
        bias: float,
        equality: bool = False,
        offset: float = 0.0,
        kernel_values: int = 0,
    ) -> SolvedRecord:
        """Return the record of a solution.

        Parameters
        ----------
        dual : Dual
            The problem that was solved.
        solution : Solution
        bias : float
            Bias of the decision function.
        equality : bool, default False
            Whether the problem has the constraint sum(beta) = 0.
        offset : float, default 0.0
            A given bias in the linear term of the problem, whose term the objective leaves out.
        kernel_values : int, default 0
        """
        beta = solution.beta
        return cls(
            rows=len(dual),
            support=int(np.count_nonzero(beta)),
            bounded=int(np.count_nonzero(dual.is_bounded(beta))),
            objective=solution.objective - (offset * total(beta) if offset else 0.0),
            own_gap=duality_gap(solution.gradient, beta, dual, equality=equality),
            violation=solution.violation,
            converged=bool(solution.converged),
            iterations=solution.n_iter,
            kernel_values=kernel_values,
            bias=bias,
            fallbacks=solution.fallbacks,
        )

    def to_json(self) -> Record:
        """Return the record as JSON values."""
        return asdict(self)


def summed(records: Iterable[Record], *others: str) -> Record:
    """Return the sums of records of blocks or tasks, with the largest violation.

    Parameters
    ----------
    records : iterable of dict
    *others : str
        Keys to add up beside `SUMS`.
    """
    listed = [{"fallbacks": 0, **record} for record in records]  # older ones have no such key
    return {
        **{key: sum(record[key] for record in listed) for key in (*SUMS, *others)},
        "violation": max((record["violation"] for record in listed), default=0.0),
        "converged": all(record["converged"] for record in listed),
    }


class SolvedBlocks:
    """Solves the blocks of a task in turn, reports each, and keeps their records.

    Parameters
    ----------
    blocks : list of int
        The blocks that the task will solve.
    """

    def __init__(self, blocks: list[int]) -> None:
        self.blocks = blocks
        self.records: list[Record] = []
        self._reporter = BlockReporter(blocks)

    def add(self, block: int, solve: Callable[[], tuple[T, Record]]) -> T:
        """Solve a block with a function that returns its solution and its record."""
        begin = time.perf_counter()
        solution, record = solve()
        self.records.append({**record, "seconds": time.perf_counter() - begin})
        self._reporter.solved(block, {key: self.records[-1][key] for key in EACH})
        return solution

    def to_json(self, *others: str) -> Record:
        """Return the record of the task: sums, its blocks (``members``), and ``each`` of them."""
        return {
            **summed(self.records, *others),
            "members": self.blocks,
            "each": {key: [record[key] for record in self.records] for key in EACH},
        }
