"""Solving candidates of a search as a whole, each from the one with the next smaller C."""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels import Kernel
from dcsvm_dask.methods.resources import threads
from dcsvm_dask.methods.search.held_out import part_rows, read_split
from dcsvm_dask.methods.search.scores import accuracies, no_scores, write_scores
from dcsvm_dask.models.grid import Point, decide_rows, model_of, solve_point
from dcsvm_dask.solvers import Machine, Solution
from dcsvm_dask.solvers.machines import CLASSES, unsolved
from dcsvm_dask.storage.node import Attempt, Record
from dcsvm_dask.storage.run import RunFolder


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
) -> Record:
    """Solve the SVMs of all rows but a fold, and decide that.

    Parameters
    ----------
    before : str or None
        The node of the same kernel and fold with the next smaller C, to start from.
    alone : bool
        Whether no other task runs beside this one.

    Writes ``beta`` and ``gradient`` of each SVM's rows, one after the other.
    """
    split, made, begin = read_split(run), Kernel(**kernel), time.perf_counter()
    everything = np.arange(split.problem.n)
    train, test = split.of_fold(everything, fold)
    X, codes = split.problem.take(train), split.codes[train]
    failed = False
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            point = solve_point(
                made,
                X,
                codes,
                C * split.weight[train],
                split.machines,
                None if before is None else _solutions(run, stage, before, codes, split.machines),
                blocks=split.block_of[train],
                equality=split.problem.settings.fit_intercept,
                tol=tol,
                working_size=split.problem.settings.set_cap,
                most_steps=lambda rows: budget * rows,
                seed=split.problem.settings.seed,
                threads=threads(alone=alone),
                task=split.task,
            )
    except InputError:  # rows are finite: it is the kernel that is impossible here
        point, failed = _no_point(codes, split.machines), True
    values, right, rows = point.kernel_values, 0.0, 0.0
    model = model_of(made, X, codes, split.machines, point.solutions)
    support = model.n_support
    seconds = time.perf_counter() - begin
    for Z, true, counts in split.batches(test, part_rows(values_of_row(len(split.machines)))):
        try:
            hit = split.classes_of(decide_rows(model, Z)) == true
        except InputError:  # as above, for rows that are held out
            failed = True
        right += 0.0 if failed else float(counts[hit].sum())
        rows += float(counts.sum())
        values += Z.shape[0] * support
    none = np.empty(0)
    attempt.write("beta", np.concatenate([none, *(one.beta for one in point.solutions)]))
    attempt.write("gradient", np.concatenate([none, *(one.gradient for one in point.solutions)]))
    return {
        "candidate": candidate,
        "fold": fold,
        "right": right,
        "rows": rows,
        "fit_seconds": seconds,
        "score_seconds": time.perf_counter() - begin - seconds,
        "solved": point.solved and not failed,
        "support": support,
        "objective": sum(one.objective for one in point.solutions),
        "violation": max(one.violation for one in point.solutions),
        "iterations": sum(one.n_iter for one in point.solutions),
        "kernel_values": values,
    }


def _no_point(codes: NDArray[np.int32], machines: list[Machine]) -> Point:
    """Return SVMs that nobody could solve."""
    labels = [one.rows(codes)[1] for one in machines]
    return Point([unsolved(CLASSES.dual(y, 1.0), 0.0, converged=False) for y in labels], 0)


def _solutions(
    run: RunFolder, stage: str, name: str, codes: NDArray[np.int32], machines: list[Machine]
) -> list[Solution]:
    """Read the solutions that another candidate's node wrote."""
    node = run.node(stage, name)
    borders = np.cumsum([len(one.rows(codes)[0]) for one in machines])[:-1]
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
    found = no_scores(of, len(read_split(run).folds))
    support = np.zeros(of)
    for name, candidate, fold in nodes:
        record = run.node(stage, name).record
        found["right"][candidate, fold] = record["right"]
        found["rows"][candidate, fold] = record["rows"]
        found["seconds"][candidate] += record["fit_seconds"]
        found["solved"][candidate] &= record["solved"]
        support[candidate] += record["support"] / len(read_split(run).folds)
    attempt.write("support", support)
    now = sorted({candidate for _, candidate, _ in nodes})
    best = max(now, key=lambda place: accuracies(found)[place])
    return write_scores(attempt, found, best, now)
