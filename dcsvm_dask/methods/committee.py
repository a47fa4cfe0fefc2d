"""Calibration of the SVMs of a bag, or of a level (``committee-level-N``), for a committee.

All members of a committee decide every row, so the sigmoid of an SVM is fitted to rows of all
blocks: to a sample of the rows of other blocks, and by cross-validation to its own, as LIBSVM does
for probabilities. An SVM of a bag has random rows, so it is calibrated on rows of other members.
Of regression a line in the place of the sigmoid is fitted to the same rows.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.kernels import kernel_product
from dcsvm_dask.methods.block_table import read_slots, read_table
from dcsvm_dask.methods.problem import Problem, read_problem
from dcsvm_dask.methods.solve_rows import RowsSolver
from dcsvm_dask.models.committee import Committee, fit_line, fit_sigmoid
from dcsvm_dask.random_streams import COMMITTEE, COMMITTEE_FOLDS, generator
from dcsvm_dask.storage.model import read_committee as read_members
from dcsvm_dask.storage.node import Attempt, Committed, Record
from dcsvm_dask.storage.run import RunFolder

Index = NDArray[np.int64]
Vector = NDArray[np.float64]

FOLDS = 5
# Enough left-out rows for a sigmoid; large blocks need fewer than five folds.
ENOUGH_ROWS = 1000
# Rows of all blocks that every SVM decides.
DECIDED_ROWS = 2048
LAYER = "calibrate"


def calibrate_slot(
    run: RunFolder, attempt: Attempt, *, level: str, slot: int, slots: int
) -> Record:
    """Fit the sigmoids (of regression: lines) of the blocks of one of `slots` tasks.

    Parameters
    ----------
    run : RunFolder
    attempt : Attempt
    level : str
        The stage of the level.
    slot, slots : int
        The task and the number of tasks.
    """
    problem, table = read_problem(run), read_table(run, level)
    commit = run.node(level, "commit")
    beta, offset = commit.read("beta")[0], commit.record["offset"]
    blocks = table.of_slot(problem, beta, slot, slots).tolist()
    sample = decided_rows(problem)
    X, block_of = problem.take(sample), table.blocks_of(sample)
    fitted, rows, values = [], 0, 0
    for block in blocks:
        rng = generator(problem.settings.seed, COMMITTEE_FOLDS, block)
        index, others = table.rows(block), np.flatnonzero(block_of != block)
        mine, decided, computed = cross_decide(problem, index, beta[index], offset, rng)
        support = index[beta[index] != 0.0]
        elsewhere, of_product = kernel_product(
            problem.settings.kernel,
            X[others],
            problem.take(support),
            beta[support],
        )
        both = np.concatenate([mine, sample[others]])
        weights = problem.weights[both].astype(np.float64)
        weights[: len(mine)] *= len(index) / max(1, len(mine))
        weights[len(mine) :] *= (problem.n - len(index)) / max(1, len(others))
        # In the scale in which the level's model decides.
        scale = problem.task.decision_scale(problem.first_epsilon)
        values_of_both = np.concatenate([decided, elsewhere]) / scale
        fitted.append(fit_member(problem, values_of_both, problem.targets_of(both), weights))
        rows += len(mine)
        values += computed + of_product
    names = parts_of(problem)
    found = np.array(fitted, dtype=np.float64).reshape(len(blocks), len(names))
    for name, column in zip(names, found.T, strict=True):
        attempt.write(name, column)
    return {"blocks": len(blocks), "members": blocks, "rows": rows, "kernel_values": values}


def decided_rows(problem: Problem) -> Index:
    """Return a random sample of the variables, which every SVM decides."""
    rng = generator(problem.settings.seed, COMMITTEE)
    return np.sort(rng.choice(problem.n, size=min(problem.n, DECIDED_ROWS), replace=False))


def unseen_rows(problem: Problem, seen: Index) -> tuple[Index, NDArray[np.bool_]]:
    """Return the rows of `decided_rows`, and which of them are not among some variables."""
    sample = decided_rows(problem)
    return sample, ~np.isin(sample, seen)


def decide_unseen(problem: Problem, seen: Index, beta: Vector) -> tuple[Vector, int]:
    """Return the decision values of a member, without its bias, for the rows of `decided_rows`.

    Parameters
    ----------
    problem : Problem
    seen : ndarray of int64, shape (m,)
        The variables of the member, ascending.
    beta : ndarray, shape (m,)
        Their solution.

    Returns
    -------
    ndarray, shape (n_decided,), float64
        NaN for rows that the member was trained on.
    kernel_values : int
    """
    sample, unseen = unseen_rows(problem, seen)
    support, found = beta != 0.0, np.full(len(sample), np.nan)
    found[unseen], computed = kernel_product(
        problem.settings.kernel,
        problem.take(sample[unseen]),
        problem.take(seen[support]),
        beta[support],
    )
    return found, computed


def calibrate_unseen(problem: Problem, seen: Index, beta: Vector) -> tuple[tuple[float, ...], int]:
    """Fit the sigmoid, or the line, of an SVM of random rows to rows that it was not trained on.

    Parameters
    ----------
    problem : Problem
    seen : ndarray of int64, shape (m,)
        The variables of the SVM, ascending.
    beta : ndarray, shape (m,)
        Their solution.

    Returns
    -------
    tuple of float
        As `fit_member` returns it, for decision values without a bias.
    kernel_values : int
    """
    sample, unseen = unseen_rows(problem, seen)
    values, computed = decide_unseen(problem, seen, beta)
    mine = sample[unseen]
    weights = problem.weights[mine].astype(np.float64)
    return fit_member(problem, values[unseen], problem.targets_of(mine), weights), computed


def fit_member(
    problem: Problem, values: Vector, targets: Vector, weights: Vector
) -> tuple[float, ...]:
    """Fit a member's sigmoid, or of regression its line; see `fit_sigmoid` and `fit_line`.

    The prior odds of the sample are replaced by those of all rows: all members are calibrated on
    the same sample, whose error would add up in the sum over them. An SVM without information then
    returns the prior. So it is with the mean of targets.

    Parameters
    ----------
    problem : Problem
    values : ndarray, shape (m,)
        Decision values without a bias.
    targets : ndarray, shape (m,)
    weights : ndarray, shape (m,)

    Returns
    -------
    tuple of float
        As `parts_of` names them.
    """
    if not problem.task.has_classes:
        mean, least = prior_of_targets(problem)
        slope, intercept, explained = fit_line(values, targets, weights)
        _, of_sample, _ = fit_line(np.zeros(len(values)), targets, weights)
        return slope, intercept - of_sample + mean, least / (1.0 - explained)
    positive = targets > 0
    slope, intercept = fit_sigmoid(values, positive, weights)
    _, of_sample = fit_sigmoid(np.zeros(len(values)), positive, weights)
    return slope, intercept - of_sample + prior_odds(problem)


def parts_of(problem: Problem) -> tuple[str, ...]:
    """Return the names of what a member is calibrated by."""
    normal = () if problem.task.has_classes else ("precision",)
    return ("slope", "intercept", *normal)


def prior_of_targets(problem: Problem) -> tuple[float, float]:
    """Return the mean of all targets, and the inverse of their variance."""
    weights = problem.weights.astype(np.float64)
    mean = float(weights @ problem.targets / weights.sum())
    variance = float(weights @ (problem.targets - mean) ** 2 / weights.sum())
    return mean, 1.0 / variance if variance > 0.0 else 1.0


def committee_of(problem: Problem, fitted: NDArray[np.float64]) -> Committee:
    """Return the committee of members, given what `fit_member` returned for each, a row each."""
    if problem.task.has_classes:
        return Committee(fitted[:, 0], fitted[:, 1], prior_odds(problem))
    slope, intercept, precision = fitted.T
    return Committee.of_normal(slope, intercept, precision, prior_of_targets(problem))


def prior_odds(problem: Problem) -> float:
    """Return the log odds of the positive class among all rows."""
    positive = float(problem.weights[problem.stored > 0].sum())
    negative = float(problem.weights[problem.stored < 0].sum())
    return math.log((positive + 1.0) / (negative + 1.0))


def cross_decide(
    problem: Problem,
    index: NDArray[np.int64],
    beta: Vector,
    offset: float,
    rng: np.random.Generator,
) -> tuple[NDArray[np.int64], Vector, int]:
    """Decide rows of a block by SVMs of its other rows.

    Parameters
    ----------
    index : ndarray, shape (n,)
        The block's variables.
    beta : ndarray, shape (n,)
        Its solution, from which the SVMs start.
    offset : float
        The bias for which the level was solved.

    Returns
    -------
    rows : ndarray, shape (m,), int64
        The variables that were left out in their turn; all of them unless the block is large.
    values : ndarray, shape (m,), float64
        Their decision values, without a bias.
    kernel_values : int
    """
    n, settings = len(index), problem.settings
    folds = min(FOLDS, n)
    fold = rng.permutation(n) % folds
    rows, values, computed = [np.empty(0, dtype=np.int64)], [np.empty(0)], 0
    if folds < 2:
        return rows[0], values[0], computed
    for number in range(min(folds, math.ceil(ENOUGH_ROWS * folds / n))):
        out, rest = np.flatnonzero(fold == number), np.flatnonzero(fold != number)
        X, dual = problem.take(index[rest]), problem.dual_of(index[rest]).with_bias(offset)
        solver = RowsSolver(settings, X, dual)
        solution = solver.solve(beta=beta[rest], tol=settings.level_tol)
        support = np.flatnonzero(solution.beta)
        found, of_product = kernel_product(
            settings.kernel,
            problem.take(index[out]),
            X[support],
            solution.beta[support],
        )
        rows.append(index[out])
        values.append(found)
        computed += solver.kernel_values + of_product
    return np.concatenate(rows), np.concatenate(values), computed


def commit_committee(
    run: RunFolder, attempt: Attempt, *, stage: str, level: str, slots: int
) -> Record:
    """Commit the committee of all blocks of a level.

    Parameters
    ----------
    run : RunFolder
    attempt : Attempt
    stage, level : str
        The stages of the calibration and of the level.
    slots : int
        Number of tasks.
    """
    problem, table = read_problem(run), read_table(run, level)
    names = parts_of(problem)
    fitted, nodes = np.empty((table.n_blocks, len(names))), read_slots(run, stage, slots, LAYER)
    for node in nodes:
        for number, name in enumerate(names):
            fitted[node.record["members"], number] = node.read(name)
    committee = committee_of(problem, fitted)
    attempt.write("slope", committee.slope)
    attempt.write("intercept", committee.intercept)
    return {
        "source": level,
        "blocks": table.n_blocks,
        "rows": sum(node.record["rows"] for node in nodes),
        "prior": committee.prior,
    }


def read_committee(node: Committed) -> Committee:
    """Read what `commit_committee` wrote."""
    return read_members(node, "", node.record["prior"])
