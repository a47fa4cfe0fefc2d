"""The dual problems of linear SVMs, as their solver takes them, and what it returns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Protocol, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dcsvm_dask.errors import InputError
from dcsvm_dask.solvers.linear.loops import descend, measure
from dcsvm_dask.solvers.linear.signed import descend_signed, measure_signed
from dcsvm_dask.solvers.linear.visits import USUAL, Visits
from dcsvm_dask.tasks import Dual
from dcsvm_dask.tasks.dual import UNBOUNDED
from dcsvm_dask.tasks.vectors import vector

Vector = NDArray[np.float64]
Loss = Literal["hinge", "squared_hinge", "squared"]
Bias = Literal["feature", "free"]
"""A weight of a constant feature, regularised with the others; or no part of the regularisation."""
# How far outside of its bounds a start may lie, relative to C: rounding to float32.
_ROUNDING = 1e-6


@dataclass(frozen=True, slots=True)
class LinearSolution:
    """A linear SVM and how far it is from the best one."""

    alpha: Vector
    """The dual variables, shape (n,): alpha of labels, beta of a `Dual`."""
    w: Vector
    """The weights sum_i alpha_i y_i x_i or sum_i beta_i x_i, shape (d,), summed from scratch."""
    b: float
    """The offset of the decision value w'x + b: what the appended constant contributes, or the free
    bias; else 0."""
    objective: float
    """The dual objective at `alpha`, which is minimised."""
    violation: float
    """Largest minus smallest projected gradient at `alpha`, 0 counted in; bounds each of them. Of a
    free bias it is LIBSVM's m - M, at least 0: see `dcsvm_dask.solvers.violation_pair`."""
    gap: float
    """Primal minus dual value: an upper bound on how far the objective is from the least one."""
    n_iter: int
    """Passes that were made over the active rows; over the chunks, where rows come in chunks."""
    converged: bool
    """Whether `violation` is at most the tolerance asked for."""
    history: Vector
    """The objective after each pass and the violation met in it, shape (n_iter, 2)."""


class Problem(Protocol):
    """What `LinearDescent` asks of a problem, of n variables."""

    descend: ClassVar[Callable[..., Any]]
    """Its compiled passes; they take `arrays` after the rows."""
    measure: ClassVar[Callable[..., Any]]
    """Its compiled measure of a point."""
    targets_word: ClassVar[str]
    """What y is in messages."""

    @property
    def start(self) -> Vector:
        """The point to start from."""

    @property
    def visits(self) -> Visits:
        """How passes visit the variables."""

    @property
    def ridge(self) -> Vector:
        """D_ii."""

    @property
    def constant(self) -> float:
        """The value of the feature that is appended to every row."""

    @property
    def arrays(self) -> tuple[Vector, ...]:
        """What compiled code takes of the problem, a value a row; the ridge last."""

    @property
    def takes_part(self) -> NDArray[np.bool_]:
        """Which variables can be other than zero."""

    def is_free(self, point: Vector, rows: slice) -> NDArray[np.bool_]:
        """Return which variables of some rows are neither at a bound nor at zero."""

    def objective(self, point: Vector, w: Vector) -> float:
        """Return the dual objective; w has the weight of the constant as its last value."""


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
    visits: Visits = USUAL

    descend: ClassVar[Callable[..., Any]] = staticmethod(descend)
    measure: ClassVar[Callable[..., Any]] = staticmethod(measure)
    targets_word: ClassVar[str] = "labels"

    @classmethod
    def of(
        cls,
        n: int,
        y: ArrayLike,
        C: ArrayLike,
        loss: Loss,
        constant: float,
        alpha: ArrayLike | None,
        visits: Visits = USUAL,
    ) -> LinearProblem:
        """Check what a caller gave to a solver."""
        if loss not in ("hinge", "squared_hinge"):  # without a bound the problem is a signed one
            raise InputError(f"loss is {loss!r}: give one of {', '.join(get_args(Loss))}.")
        check_constant(constant)
        labels, cost = check_labels(y, n), check_costs(C, n)
        upper, ridge = cost, np.zeros(n)
        if loss == "squared_hinge":
            weighty = cost > 0.0
            upper = np.where(weighty, np.inf, 0.0)
            ridge = np.divide(0.5, cost, out=ridge, where=weighty)
        start = np.zeros(n) if alpha is None else vector(alpha, "alpha", n)
        if (np.maximum(-start, start - upper) > _ROUNDING * cost).any():
            raise InputError("alpha lies outside of its bounds: give 0 or more, for hinge up to C.")
        return cls(labels, upper, ridge, float(constant), np.clip(start, 0.0, upper), visits)

    @property
    def arrays(self) -> tuple[Vector, ...]:
        """What compiled code takes: labels, upper bounds, the ridge."""
        return self.y, self.upper, self.ridge

    @property
    def takes_part(self) -> NDArray[np.bool_]:
        """Which variables can be other than zero."""
        return self.upper > 0.0

    def signed(self) -> SignedProblem:
        """Return the same problem in the variables beta_i = y_i a_i."""
        furthest = self.y * np.minimum(self.upper, UNBOUNDED)
        lower, upper = np.minimum(furthest, 0.0), np.maximum(furthest, 0.0)
        dual = Dual(-self.y, lower, upper, ridge=self.ridge)
        return SignedProblem.of(dual, self.constant, self.y * self.start, self.visits)

    def is_free(self, point: Vector, rows: slice) -> NDArray[np.bool_]:
        """Return which variables of some rows lie strictly between their bounds."""
        return np.asarray((point > 0.0) & (point < self.upper[rows]))

    def objective(self, alpha: Vector, w: Vector) -> float:
        """Return the dual objective; w has the weight of the constant as its last value."""
        return float(0.5 * (w @ w + self.ridge @ alpha**2) - alpha.sum())


