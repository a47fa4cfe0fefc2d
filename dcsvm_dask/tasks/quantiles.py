"""Several quantiles of the same targets: a dual problem for each, over the same rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from numbers import Real
from typing import Any, ClassVar, TypeGuard

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.checks import check, is_a, is_finite
from dcsvm_dask.errors import InputError
from dcsvm_dask.tasks.dual import Dual
from dcsvm_dask.tasks.regression import Quantile, RealTargets
from dcsvm_dask.tasks.task import Task

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Quantiles(RealTargets):
    """Several quantiles, each a kernel quantile regression of its own; see `Quantile`.

    Nothing in the problems keeps them apart, so that estimates of neighbouring quantiles can cross.

    Parameters
    ----------
    quantile : sequence of float
        In (0, 1), ascending.
    centre, unit : float
        See `RealTargets`.
    """

    quantile: tuple[float, ...]

    name: ClassVar[str] = Quantile.name

    def __post_init__(self) -> None:
        object.__setattr__(self, "quantile", checked_quantiles(self.quantile))

    @property
    def members(self) -> tuple[Quantile, ...]:
        """The task of each quantile."""
        return tuple(Quantile(one, centre=self.centre, unit=self.unit) for one in self.quantile)

    @property
    def product_range(self) -> float:
        """The sum over the quantiles, as objectives and their bounds are added up."""
        return sum(one.product_range for one in self.members)

    def to_json(self) -> dict[str, Any]:
        """Return its parameters as JSON values, for `make_task`."""
        return {**asdict(self), "quantile": list(self.quantile)}

    def dual(self, targets: Vector, C: Vector) -> Dual:
        """Return the dual problems side by side, arrays of shape (n, n_quantiles)."""
        levels, C = np.array(self.quantile), np.asarray(C)[:, None]
        p = np.repeat((self.centre - targets)[:, None], len(levels), axis=1)
        return Dual(p, C * (levels - 1.0), C * levels, unit=self.unit)

    def scores(self, decision: Vector, targets: Vector) -> dict[str, Any]:
        """Return the mean pinball loss of all quantiles, those of each, and where they cross.

        Parameters
        ----------
        decision : ndarray, shape (n, n_quantiles), float64
        targets : ndarray, shape (n,), float64

        Returns
        -------
        dict
            ``pinball``; ``crossing``, the share of rows on which quantiles cross; and
            ``by_quantile``, the scores of each by its name.
        """
        each = [
            task.scores(values, targets)
            for task, values in zip(self.members, decision.T, strict=True)
        ]
        return {
            "pinball": float(np.mean([one["pinball"] for one in each])),
            "crossing": crossing(decision),
            "by_quantile": dict(zip(output_names(self), each, strict=True)),
        }


def is_several(quantile: Any) -> TypeGuard[Sequence[float]]:
    """Return whether a parameter holds quantiles, one or more, and is not a number."""
    return isinstance(quantile, list | tuple) or np.ndim(quantile) == 1


def checked_quantiles(quantiles: Sequence[float]) -> tuple[float, ...]:
    """Return several quantiles as floats.

    Raises
    ------
    InputError
        If there is none, one is not between 0 and 1, or they do not ascend.
    """
    if not len(quantiles):
        raise InputError("quantile is empty: give one quantile or more, as 0.1, 0.5, 0.9.")
    for one in quantiles:
        number = is_a(one, Real) and is_finite(one) and 0 < one < 1
        check(number, "quantile", one, "a number between 0 and 1, or several in ascending order")
    found = tuple(map(float, quantiles))
    for low, high in pairwise(found):
        if low == high:
            raise InputError(f"quantile holds {low} twice: give each quantile once.")
        if low > high:
            raise InputError(
                f"quantile holds {high} after {low}: give quantiles in ascending order, which is "
                "that of the columns of predictions."
            )
    return found


def crossing(predicted: Vector, weights: NDArray[Any] | None = None) -> float:
    """Return the share of rows on which the prediction of a quantile is below that of a lower one.

    Parameters
    ----------
    predicted : ndarray, shape (n, n_quantiles), float64
        The quantiles ascend.
    weights : ndarray, shape (n,), optional
        What each row counts; by default all count alike.
    """
    crosses = np.any(np.diff(predicted, axis=1) < 0.0, axis=1)
    return float(np.average(crosses, weights=weights)) if len(predicted) else 0.0


def members_of(task: Task) -> tuple[Task, ...]:
    """Return the task of each SVM of a task whose SVMs have all rows; mostly that is itself."""
    return task.members if isinstance(task, Quantiles) else (task,)


def output_names(task: Task) -> list[str]:
    """Return the names of the predictions of a row, in files and reports; empty: there is one."""
    return [repr(one) for one in task.quantile] if isinstance(task, Quantiles) else []
