"""Solving candidates of a search as a whole, each from the one with the next smaller C."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels import Kernel, Rows
from dcsvm_dask.methods.resources import threads
from dcsvm_dask.methods.search.held_out import HeldOut, part_rows, read_split
from dcsvm_dask.methods.search.scores import (
    no_scores,
    ranked,
    record_of,
    sums_of,
    write_scores,
)
from dcsvm_dask.models.grid import (
    Machines,
    Point,
    decide_rows,
    model_of,
    only_model,
    solve_point,
)
from dcsvm_dask.models.model import Model
from dcsvm_dask.solvers import Machine, Solution
from dcsvm_dask.solvers.machines import unsolved
from dcsvm_dask.storage.node import Attempt, Record
from dcsvm_dask.storage.run import RunFolder
from dcsvm_dask.tasks import Task

Index = NDArray[np.int64]
Vector = NDArray[np.float64]


def solve_candidate(
    run: RunFolder,
    attempt: Attempt,
    *,
    stage: str,
    candidate: int,
    kernel: Record,
    C: float,
    fold: int,
    before: str | None,
    alone: bool,
    tol: float,
    budget: int,
    of_task: dict[str, float],
) -> Record:
    """Solve the SVMs of all rows but a fold, and decide that.

    Writes ``beta`` and ``gradient`` of each SVM's rows, one after the other.

    Parameters
    ----------
    run : RunFolder
    attempt : Attempt
    stage : str
        The stage of this node.
    candidate : int
        Number of the candidate among all.
    kernel : dict
        Parameters of the candidate's `Kernel`.
    C : float
    fold : int
        The held-out fold.
    before : str or None
        The node of the same kernel and fold with the next smaller C, to start from.
    alone : bool
        Whether no other task runs beside this one.
    tol : float
    budget : int
        Most steps of an SVM for each row that it trains on.
    of_task : dict
        The epsilon or nu of the candidate, where these are searched over.

    Returns
    -------
    dict
        The sums of the scores, times, and measures of the solutions.
    """
    split, made, begin = read_split(run), Kernel(**kernel), time.perf_counter()
    everything = np.arange(split.problem.n)
    train, test = split.of_fold(everything, fold)
    X, y, task = split.problem.take(train), split.y[train], split.task_with(of_task)
    failed = False
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            point = solve_point(
                made,
                X,
                y,
                C * split.weight[train],
                split.machines,
                None if before is None else _solutions(run, stage, before, y, split.machines),
                task=task,
                blocks=split.block_of[train],
                equality=split.problem.settings.fit_intercept,
                tol=tol,
                working_size=split.problem.settings.set_cap,
                most_steps=lambda rows: budget * rows,
                seed=split.problem.settings.seed,
                threads=threads(alone=alone),
            )
    except InputError:  # rows are finite: it is the kernel that is impossible here
        point, failed = _no_point(y, C * split.weight[train], split.machines, task), True
    model = _model(made, X, y, split.machines, point.solutions, task)
    seconds = time.perf_counter() - begin
    scored = _score(split, model, test, fold, failed=failed)
    none = np.empty(0)
    attempt.write("beta", np.concatenate([none, *(one.beta for one in point.solutions)]))
    attempt.write("gradient", np.concatenate([none, *(one.gradient for one in point.solutions)]))
    return {
        "candidate": candidate,
        "fold": fold,
        **record_of(scored.sums.tolist(), split.tallies[fold]),
        "rows": scored.rows,
        "fit_seconds": seconds,
        "score_seconds": time.perf_counter() - begin - seconds,
        "solved": point.solved and not scored.failed,
        "support": model.n_support,
        "objective": sum(one.objective for one in point.solutions),
        "violation": max(one.violation for one in point.solutions),
        "iterations": sum(one.n_iter for one in point.solutions),
        "kernel_values": point.kernel_values + scored.kernel_values,
    }


class _Scored(NamedTuple):
    """What a model scores on held-out rows."""

    sums: Vector
    """Those of the tally of the fold."""
    rows: float
    """Held-out rows, each with its weight."""
    kernel_values: int
    failed: bool
    """Whether there is no model, or the kernel of some rows is not finite."""


def _score(split: HeldOut, model: Model, test: Index, fold: int, *, failed: bool) -> _Scored:
    """Decide the rows that are held out, and score the decisions.

    Parameters
    ----------
    split : HeldOut
    model : Model
    test : ndarray of int64
        The variables of the fold; see `HeldOut.batches`.
    fold : int
    failed : bool
        Whether the SVMs could not be solved, so that no score is worse.
    """
    tally, rows, n_rows = split.tallies[fold], 0.0, 0
    sums = np.zeros(len(tally.sums))
    for Z, true, counts in split.batches(test, part_rows(values_of_row(len(split.machines)))):
        try:
            predicted = split.predicted(decide_rows(model, Z))
        except InputError:  # rows are finite: it is the kernel that is impossible here
            failed = True
        sums += tally.failed if failed else tally.of(predicted, true, counts)
        rows += float(counts.sum())
        n_rows += Z.shape[0]
    return _Scored(sums, rows, n_rows * model.n_support, failed)


def _no_point(y: NDArray[Any], bounds: Vector, machines: Machines, task: Task) -> Point:
    """Return SVMs that nobody could solve."""
    parts = [one.rows(y) for one in machines]
    duals = [task.dual(targets, bounds[rows]) for rows, targets in parts]
    return Point([unsolved(dual, 0.0, converged=False) for dual in duals], 0)


def _model(
    kernel: Kernel,
    X: Rows,
    y: NDArray[Any],
    machines: Machines,
    solutions: list[Solution],
    task: Task,
) -> Model:
    """Return the model of all SVMs, or of the only one."""
    several = [one for one in machines if isinstance(one, Machine)]
    if not several:
        return only_model(kernel, X, solutions[0], task)
    return model_of(kernel, X, y, several, solutions)


def _solutions(
    run: RunFolder, stage: str, name: str, y: NDArray[Any], machines: Machines
) -> list[Solution]:
    """Read the solutions that another candidate's node wrote."""
    node = run.node(stage, name)
    borders = np.cumsum([len(one.rows(y)[0]) for one in machines])[:-1]
    betas, gradients = (np.split(node.read(key), borders) for key in ("beta", "gradient"))
    return [
        Solution(beta, gradient, 0.0, 0.0, 0, converged=True, bias=0.0)
        for beta, gradient in zip(betas, gradients, strict=True)
    ]


def values_of_row(machines: int) -> int:
    """Return how many float64 values a held-out row takes while SVMs decide it."""
    return 3 * machines


def commit_candidates(
    run: RunFolder, attempt: Attempt, *, stage: str, nodes: list[tuple[str, int, int]], of: int
) -> Record:
    """Gather the exact scores.

    Parameters
    ----------
    nodes : list of (name, candidate, fold)
    of : int
        Number of all candidates.
    """
    tally, folds = read_split(run).tally, len(read_split(run).folds)
    found = no_scores(of, folds, tally)
    support = np.zeros(of)
    for name, candidate, fold in nodes:
        record = run.node(stage, name).record
        for of_sum, value in sums_of(record, tally).items():
            found[of_sum][candidate, fold] = value
        found["rows"][candidate, fold] = record["rows"]
        found["seconds"][candidate] += record["fit_seconds"]
        found["solved"][candidate] &= record["solved"]
        support[candidate] += record["support"] / folds
    attempt.write("support", support)
    now = sorted({candidate for _, candidate, _ in nodes})
    return write_scores(attempt, found, tally, ranked(found, tally, now)[0], now)
