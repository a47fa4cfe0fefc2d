"""The nodes of a stage: shares of the rows learn, and what they have learned is joined."""

from __future__ import annotations

from dcsvm_dask.methods.budget.options import Budgeted
from dcsvm_dask.methods.budget.order import pieces_in_order
from dcsvm_dask.methods.budget.points import model_at, point_of, written
from dcsvm_dask.methods.linear.rows import dual_of
from dcsvm_dask.methods.problem import Problem, read_problem
from dcsvm_dask.methods.progress import advance_reporter
from dcsvm_dask.solvers import (
    BudgetedLearner,
    BudgetedPoint,
    MergeTables,
    joined_points,
    timed_pieces,
)
from dcsvm_dask.storage.merge_tables import computed_tables, read_tables
from dcsvm_dask.storage.model import write_whole
from dcsvm_dask.storage.node import Attempt, Committed, Record
from dcsvm_dask.storage.run import RunFolder

LEARN = "learn"
"""The layer of the shares."""
TABLES = "tables"
"""The stage that takes tables of merges from a file into the run."""


def learn_share(
    run: RunFolder,
    attempt: Attempt,
    *,
    previous: str | None,
    span: tuple[int, int],
    part: int,
    parts: int,
    pieces: int,
    whole: bool,
) -> Record:
    """Learn some pieces of a share of the rows, from where the stage before has ended.

    Writes ``points_i`` and ``coef_i`` of SVM i, and of the only share the model of all.

    Parameters
    ----------
    run : RunFolder
    attempt : Attempt
    previous : str or None
        The stage before; None: there are no support vectors.
    span : tuple of int
        The first piece, counted through all epochs, and the one after the last.
    part, parts : int
        The share and the number of shares.
    pieces : int
        Pieces of an epoch.
    whole : bool
        Whether the rows of a share are in memory all at once.
    """
    problem = read_problem(run)
    machines = len(problem.machines) if problem.has_several else 1
    before = None if previous is None else run.node(previous, "commit")
    tables = tables_of(run, problem)
    learners = [learner_of(problem, tables, before, machine) for machine in range(machines)]
    begun = sum(learner.point.kernel_values for learner in learners)
    advanced, done = advance_reporter(), 0
    total = (problem.n // parts) * machines * (span[1] - span[0]) // pieces
    for index, rows, order in pieces_in_order(problem, span, (part, parts), pieces, whole=whole):
        for machine, learner in enumerate(learners):
            dual = dual_of(problem, machine, index)
            for some in timed_pieces(order):
                learner.learn(rows, dual, some, total=problem.n)
                done += len(some)
                advanced(done, total, "steps", {})
    points, epochs = [learner.point for learner in learners], span[1] / pieces
    record = {**written(attempt, points, begun), "epochs": epochs}
    # The commit of a stage has a model, so that a run that ends early has one.
    return record | (write_whole(attempt, model_at(problem, points)) if parts == 1 else {})


def join_shares(
    run: RunFolder, attempt: Attempt, *, stage: str, previous: str | None, parts: int
) -> Record:
    """Commit the mean of what all shares have learned, within the budget, and its model.

    Parameters
    ----------
    run : RunFolder
    attempt : Attempt
    stage, previous : str
        The stage and the one before; None: there is none.
    parts : int
        Number of shares.
    """
    problem = read_problem(run)
    machines = len(problem.machines) if problem.has_several else 1
    before = None if previous is None else run.node(previous, "commit")
    shares = [run.node(stage, f"{LEARN}-{part:04d}") for part in range(parts)]
    tables = tables_of(run, problem)
    joined, begun = [], 0
    for machine in range(machines):
        start = None if before is None else point_of(before, machine)
        point = joined_points([point_of(one, machine) for one in shares], start)
        learner = learner_of(problem, tables, None, machine, point)
        begun += point.kernel_values
        learner.shrink()
        joined.append(learner.point)
    model = write_whole(attempt, model_at(problem, joined))
    return {**written(attempt, joined, begun), "epochs": shares[0].record["epochs"], **model}


def take_tables(run: RunFolder, attempt: Attempt, *, place: str) -> Record:
    """Take tables of merges into the run, which then needs their file no more.

    Writes ``h`` and ``wd``.

    Parameters
    ----------
    run : RunFolder
    attempt : Attempt
    place : str
        The file.
    """
    del run
    tables = read_tables(place)
    attempt.write("h", tables.h)
    attempt.write("wd", tables.wd)
    return {"table_size": tables.size, "file": place}


def tables_of(run: RunFolder, problem: Problem) -> MergeTables:
    """Return the tables of merges of a run: computed, or those that it took from a file."""
    options = Budgeted(**problem.settings.options)
    if not options.tables:
        return computed_tables(options.table_size)
    node = run.node(TABLES, "commit")
    return MergeTables(node.read("h"), node.read("wd"))


def learner_of(
    problem: Problem,
    tables: MergeTables,
    before: Committed | None,
    machine: int,
    point: BudgetedPoint | None = None,
) -> BudgetedLearner:
    """Return the learner of an SVM, where a commit left it, or at a point.

    Parameters
    ----------
    problem : Problem
    tables : MergeTables
    before : Committed or None
    machine : int
        Number of the SVM.
    point : BudgetedPoint, optional
    """
    settings = problem.settings
    options = Budgeted(**settings.options)
    if before is not None:
        point = point_of(before, machine)
    return BudgetedLearner(
        settings.kernel,
        problem.X.n_features,
        options.budget,
        merge=options.merge,
        with_bias=settings.fit_intercept,
        tables=tables,
        point=point,
    )
