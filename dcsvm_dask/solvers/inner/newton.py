"""An active-set Newton method for a working set whose kernel matrix is in memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg

from dcsvm_dask.solvers.inner.bordered import BorderedFactor
from dcsvm_dask.solvers.inner.projected_gradient import solve_projected_gradient
from dcsvm_dask.solvers.inner.projection import restored, sums_of
from dcsvm_dask.solvers.matrix import prepared
from dcsvm_dask.solvers.optimality import multipliers, violation_box
from dcsvm_dask.solvers.program import QuadraticProgram
from dcsvm_dask.solvers.smo.columns import kernel_times
from dcsvm_dask.solvers.solution import Solution
from dcsvm_dask.tasks import Dual
from dcsvm_dask.tasks.dual import UNBOUNDED

Vector = NDArray[np.float64]
Flags = NDArray[np.bool_]

# Columns of variables that come and go before the block is factored anew, as a share of it.
_CHANGES, _FEWEST_CHANGES = 0.125, 64
# Steps in a row that may bring the violation no lower than it was: the rounding is reached.
_STALLS = 200
_MOST_STEPS = 1000
# Operations after which the free variables are too far from the solution's: those of so many
# Cholesky factors of the whole matrix, each with what is soon done whatever its size.
_MOST_WORK, _SOON = 2.0, 1e9
# Projected gradient steps before a factor, if they cost no more than this share of it; and after so
# many Newton steps that a bound ended.
_ENDED = 10
_GRADIENT_STEPS, _FEWEST_GRADIENT_STEPS, _SHARE = 100, 5, 0.5
# Weight of the sums' squares, in units of the largest kernel value.
_PENALTY = 10.0
# Violation of the problem without sums before their multipliers are renewed, in tolerances.
_INNER = 0.3


def solve_newton(
    K: NDArray[np.floating],
    dual: Dual,
    *,
    beta: ArrayLike | None = None,
    gradient: ArrayLike | None = None,
    equality: bool = False,
    tol: float = 1e-3,
    max_iter: int | None = None,
) -> Solution:
    """Solve the dual problem by Newton steps of the free variables.

    The problem is that of `solve_smo`. The free variables are those between their bounds and
    those at a bound that pull away from it; where there is a kink, its side counts as a bound.
    Their block K_BB is factored by Cholesky; variables that come and go change a bordered system
    (`BorderedFactor`) until they are an eighth of the block. Before a block is factored anew,
    projected gradient steps, which are cheaper, bring the free variables nearer to those of the
    solution (More, Toraldo, SIAM J. Optim. 1, 1991). A step that would leave the bounds
    ends at the first of them, or is projected and its length found by the quadratic (Bertsekas,
    SIAM J. Control Optim. 20, 1982), whichever falls deeper.

    The diagonal of the block has about the rounding of K added, so that steps are those of the
    proximal point method: the solution is that of K.

    Parameters
    ----------
    K, dual, beta, gradient, equality, tol
        As for `solve_smo`.
    max_iter : int, optional
        Most Newton steps, 1,000 by default.

    Returns
    -------
    Solution
        With `converged` False where rounding, a block without a factor, the number of steps, or
        operations for two Cholesky factors of the whole matrix ended it early; feasible.

    Raises
    ------
    InputError
        For shapes, bounds or values that do not fit.
    """
    with prepared(K, dual) as (K, dual):
        problem = QuadraticProgram.of(len(K), dual, beta, gradient, equality)
        work = _Newton(K, problem, tol)
        return work.solve(_MOST_STEPS if max_iter is None else max_iter)


class _Newton:
    """The state of the method: a point, its gradient, and the factor of its block.

    Sums are kept by the method of multipliers: to the objective is added, for each,
    lambda r + rho r^2 / 2 with r by how much the sum is off, so that the problem of each lambda
    has bounds only; then lambda becomes lambda + rho r (Bertsekas, 1982).
    """

    def __init__(self, K: NDArray[np.floating], problem: QuadraticProgram, tol: float) -> None:
        self.K, self.problem, self.dual, self.tol = K, problem, problem.dual, tol
        self.beta = problem.start.copy()
        product = kernel_times(K, self.beta)
        self.linear = problem.linear(product)
        self.F = self.linear + product
        self.factor: BorderedFactor | None = None
        self.work, self.most_work = 0.0, _MOST_WORK * (len(K) ** 3 / 3.0 + _SOON)
        self.approached = False
        self.ended = 0
        self.sums = sums_of(self.dual, problem.equality)
        self.totals = [float(self.beta[mine].sum()) for mine in self.sums]
        self.lambdas = multipliers(self.F, self.beta, self.dual)[: len(self.sums)]
        self.rho = _PENALTY * (float(K.diagonal().max(initial=0.0)) or 1.0)

    def solve(self, limit: int) -> Solution:
        best, stalls, steps = np.inf, 0, 0
        while True:
            slope = self.F + self._pull()
            face = Face.of(self.dual, self.beta, slope)
            violation = violation_box(slope, self.beta, self.dual)
            stalls = stalls + 1 if violation >= best else 0
            best = min(best, violation)
            over = steps >= limit or stalls >= _STALLS or self.work > self.most_work
            if over or violation <= _INNER * self.tol:
                end = self._solution(steps)
                if over or end.converged:
                    return end
                self._renew()
                best = np.inf
                steps += 1
                continue
            if self._approach(face.free(self.beta)):
                continue
            try:
                moved = self._move(face, face.free(self.beta)) or self._move(
                    face, face.free_but_one(self.beta)
                )
            except linalg.LinAlgError:
                moved = False
            if not moved:
                return self._solution(steps)
            steps += 1

    def _approach(self, free: Flags) -> bool:
        """Take projected gradient steps where they find free variables for less; tell whether.

        That is before a block is factored, and where bounds end one Newton step after the other.
        """
        n, m = len(free), int(np.count_nonzero(free))
        most = min(_GRADIENT_STEPS, int(_SHARE * m**3 / (6.0 * n**2)))
        due = self.ended >= _ENDED or not (self.approached or self._is_near(free))
        if not due or most < _FEWEST_GRADIENT_STEPS:
            return False
        self.approached, self.ended = True, 0
        self.work += 2.0 * most * n**2
        beta = restored(self.beta, self.dual, self.sums, self.totals)
        how: dict[str, Any] = {"equality": self.problem.equality, "tol": self.tol}
        found = solve_projected_gradient(self.K, self.dual, beta=beta, max_iter=most, **how)
        self.beta, self.F = found.beta, found.gradient
        self.lambdas = multipliers(self.F, self.beta, self.dual)[: len(self.sums)]
        return True

    def _is_near(self, free: Flags) -> bool:
        """Whether the factor can be brought up to date for less than a new one costs."""
        if self.factor is None:
            return False
        changed = np.flatnonzero(free != (self.factor.place >= 0))
        return len(self.factor.missing(changed)) <= self.factor.room

    def _pull(self) -> Vector | float:
        """Return what the sums add to the gradient of each variable."""
        pull = np.zeros(len(self.beta))
        for mine, total, lam in zip(self.sums, self.totals, self.lambdas, strict=True):
            pull[mine] = lam + self.rho * (float(self.beta[mine].sum()) - total)
        return pull

    def _renew(self) -> None:
        """Bring the multipliers, and the gradient, up to date."""
        for k, (mine, total) in enumerate(zip(self.sums, self.totals, strict=True)):
            self.lambdas[k] += self.rho * (float(self.beta[mine].sum()) - total)
        self.F = self.linear + kernel_times(self.K, self.beta)

    def _times(self, step: Vector) -> Vector:
        """Return the product of a step with the matrix of the penalised problem."""
        product = kernel_times(self.K, step)
        for mine in self.sums:
            product[mine] += self.rho * float(step[mine].sum())
        return product

    def _direction(self, face: Face, free: Flags) -> Vector:
        """Return Newton's step of what is free; what it would take out of its bounds is held."""
        free = free.copy()
        while True:
            d = self._factor_for(free).step(face.slope, free)
            out = (self.beta <= face.lower) & (d < 0.0) | (self.beta >= face.upper) & (d > 0.0)
            if not out.any():
                return d
            free &= ~out

    def _factor_for(self, free: Flags) -> BorderedFactor:
        """Return the factor, a new one where bringing it up to date would cost more."""
        if self.factor is not None and self._is_near(free):
            return self.factor
        block = np.flatnonzero(free)
        room = max(_FEWEST_CHANGES, int(_CHANGES * len(block)))
        self.factor = None  # its memory is the next one's
        self.work += len(block) ** 3 / 3.0
        self.approached = False
        self.factor = BorderedFactor(self.K, block, self.sums, self.rho, room)
        return self.factor

    def _move(self, face: Face, free: Flags) -> bool:
        """Take a step; False if none makes the objective smaller."""
        d = self._direction(face, free)
        delta = self.factor.delta if self.factor else 0.0
        length = face.room(self.beta, d)
        slope = float(face.slope @ d)
        if slope >= 0.0:
            return False
        if length >= 1.0:
            self.ended = 0
            self._add(face, d, 1.0)
            return True
        self.ended += 1
        curvature = -slope - delta * float(d @ d)
        gain = length * slope + 0.5 * length**2 * curvature
        s = np.clip(self.beta + d, face.lower, face.upper) - self.beta
        along, bend = float(face.slope @ s), float(s @ self._times(s))
        if along < 0.0:
            t = 1.0 if bend <= -along else -along / bend
            if t * along + 0.5 * t**2 * bend <= gain:
                self._add(face, s, t)
                return True
        if not gain < 0.0:
            return False
        self._add(face, d, length)
        return True

    def _add(self, face: Face, step: Vector, length: float) -> None:
        end = face.clip(self.beta + length * step)
        self.F += kernel_times(self.K, end - self.beta)
        self.work += 4.0 * len(end) ** 2  # of this and of the triangular solves
        self.beta = end

    def _solution(self, steps: int) -> Solution:
        """Return the point with its sums restored, by the free variables as far as they can."""
        beta = restored(self.beta, self.dual, self.sums, self.totals)
        F = self.linear + kernel_times(self.K, beta)
        return self.problem.solution(beta, F, self.linear, steps, self.tol)


