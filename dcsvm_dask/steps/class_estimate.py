"""How good a level's coefficients are for the whole problem of many classes, estimated."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.models.blocks import BlocksModel
from dcsvm_dask.solvers import labels_of_classes
from dcsvm_dask.steps.block_table import BlockTable
from dcsvm_dask.steps.estimate import ESTIMATE_ROWS, ROUNDING, total_of
from dcsvm_dask.steps.problem import ClassProblem
from dcsvm_dask.storage.node import Record

# Decision values that are estimated: fewer rows of many machines.
MOST_VALUES, LEAST_ROWS = 1 << 21, 256

Index = NDArray[np.int64]
Vector = NDArray[np.float64]


def estimate_classes(
    problem: ClassProblem,
    table: BlockTable,
    model: BlocksModel,
    support: Index,
    coef: NDArray[np.float64],
    own: Record,
) -> Record:
    """Estimate objective and duality gap of all machines together, at a seeded sample of rows.

    As `estimate` does for two classes, each row with all of its machines. With a bias the gap is
    that at the mean of the blocks' biases: any gives a bound.

    Parameters
    ----------
    support, coef : ndarray
        The variables that are support vectors, and their coefficients.
    own : dict
        Sums of the blocks' solutions: ``objective``, ``own_gap``.
    """
    rng = np.random.default_rng([problem.settings.seed, 2000])
    size = max(LEAST_ROWS, min(ESTIMATE_ROWS // 2, MOST_VALUES // len(problem.machines)))
    rows = np.sort(rng.choice(problem.n, size=min(problem.n, size), replace=False))
    weights = np.abs(coef).sum(axis=0)
    drawn = np.arange(len(support))
    if len(drawn) > size:
        drawn = rng.choice(len(support), size=size, p=weights / weights.sum())
    looked_at, where = np.unique(np.concatenate([rows, support[drawn]]), return_inverse=True)
    X, blocks = problem.take(looked_at), table.blocks_of(looked_at)
    f, f_own = model.sums(X), model.own_sums(X, blocks)
    labels = labels_of_classes(problem.n_classes, model.scheme)
    at, of_drawn = where[: len(rows)], where[len(rows) :]
    y, C = labels[problem.codes[rows]], problem.bounds(rows)
    offsets = np.array([machine.bias for machine in model.blocks])
    losses = [
        C * (np.maximum(0.0, 1.0 - y * (found[at] + offset)) * np.abs(y)).sum(axis=1)
        for found, offset in ((f, _mean(offsets, model, labels)), (f_own, offsets[blocks[at]]))
    ]
    hinge, hinge_error = total_of(losses[0] - losses[1], problem.n)
    # Of each support vector the sum of y alpha (f - f_own) over its machines.
    mine = np.zeros((len(drawn), len(problem.machines)))
    codes = problem.codes[support[drawn]]
    for number, machine in enumerate(problem.machines):
        has = np.flatnonzero(labels[codes, number])
        mine[has, number] = coef[machine.place(codes[has]), drawn[has]]
    between = (mine * (f - f_own)[of_drawn]).sum(axis=1)
    if len(drawn) == len(support):
        quadratic, error = float(between.sum()), 0.0
    else:
        each = between / weights[drawn] * weights.sum()
        quadratic, error = float(each.mean()), float(each.std()) / np.sqrt(len(drawn))
    if 0.5 * error < ROUNDING * abs(own["objective"]):  # blocks that do not see each other
        error = 0.0
    return {
        "objective_estimate": own["objective"] + 0.5 * quadratic,
        "objective_error": 0.5 * error,
        "gap_estimate": max(0.0, own["own_gap"] + quadratic + hinge),
        "gap_error": float(np.hypot(error, hinge_error)),
        "estimate_kernel_values": len(looked_at) * len(support),
    }


def _mean(offsets: Vector, model: BlocksModel, labels: NDArray[np.int8]) -> Vector:
    """Return the mean bias of each machine over the blocks that have rows of both its sides."""
    positive, negative = (model.class_rows @ (labels == side) for side in (1, -1))
    weight = np.where((positive > 0) & (negative > 0), positive + negative, 0)
    return np.asarray((weight * offsets).sum(axis=0) / np.maximum(1, weight.sum(axis=0)))
