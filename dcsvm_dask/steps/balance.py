"""Moving the blocks' alphas to the bias that balances them: steps of the stages ``balance-NNN``.

Only where blocks are problems of their own: their solutions for one bias are then that of the
whole problem.
"""

from __future__ import annotations

import numpy as np

from dcsvm_dask.steps.problem import read_problem
from dcsvm_dask.steps.rows_solver import RowsSolver
from dcsvm_dask.steps.shared_bias import next_bias
from dcsvm_dask.steps.solve import (
    block_index,
    block_name,
    block_offsets,
    block_record,
    run_blocks,
    sum_records,
    write_block,
)
from dcsvm_dask.storage.run import Attempt, Record, RunFolder

# Between two solutions whose y'alpha have both signs lies a balanced point; beyond the second by
# at most this share of their distance one is believed.
BEYOND = 0.5


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
    arguments = {"level": level, "previous": previous}
    return run_blocks(run, stage, block_offsets(run, level), move_block, arguments, slot, slots)


def move_block(
    run: RunFolder, attempt: Attempt, *, level: str, previous: str, block: int
) -> Record:
    """Solve a block for the next bias, from where it was for the last one."""
    problem = read_problem(run)
    before = run.node(previous, "commit")
    index = block_index(run, level, block)
    y, offset = problem.y[index], before.record["next_bias"]
    solver = RowsSolver(problem.settings, problem.take(index), y, problem.C[index])
    solution = solver.solve(
        alpha=before.read("alpha")[0, index],
        gradient=before.read("gradient")[index] + (offset - before.record["offset"]) * y,
        tol=problem.settings.alone_tol,
    )
    write_block(attempt, problem, solution)
    return {
        **block_record(problem, index, solution, offset),
        "slope": 0.0,
        "kernel_values": solver.kernel_values,
    }


def commit_balance(
    run: RunFolder, attempt: Attempt, *, stage: str, level: str, previous: str
) -> Record:
    """Commit the point on the line through the last two solutions at which y'alpha is zero."""
    problem = read_problem(run)
    before = run.node(previous, "commit")
    blocks = [
        run.node(stage, block_name(block)) for block in range(len(block_offsets(run, level)) - 1)
    ]
    index = np.concatenate([block_index(run, level, block) for block in range(len(blocks))])
    alpha, gradient = np.empty(problem.n), np.empty(problem.n)
    alpha[index] = np.concatenate([block.read("alpha")[0] for block in blocks])
    gradient[index] = np.concatenate([block.read("gradient") for block in blocks])
    total = sum_records([block.record for block in blocks])
    offset, last = before.record["next_bias"], before.record["balance"]
    slope, place = before.record["slope"], 1.0
    if offset != before.record["offset"] and total["balance"] != last:
        slope = (total["balance"] - last) / (offset - before.record["offset"])
        place = float(np.clip(last / (last - total["balance"]), 0.0, 1.0 + BEYOND))
    start = before.read("alpha")[0]
    alpha = np.clip(start + place * (alpha - start), 0.0, problem.C)
    gradient = (1.0 - place) * before.read("gradient") + place * gradient
    offset = before.record["offset"] + place * (offset - before.record["offset"])
    attempt.write("alpha", alpha[None, :])
    attempt.write("gradient", gradient)
    balance = float(np.dot(problem.y, alpha))
    return {
        **total,
        "support": int(np.count_nonzero(alpha)),
        "offset": offset,
        "balance": balance,
        "slope": slope,
        "next_bias": next_bias(offset, balance, slope),
        # How far the point lies from a solution, in terms of the bias.
        "off": min(abs(offset - before.record["offset"]), abs(offset - before.record["next_bias"])),
    }
