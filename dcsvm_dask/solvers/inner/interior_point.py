"""An interior point method for a working set whose kernel matrix is in memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg

from dcsvm_dask.solvers.inner.projection import restored, sums_of
from dcsvm_dask.solvers.matrix import prepared
from dcsvm_dask.solvers.program import QuadraticProgram
from dcsvm_dask.solvers.smo.columns import kernel_times
from dcsvm_dask.solvers.solution import Solution
from dcsvm_dask.tasks import Dual
from dcsvm_dask.tasks.dual import UNBOUNDED

Vector = NDArray[np.float64]
Index = NDArray[np.int64]

_MOST_STEPS = 100
# How much of the way to the nearest bound a step takes.
_SHARE = 0.99
# Rows that are copied at once.
_AT_ONCE = 256
# Steps in a row that may bring the rounded point no nearer to the solution.
_STALLS = 10
# At the start variables are so far inside of their bounds, as a share of the distance between them,
# and multipliers of bounds this much above zero, as a share of the size of the linear term.
_INSIDE, _SLACK = 0.01, 0.1


def solve_interior_point(
    K: NDArray[np.floating],
    dual: Dual,
    *,
    beta: ArrayLike | None = None,
    gradient: ArrayLike | None = None,
    equality: bool = False,
    tol: float = 1e-3,
    max_iter: int | None = None,
    rows: Index | None = None,
) -> Solution:
    """Solve the dual problem by a primal-dual interior point method.

    The problem is that of `solve_smo`. After LOQO (Vanderbei, Princeton SOR-94-15, 1994; Smola's
    for SVMs): Newton's method on the perturbed conditions of optimality, with a predictor step
    for mu = 0 and a corrector with mu = (x'z + t'w) / m ((xi - 1) / (xi + 10))^2, where 1 / xi is
    the share of the predictor step that stays within the bounds. It begins at the solution of the
    system with a quadratic in the place of the bounds, moved inside of them: (46) and (47) of
    Brugger (WSI-2006-01, Tuebingen), but multipliers are at least a tenth of the size of the linear
    term. A variable whose bounds straddle a kink is split in two, x+ and x-, of one row: what is
    left after their elimination is one Cholesky factor of K + diag(theta) a step, and some tens of
    steps do, whatever the conditioning of K or the size of C. At the end variables are put onto the
    bounds that they tend to and the sums are restored.

    Parameters
    ----------
    K, dual, beta, gradient, equality, tol
        As for `solve_smo`. The start says only what the sums are, and what `gradient` is the
        gradient of.
    max_iter : int, optional
        Most steps, 100 by default. Each makes a factor of n^2 float64 values.
    rows : ndarray of int64, shape (n,), optional
        Where K is larger than the problem: its rows, ascending.

    Returns
    -------
    Solution
        Feasible; with `converged` False where rounding ended it early: what is left to do takes
        SMO few steps. The start, if that was better.

    Raises
    ------
    InputError
        For shapes, bounds or values that do not fit.
    """
    with prepared(K, dual) as (K, dual):
        how: dict[str, Any] = {"equality": equality, "tol": tol, "max_iter": max_iter}
        return solve_block(_Block(K, rows), dual, beta=beta, gradient=gradient, **how)


def solve_block(
    block: KernelBlock,
    dual: Dual,
    *,
    beta: ArrayLike | None = None,
    gradient: ArrayLike | None = None,
    equality: bool = False,
    tol: float = 1e-3,
    max_iter: int | None = None,
    callback: Callable[[int, float], object] | None = None,
) -> Solution:
    """Solve as `solve_interior_point`, with a kernel matrix of any form.

    Parameters
    ----------
    callback : callable, optional
        Called as callback(n_iter, violation) after each step, with the least violation of a
        feasible point so far; a true answer stops the solver.
    """
    problem = QuadraticProgram.of(len(block), dual, beta, gradient, equality)
    limit = _MOST_STEPS if max_iter is None else max_iter
    return _InteriorPoint(block, problem, tol).solve(limit, callback)


class KernelBlock(Protocol):
    """A kernel matrix of n rows, as the method needs it."""

    def __len__(self) -> int: ...

    @property
    def rounding(self) -> float:
        """By how much a value may be off, as a share of the largest."""
        ...

    def diagonal(self) -> NDArray[np.floating]:
        """Return the diagonal."""
        ...

    def times(self, weights: Vector) -> Vector:
        """Return the product with some weights, summed in float64."""
        ...

    def factored(self, diagonal: Vector) -> Callable[[Any], Any]:
        """Return what solves systems with the matrix after adding to its diagonal."""
        ...


@dataclass(frozen=True, slots=True)
class _Block:
    """Some rows and columns of a kernel matrix, without a copy of them."""

    K: NDArray[np.floating]
    rows: Index | None

    def __len__(self) -> int:
        return len(self.K) if self.rows is None else len(self.rows)

    def diagonal(self) -> NDArray[np.floating]:
        """Return the diagonal."""
        return self.K.diagonal() if self.rows is None else self.K.diagonal()[self.rows]

    def times(self, weights: Vector) -> Vector:
        """Return the product with some weights, summed in float64."""
        if self.rows is None:
            return kernel_times(self.K, weights)
        spread = np.zeros(len(self.K))
        spread[self.rows] = weights
        return kernel_times(self.K, spread)[self.rows]

    @property
    def rounding(self) -> float:
        return float(np.finfo(self.K.dtype).eps)

    def factored(self, diagonal: Vector) -> Callable[[Any], Any]:
        """Return what solves systems, by a Cholesky factor."""
        M = self._in_float64()
        M[np.diag_indices(len(M))] += diagonal
        L = linalg.cholesky(M, lower=True, overwrite_a=True, check_finite=False)
        return lambda right: np.asarray(linalg.cho_solve((L, True), right, check_finite=False))

    def _in_float64(self) -> Vector:
        """Return a copy for LAPACK, some rows at a time."""
        M = np.empty((len(self), len(self)))
        rows = np.arange(len(self)) if self.rows is None else self.rows
        for first in range(0, len(self), _AT_ONCE):
            some = rows[first : first + _AT_ONCE]
            M[first : first + len(some)] = (
                self.K[some] if self.rows is None else self.K[some][:, rows]
            )
        return M.T  # it is symmetric, and now in Fortran's order


class _InteriorPoint:
    """The parts of the variables: 0 <= x <= u, where b_r = base_r + sum of s x over its parts."""

    def __init__(self, K: KernelBlock, problem: QuadraticProgram, tol: float) -> None:
        self.K, self.problem, self.tol, dual = K, problem, tol, problem.dual
        n = len(K)
        self.at_start = K.times(problem.start)
        self.linear = problem.linear(self.at_start)
        epsilon = np.zeros(n) if dual.epsilon is None else dual.epsilon
        kinked = (epsilon > 0.0) & (dual.lower < 0.0) & (dual.upper > 0.0)
        below, above = dual.lower > -UNBOUNDED, dual.upper < UNBOUNDED
        self.fixed = dual.lower == dual.upper
        one = ~kinked & ~self.fixed & below  # b = lower + x
        flipped = ~kinked & ~below & above  # b = upper - x
        side = np.where(dual.lower >= 0.0, 1.0, np.where(dual.upper <= 0.0, -1.0, 0.0))
        self.unbounded = ~kinked & ~below & ~above
        self.base = np.where(one | self.fixed, dual.lower, np.where(flipped, dual.upper, 0.0))
        rows = [np.flatnonzero(which) for which in (one, flipped, kinked, kinked)]
        self.row = np.concatenate(rows)
        self.is_split = bool(kinked.any())
        self.sign = np.repeat([1.0, -1.0, 1.0, -1.0], [len(some) for some in rows])
        width = dual.upper - dual.lower
        limits = (width[rows[0]], width[rows[1]], dual.upper[rows[2]], -dual.lower[rows[3]])
        self.u = np.concatenate(limits)
        self.bounded = self.u < UNBOUNDED
        tilt = (side * epsilon)[rows[0]], (-side * epsilon)[rows[1]]
        self.tilt = np.concatenate([*tilt, epsilon[rows[2]], epsilon[rows[3]]])
        self.sums = sums_of(dual, problem.equality)
        self.E = np.array(self.sums, dtype=np.float64).reshape(len(self.sums), n).T
        self.totals = self.E.T @ problem.start
        self.spread = float(K.diagonal().max(initial=0.0)) or 1.0
        self.delta = self.spread * K.rounding * float(np.sqrt(n))

    def solve(self, limit: int, callback: Callable[[int, float], object] | None = None) -> Solution:
        size = max(1.0, float(np.abs(self.linear).max(initial=0.0)))
        best = self.problem.solution(
            self.problem.start,
            self.linear + self.at_start,
            self.linear,
            0,
            self.tol,
        )
        if best.converged or not limit or not (len(self.u) or self.unbounded.any()):
            return best
        try:
            x, t, z, w, b, nu = self._begin(size)
        except linalg.LinAlgError:
            return best
        F = self.linear + self.K.times(b)
        stalls = steps = 0
        while steps < limit and stalls < _STALLS and not best.converged:
            try:
                step = self._step(x, t, z, w, b, F, nu)
            except linalg.LinAlgError:
                break
            state = (x, t, z, w, b, nu)
            x, t, z, w, b, nu = (a + change for a, change in zip(state, step, strict=True))
            F = self.linear + self.K.times(b)
            steps += 1
            if self._mean(x, t, z, w) <= self.tol * size:
                found = self._rounded(x, t, z, w, b, F, steps)
                stalls = 0 if found.violation < best.violation else stalls + 1
                if found.violation < best.violation or best.n_iter == 0:
                    best = found
            if callback is not None and callback(steps, best.violation):
                break
        best.n_iter = steps
        return best

    def _begin(self, size: float) -> tuple[Vector, ...]:
        """Return where x, t, z, w, b and the multipliers begin.

        x solves the problem with a quadratic in the place of the bounds, weighted by the largest
        kernel value, and is then moved inside of them.
        """
        b, nu = self._variables(np.zeros(len(self.u))), np.zeros(len(self.sums))
        b[self.unbounded] = 0.0
        F = self.linear + self.K.times(b)
        reduced = self._reduced(np.full(len(self.u), self.spread))
        x, free, nu = reduced(self._slope(F, nu), F[self.unbounded], self.totals - self.E.T @ b)
        limit = np.where(self.bounded, self.u, np.inf)
        inside = _INSIDE * np.where(self.bounded, self.u, size)
        x = np.clip(x, inside, limit - inside)
        t = np.where(self.bounded, limit - x, 1.0)
        b = self._variables(x)
        b[self.unbounded] = free[self.unbounded]
        slope = self._slope(self.linear + self.K.times(b), nu)
        least, most = np.maximum(inside, _SLACK * size), np.maximum(limit, size)
        z = np.minimum(np.maximum(slope, 0.0) + least, most)
        w = np.where(self.bounded, np.minimum(np.maximum(-slope, 0.0) + least, most), 0.0)
        return x, t, z, w, b, nu

    def _variables(self, x: Vector) -> Vector:
        added = np.bincount(self.row, self.sign * x, minlength=len(self.base))
        return np.asarray(self.base + added)

    def _slope(self, F: Vector, nu: Vector) -> Vector:
        return np.asarray(self.sign * (F + self.E @ nu)[self.row] + self.tilt)

    def _mean(self, x: Vector, t: Vector, z: Vector, w: Vector) -> float:
        """Return the mean of the products that are zero at the solution.

        It is 0 where nothing is bounded: then Newton's step solves the whole.
        """
        if not len(x):
            return 0.0
        return float((x @ z + t @ w) / (len(x) + int(self.bounded.sum())))

    def _step(
        self, x: Vector, t: Vector, z: Vector, w: Vector, b: Vector, F: Vector, nu: Vector
    ) -> tuple[Vector, ...]:
        """Return the step of x, t, z, w, b and the multipliers: predictor, then corrector."""
        reduced = self._reduced(z / x + w / t)
        residual = self._slope(F, nu) - z + w
        lacking = self.totals - self.E.T @ b
        pull = (F + self.E @ nu)[self.unbounded]

        def solved(of_z: Vector, of_w: Vector) -> tuple[Vector, ...]:
            """Return the step that makes the products x z and t w what is wanted."""
            rho = residual - (of_z / x - z) + (of_w / t - w)
            dx, db, dnu = reduced(rho, pull, lacking)
            dz = of_z / x - z - z / x * dx
            dw = np.where(self.bounded, of_w / t - w + w / t * dx, 0.0)
            return dx, dz, dw, db, dnu

        none = np.zeros(len(x))
        dx, dz, dw, _, _ = solved(none, none)
        reach = self._reach(x, t, z, w, dx, dz, dw)
        xi = max(1.0, 1.0 / reach)
        mu = self._mean(x, t, z, w) * ((xi - 1.0) / (xi + 10.0)) ** 2
        dx, dz, dw, db, dnu = solved(mu - dx * dz, np.where(self.bounded, mu + dx * dw, 0.0))
        length = min(1.0, _SHARE * self._reach(x, t, z, w, dx, dz, dw))
        return tuple(length * change for change in (dx, -dx, dz, dw, db, dnu))

    def _reduced(self, theta: Vector) -> Callable[[Vector, Vector, Vector], tuple[Vector, ...]]:
        """Return what solves the reduced system, after one factorisation of K + diag(Theta).

        Given rho, the slopes of unbounded variables and what the sums lack, it returns the dx, db
        and dnu for which theta dx + s (K db + E dnu) = -rho.
        """
        n = len(self.base)
        looseness = np.bincount(self.row, 1.0 / theta, minlength=n)
        Theta = np.divide(1.0, looseness, out=np.zeros(n), where=looseness > 0.0)
        Theta[self.fixed] = UNBOUNDED
        loosest = np.arange(len(self.row))
        if self.is_split:
            order = np.lexsort((theta, self.row))
            loosest = order[np.unique(self.row[order], return_index=True)[1]]
        solve = self.K.factored(Theta + self.delta)
        Y = solve(self.E) if self.sums else self.E

        def solved(rho: Vector, pull: Vector, lacking: Vector) -> tuple[Vector, ...]:
            q = Theta * np.bincount(self.row, self.sign * rho / theta, minlength=n)
            q[self.unbounded] = pull
            db = solve(-q)
            dnu = np.zeros(0)
            if self.sums:
                dnu = np.linalg.solve(self.E.T @ Y, self.E.T @ db - lacking)
                db = db - Y @ dnu
            v = -q - Theta * db
            dx = -(rho + self.sign * v[self.row]) / theta
            # The loosest part of a row takes what division by a theta near zero would lose.
            made = np.bincount(self.row, self.sign * dx, minlength=n)
            dx[loosest] += self.sign[loosest] * (db - made)[self.row[loosest]]
            return dx, db, dnu

        return solved

    def _reach(
        self, x: Vector, t: Vector, z: Vector, w: Vector, dx: Vector, dz: Vector, dw: Vector
    ) -> float:
        """Return the multiple of a step at which the first of x, t, z, w is zero."""
        some = self.bounded
        pairs = ((x, dx), (z, dz), (t[some], -dx[some]), (w[some], dw[some]))
        worst = max(float((-change / value).max(initial=0.0)) for value, change in pairs)
        return 1.0 / worst if worst > 0.0 else np.inf

    def _rounded(
        self, x: Vector, t: Vector, z: Vector, w: Vector, b: Vector, F: Vector, steps: int
    ) -> Solution:
        """Return the point with variables on the bounds that they tend to, the sums restored."""
        dual, K = self.problem.dual, self.K
        scale = np.where(self.bounded, self.u, np.maximum(1.0, x))
        down = x / scale < z
        up = self.bounded & (t / scale < w)
        x = np.where(down, 0.0, np.where(up, self.u, x))
        point = self._variables(x)
        point[self.unbounded] = b[self.unbounded]
        point = restored(dual.clip(point), dual, self.sums, self.totals)
        F = F + K.times(point - b)
        return self.problem.solution(point, F, self.linear, steps, self.tol)
