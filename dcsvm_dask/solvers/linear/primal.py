"""Linear SVMs with a smooth loss by Newton's method on their weights."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels import Rows
from dcsvm_dask.kernels.rows import check_rows, check_values, is_sparse
from dcsvm_dask.solvers.linear.problem import LinearSolution
from dcsvm_dask.solvers.linear.products import combine, curve, diagonal, outputs
from dcsvm_dask.solvers.linear.rows import compiled_rows
from dcsvm_dask.solvers.linear.squared import SquaredLosses, respond, slope
from dcsvm_dask.solvers.linear.zeros import without_zeros
from dcsvm_dask.tasks import Dual

Vector = NDArray[np.float64]

# Up to so many features of dense rows the Hessian is made and factorised: it takes as long as some
# ten products with it, and does not mind features of different sizes.
_FACTORISED = 256
# Rows that are in float64 at a time.
_TILE = 4096
# The residual of conjugate gradients at which a step is good enough, relative to the gradient.
_RESIDUAL = 0.1
# The slope at which the search along a step ends, relative to that at its start; most points tried.
_FLAT, _TRIES = 1e-2, 50


def solve_linear_primal(
    X: Rows,
    dual: Dual,
    *,
    constant: float = 0.0,
    tol: float = 1e-4,
    max_iter: int = 1000,
    callback: Callable[[int, float], object] | None = None,
) -> LinearSolution:
    """Train a linear SVM with a squared loss by Newton's method on the primal problem.

    Minimises, for the task's loss of each row::

        0.5 w'w + sum_i C_i loss_i(w'x_i)

    as `Dual` has it, which needs a ridge: the squared hinge loss and the squared
    epsilon-insensitive loss. (LIBLINEAR's ``-s 2`` and ``-s 11``.) Keerthi, DeCoste, JMLR 6, 2005:
    the losses are piecewise quadratic, so that a step solves a linear system in the generalised
    Hessian: by conjugate gradients with its diagonal as preconditioner, or by a Cholesky factor
    where rows are dense and features few. Along a step the objective is minimised to a hundredth
    of its slope, which needs no pass over the rows.

    At w each row has a best dual variable, minus the derivative of its loss, and the gradient is
    w - sum_i beta_i x_i: half of its squared norm is the duality gap.

    Parameters
    ----------
    X : array or CSR, shape (n, d), float32 or float64
        Rows; they are not copied if dense in C order or CSR.
    dual : Dual
        Of all rows, with a ridge. Rows whose weight C_i is 0 take no part.
    constant : float, default=0.0
        As for `solve_linear`.
    tol : float, default=1e-4
        The norm of the gradient to stop at, relative to that at w = 0, as LIBLINEAR's ``-e``. It
        is measured at outputs that are computed from scratch.
    max_iter : int, default=1000
        Most steps.
    callback : callable, optional
        Called as callback(n_iter, violation) after each step; a true answer stops the solver.

    Returns
    -------
    LinearSolution
        ``violation`` is what `tol` bounds; ``w`` differs from the sum of ``alpha`` by the
        gradient; ``history`` has minus the primal objective, which rises to the dual one.

    Raises
    ------
    InputError
        For shapes, bounds or values that do not fit; if the loss is not squared.
    """
    X = without_zeros(check_rows(X, "X"))
    check_values(X)
    losses = SquaredLosses.of(X.shape[0], dual, constant)
    return _Newton(X, losses).solve(tol, max_iter, callback)


class _Newton:
    """A primal problem and the weights that have been reached."""

    def __init__(self, X: Rows, losses: SquaredLosses) -> None:
        n, d = X.shape
        self._X, self._rows, self._losses = X, compiled_rows(X), losses
        self._constant = losses.problem.constant
        self._w, self._f = np.zeros(d + 1), np.zeros(n)
        self._b, self._h = np.empty(n), np.empty(n)
        self._lost = 0.0
        self._gradient = self._derive()
        if not np.isfinite(self._gradient).all():
            raise InputError("X holds a value that is not finite: give finite numbers.")
        if not np.isfinite(_size(self._gradient)):
            raise InputError(
                "C times the weights is so large that squares of the gradient overflow float64: "
                "give a smaller C, or solve the dual problem (dual=True)."
            )

    def solve(
        self, tol: float, max_iter: int, callback: Callable[[int, float], object] | None
    ) -> LinearSolution:
        """Take steps until the gradient is small at outputs from scratch."""
        first = _size(self._gradient)
        history: list[tuple[float, float]] = []
        violation, fresh, moves = self._relative(first), True, True
        while violation > tol or not fresh:
            if violation <= tol or not moves or len(history) == max_iter:
                outputs(self._rows, 0, len(self._f), self._constant, self._w, self._f)
                self._gradient, fresh = self._derive(), True
                violation = self._relative(first)
                if violation <= tol or not moves or len(history) == max_iter:
                    break
            moves = self._step(min(_RESIDUAL, float(np.sqrt(violation))))
            fresh, violation = False, self._relative(first)
            history.append((-self._primal(), violation))
            if callback is not None and callback(len(history), violation):
                moves = False
        fresh_w = np.zeros_like(self._w)
        combine(self._rows, 0, len(self._f), self._constant, self._b, fresh_w)
        objective = self._losses.problem.objective(self._b, fresh_w)
        return LinearSolution(
            alpha=self._b,
            w=self._w[:-1].copy(),
            b=float(self._w[-1] * self._constant),
            objective=objective,
            violation=violation,
            gap=max(0.0, self._primal() + objective),
            n_iter=len(history),
            converged=violation <= tol,
            history=np.array(history).reshape(-1, 2),
        )

    def _relative(self, first: float) -> float:
        return _size(self._gradient) / first if first > 0.0 else 0.0

    def _primal(self) -> float:
        return 0.5 * float(self._w @ self._w) + self._lost

    def _derive(self) -> Vector:
        """Return the gradient at the outputs; set the losses, their derivatives and curvatures."""
        self._lost = respond(*self._losses.arrays, self._f, self._b, self._h)
        total = np.zeros_like(self._w)
        combine(self._rows, 0, len(self._f), self._constant, self._b, total)
        return np.asarray(self._w - total)

    def _step(self, residual: float) -> bool:
        """Take a step; returns whether the objective fell.

        Where values of X are tiny it falls by less than its rounding: then the gradient tells.
        """
        direction = -self._solved(residual)
        along = np.empty_like(self._f)
        outputs(self._rows, 0, len(self._f), self._constant, direction, along)
        before, slope_before = self._primal(), _size(self._gradient)
        t = self._search(direction, along)
        w, f = self._w, self._f
        self._w, self._f = w + t * direction, f + t * along
        self._gradient = self._derive()
        after = self._primal()
        if after < before or (after == before and _size(self._gradient) < slope_before):
            return True
        self._w, self._f = w, f
        self._gradient = self._derive()
        return False

    def _search(self, direction: Vector, along: Vector) -> float:
        """Return how far along a step the objective is least: a root of its slope, by Newton."""
        arrays, linear = self._losses.arrays, float(self._w @ direction)
        square = float(direction @ direction)
        start = float(self._gradient @ direction)
        low, high, t = 0.0, np.inf, 1.0
        for _ in range(_TRIES):
            first, second = slope(*arrays, self._f, along, t)
            first += linear + t * square
            if abs(first) <= -_FLAT * start:
                break
            low, high = (t, high) if first < 0.0 else (low, t)
            t -= first / (second + square)
            if not low < t < high:
                t = 2.0 * low if np.isinf(high) else 0.5 * (low + high)
        return t

    def _solved(self, residual: float) -> Vector:
        """Return the solution of H s = gradient, about or by a factor."""
        if not is_sparse(self._X) and self._X.shape[1] <= _FACTORISED:
            return _factorised(self._hessian(), self._gradient)
        scale = np.ones_like(self._w)
        diagonal(self._rows, self._constant, self._h, scale)
        return self._conjugate(scale, residual)

    def _hessian(self) -> NDArray[np.float64]:
        """Return I + sum_i h_i x_i x_i'."""
        found = np.eye(len(self._w))
        chosen = np.flatnonzero(self._h)
        for start in range(0, len(chosen), _TILE):
            index = chosen[start : start + _TILE]
            tile = np.full((len(index), len(self._w)), self._constant)
            tile[:, :-1] = self._X[index]
            tile *= np.sqrt(self._h[index])[:, None]
            found += tile.T @ tile
        return found

    def _conjugate(self, scale: Vector, residual: float) -> Vector:
        """Return the solution by conjugate gradients, preconditioned by a diagonal."""
        solution, left = np.zeros_like(self._w), self._gradient.copy()
        toward = left / scale
        direction = toward.copy()
        size = float(left @ toward)
        enough = residual**2 * size
        for _ in range(len(self._w)):
            product = direction.copy()
            curve(self._rows, self._constant, self._h, direction, product)
            factor = size / float(direction @ product)
            solution += factor * direction
            left -= factor * product
            toward = left / scale
            before, size = size, float(left @ toward)
            if size <= enough:
                break
            direction = toward + (size / before) * direction
        return solution


def _size(gradient: Vector) -> float:
    """Return the norm of a gradient; infinite where its squares overflow."""
    with np.errstate(over="ignore"):
        return float(np.linalg.norm(gradient))


def _factorised(H: NDArray[np.float64], gradient: Vector) -> Vector:
    """Return the solution of H s = gradient by a Cholesky factor.

    LAPACK is called by itself: of few features what SciPy looks at before takes ten times as long.
    """
    _, found, failed = linalg.lapack.dposv(H, gradient)
    if failed or not np.isfinite(found).all():
        found = linalg.solve(H, gradient, assume_a="pos")  # which says what is wrong
    return np.asarray(found)
