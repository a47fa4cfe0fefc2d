"""Linear SVMs with few weights: the l1 penalty, by coordinate descent on the weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

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
    problem = losses.problem
    state = _Weights(losses, compiled_rows(columns_of(X, problem.constant)), d, seed)
    history = [np.empty((0, 2))]
    done, most, first, enough = 0, 1, 0.0, 0.0
    while True:
        passes = state.descend(enough, most)
        history.append(passes)
        done += len(passes)
        met = float(passes[-1, 1])
        if done == 1:
            first, enough = met, tol * met
        violation = met / first if first > 0.0 else 0.0
        stops = done >= max_iter or (callback is not None and bool(callback(done, violation)))
        if met <= enough or stops:
            if state.all_active or stops:
                total, largest, lost = state.measure()
                if total <= enough or stops:
                    break
            state.activate_all()
        most = min(_PASSES, max_iter - done)
    w, point = state.w, state.b / max(1.0, largest)
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
        converged=total <= enough,
        history=np.stack([-values, sums / (first or 1.0)], axis=1),
    )


class _Weights:
    """The weights, and what the compiled passes keep of them.

    Parameters
    ----------
    losses : SquaredLosses
    columns : tuple
        Compiled columns of X, that of the constant behind them where there is one.
    d : int
        Features of X.
    seed : int
    """

    def __init__(self, losses: SquaredLosses, columns: Any, d: int, seed: int) -> None:
        n, m = len(losses.problem.dual), d + (losses.problem.constant != 0.0)
        self._losses, self._columns = losses.arrays, columns
        self._curvature, self.w = np.empty(m), np.zeros(m)
        squares(columns, *losses.arrays[2:], self._curvature)
        if not np.isfinite(self._curvature).all():
            raise InputError("X holds a value that is not finite: give finite numbers.")
        self._f, self.b, self._h = np.zeros(n), np.empty(n), np.empty(n)
        respond(*losses.arrays, self._f, self.b, self._h)
        self._order, self._active, self._steep = np.arange(m, dtype=np.int32), m, np.inf
        self._random = np.random.default_rng(seed).integers(2**64, size=1, dtype=np.uint64)

    @property
    def all_active(self) -> bool:
        """Whether the last pass left no weight out."""
        return self._active == len(self.w)

    def activate_all(self) -> None:
        """Let the next pass visit all weights."""
        self._active, self._steep = len(self.w), np.inf

    def descend(self, enough: float, most: int) -> NDArray[np.float64]:
        """Pass over the active weights; return objective and sum of subgradients of each pass."""
        history = np.empty((most, 2))
        passes, self._active, self._steep = descend_l1(
            self._columns,
            *self._losses,
            self._curvature,
            self.w,
            self._f,
            self.b,
            self._h,
            self._order,
            self._active,
            self._steep,
            enough,
            most,
            self._random,
            history,
        )
        return history[:passes]

    def measure(self) -> tuple[float, float, float]:
        """Sum the outputs from scratch; return the subgradients' sum, largest slope and losses."""
        outputs_of(self._columns, self.w, self._f)
        lost = respond(*self._losses, self._f, self.b, self._h)
        total, largest = measure_l1(self._columns, self.w, self.b, self._h)
        return total, largest, lost
