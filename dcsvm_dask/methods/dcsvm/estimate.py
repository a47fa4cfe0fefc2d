"""Estimates of objective and duality gap of the whole problem at a level, with standard errors."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.kernels import Rows, kd_order, kernel_product
from dcsvm_dask.methods.block_table import BlockTable
from dcsvm_dask.methods.problem import Problem
from dcsvm_dask.methods.resources import threads
from dcsvm_dask.models.model import Model
from dcsvm_dask.models.schemes import Outputs
from dcsvm_dask.random_streams import ESTIMATE, generator
from dcsvm_dask.solvers import labels_of_classes
from dcsvm_dask.storage.node import Record

Vector = NDArray[np.float64]
Index = NDArray[np.int64]

ESTIMATE_ROWS = 4096
# Error of f at a sampled row by skipping far pairs, in units of `Dual.unit`: the margin is 1.
ESTIMATE_ERROR = 1e-3
# Share of the objective below which an error is rounding.
ROUNDING = 1e-12
# Support vectors in memory at a time.
ESTIMATE_SUPPORT_ROWS = 262_144


def estimate(
    problem: Problem, table: BlockTable, beta: Vector, own: Record, offset: float
) -> Record:
    """Estimate objective and duality gap of the whole problem at a seeded sample of rows.

    Both are sums over rows. The part of a row's own block is known exactly from the blocks'
    solutions; only the part of other blocks is estimated. Its quadratic form is a sum over support
    vectors, which are drawn with probabilities proportional to abs(beta); its losses are a sum over
    all rows, which are drawn uniformly.

    Parameters
    ----------
    own : dict
        Sums of the blocks' solutions: ``objective``, ``own_gap``.
    offset : float
        The bias for which the blocks were solved; 0 without one.

    Returns
    -------
    dict
        ``objective_estimate``, ``gap_estimate`` (with a bias that at `offset`) and their standard
        errors, ``estimate_kernel_values``.
    """
    rng = generator(problem.settings.seed, ESTIMATE)
    rows, drawn = _sample(problem.n, beta, rng)
    chosen, where = np.unique(np.concatenate([rows, drawn]), return_inverse=True)
    f, f_own, values = _decide(problem, table, beta, chosen)
    at, of_drawn = where[: len(rows)], where[len(rows) :]
    dual = problem.dual_of(rows)
    losses = [dual.losses((found[at] + offset) + dual.p) for found in (f, f_own)]
    hinge, hinge_error = total_of(losses[0] - losses[1], problem.n)
    between = np.sign(beta[drawn]) * (f - f_own)[of_drawn]
    if len(drawn) == np.count_nonzero(beta):
        quadratic, error = float(np.dot(np.abs(beta[drawn]), between)), 0.0
    else:
        size = float(np.abs(beta).sum())
        quadratic = size * float(between.mean())
        error = size * float(between.std()) / np.sqrt(len(drawn))
    if 0.5 * error < ROUNDING * abs(own["objective"]):  # blocks that do not see each other
        error = 0.0
    return {
        "objective_estimate": own["objective"] + 0.5 * quadratic,
        "objective_error": 0.5 * error,
        "gap_estimate": max(0.0, own["own_gap"] + quadratic + hinge),
        "gap_error": float(np.hypot(error, hinge_error)),
        "estimate_kernel_values": values,
    }


def _sample(n: int, beta: Vector, rng: np.random.Generator) -> tuple[Index, Index]:
    """Draw rows uniformly, and support vectors by their sizes; all of them where they are few."""
    size, support = ESTIMATE_ROWS // 2, np.flatnonzero(beta)
    rows = np.arange(n) if n <= ESTIMATE_ROWS else rng.choice(n, size=size, replace=False)
    if n <= ESTIMATE_ROWS or len(support) <= size:
        return rows, support
    weight = np.abs(beta[support])
    return rows, rng.choice(support, size=size, p=weight / weight.sum())


def total_of(sample: Vector, n: int) -> tuple[float, float]:
    """Return the sum over n rows and its standard error, from a sample without repeats."""
    size = len(sample)
    error = n * float(sample.std()) / np.sqrt(size) * np.sqrt(1.0 - size / n)
    return n * float(sample.mean()), float(error)


def _decide(
    problem: Problem, table: BlockTable, beta: Vector, sample: Index
) -> tuple[Vector, Vector, int]:
    """Return f at some rows, the part of it from their own blocks, and the kernel values."""
    support = np.flatnonzero(beta)
    X, f, own, values = problem.take(sample), np.zeros(len(sample)), np.zeros(len(sample)), 0
    order = kd_order(X)  # tiles of neighbours leave out what is far
    X, blocks = X[order], table.blocks_of(sample[order])
    for start in range(0, len(support), ESTIMATE_SUPPORT_ROWS):
        some = support[start : start + ESTIMATE_SUPPORT_ROWS]
        Z, v = problem.take(some), beta[some]
        part, computed = kernel_product(
            problem.settings.kernel,
            X,
            Z,
            v,
            budget=ESTIMATE_ERROR * problem.task.unit * len(some) / len(support),
            threads=threads(),
        )
        f += part
        values += computed
        values += _add_own(problem, X, blocks, Z, v, table.blocks_of(some), own)
    back = np.argsort(order)
    return f[back], own[back], values


def _add_own(
    problem: Problem,
    X: Rows,
    blocks: NDArray[np.int32],
    Z: Rows,
    v: Vector,
    blocks_of_support: NDArray[np.int32],
    own: Vector,
) -> int:
    """Add what support vectors of the same block give; return the kernel values."""
    order = np.argsort(blocks_of_support, kind="stable")
    sorted_blocks, values = blocks_of_support[order], 0
    for block in np.unique(blocks):
        here = np.flatnonzero(blocks == block)
        first, last = np.searchsorted(sorted_blocks, [block, block + 1])
        columns = order[first:last]
        part, computed = kernel_product(problem.settings.kernel, X[here], Z[columns], v[columns])
        own[here] += part
        values += computed
    return values


# Decision values of a sample that are estimated: fewer rows for more SVMs.
MOST_VALUES, LEAST_ROWS = 1 << 21, 256


def estimate_of_several(
    problem: Problem,
    table: BlockTable,
    model: Model,
    support: Index,
    coef: NDArray[np.float64],
    own: Record,
) -> Record:
    """Estimate the sums of objectives and duality gaps of several SVMs; see `estimate`.

    With biases the gap is that at the mean of the blocks' biases: any bias gives a bound.

    Parameters
    ----------
    problem : Problem
    table : BlockTable
    model : Model
        The SVMs of all blocks.
    support, coef : ndarray
        The variables that are support vectors, and their coefficients.
    own : dict
        Sums of the blocks' solutions: ``objective``, ``own_gap``.
    """
    rng = generator(problem.settings.seed, ESTIMATE)
    size = max(LEAST_ROWS, min(ESTIMATE_ROWS // 2, MOST_VALUES // len(problem.machines)))
    rows = np.sort(rng.choice(problem.n, size=min(problem.n, size), replace=False))
    weights = np.abs(coef).sum(axis=0)
    drawn = np.arange(len(support))
    if len(drawn) > size:
        drawn = rng.choice(len(support), size=size, p=weights / weights.sum())
    chosen, where = np.unique(np.concatenate([rows, support[drawn]]), return_inverse=True)
    X, blocks = problem.take(chosen), table.blocks_of(chosen)
    f, f_own = model.sums(X), model.own_sums(X, blocks)
    at, of_drawn = where[: len(rows)], where[len(rows) :]
    dual, offsets = problem.duals_of(rows), model.bias - problem.task.centre
    losses = [
        dual.losses((found[at] + offset) + dual.p).sum(axis=1)
        for found, offset in ((f, _mean(offsets, model)), (f_own, offsets[blocks[at]]))
    ]
    hinge, hinge_error = total_of(losses[0] - losses[1], problem.n)
    # For each support vector the sum of beta (f - f_own) over its SVMs.
    mine = np.zeros((len(drawn), len(problem.machines)))
    codes = problem.codes[support[drawn]]
    for number, machine in enumerate(problem.machines):
        has, _ = machine.rows(codes)
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
        "estimate_kernel_values": len(chosen) * len(support),
    }


def _mean(offsets: Vector, model: Model) -> Vector:
    """Return the mean bias of each SVM over the blocks that have rows of both its classes."""
    assert model.rule is not None
    assert model.rule.class_rows is not None
    rows = model.rule.class_rows
    if isinstance(model.scheme, Outputs):
        return np.asarray((rows * offsets).sum(axis=0) / rows.sum())
    labels = labels_of_classes(model.n_classes, model.scheme.name)
    positive, negative = (rows @ (labels == side) for side in (1, -1))
    weight = np.where((positive > 0) & (negative > 0), positive + negative, 0)
    return np.asarray((weight * offsets).sum(axis=0) / np.maximum(1, weight.sum(axis=0)))
