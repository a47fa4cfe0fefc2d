"""The steps of a level: its blocks are solved in several tasks, then gathered and committed.

A single SVM shares a bias between its blocks (`SharedBias`); several SVMs have biases of their own
in every block (`OwnBiases`).
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from dcsvm_dask.methods.block_table import BlockTable, read_slots, read_table
from dcsvm_dask.methods.dcsvm.blocks import SharedBias
from dcsvm_dask.methods.dcsvm.classes.blocks import OwnBiases
from dcsvm_dask.methods.dcsvm.share import Gathered, Share
from dcsvm_dask.methods.isolated import isolation
from dcsvm_dask.methods.partition import mass_record, read_rule
from dcsvm_dask.methods.problem import ARRANGE, PROBE, Problem, read_problem
from dcsvm_dask.methods.regime import has_ruled_levels_out, regime
from dcsvm_dask.methods.settings import Settings
from dcsvm_dask.models.model import Rule
from dcsvm_dask.storage.model import write_model
from dcsvm_dask.storage.node import Attempt, Committed, Record
from dcsvm_dask.storage.run import RunFolder


class LevelSolver(Protocol):
    """How the blocks of a level are solved and gathered."""

    def solve(
        self, run: RunFolder, attempt: Attempt, problem: Problem, table: BlockTable, share: Share
    ) -> Record:
        """Solve a task's share of the blocks and write their solutions."""

    def gather(
        self,
        run: RunFolder,
        attempt: Attempt,
        problem: Problem,
        table: BlockTable,
        nodes: list[Committed],
        below: str | None,
    ) -> Gathered:
        """Gather the solutions of all blocks and write the level's variables."""

    def estimate(self, problem: Problem, table: BlockTable, found: Gathered, rule: Rule) -> Record:
        """Estimate objective and duality gap of the whole problem; see `estimate`."""


def solver_of(problem: Problem) -> LevelSolver:
    """Return the solver of a problem's levels."""
    return OwnBiases() if problem.has_several else SharedBias()


def solve_slot(
    run: RunFolder, attempt: Attempt, *, stage: str, slot: int, slots: int, below: str | None
) -> Record:
    """Solve the blocks of one of `slots` tasks, warm from the level below.

    Parameters
    ----------
    run : RunFolder
    attempt : Attempt
    stage : str
        The stage of the level.
    slot, slots : int
        The task and the number of tasks.
    below : str or None
        The stage of the level below; None for the bottom level.
    """
    problem, table = read_problem(run), read_table(run, stage)
    tol = problem.settings.alone_tol if table.alone else problem.settings.level_tol
    share = Share(slot, slots, below, tol)
    return solver_of(problem).solve(run, attempt, problem, table, share)


def commit_level(
    run: RunFolder, attempt: Attempt, *, stage: str, slots: int, below: str | None
) -> Record:
    """Commit a level: its variables, sums, estimates of objective and gap, and the early model.

    Parameters
    ----------
    run : RunFolder
    attempt : Attempt
    stage : str
    slots : int
        Number of tasks that solved its blocks.
    below : str or None
        The stage of the level below; None for the bottom level.
    """
    problem, table = read_problem(run), read_table(run, stage)
    nodes, solver = read_slots(run, stage, slots), solver_of(problem)
    found = solver.gather(run, attempt, problem, table, nodes, below)
    rule = level_rule(run, stage, table, found)
    stored = write_model(
        attempt,
        problem.take_chunks(found.support),
        found.coef,
        found.counts,
        found.bias,
        n_features=problem.X.n_features,
        sparse=problem.X.is_sparse,
        scheme=problem.scheme,
        rule=rule,
    )
    record = {
        **found.record,
        **mass_record(problem, table),
        "alone": table.alone,
        **solver.estimate(problem, table, found, rule),
    }
    # Without it the objective of a problem whose variables have a sum is smallest at zero.
    given = record["offset"] * record["balance"] if problem.total else 0.0
    alone = isolation(problem, found.support)
    pays = regime(record, given=given, decides=is_open(run, problem.settings))
    record["objective_estimate"] += of_sums(problem, record)
    return {**record, **pays, **alone, **stored}


def is_open(run: RunFolder, settings: Settings) -> bool:
    """Return whether the levels above depend on this one: nobody gave levels, nor ruled them out.

    Parameters
    ----------
    run : RunFolder
    settings : Settings
        Those of the run.
    """
    probe = run.find(PROBE, "commit")
    return not (
        settings.levels_forced or (probe is not None and has_ruled_levels_out(probe.record))
    )


def of_sums(problem: Problem, record: Record) -> float:
    """Return what the objective of a level lacks where the task asks for sums: nu-SVMs, one-class.

    A level has the multipliers of the sums in the place of the sums. With each times what its sum
    is off, the objective is that of the task, and the gap bounds how far it is from the best one.
    """
    if not problem.task.has_sum or problem.has_several:
        return 0.0
    found = record["offset"] * (record["balance"] - problem.total)
    return float(found if problem.size is None else found - problem.first_epsilon * problem.size)


def level_rule(run: RunFolder, stage: str, table: BlockTable, found: Gathered) -> Rule:
    """Return the rule that chooses the block of a row at a level.

    Parameters
    ----------
    run : RunFolder
    stage : str
    table : BlockTable
    found : Gathered
    """
    partition = read_rule(run, ARRANGE if table.index is None else stage)
    block_of_label = np.full(partition.n_blocks, -1, dtype=np.int64)
    block_of_label[table.label] = np.arange(table.n_blocks)
    return Rule(partition, block_of_label, found.class_rows)
