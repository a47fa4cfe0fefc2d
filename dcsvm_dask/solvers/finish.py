"""The last digits of a solution whose kernel matrix is in memory, by linear equations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dgetrf, dgetrs

from dcsvm_dask.solvers.optimality import bias, objective, violation
from dcsvm_dask.solvers.smo.columns import kernel_times
from dcsvm_dask.solvers.solution import Solution
from dcsvm_dask.tasks import Dual

Vector = NDArray[np.float64]

MOST_FREE = 48
"""Free variables above which their equations cost more than digits that nobody asked for are worth.
"""
# The first steps solve the equations and what rounding left of them; others follow where a variable
# meets its bound or has to leave it.
_STEPS = 12
# The violation at which there is nothing left, for a margin of 1.
_ENOUGH = 1e-15
# Pivots, or eigenvalues, so much smaller than the largest are rounding.
_DEPENDENT = 1e-13


class KernelMatrix(Protocol):
    """A kernel matrix, in float64, of which not all need be in memory."""

    def block(self, rows: NDArray[np.int64]) -> NDArray[np.floating]:
        """Return the values of some rows with each other, shape (m, m)."""
        ...

    def times(self, beta: Vector) -> Vector:
        """Return its product with beta, of which few values are not 0."""
        ...


@dataclass(frozen=True, slots=True)
class WholeMatrix:
    """A `KernelMatrix` that is in memory, shape (n, n)."""

    K: NDArray[np.floating]

    def block(self, rows: NDArray[np.int64]) -> NDArray[np.floating]:
        """Return the values of some rows with each other."""
        return self.K[np.ix_(rows, rows)]

    def times(self, beta: Vector) -> Vector:
        """Return its product with beta."""
        return kernel_times(self.K, beta)


def finished(
    K: NDArray[np.floating] | KernelMatrix, dual: Dual, found: Solution, *, equality: bool
) -> Solution:
    """Return a solution with the free variables exact to rounding, where they are few.

    Solvers end at the tolerance. The free variables solve linear equations, K b + p + bias = 0, as
    exactly as float64 allows. A step ends where a variable meets its bound, which it then keeps;
    of those that violate at their bounds the worst becomes free. Where that leads nowhere nearer in
    a few steps, the solution is what it was.

    Parameters
    ----------
    K : ndarray, shape (n, n), float64, or KernelMatrix
        Without the ridge.
    dual : Dual
    found : Solution
        Its gradient is that at its beta.
    equality : bool

    Returns
    -------
    Solution
        With at most the violation of `found`.
    """
    several = dual.spare is not None or dual.group is not None
    # A start that was within the tolerance stays what it was, to the bit.
    rounded = isinstance(K, np.ndarray) and K.dtype != np.float64
    if several or rounded or not found.converged or found.n_iter == 0:
        return found
    matrix = WholeMatrix(K) if isinstance(K, np.ndarray) else K
    # On which side of its kink a variable is free; 0: it is not free.
    side = np.where(dual.is_free(found.beta), np.where(found.beta < 0.0, -1.0, 1.0), 0.0)
    best, beta, gradient = found, found.beta.copy(), found.gradient
    free, solve = np.empty(0, np.int64), None
    for _ in range(_STEPS):
        if solve is None:
            free = np.flatnonzero(side)
            if not 0 < len(free) <= MOST_FREE:
                break
            solve = _solver(matrix.block(free), dual, free, equality)
        slope = gradient[free] + (0.0 if dual.epsilon is None else side[free] * dual.epsilon[free])
        step = solve(slope)
        if not np.isfinite(step).all():
            break
        moved, blocked = _within(beta[free], step, side[free], dual[free])
        beta[free] = moved
        gradient = dual.gradient(matrix.times(beta), beta)
        if blocked.any():
            side[free[blocked]] = 0.0
            solve = None
            continue
        off = violation(gradient, beta, dual, equality=equality)
        shift = bias(gradient, beta, dual) if equality else 0.0
        nearer = off < best.violation
        if nearer:
            value = objective(beta, gradient, dual)
            best = replace(
                best,
                beta=beta.copy(),
                gradient=gradient,
                violation=off,
                objective=value,
                bias=shift,
            )
        if off <= _ENOUGH * dual.unit:
            break
        worst, sign = _leaves_its_bound(gradient + shift, beta, side, dual, off)
        if worst is not None:
            side[worst], solve = sign, None
        elif not nearer:
            break
    return best


def _solver(
    K: NDArray[np.floating], dual: Dual, free: NDArray[np.int64], equality: bool
) -> Callable[[Vector], Vector]:
    """Return what takes the slopes of free variables and returns the step that makes them equal.

    Where variables depend on each other, as of a linear kernel with more of them than features, it
    is the shortest such step.
    """
    m = len(free)
    system = np.zeros((m + equality, m + equality))
    system[:m, :m] = K
    if dual.ridge is not None:
        system[range(m), range(m)] += dual.ridge[free]
    # Beside huge kernel values those of the sum would pass for rounding.
    size = float(np.abs(system[:m, :m]).max()) or 1.0
    system[:m, :m] /= size
    if equality:
        system[:m, m] = system[m, :m] = 1.0
    factors, order, _ = dgetrf(system)  # without scipy's warnings, which threads share
    pivots = np.abs(factors.diagonal())
    inverse: Vector | None = None
    if not pivots.min() > _DEPENDENT * pivots.max():
        inverse = np.asarray(np.linalg.pinv(system, rcond=_DEPENDENT, hermitian=True), np.float64)

    def solve(slope: Vector) -> Vector:
        if equality:  # what all share is the bias: beside tiny kernel values it would be huge
            slope = slope - slope.mean()
        right = np.zeros(m + equality)
        right[:m] = -slope / size
        if inverse is not None:
            return np.asarray((inverse @ right)[:m])
        return np.asarray(dgetrs(factors, order, right)[0][:m])

    return solve


def _within(
    beta: Vector, step: Vector, side: Vector, dual: Dual
) -> tuple[Vector, NDArray[np.bool_]]:
    """Return variables after as much of a step as their bounds allow, and which have met one."""
    lower, upper = dual.lower, dual.upper
    if dual.epsilon is not None:  # the equations are others beyond the kink
        kinks = dual.epsilon > 0.0
        lower = np.where(kinks & (side > 0.0), 0.0, lower)
        upper = np.where(kinks & (side < 0.0), 0.0, upper)
    bound = np.where(step < 0.0, lower, upper)
    room = np.full(len(beta), np.inf)
    with np.errstate(over="ignore"):  # of a huge bound there is room without end
        np.divide(bound - beta, step, out=room, where=step != 0.0)
    part = min(1.0, float(room.min()))
    blocked = room <= part if part < 1.0 else np.zeros(len(beta), dtype=np.bool_)
    return np.where(blocked, bound, np.clip(beta + part * step, lower, upper)), blocked


def _leaves_its_bound(
    gradient: Vector, beta: Vector, side: Vector, dual: Dual, off: float
) -> tuple[int | None, float]:
    """Return the variable that violates most of those that are not free, and where it goes.

    None where the violation is that of free ones.
    """
    up, down = dual.slopes(gradient, beta)
    rising = np.where((side == 0.0) & (beta < dual.upper), -up, 0.0)
    falling = np.where((side == 0.0) & (beta > dual.lower), down, 0.0)
    reach = np.maximum(rising, falling)
    worst = int(np.argmax(reach))
    if reach[worst] < 0.25 * off:
        return None, 0.0
    kink = dual.epsilon is not None and beta[worst] == 0.0
    if kink:
        return worst, 1.0 if rising[worst] > falling[worst] else -1.0
    return worst, -1.0 if dual.lower[worst] < 0.0 and beta[worst] <= 0.0 else 1.0