@dataclass(frozen=True, slots=True)
class SignedProblem:
    """min 0.5 b'(Q + D)b + p'b + epsilon'|b| over bounds, Q_ij = x_i'x_j + B^2; see `Dual`."""

    dual: Dual
    """With a ridge, zero where it has none, and without infinite values."""
    epsilon: Vector
    ridge: Vector
    constant: float
    """B."""
    start: Vector
    """The beta to start from."""
    visits: Visits = USUAL

    descend: ClassVar[Callable[..., Any]] = staticmethod(descend_signed)
    measure: ClassVar[Callable[..., Any]] = staticmethod(measure_signed)
    targets_word: ClassVar[str] = "targets"

    @classmethod
    def of(
        cls, dual: Dual, constant: float, beta: ArrayLike | None, visits: Visits = USUAL
    ) -> SignedProblem:
        """Check what a caller gave to a solver."""
        check_constant(constant)
        n = len(dual)
        if not (np.isfinite(dual.p).all() and np.isfinite(dual.lower + dual.upper).all()):
            raise InputError("y or C holds a value that is not finite: give finite numbers.")
        ridge = np.zeros(n) if dual.ridge is None else dual.ridge
        weighty = np.isfinite(ridge)  # 1 / (2 C) of the others, whose C is 0
        dual = replace(
            dual,
            lower=np.where(weighty, dual.lower, 0.0),
            upper=np.where(weighty, dual.upper, 0.0),
            ridge=np.where(weighty, ridge, 0.0),
        )
        epsilon = np.zeros(n) if dual.epsilon is None else dual.epsilon
        start = np.zeros(n) if beta is None else vector(beta, "beta", n)
        clipped = dual.clip(start)
        if (np.abs(start - clipped) > _ROUNDING * np.abs(clipped)).any():
            raise InputError("beta lies outside of its bounds: give values within them.")
        assert dual.ridge is not None
        return cls(dual, epsilon, dual.ridge, float(constant), clipped, visits)

    @property
    def arrays(self) -> tuple[Vector, ...]:
        """What compiled code takes: linear term, bounds, kinks, the ridge."""
        return self.dual.p, self.dual.lower, self.dual.upper, self.epsilon, self.ridge

    @property
    def takes_part(self) -> NDArray[np.bool_]:
        """Which variables can be other than zero."""
        return self.dual.upper > self.dual.lower

    def is_free(self, point: Vector, rows: slice) -> NDArray[np.bool_]:
        """Return which variables of some rows are neither at a bound nor at zero."""
        dual = self.dual[rows]
        return dual.is_free(point) & (point != 0.0)

    def objective(self, beta: Vector, w: Vector) -> float:
        """Return the dual objective; w has the weight of the constant as its last value."""
        return 0.5 * float(w @ w) + self.dual.linear(beta)


def check_labels(y: ArrayLike, n: int) -> Vector:
    """Return the labels of n rows; refuse others than -1 and +1."""
    labels = vector(y, "y", n)
    if not (np.abs(labels) == 1.0).all():
        raise InputError("y holds a label other than -1 and +1: code the two classes so.")
    return labels


def check_costs(C: ArrayLike, n: int) -> Vector:
    """Return the costs of n rows; refuse negative ones."""
    cost = vector(C, "C", n)
    if (cost < 0.0).any():
        raise InputError("C holds a negative value: give 0 or more.")
    return cost


def check_constant(constant: float) -> None:
    """Refuse a value that cannot be appended to rows."""
    if not 0.0 <= constant < np.inf:
        raise InputError(f"constant is {constant}: give a finite number, 0 for none.")
