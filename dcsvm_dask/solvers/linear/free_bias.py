"""Dual coordinate descent for linear SVMs whose bias is free: no part of the regularisation.

Solves the dual of::

    min 0.5 w'w + sum_i loss_i(w'x_i + b)

over w and b, which is that of `Dual` with K_ij = x_i'x_j and the constraint sum_i beta_i = 0. No
step over one variable keeps it. The proximal point method for the bias alone (Rockafellar, Math.
Oper. Res. 1, 1976) has the answer as the limit of problems without the constraint::

    min 0.5 w'w + 0.5 (b - b_k)^2 / rho + sum_i loss_i(w'x_i + b)

whose duals are those of the method of multipliers::

    min D(beta) + b_k s + 0.5 rho s^2,   s = sum_i beta_i,   b = b_k + rho s

with the dual objective D without a bias, over the bounds alone. It is the dual of a constant
feature of the size sqrt(rho), to whose weight b_k / sqrt(rho) is added. So the passes are those of
the problem with a constant feature; after each of them b_k becomes b, and at the answer s = 0.

Given a `SignedProblem`, whose constant is sqrt(rho), and a first b_k. The answer is in
`LinearSolution`; its point is balanced: the variables add up to zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np

from dcsvm_dask.kernels.rows import Rows, check_rows, is_sparse
from dcsvm_dask.solvers import optimality
from dcsvm_dask.solvers.linear.descent import VISIT, Chunks, LinearDescent
from dcsvm_dask.solvers.linear.loops import squares
from dcsvm_dask.solvers.linear.problem import LinearSolution, SignedProblem, Vector
from dcsvm_dask.solvers.linear.products import combine, outputs
from dcsvm_dask.solvers.linear.rows import compiled_rows
from dcsvm_dask.tasks import Dual

# Share of the tolerance at which passes end: the point is moved a little, to be balanced, before
# its violation is measured. It is halved where that was not enough.
WITHIN = 0.5
# rho in mean squares of the length of a row.
STEP = 0.1
# A sum that is smaller, in sizes of what is summed, is rounding.
_ROUNDING = 1e-14


@dataclass(frozen=True, slots=True)
class Standing:
    """How far a balanced point is from the answer."""

    objective: float
    """The dual objective, which is minimised."""
    violation: float
    """LIBSVM's: by how much the slopes of two variables that can move together differ at most."""
    gap: float
    """The least primal value at the point's w, over all biases, minus the dual value."""
    bias: float
    """The mean of the biases that free variables ask for."""


def standing(gradient: Vector, beta: Vector, w: Vector, dual: Dual) -> Standing:
    """Return how far a balanced point is from the answer of the problem with a free bias.

    Parameters
    ----------
    gradient : ndarray, shape (n,), float64
        w'x_i + p_i + D_ii beta_i, without a bias.
    beta : ndarray, shape (n,), float64
        Variables that add up to zero.
    w : ndarray, shape (d,), float64
        sum_i beta_i x_i.
    dual : Dual
    """
    return Standing(
        objective=0.5 * float(w @ w) + dual.linear(beta),
        violation=optimality.violation_pair(gradient, beta, dual),
        # Below zero it would be rounding.
        gap=max(0.0, optimality.duality_gap(gradient, beta, dual, equality=True)),
        bias=optimality.bias(gradient, beta, dual),
    )


def balanced(beta: Vector, dual: Dual) -> Vector:
    """Return variables near to some that add up to zero, within the bounds.

    Free variables move in proportion to the way that they have, so that they stay free. Where they
    have not enough, the heavier sign is scaled down.

    Parameters
    ----------
    beta : ndarray, shape (n,), float64
        Within the bounds.
    dual : Dual
    """
    excess = float(beta.sum())
    if abs(excess) <= _ROUNDING * float(np.abs(beta).sum()):
        return beta
    free = np.flatnonzero(dual.is_free(beta) & (beta != 0.0))
    b = beta[free]
    away = (dual.upper[free] - b) if excess < 0.0 else (b - dual.lower[free])
    # Towards zero as far as it, and no further in the other direction, which may have no bound.
    way = np.where(b * excess > 0.0, np.abs(b), np.minimum(np.abs(b), away))
    if way.sum() <= 2.0 * abs(excess):
        return optimality.balanced(beta, dual)
    moved = beta.copy()
    moved[free] -= way * (excess / way.sum())
    return moved