@dataclass(frozen=True, slots=True)
class Face:
    """The smooth problem on one side of every kink: its bounds, and the slopes."""

    lower: Vector
    upper: Vector
    slope: Vector
    """Of the objective with the multipliers of the sums, shape (n,)."""

    @classmethod
    def of(cls, dual: Dual, beta: Vector, F: Vector) -> Face:
        """Return the face of a point; a variable at its kink is on the side that it is drawn to.

        Parameters
        ----------
        dual : Dual
        beta, F : ndarray, shape (n,), float64
            The point, and its centred gradient.
        """
        if dual.epsilon is None:
            return cls(dual.lower, dual.upper, F)
        positive = (beta > 0.0) | ((beta == 0.0) & (F <= 0.0))
        kinked = dual.epsilon > 0.0
        lower = np.where(kinked & positive, 0.0, dual.lower)
        upper = np.where(kinked & ~positive, 0.0, dual.upper)
        return cls(lower, upper, F + np.where(positive, dual.epsilon, -dual.epsilon))

    def free(self, beta: Vector) -> Flags:
        """Return which variables are between their bounds or are drawn away from one."""
        rises = (beta < self.upper) & (self.slope < 0.0)
        falls = (beta > self.lower) & (self.slope > 0.0)
        return rises | falls | ((beta > self.lower) & (beta < self.upper))

    def free_but_one(self, beta: Vector) -> Flags:
        """Return which variables are between their bounds, and the one that violates most.

        Newton's step at the minimum of the others never takes that one out of its bounds.
        """
        between = (beta > self.lower) & (beta < self.upper)
        drawn = np.where(self.free(beta) & ~between, np.abs(self.slope), 0.0)
        if drawn.any():
            between[np.argmax(drawn)] = True
        return between

    def room(self, beta: Vector, step: Vector) -> float:
        """Return the multiple of a step at which the first variable meets its bound."""
        rising, falling = step > 0.0, step < 0.0
        up = (self.upper[rising] - beta[rising]) / step[rising]
        down = (self.lower[falling] - beta[falling]) / step[falling]
        return float(min(up.min(initial=np.inf), down.min(initial=np.inf)))

    def clip(self, beta: Vector) -> Vector:
        """Return a point with what is within rounding of a bound put onto it."""
        width = self.upper - self.lower
        near = np.where(width < UNBOUNDED, 1e-14 * width, 0.0)
        beta = np.where(beta <= self.lower + near, self.lower, beta)
        return np.where(beta >= self.upper - near, self.upper, beta)
