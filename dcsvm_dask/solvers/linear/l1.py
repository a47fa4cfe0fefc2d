"""Linear SVMs with few weights: the l1 penalty, by coordinate descent on the weights."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels import Rows
from dcsvm_dask.kernels.rows import check_rows, check_values
from dcsvm_dask.solvers.linear.columns import columns_of
from dcsvm_dask.solvers.linear.problem import LinearSolution
from dcsvm_dask.solvers.linear.rows import compiled_rows
from dcsvm_dask.solvers.linear.sparse_loops import descend_l1, measure_l1, outputs_of, squares
from dcsvm_dask.solvers.linear.squared import SquaredLosses, respond
from dcsvm_dask.tasks import Dual

Vector = NDArray[np.float64]
# Passes between two returns to Python.
_PASSES = 100


def solve_linear_l1(
    X: Rows,
    dual: Dual,
    *,
    constant: float = 0.0,
    tol: float = 1e-4,
    max_iter: int = 1000,
    seed: int = 0,
    callback: Callable[[int, float], object] | None = None,
) -> LinearSolution:
    """Train a linear SVM with a squared loss and the l1 penalty, most of whose weights are 0.

    Minimises, for the task's loss of each row::

        sum_j |w_j| + sum_i C_i loss_i(w'x_i)

    as `Dual` has it, which needs a ridge: the squared hinge loss (LIBLINEAR's ``-s 5``) and the
    squared epsilon-insensitive loss. Yuan, Chang, Hsieh, Lin, JMLR 11, 2010: coordinate descent
    with one-variable Newton steps.

    The dual problem is to minimise p'b + sum_i epsilon_i |b_i| + 0.5 b'Db within the bounds where
    ``|sum_i b_i x_ij| <= 1`` for each feature. The gap is that of the derivatives at w, divided by
    the largest of these sums where that is above 1.

    Parameters
    ----------
    X : array or CSR, shape (n, d), float32 or float64
        Rows; copied, by columns.
    dual : Dual
        Of all rows, with a ridge. Rows whose weight C_i is 0 take no part.
    constant : float, default=0.0
        As for `solve_linear`; its weight is in the penalty.
    tol : float, default=1e-4
        The sum of the sizes of all subgradients to stop at, relative to the sum met in the first
        pass, as LIBLINEAR's ``-e``. It is measured where nothing moves, at outputs that are summed
        from scratch.
    max_iter : int, default=1000
        Most passes over the active weights.
    seed : int, default=0
        Of the random order.
    callback : callable, optional
        Called as callback(n_iter, violation) every hundred passes; a true answer stops the solver.

    Returns
    -------
    LinearSolution
        ``violation`` is what `tol` bounds; ``alpha`` a point of the dual problem, ``objective``
        its value; ``history`` has minus the primal objective.

    Raises
    ------
    InputError
        For shapes, bounds or values that do not fit; if the loss is not squared.
    """
    X = check_rows(X, "X")
    check_values(X)
    n, d = X.shape
    losses = SquaredLosses.of(n, dual, constant)
    problem, arrays = losses.problem, losses.arrays
    columns = compiled_rows(columns_of(X, problem.constant))
    m = d + (constant != 0.0)
    curvature, w = np.empty(m), np.zeros(m)
    squares(columns, *arrays[2:], curvature)
    if not np.isfinite(curvature).all():
        raise InputError("X holds a value that is not finite: give finite numbers.")
    f, b, h = np.zeros(n), np.empty(n), np.empty(n)
    respond(*arrays, f, b, h)
    order, active = np.arange(m, dtype=np.int32), m
    random = np.random.default_rng(seed).integers(2**64, size=1, dtype=np.uint64)
    history, steep, first, enough = [np.empty((0, 2))], np.inf, 0.0, 0.0
    done, sum_met, converged, most = 0, 0.0, False, 1
    while True:
        passes = np.empty((most, 2))
        made, active, steep = descend_l1(
            columns,
            *arrays,
            curvature,
            w,
            f,
            b,
            h,
            order,
            active,
            steep,
            enough,
            most,
            random,
            passes,
        )
        history.append(passes[:made])
        done += made
        sum_met = float(passes[made - 1, 1])
        if done == 1:
            first, enough = sum_met, tol * sum_met
        violation = sum_met / first if first > 0.0 else 0.0
        stops = done >= max_iter or (callback is not None and bool(callback(done, violation)))
        if sum_met <= enough or stops:
            if active == m or stops:
                outputs_of(columns, w, f)
                lost = respond(*arrays, f, b, h)
                total, largest = measure_l1(columns, w, b, h)
                converged = total <= enough
                if converged or stops:
                    break
            active, steep = m, np.inf
        most = min(_PASSES, max_iter - done)
    point = b / max(1.0, largest)
    objective = problem.dual.linear(point)
    values, sums = np.concatenate(history).T
    return LinearSolution(
        alpha=point,
        w=w[:d].copy(),
        b=float(w[d:].sum() * problem.constant),
        objective=objective,
        violation=total / first if first > 0.0 else 0.0,
        gap=max(0.0, float(np.abs(w).sum()) + lost + objective),
        n_iter=done,
        converged=converged,
        history=np.stack([-values, sums / (first or 1.0)], axis=1),
    )
