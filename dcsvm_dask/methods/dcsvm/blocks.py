"""Solving the blocks of a level, warm from the level below, with a bias that all share.

For a bias c that is given, blocks are apart: each solves min 0.5 b'Kb + (p + c)'b over its box.
The c that makes the sum of all their variables zero, or what the task asks for, is the multiplier
of the whole problem's equality. That sum falls as b rises, nearly in a straight line: its slope is
what the free rows answer.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.methods.block_table import BlockTable, gather
from dcsvm_dask.methods.dcsvm.estimate import estimate
from dcsvm_dask.methods.dcsvm.share import Gathered, Share
from dcsvm_dask.methods.problem import Problem
from dcsvm_dask.methods.solve_rows import RowsSolver
from dcsvm_dask.methods.solved import SolvedBlocks, SolvedRecord, summed
from dcsvm_dask.models.model import Rule
from dcsvm_dask.solvers import Solution, bias
from dcsvm_dask.solvers.optimality import total
from dcsvm_dask.storage.node import Attempt, Committed, Record
from dcsvm_dask.storage.run import RunFolder
from dcsvm_dask.tasks import Dual

# By how much the bias is moved to see how a block answers, in units of `Dual.unit`.
PROBE = 0.05
# One of so many blocks is asked, of those whose kernel matrix is in memory.
PROBED = 4
# Share of the support vectors in probed blocks from which on their response counts.
ANSWERING = 0.1
# The bias moves at most so far at once, in the same units: margins are 1 from the border.
FURTHEST = 0.5


def response(solver: RowsSolver, solution: Solution, tol: float) -> float:
    """Return the change of the sum of a block's variables for each unit of the bias.

    Parameters
    ----------
    solver : RowsSolver
    solution : Solution
        The solution for the present bias.
    tol : float
    """
    probe = PROBE * solver.dual.unit
    moved = solver.solve(beta=solution.beta, gradient=solution.gradient + probe, tol=tol)
    return total(moved.beta - solution.beta) / probe


def next_bias(bias: float, balance: float, slope: float, unit: float = 1.0) -> float:
    """Return the bias at which the sum of beta is expected to be that of the problem.

    Parameters
    ----------
    balance : float
        Sum of beta at `bias`, less that of the problem.
    slope : float
        Its change for each unit of the bias; where nothing answers (0) the bias stays.
    unit : float, default 1.0
        See `Dual.unit`.
    """
    if not slope < 0.0:
        return bias
    furthest = FURTHEST * unit
    return bias + float(np.clip(-balance / slope, -furthest, furthest))


Vector = NDArray[np.float64]
Solved = tuple[Solution, Record]


class SharedBias:
    """A level of a single SVM, whose blocks are solved for a bias that they share.

    All variables are written as ``beta``, with a bias also their ``gradient``.
    """

    def solve(
        self, run: RunFolder, attempt: Attempt, problem: Problem, table: BlockTable, share: Share
    ) -> Record:
        """Solve the blocks of a task, with a bias for the one that the level below expects."""
        before = None if share.below is None else run.node(share.below, "commit")
        start = None if before is None else before.read("beta")[0]
        offset = problem.first_bias if before is None else before.record["next_bias"]

        def solve(block: int) -> Solved:
            rows, probed = table.rows(block), block % PROBED == 0
            return solve_block(problem, rows, start, offset, share.tol, probed=probed)

        blocks = table.of_slot(problem, start, share.slot, share.slots)
        return write_blocks(attempt, problem, blocks, solve)

    def gather(
        self,
        run: RunFolder,
        attempt: Attempt,
        problem: Problem,
        table: BlockTable,
        nodes: list[Committed],
        below: str | None,
    ) -> Gathered:
        """Gather the variables of all blocks, and choose the bias of the next level."""
        in_blocks, beta = gather(nodes, table, "beta")
        attempt.write("beta", beta[None, :])
        with_bias = problem.settings.fit_intercept
        bias = np.zeros(table.n_blocks)
        if with_bias:
            attempt.write("gradient", gather(nodes, table, "gradient")[1])
            for node in nodes:
                bias[node.record["members"]] = node.record["biases"]
        total = summed((node.record for node in nodes), *OTHERS)
        before = {"next_bias": problem.first_bias, "slope": 0.0}
        if below is not None:
            before = run.node(below, "commit").record
        offset, slope = before["next_bias"], before["slope"]
        if total["answering"] >= ANSWERING * total["support"] > 0:
            slope = total["slope"] * total["support"] / total["answering"]
        chosen = np.flatnonzero(in_blocks)
        support = table.variables(chosen)
        record = {
            **total,
            "offset": offset,
            "slope": slope,
            "next_bias": 0.0,
        }
        if with_bias:
            unit = problem.task.unit
            balance = total["balance"] - problem.total
            record["next_bias"] = next_bias(offset, balance, slope, unit)
            if problem.total:  # one level of density for all blocks
                bias[:] = offset
            bias += problem.task.centre
        counts = np.diff(np.searchsorted(chosen, table.offsets))[:, None]
        scale = problem.task.decision_scale(problem.first_epsilon)
        coef = beta[None, support] / scale
        return Gathered(support, coef, counts, bias[:, None] / scale, record)

    def estimate(self, problem: Problem, table: BlockTable, found: Gathered, rule: Rule) -> Record:
        """Estimate objective and duality gap of the whole problem, at the bias of the level."""
        del rule
        beta = np.zeros(problem.n)
        beta[found.support] = found.coef[0] * problem.task.decision_scale(problem.first_epsilon)
        offset = found.record["offset"] if problem.settings.fit_intercept else 0.0
        return estimate(problem, table, beta, found.record, offset)


def solve_block(
    problem: Problem,
    index: NDArray[np.int64],
    start: Vector | None,
    offset: float,
    tol: float,
    *,
    probed: bool,
) -> Solved:
    """Solve the problem of one block for a given bias.

    Parameters
    ----------
    problem : Problem
    index : ndarray of int64
        The variables of the block.
    start : ndarray, shape (n,), or None
        The warm start of all variables; None: zero.
    offset : float
        The bias.
    tol : float
    probed : bool
        Whether the response to a change of the bias is measured.

    Returns
    -------
    Solution
    record : dict
        See `block_record`.
    """
    dual = problem.dual_of(index).with_bias(offset)
    solver = RowsSolver(problem.settings, problem.take(index), dual)
    solution = solver.solve(beta=None if start is None else start[index], tol=tol)
    record = block_record(solver.dual, solution, offset, solver.kernel_values)
    if problem.settings.fit_intercept and solver.in_memory and probed:
        record["slope"] = response(solver, solution, tol)
        record["answering"] = record["support"]
    return solution, record


OTHERS = ("balance", "slope", "answering")
"""Keys of records that add up beside those of all solved blocks."""


def write_blocks(
    attempt: Attempt,
    problem: Problem,
    blocks: NDArray[np.int64],
    solve: Callable[[int], Solved],
) -> Record:
    """Solve blocks one after the other and write their variables side by side.

    With a bias their gradient is written, too, for later stages.

    Parameters
    ----------
    attempt : Attempt
    problem : Problem
    blocks : ndarray of int64
    solve : callable
        Returns the solution and the record of a block.
    """
    solved = SolvedBlocks(blocks.tolist())
    solutions = [solved.add(block, partial(solve, block)) for block in solved.blocks]
    none = np.empty(0)
    attempt.write("beta", np.concatenate([none, *(s.beta for s in solutions)])[None, :])
    if problem.settings.fit_intercept:
        attempt.write("gradient", np.concatenate([none, *(s.gradient for s in solutions)]))
    return {**solved.to_json(*OTHERS), "biases": [record["bias"] for record in solved.records]}


def block_record(dual: Dual, solution: Solution, offset: float, kernel_values: int) -> Record:
    """Return the record of a block's solution for a given bias.

    Parameters
    ----------
    dual : Dual
        The problem that was solved, with the bias in its linear term.
    solution : Solution
    offset : float
        The given bias.
    kernel_values : int

    Returns
    -------
    dict
        See `SolvedRecord`; ``balance`` is the sum of beta, ``slope`` and ``answering`` are 0.
    """
    own = bias(solution.gradient, solution.beta, dual)
    record = SolvedRecord.of(
        dual, solution, bias=offset + own, offset=offset, kernel_values=kernel_values
    )
    return {**record.to_json(), "balance": total(solution.beta), "slope": 0.0, "answering": 0}
