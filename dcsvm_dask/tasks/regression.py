"""Tasks with real targets: epsilon-SVR and quantile regression."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.checks import check, is_a, is_finite
from dcsvm_dask.tasks.dual import UNBOUNDED, Dual

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Regression:
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
    """

    epsilon: float = 0.1
    squared: bool = False

    name = "regression"
    has_classes = False

    def __post_init__(self) -> None:
        number = is_a(self.epsilon, Real) and is_finite(self.epsilon) and self.epsilon >= 0
        check(number, "epsilon", self.epsilon, "a number, 0 or more")

    def scaled(self, unit: float) -> Regression:
        """Return the task for targets that are divided by a unit."""
        return replace(self, epsilon=self.epsilon / unit)

    def scaled_C(self, C: Vector, unit: float) -> Vector:  # noqa: N802 - the field's name
        """Return the weights of the losses of targets that are divided by a unit."""
        return C if self.squared else C / unit

    def targets(self, codes: NDArray[np.integer], labels: Sequence[Any]) -> Vector:
        """Return the targets of rows: their labels, which are numbers."""
        return np.asarray(np.array(labels, np.float64)[codes])

    def dual(self, targets: Vector, C: Vector) -> Dual:
        """Return the dual problem of some rows.

        Parameters
        ----------
        targets : ndarray, shape (n,), float64
        C : ndarray, shape (n,), float64
            Weight of each row's loss, 0 or more.
        """
        epsilon = np.full(len(targets), self.epsilon) if self.epsilon else None
        if self.squared:
            far = np.full(len(targets), UNBOUNDED)
            return Dual(-targets, -far, far, epsilon, ridge=0.5 / C)
        return Dual(-targets, -C, C, epsilon)

    def alpha(self, beta: Vector) -> Vector:
        """Return alpha - alpha*, which is beta."""
        return beta

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
class Quantile:
    """Kernel quantile regression (Takeuchi, Le, Sears, Smola, JMLR 7, 2006).

    The pinball loss, C tau (z - f) above the prediction and C (1 - tau) (f - z) below it: the
    linear term p = -z and the bounds [C_i (tau - 1), C_i tau], without a kink.

    Parameters
    ----------
    quantile : float, default 0.5
        tau in (0, 1): the share of targets below the predictions.
    """

    quantile: float = 0.5

    name = "quantile"
    has_classes = False

    def __post_init__(self) -> None:
        number = is_a(self.quantile, Real) and is_finite(self.quantile) and 0 < self.quantile < 1
        check(number, "quantile", self.quantile, "a number between 0 and 1")

    def scaled(self, unit: float) -> Quantile:
        """Return the task for targets that are divided by a unit: the same."""
        del unit
        return self

    def scaled_C(self, C: Vector, unit: float) -> Vector:  # noqa: N802 - the field's name
        """Return the weights of the losses of targets that are divided by a unit."""
        return C / unit

    def targets(self, codes: NDArray[np.integer], labels: Sequence[Any]) -> Vector:
        """Return the targets of rows: their labels, which are numbers."""
        return np.asarray(np.array(labels, np.float64)[codes])

    def dual(self, targets: Vector, C: Vector) -> Dual:
        """Return the dual problem of some rows; see `Regression.dual`."""
        return Dual(-targets, C * (self.quantile - 1.0), C * self.quantile)

    def alpha(self, beta: Vector) -> Vector:
        """Return the dual variables, which are beta."""
        return beta

    def scores(self, decision: Vector, targets: Vector) -> dict[str, float]:
        """Return the mean pinball loss and the coverage, the share of targets below."""
        far = targets - decision
        loss = np.maximum(self.quantile * far, (self.quantile - 1.0) * far)
        return {"pinball": float(np.mean(loss)), "coverage": float(np.mean(far < 0.0))}
