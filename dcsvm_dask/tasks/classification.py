"""C-SVC: two classes and the hinge loss (Cortes, Vapnik, 1995), or its square."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dcsvm_dask.errors import InputError
from dcsvm_dask.tasks.dual import UNBOUNDED, Dual
from dcsvm_dask.tasks.plain import PlainVariables
from dcsvm_dask.tasks.vectors import vector

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Classification(PlainVariables):
    """Two classes with the targets -1 and +1.

    With beta_i = y_i alpha_i the dual of C-SVC, min 0.5 a'Qa - e'a over 0 <= a <= C, has the
    linear term p = -y and the bounds [0, C_i] for y_i = +1, [-C_i, 0] for y_i = -1. The squared
    hinge loss has 1 / (2 C_i) on the diagonal instead of the bounds C_i.

    Parameters
    ----------
    squared : bool, default False
        Whether the loss is squared: C max(0, 1 - y f)^2.
    """

    squared: bool = False

    name: ClassVar[str] = "classification"
    has_classes: ClassVar[bool] = True
    has_sum: ClassVar[bool] = False
    centre = 0.0
    unit = 1.0
    has_kinks = False

    @property
    def loss(self) -> str:
        """The loss by its name in scikit-learn."""
        return "squared_hinge" if self.squared else "hinge"

    @property
    def product_range(self) -> float | None:
        """Width of the range of beta_i beta_j where C is 1: a product's sign is that of y_i y_j."""
        return None if self.squared else 1.0

    def targets(self, y: NDArray[Any]) -> NDArray[np.int8]:
        """Return +1 for the last of two classes and -1 for the other."""
        return np.where(y == 1, 1, -1).astype(np.int8)

    def to_json(self) -> dict[str, Any]:
        """Return its parameters as JSON values, for `make_task`: none of the hinge loss."""
        return {"squared": True} if self.squared else {}

    def dual(self, targets: Vector, C: Vector | float) -> Dual:
        """Return the dual problem of some rows.

        Parameters
        ----------
        targets : ndarray, shape (n,), float64
            -1 and +1; 0 for a row that takes no part.
        C : float or ndarray, shape (n,), float64
            Upper bounds of alpha, 0 or more; of the squared loss its weights, above 0.
        """
        furthest = targets * (UNBOUNDED if self.squared else C)
        ridge = np.broadcast_to(0.5 / np.asarray(C), targets.shape) if self.squared else None
        lower, upper = np.minimum(furthest, 0.0), np.maximum(furthest, 0.0)
        return Dual(-targets, lower, upper, ridge=ridge)

    def alpha(self, beta: Vector) -> Vector:
        """Return alpha_i = y_i beta_i, 0 or more."""
        return np.abs(beta)

    def scores(self, decision: Vector, targets: Vector) -> dict[str, float]:
        """Return the accuracy, in [0, 1]; a decision value of 0 is the negative class."""
        return {"accuracy": int(np.count_nonzero((decision > 0) == (targets > 0))) / len(decision)}


def checked_labels(y: ArrayLike, C: ArrayLike, n: int) -> tuple[Vector, Vector]:
    """Return labels and upper bounds of alpha for n rows, in float64.

    Parameters
    ----------
    y : array, shape (n,)
        Labels -1 and +1.
    C : float or array, shape (n,)
        Upper bounds, 0 or more.
    n : int

    Raises
    ------
    InputError
        For shapes, labels or bounds that do not fit.
    """
    labels, bounds = vector(y, "y", n), vector(C, "C", n)
    if not (np.abs(labels) == 1.0).all():
        raise InputError("y holds a label other than -1 and +1: code the two classes so.")
    if (bounds < 0.0).any():
        raise InputError("C holds a negative value: upper bounds are 0 or more.")
    return labels, bounds


def svc_dual(y: ArrayLike, C: ArrayLike) -> Dual:
    """Return the dual problem of C-SVC, with labels and bounds checked; see `checked_labels`."""
    labels, bounds = checked_labels(y, C, len(np.atleast_1d(np.asarray(y))))
    return Classification().dual(labels, bounds)