def step_of(chunks: Iterable[Rows]) -> float:
    """Return the square root of rho by which passes are few: a third of the usual row's length.

    With a smaller one the multiplier makes short steps, with a larger one the rows' products are
    those of the constant, and steps over one variable undo each other.

    Parameters
    ----------
    chunks : iterable of arrays or CSR
        The rows whose lengths are taken.
    """
    total, n = 0.0, 0
    for chunk in chunks:
        rows = check_rows(chunk, "X")
        # Not by BLAS, whose sums may depend on its threads.
        found = np.zeros(rows.shape[0])
        squares(compiled_rows(rows), 0.0, np.zeros_like(found), found)
        total, n = total + float(found.sum()), n + len(found)
    square = total / max(1, n)
    return float(np.sqrt(STEP * square)) if 0.0 < square < np.inf else 1.0


class FreeBiasDescent(LinearDescent):
    """A linear SVM's problem with a free bias, and the point that has been reached.

    Parameters
    ----------
    chunks, problem, seed, inner
        As for `LinearDescent`. The problem's constant is sqrt(rho), above 0.
    bias : float, optional
        The first b_k; by default the one that free variables of the start ask for.
    outside : ndarray, shape (d + 1,), float64, optional
        What the variables of other rows give to w, with sqrt(rho) times their sum last.
    """

    most_passes = 1
    _problem: SignedProblem

    def __init__(
        self,
        chunks: Chunks,
        problem: SignedProblem,
        seed: int,
        inner: int,
        bias: float | None = None,
        outside: Vector | None = None,
    ) -> None:
        super().__init__(chunks, problem, seed, inner, outside)
        self._dual = _measurable(problem)
        self._bias = self._unshrunk_at = 0.0 if bias is None else bias
        self._asks_start = bias is None and bool(self._alpha.any())
        # The dual objective after the last pass, and half the square of the bias's weight there.
        self._value = self._square = 0.0

    @property
    def bias(self) -> float:
        """The multiplier that has been reached."""
        return self._bias

    @property
    def alpha(self) -> Vector:
        """The variables that have been reached, which need not add up to zero."""
        return self._alpha

    def solve(
        self,
        tol: float,
        max_iter: int | None,
        callback: Callable[[int, float], object] | None,
        most_visits: int | None = None,
    ) -> LinearSolution:
        """Pass over the rows until the violation is at most `tol`, or one of the limits is met."""
        if self._asks_start:
            beta = balanced(self._alpha, self._dual)
            self._bias = self._unshrunk_at = self._stand(beta)[0].bias
        self._begin()
        start, within, met = self._value, WITHIN * tol, True
        report = None if callback is None else self._now_and_then(callback)
        while met:
            met = self._descend(within, max_iter, most_visits, report)
            self._alpha[:] = balanced(self._alpha, self._dual)
            found, _ = self._stand(self._alpha)
            self._begin()
            if found.violation <= tol:
                break
            within *= 0.5
            self._unshrink()
        changes, violations = np.concatenate(self._history).T
        values = start + np.cumsum(changes)
        if len(values):
            values[-1] = found.objective
        return LinearSolution(
            alpha=self._alpha,
            w=self._w[:-1].copy(),
            b=found.bias,
            objective=found.objective,
            violation=found.violation,
            gap=found.gap,
            n_iter=self._n_iter,
            converged=found.violation <= tol,
            history=np.stack([values, violations], axis=1),
        )

    def _now_and_then(self, callback: Callable[[int, float], object]) -> Callable[..., object]:
        """Return a callback that calls another one as often as `LinearDescent` does."""
        if len(self._chunks) > 1:
            return callback
        rows, last = self._rows(0), 0
        of_row = VISIT + (rows.nnz if is_sparse(rows) else rows.size) // max(1, rows.shape[0])

        def call(n_iter: int, violation: float) -> object:
            nonlocal last
            if (self._visits - last) * of_row < self.work:
                return False
            last = self._visits
            return callback(n_iter, violation)

        return call

    def approach(self, tol: float, most_visits: int) -> int:
        """Pass over the rows until passes find no more than `tol`, or a limit is met.

        The point is not balanced, for there may be rows elsewhere. Returns the number of passes.
        """
        self._begin()
        self._descend(tol, None, most_visits, None)
        return self._n_iter

    def total(self) -> Vector:
        """Return w from scratch, shape (d + 1,), the constant times the sum of variables last."""
        return self._total(self._alpha)

    def gradient(self, w: Vector) -> Vector:
        """Return w'x_i + p_i + D_ii beta_i, shape (n,), at some w, without a bias."""
        return self._gradient(self._alpha, w)

    def values(self) -> tuple[float, float]:
        """Return the primal and the dual objective of the point that has been reached, balanced."""
        found, _ = self._stand(balanced(self._alpha, self._dual))
        return found.gap - found.objective, found.objective

    def _stand(self, beta: Vector) -> tuple[Standing, Vector]:
        """Return how far balanced variables are from the answer, and their w."""
        w = self._total(beta)
        return standing(self._gradient(beta, w), beta, w[:-1], self._dual), w

    def _begin(self) -> None:
        """Sum w from scratch, and add the multiplier to it."""
        self._w = self._total(self._alpha)
        self._value = 0.5 * float(self._w[:-1] @ self._w[:-1]) + self._dual.linear(self._alpha)
        self._w[-1] += self._bias / self._problem.constant
        self._square = 0.5 * float(self._w[-1]) ** 2

    def _violation(self) -> float:
        """Make a step of the multiplier; return the violation that the last pass has met with it.

        Shrunk rows do not see the multiplier move: all are visited again where it has gone further
        than the gradients by which they were shrunk.
        """
        constant = self._problem.constant
        self._keep_objective()
        step = float(self._w[-1]) * constant - self._bias
        self._bias += step
        self._w[-1] += step / constant
        self._square = 0.5 * float(self._w[-1]) ** 2
        violation = self._high - self._low + 2.0 * abs(step)
        if abs(self._bias - self._unshrunk_at) > max(self._high, -self._low):
            self._unshrink()
        return violation

    def _keep_objective(self) -> None:
        """Take what the bias has added to the objective out of the history of the last pass."""
        square = 0.5 * float(self._w[-1]) ** 2
        self._history[-1][-1, 0] -= square - self._square

    def _unshrink(self) -> None:
        super()._unshrink()
        self._unshrunk_at = self._bias

    def _total(self, beta: Vector) -> Vector:
        """Return sum_i beta_i x_i from scratch, what is outside added, shape (d + 1,)."""
        total = np.zeros(0)
        for i in range(len(self._chunks)):
            rows = self._rows(i)
            of = self._parts[i].rows
            if i == 0:
                total = np.zeros_like(self._w) if self._outside is None else self._outside.copy()
            combine(compiled_rows(rows), 0, rows.shape[0], self._problem.constant, beta[of], total)
        return total

    def _gradient(self, beta: Vector, w: Vector) -> Vector:
        f = np.empty(len(beta))
        for i in range(len(self._chunks)):
            rows = self._rows(i)
            outputs(compiled_rows(rows), 0, rows.shape[0], 0.0, w, f[self._parts[i].rows])
        return self._dual.gradient(f, beta)


def _measurable(problem: SignedProblem) -> Dual:
    """Return the dual problem as its measures take it: a ridge is above 0, or there is none."""
    dual = problem.dual
    if not problem.ridge.any():
        return replace(dual, ridge=None)
    return replace(dual, ridge=np.where(problem.takes_part, problem.ridge, 1.0))
