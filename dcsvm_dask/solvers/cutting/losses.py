"""The loss of each row as a convex function of its output o = w'x, from the task's dual problem."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.errors import InputError
from dcsvm_dask.solvers.linear.problem import SignedProblem
from dcsvm_dask.tasks.dual import UNBOUNDED

Vector = NDArray[np.float64]


class Losses:
    """The losses of rows at their outputs, C_i included, and their derivatives.

    With g = o + p a loss is the largest -b g - epsilon |b| - D b^2 / 2 over lower <= b <= upper. It
    is zero where |g| <= epsilon. Where g < -epsilon it rises at the rate `upper`, where
    g > epsilon at the rate -`lower`; a row with a ridge has the square of its excess over 2 D.

    Parameters
    ----------
    problem : SignedProblem
        The problem of the rows.
    rows : slice, optional
        Which rows; all by default.
    """

    def __init__(self, problem: SignedProblem, rows: slice = slice(None)) -> None:
        dual = problem.dual[rows]
        self.p, self.lower, self.upper = dual.p, dual.lower, dual.upper
        self.epsilon, self.ridge = problem.epsilon[rows], problem.ridge[rows]
        squared = self.ridge > 0.0
        ends = np.abs(np.concatenate([self.lower[squared], self.upper[squared]]))
        if ((ends < UNBOUNDED) & (ends > 0.0)).any():
            raise InputError("rows of a squared loss have bounds: give no upper bound.")

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.p)

    def values(self, outputs: Vector) -> Vector:
        """Return the loss of each row, shape (n,)."""
        return self._both(outputs)[0]

    def cut(self, outputs: Vector) -> tuple[Vector, float]:
        """Return a subgradient of the risk by the outputs, shape (n,), and the plane's offset.

        The risk, the sum of the losses, is at least subgradient'o + offset at any outputs o and
        equal to it at these. At a kink it is the end that is farther from zero, as in (5).
        """
        values, slopes = self._both(outputs)
        return slopes, float((values - slopes * outputs).sum())

    def _both(self, outputs: Vector) -> tuple[Vector, Vector]:
        g = outputs + self.p
        excess = np.abs(g) - self.epsilon
        rate = np.where(g < 0.0, -self.upper, -self.lower)
        squared = self.ridge > 0.0
        if not squared.any():
            slopes = np.where(excess >= 0.0, rate, 0.0)
            return np.abs(slopes) * np.maximum(excess, 0.0), slopes
        far = np.maximum(excess, 0.0)
        steep = np.divide(far, self.ridge, out=np.zeros(len(g)), where=squared)
        # A bound of zero has no loss on its side; the other one has no bound.
        steep = np.where(rate == 0.0, 0.0, np.copysign(steep, g))
        slopes = np.where(squared, steep, np.where(excess >= 0.0, rate, 0.0))
        return np.where(squared, 0.5, 1.0) * np.abs(slopes) * far, slopes
