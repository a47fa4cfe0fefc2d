"""The machine of any rows of the problem, solved to a tolerance, with or without a bias."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.kernels import is_sparse, kd_order
from dcsvm_dask.solvers import bias, duality_gap
from dcsvm_dask.steps.problem import Problem
from dcsvm_dask.steps.rows_solver import RowsSolver
from dcsvm_dask.storage.node import Record

Index = NDArray[np.int64]
Vector = NDArray[np.float64]


def solve_machine(
    problem: Problem,
    index: Index,
    C: Vector,
    *,
    tol: float,
    alpha: Vector | None = None,
    f: Vector | None = None,
) -> tuple[Vector, Record]:
    """Solve the problem of some variables as if there were no others.

    Parameters
    ----------
    index : ndarray of int64, shape (m,)
    C : ndarray, shape (m,)
        Their upper bounds.
    tol : float
    alpha, f : ndarray, shape (m,), optional
        Where to start, feasible, and the decision values there.

    Returns
    -------
    alpha : ndarray, shape (m,)
    record : dict
        What it came to, and its ``bias``.
    """
    settings = problem.settings
    X, y = problem.take(index), problem.labels(index)
    order = np.arange(len(index))
    if len(index) > settings.block_cap and settings.kernel.is_shift_invariant and not is_sparse(X):
        order = kd_order(X)  # what is far is skipped by tiles of neighbours
    solver = RowsSolver(settings, X[order], y[order], C[order])
    start: dict[str, Any] = {"alpha": None if alpha is None else alpha[order]}
    if alpha is not None and f is not None:
        start["gradient"] = (y * f - 1.0)[order]
    solution = solver.solve(**start, equality=settings.fit_intercept, tol=tol)
    found = np.empty(len(index))
    found[order] = solution.alpha
    with_bias = settings.fit_intercept
    labels = (y[order],) if with_bias else ()
    return found, {
        "blocks": 1,
        "rows": len(index),
        "support": int(np.count_nonzero(found)),
        "bounded": int(np.count_nonzero(found >= C)),
        "objective": solution.objective,
        "own_gap": duality_gap(solution.gradient, solution.alpha, C[order], *labels),
        "violation": solution.violation,
        "converged": bool(solution.converged),
        "iterations": solution.n_iter,
        "bias": bias(solution.gradient, solution.alpha, y[order], C[order]) if with_bias else 0.0,
        "kernel_values": solver.kernel_values,
    }
