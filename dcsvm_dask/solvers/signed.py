"""The dual problem in signed variables beta_i = y_i alpha_i, in which the labels vanish."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dcsvm_dask.errors import InputError
from dcsvm_dask.solvers import optimality
from dcsvm_dask.solvers.solution import Solution

Vector = NDArray[np.float64]
# How far outside of its bounds a start may lie, relative to the bound: rounding to float32.
_ROUNDING = 1e-6
_ALL = slice(None)


def vector(value: ArrayLike, name: str, n: int) -> Vector:
    """Return one finite float64 value for each row, from one for all or one for each."""
    array = np.asarray(value, dtype=np.float64)
    if array.shape not in {(), (n,)}:
        raise InputError(
            f"{name} has the shape {array.shape}: give one number or one for each of the {n} rows."
        )
    if not np.isfinite(array).all():
        raise InputError(f"{name} holds a value that is not finite: give finite numbers.")
    return np.array(np.broadcast_to(array, (n,)))


@dataclass(slots=True)
class SignedProblem:
    """min 0.5 b'Kb + q'b over lower <= b <= upper, optionally with sum(b) constant."""

    labels: Vector
    bound: Vector
    lower: Vector
    upper: Vector
    start: Vector
    """The beta to start from."""
    gradient: Vector | None
    """K start + q where the caller knows it."""
    linear: Vector
    """q, used where `gradient` is None."""
    equality: bool

    @classmethod
    def of(
        cls,
        n: int,
        y: ArrayLike,
        C: ArrayLike,
        p: ArrayLike | None,
        alpha: ArrayLike | None,
        gradient: ArrayLike | None,
        equality: bool,
    ) -> SignedProblem:
        """Check what a caller gave to a solver and sign it."""
        labels = vector(y, "y", n)
        if not (np.abs(labels) == 1.0).all():
            raise InputError("y holds a label other than -1 and +1: code the two classes so.")
        bound = vector(C, "C", n)
        if (bound < 0.0).any():
            raise InputError("C holds a negative value: upper bounds are 0 or more.")
        start = np.zeros(n) if alpha is None else vector(alpha, "alpha", n)
        if ((start < -_ROUNDING * bound) | (start > bound + _ROUNDING * bound)).any():
            raise InputError("alpha lies outside of [0, C]: give a start within its bounds.")
        start = np.clip(start, 0.0, bound)
        return cls(
            labels=labels,
            bound=bound,
            lower=np.where(labels > 0, 0.0, -bound),
            upper=np.where(labels > 0, bound, 0.0),
            start=labels * start,
            gradient=None if gradient is None else labels * vector(gradient, "gradient", n),
            linear=labels * vector(-1.0 if p is None else p, "p", n),
            equality=equality,
        )

    def violation(
        self, beta: Vector, F: Vector, rows: NDArray[np.int64] | slice = _ALL
    ) -> tuple[float, float]:
        """Return the violation at beta, whose signed gradient is F, and the shift that centres F.

        Of some rows if they are given. The shift is (m + M) / 2 with the equality: the multiplier
        between its bounds.
        """
        F, beta = F[rows], beta[rows]
        falls, rises = beta > self.lower[rows], beta < self.upper[rows]
        down = float(np.max(F, where=falls, initial=-np.inf))
        up = float(np.max(-F, where=rises, initial=-np.inf))
        if not self.equality:
            return max(0.0, up, down), 0.0
        return max(0.0, up + down), 0.5 * (up - down) if up + down > -np.inf else 0.0

    def solution(
        self, beta: Vector, F: Vector, linear: Vector, n_iter: int, tol: float
    ) -> Solution:
        """Return the point beta with its signed gradient F in the caller's variables."""
        alpha, gradient = np.abs(beta), self.labels * F
        violation = self.violation(beta, F)[0]
        y = self.labels
        return Solution(
            alpha=alpha,
            gradient=gradient,
            objective=float(0.5 * np.dot(beta, F + linear)),
            violation=violation,
            n_iter=n_iter,
            converged=violation <= tol,
            bias=optimality.bias(gradient, alpha, y, self.bound) if self.equality else 0.0,
        )
