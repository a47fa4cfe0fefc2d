"""The multipliers that levels begin with, of random rows: for tasks whose variables have sums.

With a sum given, the variables of one block depend on all others. With its multiplier given they do
not. So a random subset is solved with its bounds scaled to the sum of all rows, and its multiplier
is the first bias that blocks share; later stages move it until the sum is met. Where the sizes of
variables have a sum, too, the multiplier of that stays as it is till the whole problem is solved.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.kernels import counted_kernel_matrix, kernel_product
from dcsvm_dask.methods.partition import drawn_rows
from dcsvm_dask.methods.problem import OFFSET, Problem
from dcsvm_dask.methods.resources import threads
from dcsvm_dask.methods.run_data import data_of, data_rows, settings_of, stored_targets
from dcsvm_dask.random_streams import OFFSET_SUBSET, generator
from dcsvm_dask.solvers import (
    Solution,
    balanced,
    brought_to_size,
    brought_to_sums,
    sign_multipliers,
    solve_inner,
)
from dcsvm_dask.solvers.optimality import total
from dcsvm_dask.storage.node import Attempt, Committed, Record
from dcsvm_dask.storage.rows import write_rows
from dcsvm_dask.storage.run import RunFolder
from dcsvm_dask.tasks import Dual

Vector = NDArray[np.float64]

SUBSET = 2048
"""Rows of the subset."""
SUBSET_TOL = 1e-3
"""Its violation, as a share of the largest decision value at the start."""
OWN_SHARE = 0.5
"""Share of what a free row adds to its own f by its larger bound that is taken off: near rows that
the subset lacks would add some of it."""
LEAST_OF_CLASS = 64
"""Rows of each class at least, where they are drawn of each."""
EXACT_SUM = 1e-9
"""Share of the sum by which it may be missed: rounding."""


def estimate_offset(run: RunFolder, attempt: Attempt) -> Record:
    """Solve the problem of a random subset of the data set's rows, and commit its multipliers.

    Writes the rows ``X`` and ``coef`` of its support vectors.
    """
    settings, data = settings_of(run), data_of(run)
    rows = drawn_rows(settings, data.n_rows, SUBSET, stream=OFFSET_SUBSET)
    weights = data.read_weights(0, data.n_rows)
    weights = np.ones(data.n_rows) if weights is None else weights
    task = settings.make_task()
    y = (
        stored_targets(run, data.read_y(0, data.n_rows))
        if task.size(weights) is not None
        else weights
    )
    codes = (y > 0).astype(np.int8)
    C = settings.bound_of(codes) * weights
    scale: Any = float(C.sum() / C[rows].sum())
    scaled, size = task.product_range == 1.0, task.size(C)
    if task.has_classes and size is not None and most_size(codes[rows], scale * C[rows]) < size:
        rows, scales = drawn_of_classes(codes, C, 2, settings.seed)
        scale = scales[codes[rows]]
    dual = task.dual(y[rows].astype(np.float64), (scale if scaled else 1.0) * C[rows])
    X = data_rows(run).take(rows)
    K, values = counted_kernel_matrix(settings.kernel, X, dtype=np.float64, threads=threads())
    zero = np.zeros(len(rows))
    if size is None:
        start = brought_to_sums(zero, dual, [task.total(C)], dual.p)
    else:
        start = brought_to_size(zero, dual, size if scaled else size / scale, dual.p)
    largest = max(float(np.abs(K @ start).max()), 1e-12)
    found = solve_inner(K, dual, inner="smo", beta=start, equality=True, tol=SUBSET_TOL * largest)
    support, free = np.flatnonzero(found.beta), dual.is_free(found.beta)
    own = (1.0 - 1.0 / scale) * (found.beta * np.diagonal(K))
    if size is None:
        record = {"bias": found.bias + OWN_SHARE * float(own[free].mean() if free.any() else 0.0)}
    else:
        below, above = multipliers_of(found, dual, own if scaled else 0.0 * own)
        epsilon = 0.5 * (above - below)
        unit = task.unit if task.has_kinks else abs(epsilon)
        record = {"bias": 0.5 * (below + above), "epsilon": epsilon, "unit": unit}
    attempt.write("coef", found.beta[support])
    write_rows(
        attempt.place / "X",
        iter([X[support]]),
        n_features=data.n_features,
        sparse=data.is_sparse,
        chunk_rows=SUBSET,
    )
    return {
        "rows": len(rows),
        **record,
        "support": len(support),
        "iterations": found.n_iter,
        "kernel_values": values,
    }


def most_size(codes: NDArray[np.integer], C: Vector) -> float:
    """Return the largest sum of the sizes of variables of two classes that balance."""
    return 2.0 * float(np.bincount(codes, C, 2).min())


def drawn_of_classes(
    codes: NDArray[np.integer], C: Vector, n_classes: int, seed: int
) -> tuple[NDArray[np.int64], Vector]:
    """Draw rows of each class by itself, so that all have the sums that are asked for.

    Parameters
    ----------
    codes : ndarray, shape (n,), integers
        The class of each row.
    C : ndarray, shape (n,), float64
        Weight of each row's loss.
    n_classes, seed : int

    Returns
    -------
    rows : ndarray of int64
        Ascending; about `SUBSET`, in proportion to the classes, of small ones `LEAST_OF_CLASS`.
    scales : ndarray, shape (n_classes,), float64
        What their weights are multiplied by, so that each class has its sum.
    """
    rng, drawn = generator(seed, OFFSET_SUBSET), []
    for code in range(n_classes):
        mine = np.flatnonzero(codes == code)
        wanted = max(round(SUBSET * len(mine) / len(codes)), LEAST_OF_CLASS)
        drawn.append(rng.choice(mine, size=min(wanted, len(mine)), replace=False))
    rows = np.sort(np.concatenate(drawn)).astype(np.int64)
    sums = (np.bincount(codes, C, n_classes), np.bincount(codes[rows], C[rows], n_classes))
    return rows, sums[0] / sums[1]


def multipliers_of(found: Solution, dual: Dual, own: Vector) -> tuple[float, float]:
    """Return the biases of the negative and of the positive variables of a subset, for all rows.

    Parameters
    ----------
    found : Solution
        Of the subset, its bounds scaled to the sums of all rows.
    dual : Dual
    own : ndarray, shape (n,), float64
        What each row adds to its own f by its larger bound.
    """
    below, above = sign_multipliers(found.gradient, found.beta, dual)
    free = dual.is_free(found.beta)
    below, above = (
        b + OWN_SHARE * float(own[mine].mean() if mine.any() else 0.0)
        for b, mine in ((below, free & (own < 0.0)), (above, free & (own > 0.0)))
    )
    return below, above


def start_with_sum(problem: Problem, dual: Dual, C: Vector) -> Vector | None:
    """Return where the problem of some rows by themselves begins; None where zero is feasible.

    They have the sum that the task asks for where there are no others: nu sum(C).

    Parameters
    ----------
    problem : Problem
    dual : Dual
        Their bounds.
    C : ndarray, shape (m,), float64
        Weights of their losses.
    """
    if not problem.task.has_sum:
        return None
    zero = np.zeros(len(dual))
    return brought_to_sums(zero, dual, [problem.task.total(C)], zero)


def with_sum(run: RunFolder, problem: Problem, beta: Vector, source: Committed | None) -> Vector:
    """Return variables that have the sum of the problem.

    The free ones move, all by the same share of the way to their bound; where that does not
    suffice, those that raise the objective least.

    Parameters
    ----------
    run : RunFolder
    problem : Problem
    beta : ndarray, shape (n,)
    source : Committed or None
        What they come from. Where it has no gradient, that is as the SVM of the subset expects it.
    """
    if problem.size is not None:
        return _with_size(run, problem, beta, source)
    missing = problem.total - total(beta)
    if abs(missing) <= EXACT_SUM * problem.total:
        return beta
    dual = problem.dual
    room = np.where(dual.is_free(beta), (dual.upper if missing > 0.0 else dual.lower) - beta, 0.0)
    if abs(room.sum()) > 2.0 * abs(missing):
        return beta + missing / float(room.sum()) * room
    return brought_to_sums(beta, dual, [problem.total], _gradient(run, problem, source))


def _with_size(run: RunFolder, problem: Problem, beta: Vector, source: Committed | None) -> Vector:
    """Return variables of which each sign has half of the size of the problem.

    As `with_sum` for each sign. Where the subset's variables do not reach the size, those that
    fall short of it are balanced alone.
    """
    assert problem.size is not None
    dual, half, moved = problem.dual, 0.5 * problem.size, beta.copy()
    sums = [float(beta[sign * beta > 0.0].sum()) * sign for sign in (-1.0, 1.0)]
    if not dual.has_fixed_signs and problem.first_epsilon <= 0.0 and max(sums) <= half:
        return balanced(beta, dual)
    short = False
    for sign, size in zip((-1.0, 1.0), sums, strict=True):
        missing = half - size
        mine = dual.is_free(beta) & (sign * beta > 0.0)
        furthest = dual.upper if sign > 0.0 else dual.lower
        room = np.where(mine, (furthest if missing > 0.0 else 0.0) - beta, 0.0)
        if abs(room.sum()) > 2.0 * abs(missing):
            moved += abs(missing / float(room.sum())) * room if missing else 0.0
        else:
            short = True
    if not short:
        return dual.clip(moved)
    gradient = _gradient(run, problem, source)
    return brought_to_size(dual.clip(moved), dual, problem.size, gradient)


def _gradient(run: RunFolder, problem: Problem, source: Committed | None) -> Vector:
    """Return the gradient of a committed stage that has it, else that which the subset expects."""
    if source is not None and source.has("gradient"):
        return source.read("gradient")
    return expected(run, problem) + problem.dual.p


def expected(run: RunFolder, problem: Problem) -> Vector:
    """Return f of all variables by the SVM of the subset."""
    node = run.node(OFFSET, "commit")
    Z, coef = node.open_rows("X").read(0, node.record["support"]), node.read("coef")
    chunks = problem.take_chunks(np.arange(problem.n))
    parts = [
        kernel_product(problem.settings.kernel, X, Z, coef, threads=threads())[0] for X in chunks
    ]
    return np.concatenate([np.zeros(0), *parts])
