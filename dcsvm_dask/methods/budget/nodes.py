"""The nodes of a stage: shares of the rows learn, and what they have learned is joined."""

from __future__ import annotations

import numpy as np

from dcsvm_dask.methods.budget.options import Budgeted
from dcsvm_dask.methods.budget.order import pieces_in_order
from dcsvm_dask.methods.linear.rows import dual_of
from dcsvm_dask.methods.problem import Problem, read_problem
from dcsvm_dask.methods.progress import advance_reporter
from dcsvm_dask.solvers import BudgetedLearner, BudgetedPoint, MergeTables, joined_points
from dcsvm_dask.storage.node import Attempt, Committed, Record
from dcsvm_dask.storage.run import RunFolder

LEARN = "learn"
"""The layer of the shares."""
# Rows of a step of the progress bar.
TOLD_ROWS = 1 << 15


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

    Writes ``points_i`` and ``coef_i`` of SVM i.

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
    learners = [learner_of(problem, before, machine) for machine in range(machines)]
    begun = sum(learner.point.kernel_values for learner in learners)
    advanced, done = advance_reporter(), 0
    total = (problem.n // parts) * machines * (span[1] - span[0]) // pieces
    for index, rows, order in pieces_in_order(problem, span, (part, parts), pieces, whole=whole):
        for machine, learner in enumerate(learners):
            dual = dual_of(problem, machine, index)
            for first in range(0, len(order), TOLD_ROWS):
                some = order[first : first + TOLD_ROWS]
                learner.learn(rows, dual, some, total=problem.n)
                done += len(some)
                advanced(done, total, "steps", {})
    return written(attempt, [learner.point for learner in learners], begun)


def join_shares(
    run: RunFolder, attempt: Attempt, *, stage: str, previous: str | None, parts: int
) -> Record:
    """Commit the mean of what all shares have learned, within the budget.

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
    joined, begun = [], 0
    for machine in range(machines):
        start = None if before is None else point_of(before, machine)
        point = joined_points([point_of(one, machine) for one in shares], start)
        learner = learner_of(problem, None, machine, point)
        begun += point.kernel_values
        learner.shrink()
        joined.append(learner.point)
    return written(attempt, joined, begun)


def learner_of(
    problem: Problem, before: Committed | None, machine: int, point: BudgetedPoint | None = None
) -> BudgetedLearner:
    """Return the learner of an SVM, where a commit left it, or at a point.

    Parameters
    ----------
    problem : Problem
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
        tables=MergeTables.of(options.table_size),
        point=point,
    )


def point_of(node: Committed, machine: int) -> BudgetedPoint:
    """Return where an SVM stands, as a node has written it."""
    record = node.record["of_svms"][machine]
    return BudgetedPoint(
        node.read(f"points_{machine:04d}"),
        node.read(f"coef_{machine:04d}"),
        record["bias"],
        np.array(record["counts"], dtype=np.int64),
    )


def written(attempt: Attempt, points: list[BudgetedPoint], begun: int) -> Record:
    """Write points of all SVMs; return the record, with the sums of what they have counted.

    Parameters
    ----------
    attempt : Attempt
    points : list of BudgetedPoint
    begun : int
        Kernel values that were computed before this node.
    """
    of_svms = []
    for machine, point in enumerate(points):
        attempt.write(f"points_{machine:04d}", point.points)
        attempt.write(f"coef_{machine:04d}", point.coef)
        of_svms.append({"bias": point.bias, "counts": point.counts.tolist()})
    words = [point.words() for point in points]
    total = {key: sum(one[key] for one in words) for key in words[0]}
    computed = sum(point.kernel_values for point in points) - begun
    return {**total, "kernel_values": computed, "svms": len(points), "of_svms": of_svms}
