"""A dual problem with the point that a solver begins at."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dcsvm_dask.errors import InputError
from dcsvm_dask.solvers import optimality
from dcsvm_dask.solvers.solution import Solution
from dcsvm_dask.tasks import Dual
from dcsvm_dask.tasks.vectors import vector

Vector = NDArray[np.float64]
# How far outside of its bounds a start may lie, relative to their distance: rounding to float32.
_ROUNDING = 1e-6
_ALL = slice(None)


@dataclass(slots=True)
class QuadraticProgram:
    """min 0.5 b'Kb + p'b + epsilon'|b| over lower <= b <= upper, optionally with sum(b) constant.

    Attributes
    ----------
    dual : Dual
        The linear term is used where `gradient` is None.
    start : ndarray, shape (n,), float64
        The beta to start from.
    gradient : ndarray, shape (n,), float64, or None
        K start + p where the caller knows it.
    equality : bool
        Whether sum(b) stays what it is at the start.
    """

    dual: Dual
    start: Vector
    gradient: Vector | None
    equality: bool

    @classmethod
    def of(
        cls,
        n: int,
        dual: Dual,
        beta: ArrayLike | None,
        gradient: ArrayLike | None,
        equality: bool,
    ) -> QuadraticProgram:
        """Check what a caller gave to a solver.

        Parameters
        ----------
        n : int
            Number of rows.
        dual : Dual
        beta, gradient : array, shape (n,), optional
            Where to start, 0 by default, and the gradient there.
        equality : bool

        Raises
        ------
        InputError
            For shapes, bounds or values that do not fit.
        """
        p, lower, upper = (vector(getattr(dual, name), name, n) for name in ("p", "lower", "upper"))
        epsilon = None if dual.epsilon is None else vector(dual.epsilon, "epsilon", n)
        if epsilon is not None and (epsilon < 0.0).any():
            raise InputError("epsilon holds a negative value: give 0 or more.")
        ridge = None if dual.ridge is None else vector(dual.ridge, "ridge", n)
        if ridge is not None and (ridge < 0.0).any():
            raise InputError("ridge holds a negative value: give 0 or more.")
        if (lower > 0.0).any() or (upper < 0.0).any():
            raise InputError("bounds exclude 0: give lower <= 0 <= upper (C must not be negative).")
        start = np.zeros(n) if beta is None else vector(beta, "beta", n)
        slack = _ROUNDING * (upper - lower)
        if ((start < lower - slack) | (start > upper + slack)).any():
            raise InputError("beta lies outside of its bounds: give a start within them.")
        return cls(
            dual=replace(dual, p=p, lower=lower, upper=upper, epsilon=epsilon, ridge=ridge),
            start=np.clip(start, lower, upper),
            gradient=None if gradient is None else vector(gradient, "gradient", n),
            equality=equality,
        )

    def linear(self, product: Vector) -> Vector:
        """Return what the gradient is beside K beta: p, or what a given gradient holds besides.

        Parameters
        ----------
        product : ndarray, shape (n,), float64
            K times the start.
        """
        return self.dual.p if self.gradient is None else self.gradient - product

    def violation(
        self, beta: Vector, F: Vector, rows: NDArray[np.int64] | slice = _ALL
    ) -> tuple[float, float | Vector]:
        """Return the violation at beta, whose gradient is F, and the shift that centres F.

        Parameters
        ----------
        beta, F : ndarray, shape (n,), float64
        rows : ndarray of int64 or slice, optional
            The variables that are looked at, all by default.

        Returns
        -------
        violation : float
        shift : float or ndarray, shape (n,)
            (m + M) / 2 with the equality: the multiplier between its bounds; where there are
            several groups that of each variable's.
        """
        if self.equality and self.dual.group is not None:
            return self._of_groups(beta, F, rows)
        dual = self.dual
        if not (isinstance(rows, slice) and rows == _ALL):
            beta, F, dual = beta[rows], F[rows], dual[rows]
        rising, falling = dual.slopes(F, beta)
        down = float(falling.max(where=beta > dual.lower, initial=-np.inf))
        up = float((-rising).max(where=beta < dual.upper, initial=-np.inf))
        if not self.equality:
            return max(0.0, up, down), 0.0
        return max(0.0, up + down), 0.5 * (up - down) if up + down > -np.inf else 0.0

    def _of_groups(
        self, beta: Vector, F: Vector, rows: NDArray[np.int64] | slice
    ) -> tuple[float, Vector]:
        """Return the largest violation of a group, and the shift of each variable."""
        chosen = None
        if not (isinstance(rows, slice) and rows == _ALL):
            chosen = np.zeros(len(beta), dtype=np.bool_)
            chosen[rows] = True
        worst, shift = 0.0, np.zeros(len(beta))
        program = QuadraticProgram(replace(self.dual, group=None), self.start, None, True)
        for mine in self.dual.groups:
            some = mine if chosen is None else np.flatnonzero(chosen[mine]) + mine.start
            violation, shift[mine] = program.violation(beta, F, some)
            worst = max(worst, violation)
        return worst, shift

    def look(
        self, beta: Vector, F: Vector, rows: NDArray[np.int64] | slice = _ALL
    ) -> tuple[float, Vector, Dual]:
        """Return the violation of some variables, their centred gradient, and their problem.

        Where the sums of both signs are kept, gradient and problem are those with a weight of
        abs(beta) in their place (`Dual.eased`), in which all variables have one multiplier.

        Parameters
        ----------
        beta, F, rows
            As for `violation`.
        """
        if not self.equality or self.dual.spare is None:
            violation, shift = self.violation(beta, F, rows)
            shift = shift[rows] if isinstance(shift, np.ndarray) else shift
            return violation, F[rows] + shift, self.dual[rows]
        beta, F, dual = beta[rows], F[rows], self.dual[rows]
        F, near = optimality.eased(F, dual, optimality.middle_of_size(F, beta, dual))
        violation, centre = QuadraticProgram(near, beta, None, True).violation(beta, F)
        return violation, F + centre, near

    def solution(
        self,
        beta: Vector,
        F: Vector,
        linear: Vector,
        n_iter: int,
        tol: float,
        violation: float | None = None,
    ) -> Solution:
        """Return the point beta as a solution.

        Parameters
        ----------
        beta, F : ndarray, shape (n,), float64
            The point and its gradient.
        linear : ndarray, shape (n,), float64
            F - K beta.
        n_iter : int
        tol : float
        violation : float, optional
            What `violation` returns there, where it is known.
        """
        if violation is None or self.dual.spare is not None:
            violation = self.look(beta, F)[0]
        return Solution(
            beta=beta,
            gradient=F,
            objective=optimality.objective(beta, F, replace(self.dual, p=linear)),
            violation=violation,
            n_iter=n_iter,
            converged=violation <= tol,
            bias=optimality.bias(F, beta, self.dual) if self.equality else 0.0,
        )
