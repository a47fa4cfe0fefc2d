"""nu-SVC and nu-SVR (Schoelkopf, Smola, Williamson, Bartlett, Neural Computation 12, 2000)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.errors import InfeasibleError
from dcsvm_dask.tasks.checking import check_nu
from dcsvm_dask.tasks.classification import Classification
from dcsvm_dask.tasks.dual import Dual
from dcsvm_dask.tasks.regression import RealTargets, Regression
from dcsvm_dask.tasks.task import Task

Vector = NDArray[np.float64]
ROUNDING = 1e-9
"""Part of the largest possible nu by which one may fail it and still be that."""
# A margin is none where |w|^2 says that it is less than this share of what the multiplier says.
_LEAST = 1e-3


@dataclass(frozen=True, kw_only=True)
class NuClassification(Classification):
    """nu-SVC: min 0.5 b'Kb, the variables of each class with the sum nu sum(w) / 2.

    The bounds are [0, w_i] and [-w_i, 0]. The multiplier rho of both sums is the margin: divided by
    it, the solution is that of C-SVC at C = 1 / rho.

    Parameters
    ----------
    nu : float, default 0.5
        In (0, 1]: an upper bound on the share of training rows within the margin, and a lower bound
        on the share of support vectors.
    unit : float, default 1.0
        About rho, which gradients are compared with.
    """

    nu: float = 0.5
    unit: float = 1.0

    name: ClassVar[str] = "nu-classification"
    has_sum: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_nu(self.nu)

    def to_json(self) -> dict[str, Any]:
        """Return its parameters as JSON values, for `make_task`."""
        return {"nu": self.nu, "unit": self.unit}

    def dual(self, targets: Vector, C: Vector | float) -> Dual:
        """Return the dual problem of some rows; see `Classification.dual`."""
        box = super().dual(targets, C)
        return replace(box, p=np.zeros(box.p.shape), unit=self.unit, spare=0.0)

    def size(self, C: Vector) -> float:
        """Return the sum of the sizes of all variables: nu sum(C)."""
        return self.nu * float(C.sum())

    def decision_scale(self, epsilon: float) -> float:
        """Return what variables and bias are divided by: rho, minus the multiplier."""
        return -epsilon

    def margin(self, bias: float | None, multiplier: float | None) -> float | None:
        """Return rho, the multiplier."""
        del bias
        return multiplier


def has_margin(rho: float, squared: float, size: float) -> bool:
    """Return whether the margin of a nu-SVC is more than what rounding leaves of 0.

    At a solution rho sum |beta_i| = |w|^2, as the optimality conditions say. Both are 0 where the
    reduced convex hulls of the classes meet, and rounding leaves far more of rho than of a square.

    Parameters
    ----------
    rho : float
        The multiplier of the sum of sizes.
    squared : float
        |w|^2 in the feature space of the kernel.
    size : float
        The sum of the sizes of all variables.
    """
    return rho > 0.0 and squared >= _LEAST * rho * size


def scale_of_decisions(
    task: Task,
    multiplier: float,
    dual: Dual,
    *,
    objective: float,
    size: float,
    classes: str = "the classes",
) -> float:
    """Return what the variables and the bias of a solution are divided by, above 0.

    Parameters
    ----------
    task : Task
    multiplier : float
        Of the sum of sizes; see `Task.decision_scale`.
    dual : Dual
    objective : float
        That of the solution.
    size : float
        The sum of the sizes of its variables.
    classes : str, optional
        How an error names the classes; see `Machine.names`.

    Raises
    ------
    InfeasibleError
        If no margin separates the classes.
    """
    scale = task.decision_scale(multiplier)
    if isinstance(task, NuClassification) and not has_margin(scale, 2.0 * objective, size):
        # The smaller nu, the larger the reduced convex hulls of the classes, which then meet.
        above, below = float(dual.upper.sum()), -float(dual.lower.sum())
        grows = task.nu < 2.0 * min(above, below) / (above + below) * (1.0 - ROUNDING)
        raise InfeasibleError(
            f"nu is {task.nu:g}, with which no margin separates {classes}, since they overlap: "
            f"give {'a larger nu, or ' if grows else ''}a kernel that tells them apart, such as "
            "rbf with a larger gamma."
        )
    return scale


@dataclass(frozen=True, kw_only=True)
class NuRegression(RealTargets):
    """nu-SVR: min 0.5 b'Kb - z'b over |b_i| <= C_i with sum |b| <= nu sum(C).

    It is the epsilon-SVR whose tube leaves so much outside: epsilon is the multiplier of that sum.

    Parameters
    ----------
    nu : float, default 0.5
        In (0, 1]: an upper bound on the share of training rows outside of the tube, and a lower
        bound on the share of support vectors.
    centre, unit : float
        See `RealTargets`.
    """

    nu: float = 0.5

    name: ClassVar[str] = "nu-regression"
    has_sum: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_nu(self.nu)

    @property
    def has_kinks(self) -> bool:
        """Whether the dual problem has kinks: with the multiplier given."""
        return True

    @property
    def product_range(self) -> float:
        """Width of the range of beta_i beta_j where C is 1, of beta from -1 to 1."""
        return 2.0

    def dual(self, targets: Vector, C: Vector) -> Dual:
        """Return the dual problem of some rows; see `Regression.dual`."""
        return Dual(self.centre - targets, -C, C, unit=self.unit, spare=0.0)

    def size(self, C: Vector) -> float:
        """Return the largest sum of the sizes of all variables: nu sum(C)."""
        return self.nu * float(C.sum())

    def scores(self, decision: Vector, targets: Vector) -> dict[str, float]:
        """Return R^2, mean absolute error and RMSE."""
        return Regression().scores(decision, targets)
