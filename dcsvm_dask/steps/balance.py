"""Moving the blocks' alphas to the bias that balances them: steps of the stages ``balance-NNN``.

Only where blocks are problems of their own: their solutions for one bias are then that of the
whole problem.
"""

from __future__ import annotations

from dcsvm_dask.steps.block_table import gather, read_blocks, read_table
from dcsvm_dask.steps.problem import read_problem
from dcsvm_dask.steps.rows_solver import RowsSolver
from dcsvm_dask.steps.shared_bias import next_bias
from dcsvm_dask.steps.solve import (
    block_record,
    run_blocks,
    sum_records,
    write_block,
)
from dcsvm_dask.storage.run import Attempt, Record, RunFolder

# The violation of a problem with a bias is that of its two sides together.
TIGHTER = 0.5


def move_slot(
    run: RunFolder,
    attempt: Attempt,
    *,
    stage: str,
    level: str,
    previous: str,
    slot: int,
    slots: int,
) -> Record:
    """Solve every `slots`-th block of a level again, for the next bias."""
    del attempt  # the blocks are this node's output
    start = run.node(previous, "commit").read("alpha")[0]
    blocks = read_table(run, level).costliest_first(start, read_problem(run).C)[slot::slots]
    return run_blocks(run, stage, blocks, move_block, {"level": level, "previous": previous})


def move_block(
    run: RunFolder, attempt: Attempt, *, level: str, previous: str, block: int
) -> Record:
    """Solve a block for the next bias, from where it was for the last one."""
    problem = read_problem(run)
    before = run.node(previous, "commit")
    index = read_table(run, level).rows(block)
    y, offset = problem.y[index], before.record["next_bias"]
    solver = RowsSolver(problem.settings, problem.take(index), y, problem.C[index])
    solution = solver.solve(
        alpha=before.read("alpha")[0, index],
        p=offset * y - 1.0,
        gradient=before.read("gradient")[index] + (offset - before.record["offset"]) * y,
        tol=TIGHTER * problem.settings.alone_tol,
    )
    write_block(attempt, problem, solution)
    return {
        **block_record(problem, index, solution, offset),
        "slope": 0.0,
        "answering": 0,
        "kernel_values": solver.kernel_values,
    }


def commit_balance(
    run: RunFolder, attempt: Attempt, *, stage: str, level: str, previous: str
) -> Record:
    """Commit the blocks' new solutions, and where the line through both balances is zero."""
    before = run.node(previous, "commit")
    table = read_table(run, level)
    blocks = read_blocks(run, stage, table)
    total = sum_records([block.record for block in blocks])
    attempt.write("alpha", gather(blocks, table, "alpha")[1][None, :])
    attempt.write("gradient", gather(blocks, table, "gradient")[1])
    offset, balance = before.record["next_bias"], total["balance"]
    slope = (balance - before.record["balance"]) / (offset - before.record["offset"])
    return {
        **total,
        "offset": offset,
        "slope": slope,
        "next_bias": next_bias(offset, balance, slope),
    }
