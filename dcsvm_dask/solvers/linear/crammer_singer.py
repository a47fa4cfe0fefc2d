"""The linear SVM of Crammer and Singer: all classes in one problem."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels import Rows
from dcsvm_dask.kernels.rows import check_rows, check_values
from dcsvm_dask.solvers.linear.crammer_loops import descend_classes, measure_classes, sum_classes
from dcsvm_dask.solvers.linear.loops import squares
from dcsvm_dask.solvers.linear.problem import check_constant, check_costs
from dcsvm_dask.solvers.linear.rows import compiled_rows

Vector = NDArray[np.float64]
# Passes between two returns to Python, at most, and products of values and classes in them, about.
_PASSES, _PRODUCTS = 100, 4e9
# How far a start may lie outside of what is feasible, relative to C: rounding to float32.
_ROUNDING = 1e-6


@dataclass(frozen=True, slots=True)
class ClassesSolution:
    """A linear SVM of many classes and how far it is from the best one."""

    alpha: Vector
    """The dual variables, shape (n, k): of each row they sum to zero."""
    W: Vector
    """The weights of each class, sum_i alpha_im x_i, shape (k, d), summed from scratch."""
    b: Vector
    """The offset of each class, shape (k,)."""
    objective: float
    """The dual objective at `alpha`, which is minimised."""
    violation: float
    """By how much, at most, the gradients of a row's variables differ that should not."""
    gap: float
    """Primal minus dual value: an upper bound on how far the objective is from the least one."""
    n_iter: int
    """Visits of rows, divided by the number of rows; rounded up."""
    converged: bool
    """Whether `violation` is at most the tolerance asked for."""
    history: Vector
    """The objective after each pass over the active rows and the violation met in it."""


def solve_crammer_singer(
    X: Rows,
    codes: ArrayLike,
    C: ArrayLike,
    n_classes: int,
    *,
    constant: float = 0.0,
    alpha: ArrayLike | None = None,
    tol: float = 1e-3,
    max_iter: int = 1000,
    seed: int = 0,
    callback: Callable[[int, float], object] | None = None,
) -> ClassesSolution:
    """Train the linear SVM of Crammer and Singer (JMLR 2, 2001), whose classes share one problem.

    Minimises, c_i the class of row i::

        0.5 sum_m w_m'w_m + sum_i C_i max_m (w_m'x_i + [m != c_i] - w_(c_i)'x_i)

    by the sequential dual method (Keerthi, Sundararajan, Chang, Hsieh, Lin, KDD 2008; LIBLINEAR's
    ``-s 4``), which solves for all variables of a row at a time, rows in random order::

        min 0.5 sum_m w_m'w_m + sum_i sum_m [m != c_i] alpha_im,   w_m = sum_i alpha_im x_i
            sum_m alpha_im = 0,   alpha_im <= C_i [m = c_i]

    Parameters
    ----------
    X : array or CSR, shape (n, d), float32 or float64
        Rows; they are not copied if dense in C order or CSR.
    codes : array, shape (n,), integers
        The class of each row, from 0.
    C : float or array, shape (n,)
        Cost of each row's loss, 0 or more.
    n_classes : int
        k, at least 2. A class may have no rows.
    constant : float, default=0.0
        As for `solve_linear`.
    alpha : array, shape (n, k), optional
        A feasible start; by default zeros. It is copied.
    tol : float, default=1e-3
        The largest violation of a row to stop at, as LIBLINEAR's ``-e``; measured over all rows
        where nothing moves, with weights that are summed from scratch.
    max_iter : int, default=1000
        Most visits of rows, divided by the number of rows.
    seed : int, default=0
        Of the random order.
    callback : callable, optional
        Called as callback(n_iter, violation) every hundred passes, and sooner where they take
        seconds; a true answer stops the solver.

    Returns
    -------
    ClassesSolution

    Raises
    ------
    InputError
        For shapes, classes or values that do not fit, or a start that is not feasible.
    """
    X = check_rows(X, "X")
    check_values(X)
    n = X.shape[0]
    codes = _checked_codes(codes, n, n_classes)
    check_constant(constant)
    cost = check_costs(C, n)
    point = _start(alpha, codes, cost, n_classes)
    descent = _Descent(X, codes, cost, float(constant), point, seed)
    taking_part, start = max(1, len(descent.order)), descent.objective()
    most = int(np.clip(_PRODUCTS / max(1.0, float(X.size) * n_classes), 1, _PASSES))
    history, left = [np.empty((0, 2))], max_iter * taking_part
    while True:
        passes, visits = descent.descend(tol, most, left)
        history.append(passes)
        left -= visits
        done = max_iter - left // taking_part
        stops = left <= 0 or (callback is not None and bool(callback(done, descent.met)))
        if descent.met <= tol or stops:
            violation, lost = descent.measure()
            if violation <= tol or stops:
                break
            descent.visit_all()
    objective, W = descent.objective(), descent.W
    changes, violations = np.concatenate(history).T
    return ClassesSolution(
        alpha=point,
        W=np.ascontiguousarray(W[:-1].T),
        b=W[-1] * constant,
        objective=objective,
        violation=violation,
        gap=max(0.0, 0.5 * float((W * W).sum()) + lost + objective),
        n_iter=done,
        converged=violation <= tol,
        history=np.stack([start + np.cumsum(changes), violations], axis=1),
    )


