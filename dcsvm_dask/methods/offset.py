"""The bias that levels begin with, estimated on random rows: for tasks whose variables have a sum.

With the sum given, the variables of one block depend on all others. With the bias given they do
not. So a random subset is solved with its bounds scaled to the sum of all rows, and its multiplier
is the first bias that blocks share; later stages move it until the sum is met.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.kernels import counted_kernel_matrix, kernel_product
from dcsvm_dask.methods.partition import drawn_rows
from dcsvm_dask.methods.problem import OFFSET, Problem, data_of, data_rows, settings_of
from dcsvm_dask.methods.resources import threads
from dcsvm_dask.random_streams import OFFSET_SUBSET
from dcsvm_dask.solvers import brought_to_sums, solve_smo
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
EXACT_SUM = 1e-9
"""Share of the sum by which it may be missed: rounding."""


def estimate_offset(run: RunFolder, attempt: Attempt) -> Record:
    """Solve the problem of a random subset of the data set's rows, and commit its bias.

    Writes the rows ``X`` and ``coef`` of its support vectors.
    """
    settings, data = settings_of(run), data_of(run)
    rows = drawn_rows(settings, data.n_rows, SUBSET, stream=OFFSET_SUBSET)
    weights = data.read_weights(0, data.n_rows)
    weights = np.ones(data.n_rows) if weights is None else weights
    task, C = settings.make_task(), settings.C * weights
    scale = float(C.sum() / C[rows].sum())
    dual = task.dual(np.zeros(len(rows)), scale * C[rows])
    X = data_rows(run).take(rows)
    K, values = counted_kernel_matrix(settings.kernel, X, dtype=np.float64, threads=threads())
    wanted = task.total(C)
    start = brought_to_sums(np.zeros(len(rows)), dual, [wanted], dual.p)
    size = max(float(np.abs(K @ start).max()), 1e-12)
    found = solve_smo(K, dual, beta=start, equality=True, tol=SUBSET_TOL * size)
    support, free = np.flatnonzero(found.beta), dual.is_free(found.beta)
    own = (1.0 - 1.0 / scale) * (found.beta * np.diagonal(K))[free]
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
        "bias": found.bias + OWN_SHARE * float(own.mean() if free.any() else 0.0),
        "support": len(support),
        "iterations": found.n_iter,
        "kernel_values": values,
    }


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
    missing = problem.total - total(beta)
    if abs(missing) <= EXACT_SUM * problem.total:
        return beta
    dual = problem.dual
    room = np.where(dual.is_free(beta), (dual.upper if missing > 0.0 else dual.lower) - beta, 0.0)
    if abs(room.sum()) > 2.0 * abs(missing):
        return beta + missing / float(room.sum()) * room
    known = source is not None and source.has("gradient")
    gradient = source.read("gradient") if source and known else expected(run, problem)
    return brought_to_sums(beta, dual, [problem.total], gradient)


def expected(run: RunFolder, problem: Problem) -> Vector:
    """Return f of all variables by the SVM of the subset."""
    node = run.node(OFFSET, "commit")
    Z, coef = node.open_rows("X").read(0, node.record["support"]), node.read("coef")
    chunks = problem.take_chunks(np.arange(problem.n))
    parts = [
        kernel_product(problem.settings.kernel, X, Z, coef, threads=threads())[0] for X in chunks
    ]
    return np.concatenate([np.zeros(0), *parts])
