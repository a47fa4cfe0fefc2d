"""The dual problem that every task comes to, as arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Index = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Dual:
    """Linear term and bounds of min 0.5 b'Kb + p'b over lower <= b <= upper.

    The variables b (beta) are the coefficients of the decision function, signs included:
    f_i = sum_j K_ij b_j. The gradient is F = f + p; with a bias c it is F + c.

    Parameters
    ----------
    p : ndarray, shape (n,), float64
        Linear term.
    lower, upper : ndarray, shape (n,), float64
        Bounds, lower <= 0 <= upper.
    """

    p: Vector
    lower: Vector
    upper: Vector

    def __len__(self) -> int:
        """Return the number of variables."""
        return len(self.p)

    def __getitem__(self, rows: Index | NDArray[np.bool_] | slice) -> Dual:
        """Return the problem of some variables, the others at zero."""
        return Dual(self.p[rows], self.lower[rows], self.upper[rows])

    def with_bias(self, bias: float) -> Dual:
        """Return the problem whose bias is given: every decision value is that much higher."""
        return Dual(self.p + bias, self.lower, self.upper)

    def scaled(self, factor: float) -> Dual:
        """Return the problem with all bounds multiplied."""
        return Dual(self.p, self.lower * factor, self.upper * factor)

    def clip(self, beta: Vector) -> Vector:
        """Return variables brought within their bounds."""
        return np.clip(beta, self.lower, self.upper)

    def is_free(self, beta: Vector) -> NDArray[np.bool_]:
        """Return which variables lie strictly between their bounds."""
        return (beta > self.lower) & (beta < self.upper)

    def is_bounded(self, beta: Vector) -> NDArray[np.bool_]:
        """Return which support vectors lie at a bound."""
        at_bound = (beta >= self.upper) | (beta <= self.lower)
        return np.asarray(at_bound & (beta != 0.0))

    def can_balance(self) -> bool:
        """Return whether the sum of all variables can be zero at a point other than zero."""
        return bool((self.lower < 0.0).any() and (self.upper > 0.0).any())

    def losses(self, gradient: Vector) -> Vector:
        """Return the primal loss of each row at a gradient F, with the bias where there is one.

        It is the largest -b F within the bounds, the conjugate of the dual: the hinge loss times C
        for classes, the pinball loss for a quantile.
        """
        return np.where(gradient < 0.0, self.upper, -self.lower) * np.abs(gradient)