class _Descent:
    """Passes over the rows that have a cost and are not zero, from a point that they move.

    Parameters
    ----------
    X : ndarray or CSR, shape (n, d)
    codes : ndarray, shape (n,), int32
        The class of each row.
    cost : ndarray, shape (n,), float64
    constant : float
    alpha : ndarray, shape (n, k), float64
        The point, which is feasible. Updated; of rows of zeros it is the solution at once.
    seed : int
        Of the random order.

    Attributes
    ----------
    W : ndarray, shape (d + 1, k), float64
        The weights of each class, those of the constant last.
    order : ndarray, int32
        The rows that take part; the first `active` of them are visited.
    met : float
        The violation of the last pass, met on the way; 0 before the first one.

    Raises
    ------
    InputError
        If a row's squared length is not finite.
    """

    def __init__(
        self,
        X: Rows,
        codes: NDArray[np.int32],
        cost: Vector,
        constant: float,
        alpha: Vector,
        seed: int,
    ) -> None:
        n, k = alpha.shape
        self.rows, self.codes, self.cost, self.constant = compiled_rows(X), codes, cost, constant
        self.alpha, self.W = alpha, np.zeros((X.shape[1] + 1, k))
        self.curvature = np.empty(n)
        squares(self.rows, constant, np.zeros(n), self.curvature)
        if not np.isfinite(self.curvature).all():
            raise InputError("X holds a value that is not finite: give finite numbers.")
        sum_classes(self.rows, constant, alpha, self.W)
        _solve_rows_of_zeros(alpha, codes, cost, self.curvature)
        self.order = np.flatnonzero((cost > 0.0) & (self.curvature > 0.0)).astype(np.int32)
        self.random = np.random.default_rng(seed).integers(2**64, size=1, dtype=np.uint64)
        self.visit_all()

    def visit_all(self) -> None:
        """Let the next pass visit all rows that take part."""
        self.active, self.met = len(self.order), 0.0

    def descend(self, tol: float, most: int, budget: int) -> tuple[Vector, int]:
        """Pass over the active rows as `descend_classes` does; return its history and visits."""
        history = np.empty((most, 2))
        made, visits, self.active, self.met = descend_classes(
            self.rows,
            self.codes,
            self.cost,
            self.curvature,
            self.constant,
            self.alpha,
            self.W,
            self.order,
            self.active,
            self.met,
            tol,
            most,
            budget,
            self.random,
            history,
        )
        return history[:made], visits

    def measure(self) -> tuple[float, float]:
        """Sum the weights from scratch; return the largest violation of a row and all losses."""
        self.W[:] = 0.0
        sum_classes(self.rows, self.constant, self.alpha, self.W)
        violation, lost = measure_classes(
            self.rows, self.codes, self.cost, self.constant, self.alpha, self.W
        )
        return violation, lost

    def objective(self) -> float:
        """Return the dual objective at the point."""
        own = self.alpha[np.arange(len(self.codes)), self.codes]
        return 0.5 * float((self.W * self.W).sum()) - float(own.sum())


def _checked_codes(codes: ArrayLike, n: int, n_classes: int) -> NDArray[np.int32]:
    """Return the classes of n rows; raise an error if they are none."""
    codes = np.asarray(codes)
    if codes.shape != (n,) or not np.issubdtype(codes.dtype, np.integer):
        raise InputError(f"codes must be {n} whole numbers, one for each row of X.")
    if n_classes < 2 or ((codes < 0) | (codes >= n_classes)).any():
        raise InputError(f"codes must lie from 0 to n_classes - 1, and n_classes is {n_classes}.")
    return codes.astype(np.int32)


def _solve_rows_of_zeros(
    alpha: Vector, codes: NDArray[np.int32], cost: Vector, curvature: Vector
) -> None:
    """Set the variables of rows of zeros, whose loss is C_i wherever the weights are."""
    flat = np.flatnonzero((curvature == 0.0) & (cost > 0.0))
    alpha[flat] = 0.0
    alpha[flat, codes[flat]] = cost[flat]
    alpha[flat, (codes[flat] + 1) % alpha.shape[1]] = -cost[flat]


def _start(
    alpha: ArrayLike | None, codes: NDArray[np.int32], cost: Vector, n_classes: int
) -> Vector:
    """Return the point to start from, within its bounds; refuse one that is not feasible."""
    n = len(codes)
    if alpha is None:
        return np.zeros((n, n_classes))
    start = np.array(alpha, dtype=np.float64)
    if start.shape != (n, n_classes):
        raise InputError(
            f"alpha has the shape {start.shape}: give a value for each of {n} rows and "
            f"{n_classes} classes."
        )
    upper = np.zeros_like(start)
    upper[np.arange(n), codes] = cost
    slack = _ROUNDING * cost
    # Written so that values that are not numbers are refused.
    if not ((start - upper <= slack[:, None]).all() and (abs(start.sum(axis=1)) <= slack).all()):
        raise InputError(
            "alpha is not feasible: give rows that sum to zero, up to C at their class and at most "
            "0 elsewhere."
        )
    return np.minimum(start, upper, out=start)
