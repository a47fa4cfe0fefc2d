"""The one-class SVM: novelty detection (Schoelkopf et al., Neural Computation 13, 2001)."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.tasks.checking import check_nu
from dcsvm_dask.tasks.dual import Dual
from dcsvm_dask.tasks.plain import PlainVariables
from dcsvm_dask.tasks.scores import area_under_curve

Vector = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class OneClass(PlainVariables):
    """One-class SVM in LIBSVM's scale: min 0.5 b'Kb over 0 <= b_i <= w_i with sum(b) = nu sum(w).

    The decision value is f - rho, above zero for rows like the training rows; the bias is -rho. For
    a given rho the problem without the sum has the linear term -rho, so that the blocks of a level
    are solved for a rho that they share. Labels take no part in it: they score.

    Parameters
    ----------
    nu : float, default 0.5
        In (0, 1]: an upper bound on the share of training rows with a decision value below zero,
        and a lower bound on the share of support vectors.
    unit : float, default 1.0
        About rho, which gradients are compared with.
    """

    nu: float = 0.5
    unit: float = 1.0

    name: ClassVar[str] = "one-class"
    has_classes: ClassVar[bool] = False
    has_sum: ClassVar[bool] = True
    centre = 0.0
    has_kinks = False
    product_range = 1.0

    def __post_init__(self) -> None:
        check_nu(self.nu)

    def targets(self, y: NDArray[Any]) -> NDArray[np.int8]:
        """Return the labels: +1, -1, and 0 where there is none."""
        return np.asarray(np.sign(y), dtype=np.int8)

    def to_json(self) -> dict[str, Any]:
        """Return its parameters as JSON values, for `make_task`."""
        return asdict(self)

    def dual(self, targets: Vector, C: Vector) -> Dual:
        """Return the dual problem of some rows; see `Task.dual`. Targets are not used."""
        zero = np.zeros(len(targets))
        return Dual(zero, zero, np.asarray(C, dtype=np.float64), unit=self.unit)

    def total(self, C: Vector) -> float:
        """Return the sum that the variables of all rows have: nu sum(C)."""
        return self.nu * float(C.sum())

    def margin(self, bias: float | None, multiplier: float | None) -> float | None:
        """Return rho, the distance from the origin times the norm of the weights."""
        del multiplier
        return None if bias is None else -bias

    def scores(self, decision: Vector, targets: Vector) -> dict[str, float]:
        """Return AUC and accuracy, as far as labels allow, and the share of outliers.

        AUC needs labels of both kinds; a decision value of 0 is that of an outlier, as in LIBSVM.
        """
        inside, known = decision > 0.0, targets != 0.0
        found = {}
        if (targets > 0.0).any() and (targets < 0.0).any():
            found["auc"] = area_under_curve(decision[known], targets[known] > 0.0)
        if known.any():
            found["accuracy"] = float(np.mean(inside[known] == (targets[known] > 0.0)))
        return {**found, "outliers": float(np.mean(~inside))}
