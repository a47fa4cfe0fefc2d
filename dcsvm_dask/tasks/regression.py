"""Tasks with real targets: epsilon-SVR and quantile regression."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.checks import check, is_a, is_finite
from dcsvm_dask.tasks.dual import UNBOUNDED, Dual
from dcsvm_dask.tasks.plain import PlainVariables

Vector = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class RealTargets(PlainVariables):
    """Base class of tasks whose targets are real numbers.

    Parameters
    ----------
    centre : float, default 0.0
        What is taken off the targets in the dual problem. With a bias, which moves by as much, the
        solution is the same, and blocks that are solved without one see centred targets.
    unit : float, default 1.0
        About the spread of the targets: what solvers call near is a share of it.
    """

    centre: float = 0.0
    unit: float = 1.0

    has_classes: ClassVar[bool] = False
    has_sum: ClassVar[bool] = False

    @property
    def has_kinks(self) -> bool:
        """Whether the dual problem has kinks: by default not."""
        return False

    def of_targets(self, statistics: Mapping[str, float], *, centred: bool) -> Self:
        """Return the task for the targets of some data.

        Parameters
        ----------
        statistics : mapping
            Their ``mean`` and ``std``.
        centred : bool
            Whether the problem has a bias.
        """
        mean, std = statistics["mean"], statistics["std"]
        unit = std if centred else math.hypot(mean, std)
        return replace(self, centre=mean if centred else 0.0, unit=unit if unit > 0.0 else 1.0)

    def to_json(self) -> dict[str, Any]:
        """Return its parameters as JSON values, for `make_task`."""
        return asdict(self)

    def targets(self, y: NDArray[Any]) -> Vector:
        """Return the targets of rows: what the data set holds."""
        return y.astype(np.float64, copy=False)


@dataclass(frozen=True)
class Regression(RealTargets):
    """Epsilon-SVR (Vapnik, 1995): the epsilon-insensitive loss C max(0, |z - f| - epsilon).

    With beta_i = alpha_i - alpha_i* the dual has one variable a row: the linear term p = -z, the
    bounds [-C_i, C_i], and epsilon as the weight of abs(beta_i). The squared loss has
    1 / (2 C_i) on the diagonal instead of the bounds.

    Parameters
    ----------
    epsilon : float, default 0.1
        Half the width of the tube without loss, 0 or more, in units of the targets.
    squared : bool, default False
        Whether the loss is squared: C max(0, |z - f| - epsilon)^2.
    centre, unit : float
        See `RealTargets`.
    """

    epsilon: float = 0.1
    squared: bool = False

    name: ClassVar[str] = "regression"

    def __post_init__(self) -> None:
        number = is_a(self.epsilon, Real) and is_finite(self.epsilon) and self.epsilon >= 0
        check(number, "epsilon", self.epsilon, "a number, 0 or more")

    @property
    def loss(self) -> str:
        """The loss by its name in scikit-learn."""
        return "squared_epsilon_insensitive" if self.squared else "epsilon_insensitive"

    @property
    def has_kinks(self) -> bool:
        """Whether the dual problem has kinks: with a tube."""
        return self.epsilon > 0.0

    @property
    def product_range(self) -> float | None:
        """Width of the range of beta_i beta_j where C is 1: from -1 to 1."""
        return None if self.squared else 2.0

    def scaled(self, unit: float) -> Regression:
        """Return the task for targets that are divided by a unit."""
        return replace(self, epsilon=self.epsilon / unit)

    def scaled_C(self, C: Vector, unit: float) -> Vector:  # noqa: N802 - the field's name
        """Return the weights of the losses of targets that are divided by a unit."""
        return C if self.squared else C / unit

    def dual(self, targets: Vector, C: Vector) -> Dual:
        """Return the dual problem of some rows.

        Parameters
        ----------
        targets : ndarray, shape (n,), float64
        C : ndarray, shape (n,), float64
            Weight of each row's loss, 0 or more.
        """
        epsilon = np.full(len(targets), self.epsilon) if self.epsilon else None
        p = self.centre - targets
        if self.squared:
            far = np.full(len(targets), UNBOUNDED)
            return Dual(p, -far, far, epsilon, ridge=0.5 / C, unit=self.unit)
        return Dual(p, -C, C, epsilon, unit=self.unit)

    def scores(self, decision: Vector, targets: Vector) -> dict[str, float]:
        """Return R^2 (0 where all targets are equal), mean absolute error and RMSE."""
        far = targets - decision
        spread = float(np.sum((targets - targets.mean()) ** 2))
        return {
            "r2": 1.0 - float(far @ far) / spread if spread > 0.0 else 0.0,
            "mae": float(np.mean(np.abs(far))),
            "rmse": float(np.sqrt(np.mean(far**2))),
        }


@dataclass(frozen=True)
class Quantile(RealTargets):
    """Kernel quantile regression (Takeuchi, Le, Sears, Smola, JMLR 7, 2006).

    The pinball loss, C tau (z - f) above the prediction and C (1 - tau) (f - z) below it: the
    linear term p = -z and the bounds [C_i (tau - 1), C_i tau], without a kink.

    Parameters
    ----------
    quantile : float, default 0.5
        tau in (0, 1): the share of targets below the predictions.
    centre, unit : float
        See `RealTargets`.
    """

    quantile: float = 0.5

    name: ClassVar[str] = "quantile"

    def __post_init__(self) -> None:
        number = is_a(self.quantile, Real) and is_finite(self.quantile) and 0 < self.quantile < 1
        check(number, "quantile", self.quantile, "a number between 0 and 1")

    @property
    def product_range(self) -> float:
        """Width of the range of beta_i beta_j where C is 1, of beta from tau - 1 to tau."""
        return max(self.quantile, 1.0 - self.quantile)

    def scaled(self, unit: float) -> Quantile:
        """Return the task for targets that are divided by a unit: the same."""
        del unit
        return self

    def scaled_C(self, C: Vector, unit: float) -> Vector:  # noqa: N802 - the field's name
        """Return the weights of the losses of targets that are divided by a unit."""
        return C / unit

    def dual(self, targets: Vector, C: Vector) -> Dual:
        """Return the dual problem of some rows; see `Regression.dual`."""
        lower, upper = C * (self.quantile - 1.0), C * self.quantile
        return Dual(self.centre - targets, lower, upper, unit=self.unit)

    def scores(self, decision: Vector, targets: Vector) -> dict[str, float]:
        """Return the mean pinball loss and the coverage, the share of targets below."""
        far = targets - decision
        loss = np.maximum(self.quantile * far, (self.quantile - 1.0) * far)
        return {"pinball": float(np.mean(loss)), "coverage": float(np.mean(far < 0.0))}
