"""A projected gradient method for a working set whose kernel matrix is in memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dcsvm_dask.solvers.inner.projection import project, sums_of
from dcsvm_dask.solvers.matrix import prepared
from dcsvm_dask.solvers.program import QuadraticProgram
from dcsvm_dask.solvers.smo.columns import kernel_times
from dcsvm_dask.solvers.solution import Solution
from dcsvm_dask.tasks import Dual

Vector = NDArray[np.float64]

_MOST_STEPS = 20_000
# Steps without a better value after which the reference of the line search falls.
_PATIENCE = 2
# Step lengths, relative to the inverse of the curvature.
_SHORTEST, _LONGEST = 1e-10, 1e10
# The gradient is summed from scratch after so many steps.
_RENEW = 500


def solve_projected_gradient(
    K: NDArray[np.floating],
    dual: Dual,
    *,
    beta: ArrayLike | None = None,
    gradient: ArrayLike | None = None,
    equality: bool = False,
    tol: float = 1e-3,
    max_iter: int | None = None,
) -> Solution:
    """Solve the dual problem by projected gradient steps of Barzilai-Borwein's length.

    The problem is that of `solve_smo`. Dai, Fletcher, Math. Program. 106, 2006, algorithm A:
    d = P(b - a g) - b with a from the last two steps, taken whole where the objective falls below
    a reference, else as far as the quadratic says. P projects onto the bounds and sums
    (`project`). A variable whose bounds straddle a kink is split in two of one row.

    Parameters
    ----------
    K, dual, beta, gradient, equality, tol
        As for `solve_smo`.
    max_iter : int, optional
        Most steps, 20,000 by default: smooth kernels and a large C may need more.

    Returns
    -------
    Solution
        With `converged` False where the steps did not suffice; feasible, and the best point seen.

    Raises
    ------
    InputError
        For shapes, bounds or values that do not fit.
    """
    with prepared(K, dual) as (K, dual):
        problem = QuadraticProgram.of(len(K), dual, beta, gradient, equality)
        return _solve(K, problem, tol, _MOST_STEPS if max_iter is None else max_iter)


@dataclass(frozen=True, slots=True)
class _Parts:
    """The variables, of which those whose bounds straddle a kink are split in two.

    First come all variables, those that are split above zero; then their parts below it.
    """

    row: NDArray[np.int64]
    """The variable of each part."""
    lower: Vector
    upper: Vector
    tilt: Vector
    """The slope of the kink."""
    sums: list[NDArray[np.bool_]]
    """Which parts have a sum that is kept, for each sum."""
    totals: list[float]
    start: Vector

    @classmethod
    def of(cls, problem: QuadraticProgram) -> Self:
        """Return the parts of a problem's variables."""
        dual, start, n = problem.dual, problem.start, len(problem.dual)
        epsilon = np.zeros(n) if dual.epsilon is None else dual.epsilon
        split = np.flatnonzero((epsilon > 0.0) & (dual.lower < 0.0) & (dual.upper > 0.0))
        row = np.concatenate([np.arange(n), split])
        lower, upper = dual.lower.copy(), dual.upper
        lower[split] = 0.0
        side = np.where(lower >= 0.0, 1.0, np.where(upper <= 0.0, -1.0, 0.0))
        sums = sums_of(dual, problem.equality)
        v = np.concatenate([start, np.minimum(start[split], 0.0)])
        v[split] = np.maximum(start[split], 0.0)
        return cls(
            row=row,
            lower=np.concatenate([lower, dual.lower[split]]),
            upper=np.concatenate([upper, np.zeros(len(split))]),
            tilt=np.concatenate([side * epsilon, -epsilon[split]]),
            sums=[mine[row] for mine in sums],
            totals=[float(start[mine].sum()) for mine in sums],
            start=v,
        )

    def whole(self, parts: Vector, n: int) -> Vector:
        """Return the n variables, each the sum of its parts."""
        return np.bincount(self.row, parts, minlength=n).astype(np.float64)

    def slope(self, F: Vector) -> Vector:
        """Return the slope of the objective in each part, given the gradient without kinks."""
        return F[self.row] + self.tilt

    def project(self, v: Vector) -> Vector:
        """Return the nearest point within the bounds and sums."""
        return project(v, self.lower, self.upper, self.sums, self.totals)

    def without_sums(self, slope: Vector, d: Vector) -> Vector:
        """Return the slope without its mean over the parts of each sum that a step moves.

        Sums of the step are zero but for rounding, which the bias would carry into the product.
        """
        for mine in self.sums:
            moving = mine & (d != 0.0)
            slope[mine] -= slope[moving].mean() if moving.any() else 0.0
        return slope


def _solve(K: NDArray[np.floating], problem: QuadraticProgram, tol: float, limit: int) -> Solution:
    n, start = len(K), problem.start
    product = kernel_times(K, start)
    linear = problem.linear(product)
    parts = _Parts.of(problem)
    v, F = parts.start, linear + product
    value = best_value = float(0.5 * start @ (F + linear) + parts.tilt @ v)
    candidate, reference, waited = value, np.inf, 0
    best = problem.solution(start, F, linear, 0, tol)
    first = float(np.abs(parts.project(v - parts.slope(F)) - v).max(initial=0.0))
    length = 1.0 / first if first > 0.0 else 1.0
    past: list[tuple[float, float]] = []
    steps = 0
    while steps < limit and not best.converged:
        slope = parts.slope(F)
        d = parts.project(v - length * slope) - v
        change = parts.whole(d, n)
        moved = kernel_times(K, change)
        along, bend = float(parts.without_sums(slope, d) @ d), float(change @ moved)
        if along >= 0.0:
            break
        t = 1.0
        if value + along + 0.5 * bend >= reference and bend > 0.0:
            t = min(1.0, -along / bend)
        v = v + t * d
        F = F + t * moved
        value += t * along + 0.5 * t**2 * bend
        steps += 1
        if steps % _RENEW == 0:
            F = linear + kernel_times(K, parts.whole(v, n))
        past = [*past[-1:], (float(d @ d), bend)]
        length = _next_length(past)
        if value < best_value:
            best_value = candidate = value
            waited = 0
            b = problem.dual.clip(parts.whole(v, n))
            violation = problem.violation(b, F)[0]
            if violation <= tol:
                best = problem.solution(b, linear + kernel_times(K, b), linear, steps, tol)
        else:
            candidate, waited = max(candidate, value), waited + 1
            if waited == _PATIENCE:
                reference, candidate, waited = candidate, value, 0
    if not best.converged:
        b = problem.dual.clip(parts.whole(v, n))
        last = problem.solution(b, linear + kernel_times(K, b), linear, steps, tol)
        best = last if last.objective < best.objective else best
    best.n_iter = steps
    return best


def _next_length(past: list[tuple[float, float]]) -> float:
    """Return Barzilai-Borwein's length, from the squares and curvatures of the last steps."""
    lengths, bends = (sum(some) for some in zip(*past, strict=True))
    length = lengths / bends if bends > 0.0 else _LONGEST
    return min(max(length, _SHORTEST), _LONGEST)
