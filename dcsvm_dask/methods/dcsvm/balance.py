"""Moving the blocks' variables to the bias that balances them: steps of the stages ``balance-NNN``.

Only where blocks are problems of their own: their solutions for one bias are then that of the
whole problem.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.methods.block_table import gather, read_slots, read_table
from dcsvm_dask.methods.dcsvm.blocks import (
    OTHERS,
    Solved,
    block_record,
    next_bias,
    write_blocks,
)
from dcsvm_dask.methods.problem import Problem, read_problem
from dcsvm_dask.methods.solve_rows import RowsSolver
from dcsvm_dask.methods.solved import summed
from dcsvm_dask.storage.node import Attempt, Record
from dcsvm_dask.storage.run import RunFolder

Vector = NDArray[np.float64]

# The violation of a problem with a bias is that of its two sides together.
TIGHTER = 0.5


def move_slot(
    run: RunFolder,
    attempt: Attempt,
    *,
    level: str,
    previous: str,
    slot: int,
    slots: int,
) -> Record:
    """Solve the blocks of one of `slots` tasks again, for the next bias.

    Parameters
    ----------
    run : RunFolder
    attempt : Attempt
    level, previous : str
        The stage of the level, and the stage of the last solution.
    slot, slots : int
        The task and the number of tasks.
    """
    problem, table = read_problem(run), read_table(run, level)
    before = run.node(previous, "commit")
    beta, gradient = before.read("beta")[0], before.read("gradient")
    blocks = table.of_slot(problem, beta, slot, slots)

    def move(block: int) -> Solved:
        return move_block(problem, table.rows(block), beta, gradient, before.record)

    return write_blocks(attempt, problem, blocks, move)


def move_block(
    problem: Problem, index: NDArray[np.int64], beta: Vector, gradient: Vector, before: Record
) -> Solved:
    """Solve a block for the next bias, warm from its solution for the last one.

    Parameters
    ----------
    problem : Problem
    index : ndarray of int64
        The variables of the block.
    beta, gradient : ndarray, shape (n,)
        The last solution.
    before : dict
        Record of the last solution.
    """
    offset = before["next_bias"]
    dual = problem.dual_of(index).with_bias(offset)
    solver = RowsSolver(problem.settings, problem.take(index), dual)
    solution = solver.solve(
        beta=beta[index],
        gradient=gradient[index] + (offset - before["offset"]),
        tol=TIGHTER * problem.settings.alone_tol,
    )
    return solution, block_record(dual, solution, offset, solver.kernel_values)


def commit_balance(
    run: RunFolder, attempt: Attempt, *, stage: str, level: str, previous: str, slots: int
) -> Record:
    """Commit the new solutions of all blocks, and the next bias by the secant method.

    Parameters
    ----------
    run : RunFolder
    attempt : Attempt
    stage, level, previous : str
        The stages of this solution, of the level, and of the last solution.
    slots : int
        Number of tasks.
    """
    before, problem = run.node(previous, "commit"), read_problem(run)
    table = read_table(run, level)
    nodes = read_slots(run, stage, slots)
    total = summed((node.record for node in nodes), *OTHERS)
    attempt.write("beta", gather(nodes, table, "beta")[1][None, :])
    attempt.write("gradient", gather(nodes, table, "gradient")[1])
    offset, balance = before.record["next_bias"], total["balance"]
    slope = (balance - before.record["balance"]) / (offset - before.record["offset"])
    return {
        **total,
        "offset": offset,
        "slope": slope,
        "next_bias": next_bias(offset, balance - problem.total, slope, problem.task.unit),
    }
