"""The dual problem of a linear SVM, as its solvers take it, and what they hand back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dcsvm_dask.errors import InputError
from dcsvm_dask.tasks.vectors import vector

Vector = NDArray[np.float64]
Loss = Literal["hinge", "squared_hinge"]
# How far outside of its bounds a start may lie, relative to C: rounding to float32.
_ROUNDING = 1e-6


@dataclass(frozen=True, slots=True)
class LinearSolution:
    """A linear SVM and how far it is from the best one."""

    alpha: Vector
    """The dual variables, shape (n,)."""
    w: Vector
    """The weights sum_i alpha_i y_i x_i, shape (d,), summed from scratch."""
    b: float
    """The offset of the decision value w'x + b: what the appended constant contributes; else 0."""
    objective: float
    """The dual objective at `alpha`, which is minimised."""
    violation: float
    """Largest minus smallest projected gradient at `alpha`, 0 counted in; bounds each of them."""
    n_iter: int
    """Passes that were made over the active rows; over the chunks, where rows come in chunks."""
    converged: bool
    """Whether `violation` is at most the tolerance asked for."""
    history: Vector
    """The objective after each pass and the violation met in it, shape (n_iter, 2)."""


@dataclass(frozen=True, slots=True)
class LinearProblem:
    """min 0.5 a'(Q + D)a - e'a over 0 <= a_i <= U_i, Q_ij = y_i y_j (x_i'x_j + B^2)."""

    y: Vector
    upper: Vector
    """U_i; 0 for rows without weight."""
    ridge: Vector
    """D_ii."""
    constant: float
    """B."""
    start: Vector
    """The alpha to start from."""

    @classmethod
    def of(
        cls,
        n: int,
        y: ArrayLike,
        C: ArrayLike,
        loss: Loss,
        constant: float,
        alpha: ArrayLike | None,
    ) -> LinearProblem:
        """Check what a caller gave to a solver."""
        if loss not in get_args(Loss):
            raise InputError(f"loss is {loss!r}: give one of {', '.join(get_args(Loss))}.")
        if not 0.0 <= constant < np.inf:
            raise InputError(f"constant is {constant}: give a finite number, 0 for none.")
        labels = vector(y, "y", n)
        if not (np.abs(labels) == 1.0).all():
            raise InputError("y holds a label other than -1 and +1: code the two classes so.")
        cost = vector(C, "C", n)
        if (cost < 0.0).any():
            raise InputError("C holds a negative value: give 0 or more.")
        upper, ridge = cost, np.zeros(n)
        if loss == "squared_hinge":
            weighty = cost > 0.0
            upper = np.where(weighty, np.inf, 0.0)
            ridge = np.divide(0.5, cost, out=ridge, where=weighty)
        start = np.zeros(n) if alpha is None else vector(alpha, "alpha", n)
        if (np.maximum(-start, start - upper) > _ROUNDING * cost).any():
            raise InputError("alpha lies outside of its bounds: give 0 or more, for hinge up to C.")
        return cls(labels, upper, ridge, float(constant), np.clip(start, 0.0, upper))

    def objective(self, alpha: Vector, w: Vector) -> float:
        """Return the dual objective; w has the weight of the constant as its last value."""
        return float(0.5 * (w @ w + self.ridge @ alpha**2) - alpha.sum())
