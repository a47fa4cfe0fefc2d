"""The dual problem that every task comes to, as arrays."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Index = NDArray[np.int64]

UNBOUNDED = 1e30
"""A bound that no variable reaches, for squared losses."""
EXACT_SIZE = 1e-9
"""Share of a sum of sizes by which it may be missed: rounding."""
N_GROUPS = 2
"""Sums of a problem that has several."""


@dataclass(frozen=True, slots=True)
class Dual:
    """The dual problem min 0.5 b'(K + D)b + p'b + sum_i epsilon_i |b_i| over lower <= b <= upper.

    The variables b (beta) are the coefficients of the decision function, signs included:
    f_i = sum_j K_ij b_j. The gradient F = f + D b + p is that of the smooth part; with a bias c it
    is F + c. Where epsilon_i > 0 the objective has a kink at b_i = 0, with a slope for each side.
    D is diagonal, and zero but for squared losses.

    Parameters
    ----------
    p : ndarray, shape (n,), float64
        Linear term.
    lower, upper : ndarray, shape (n,), float64
        Bounds, lower <= 0 <= upper.
    epsilon : ndarray, shape (n,), float64, or None
        Weights of abs(b_i), 0 or more: half the width of the insensitive tube of epsilon-SVR.
        None: all are zero.
    group : ndarray, shape (n,), int8, or None
        With a bias: which sum each variable is part of, 0 or 1, ascending. The sum of the variables
        of each group is kept, and each has a bias of its own, as nu-SVC and nu-SVR have it. None:
        there is one sum.
    ridge : ndarray, shape (n,), float64, or None
        The diagonal of D, above 0: 1 / (2 C_i) for the loss C_i xi^2, whose variables have no
        bound away from zero. None: it is zero.
    unit : float, default 1.0
        The size of gradients, of which solvers take shares: the margin of classes, about the spread
        of real targets.
    spare : float or None
        With a bias: the sums of the positive and of the negative variables are each kept, as nu-SVC
        and nu-SVR have it, for variables of either sign in one place; so much may the size of both
        together still grow. None: only the sum of all variables is kept.
    """

    p: Vector
    lower: Vector
    upper: Vector
    epsilon: Vector | None = None
    group: NDArray[np.int8] | None = None
    ridge: Vector | None = None
    unit: float = 1.0
    spare: float | None = None

    def __len__(self) -> int:
        """Return the number of variables."""
        return len(self.p)

    def __getitem__(self, rows: Index | NDArray[np.bool_] | slice) -> Dual:
        """Return the problem of some variables, the others at zero."""
        epsilon = None if self.epsilon is None else self.epsilon[rows]
        group = None if self.group is None else self.group[rows]
        ridge = None if self.ridge is None else self.ridge[rows]
        p, lower, upper = self.p[rows], self.lower[rows], self.upper[rows]
        return Dual(p, lower, upper, epsilon, group, ridge, self.unit, self.spare)

    def with_bias(self, bias: float) -> Dual:
        """Return the problem whose bias is given: every decision value is that much higher."""
        return replace(self, p=self.p + bias)

    def eased(self, epsilon: float) -> Dual:
        """Return the problem in which a weight of abs(b) stands for the sums of both signs.

        Of nu-SVR it is epsilon-SVR at that epsilon, of nu-SVC the C-SVC with margins of -epsilon.
        The same problem where only the sum of all variables is kept.

        Parameters
        ----------
        epsilon : float
            The multiplier of the sum of abs(b); see `dcsvm_dask.solvers.size_multiplier`.
        """
        if self.spare is None:
            return self
        if self.has_fixed_signs:
            signed = np.where(self.upper > 0.0, epsilon, -epsilon)
            return replace(self, p=self.p + signed, spare=None)
        return replace(self, epsilon=np.full(len(self), max(0.0, epsilon)), spare=None)

    def with_size(self, beta: Vector, size: float) -> Dual:
        """Return the problem at a point, for a sum of abs(b) that is wanted.

        Parameters
        ----------
        beta : ndarray, shape (n,), float64
        size : float
            The largest sum of abs(b); what is within rounding of it has nothing to spare.
        """
        spare = size - float(np.abs(beta).sum())
        return replace(self, spare=spare if spare > EXACT_SIZE * size else 0.0)

    @property
    def has_fixed_signs(self) -> bool:
        """Whether bounds let every variable have one sign only."""
        return bool(((self.lower == 0.0) | (self.upper == 0.0)).all())

    def scaled(self, factor: float | Vector) -> Dual:
        """Return the problem with all C multiplied, each by its own factor or all by one."""
        ridge = None if self.ridge is None else self.ridge / factor
        return replace(self, lower=self.lower * factor, upper=self.upper * factor, ridge=ridge)

    def gradient(self, f: Vector, beta: Vector) -> Vector:
        """Return F = f + D b + p.

        Parameters
        ----------
        f, beta : ndarray, shape (n,), float64
            Decision values without the bias, and the variables.
        """
        return f + self.p if self.ridge is None else f + self.p + self.ridge * beta

    def decision(self, gradient: Vector, beta: Vector) -> Vector:
        """Return f from F; see `gradient`."""
        return gradient - self.p if self.ridge is None else gradient - self.p - self.ridge * beta

    def clip(self, beta: Vector) -> Vector:
        """Return variables brought within their bounds."""
        return np.clip(beta, self.lower, self.upper)

    def is_free(self, beta: Vector) -> NDArray[np.bool_]:
        """Return which variables lie strictly between their bounds, and at no kink."""
        free = (beta > self.lower) & (beta < self.upper)
        if self.spare is not None:  # at zero it has one sign or the other
            free &= beta != 0.0
        return free if self.epsilon is None else free & ((beta != 0.0) | (self.epsilon == 0.0))

    def is_bounded(self, beta: Vector) -> NDArray[np.bool_]:
        """Return which support vectors lie at a bound."""
        at_bound = (beta >= self.upper) | (beta <= self.lower)
        return np.asarray(at_bound & (beta != 0.0))

    def can_balance(self) -> bool:
        """Return whether the sum of all variables can be zero at a point other than zero."""
        return bool((self.lower < 0.0).any() and (self.upper > 0.0).any())

    def losses(self, gradient: Vector) -> Vector:
        """Return the primal loss of each row at f + p, with the bias where there is one.

        It is the largest -b (f + p) - epsilon |b| - D b^2 / 2 within the bounds, the conjugate of
        the dual: the hinge loss times C for classes, the epsilon-insensitive loss times C for
        regression, their squares for squared losses, the pinball loss for a quantile.

        Parameters
        ----------
        gradient : ndarray, shape (n,), float64
            f + p, which is F where D is zero.
        """
        size = np.abs(gradient)
        if self.epsilon is not None:
            size = np.maximum(0.0, size - self.epsilon)
        bound = np.where(gradient < 0.0, self.upper, -self.lower)
        if self.ridge is None:
            return bound * size
        best = np.minimum(bound, size / self.ridge)
        return np.asarray(best * size - 0.5 * self.ridge * best**2)

    def linear(self, beta: Vector) -> float:
        """Return the part of the objective without the kernel."""
        value = float((self.p * beta).sum())
        if self.epsilon is not None:
            value += float((self.epsilon * np.abs(beta)).sum())
        return value if self.ridge is None else value + 0.5 * float(self.ridge @ beta**2)

    @property
    def groups(self) -> list[slice]:
        """The variables of each sum, where there are several."""
        if self.group is None:
            return [slice(0, len(self))]
        borders = np.searchsorted(self.group, np.arange(N_GROUPS + 1))
        return [slice(int(a), int(b)) for a, b in pairwise(borders)]

    @property
    def margin(self) -> float:
        """The distance in the gradient between zero and non-zero variables that is usual.

        The unit; of a narrow tube, where rows without loss lie within epsilon of their targets,
        twice the largest epsilon.
        """
        if self.epsilon is None:
            return self.unit
        return min(self.unit, 2.0 * float(self.epsilon.max(initial=0.0)))

    def slopes(self, gradient: Vector, beta: Vector) -> tuple[Vector, Vector]:
        """Return the derivatives of the objective for rising and for falling variables.

        They are F + epsilon where the variable is or becomes positive, F - epsilon where it is or
        becomes negative; the same array twice where there is no kink.

        Parameters
        ----------
        gradient, beta : ndarray, shape (n,), float64
        """
        if self.epsilon is None:
            return gradient, gradient
        above, below = gradient + self.epsilon, gradient - self.epsilon
        return np.where(beta >= 0.0, above, below), np.where(beta > 0.0, above, below)
