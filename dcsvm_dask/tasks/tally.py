"""Scores of rows that come part by part: sums that add up, and the scores that follow from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.errors import InputError
from dcsvm_dask.tasks.class_tallies import (
    ACCURACY,
    AUC,
    BALANCED_ACCURACY,
    BalancedHits,
    ClassPairs,
    Hits,
)
from dcsvm_dask.tasks.nu import NuRegression
from dcsvm_dask.tasks.one_class import OneClass
from dcsvm_dask.tasks.regression import Quantile, Regression
from dcsvm_dask.tasks.scores import ordered_pairs
from dcsvm_dask.tasks.task import Task

Vector = NDArray[np.float64]

_ROUNDING = 1e-12


class Tally(Protocol):
    """The scores of a task as sums over rows."""

    sums: ClassVar[tuple[str, ...]]
    """Names of the sums."""
    names: ClassVar[tuple[str, ...]]
    """Keys of the scores, see `dcsvm_dask.tasks.scores`."""
    main: ClassVar[str]
    """Key of the score that decides."""
    failed: ClassVar[tuple[float, ...]]
    """The sums of a model that does not exist: no score is worse."""
    takes_values: ClassVar[bool]
    """Whether `of` takes decision values; otherwise classes."""

    def of(self, predicted: Vector, truth: Vector, counts: Vector) -> tuple[float, ...]:
        """Return the sums of some rows.

        Parameters
        ----------
        predicted : ndarray, shape (n,)
            Classes, or decision values of real targets.
        truth : ndarray, shape (n,)
            Classes or targets.
        counts : ndarray, shape (n,), float64
            As how many rows each counts.
        """

    def scores(self, found: Mapping[str, Vector], rows: Vector) -> dict[str, Vector]:
        """Return the scores.

        Parameters
        ----------
        found : mapping
            The sums by name, in arrays of any shape.
        rows : ndarray
            Number of rows, above 0, in the same shape.
        """

    def errors(self, found: Mapping[str, Vector], rows: Vector) -> Vector:
        """Return the standard error of the main score, by the sums of one set of rows.

        It is 0 where it does not follow from them. Parameters are those of `scores`.
        """


OF_CLASSES: dict[str, Callable[[], Tally]] = {
    ACCURACY: Hits,
    BALANCED_ACCURACY: BalancedHits,
    AUC: ClassPairs,
}
"""The scores of classes, by the main one."""


class _WithoutErrors:
    """Scores of decision values whose standard error does not follow from sums over rows."""

    takes_values: ClassVar[bool] = True

    def errors(self, found: Mapping[str, Vector], rows: Vector) -> Vector:
        """Return zeros."""
        del found
        return np.zeros(np.shape(rows))


@dataclass(frozen=True)
class Residuals(_WithoutErrors):
    """R^2, mean absolute error and RMSE of real targets.

    Parameters
    ----------
    origin : float, default 0.0
        What is taken off targets in their sums, about their mean: R^2 needs their spread, which
        would be lost in rounding far from zero.
    """

    origin: float = 0.0

    sums: ClassVar[tuple[str, ...]] = ("absolute", "squared", "target", "target_squared")
    names: ClassVar[tuple[str, ...]] = ("r2", "mae", "rmse")
    main: ClassVar[str] = "r2"
    failed: ClassVar[tuple[float, ...]] = (np.inf, np.inf, 0.0, 0.0)

    def of(self, predicted: Vector, truth: Vector, counts: Vector) -> tuple[float, ...]:
        """Return the sums of absolute and squared residuals, of targets and their squares."""
        residual, target = truth - predicted, truth - self.origin
        terms = (np.abs(residual), residual**2, target, target**2)
        return tuple(float(counts @ term) for term in terms)

    def scores(self, found: Mapping[str, Vector], rows: Vector) -> dict[str, Vector]:
        """Return R^2 (0 where all targets are equal), mean absolute error and RMSE."""
        squares = found["target_squared"]
        spread = squares - found["target"] ** 2 / rows
        varies = spread > _ROUNDING * squares
        explained = 1.0 - found["squared"] / np.where(varies, spread, 1.0)
        return {
            "r2": np.where(varies | np.isinf(found["squared"]), explained, 0.0),
            "mae": found["absolute"] / rows,
            "rmse": np.sqrt(found["squared"] / rows),
        }


@dataclass(frozen=True)
class Pinball(_WithoutErrors):
    """Mean pinball loss at a quantile, and coverage.

    Parameters
    ----------
    quantile : float
        Share of the targets below the predictions, in (0, 1).
    """

    quantile: float

    sums: ClassVar[tuple[str, ...]] = ("pinball", "below")
    names: ClassVar[tuple[str, ...]] = ("pinball", "coverage")
    main: ClassVar[str] = "pinball"
    failed: ClassVar[tuple[float, ...]] = (np.inf, 0.0)

    def of(self, predicted: Vector, truth: Vector, counts: Vector) -> tuple[float, ...]:
        """Return the sum of losses, and how many targets are below the predictions."""
        residual = truth - predicted
        loss = np.maximum(self.quantile * residual, (self.quantile - 1.0) * residual)
        return float(counts @ loss), float(counts[residual < 0.0].sum())

    def scores(self, found: Mapping[str, Vector], rows: Vector) -> dict[str, Vector]:
        """Return the mean pinball loss and the coverage."""
        return {"pinball": found["pinball"] / rows, "coverage": found["below"] / rows}


class Pairs(_WithoutErrors):
    """AUC, and the share of outliers.

    Pairs of rows of one part count, so that the AUC of rows that come in several parts is that
    of their parts, weighted by their pairs: decision values of one part come from one SVM.
    """

    sums: ClassVar[tuple[str, ...]] = ("ordered", "pairs", "outside")
    names: ClassVar[tuple[str, ...]] = ("auc", "outliers")
    main: ClassVar[str] = "auc"
    failed: ClassVar[tuple[float, ...]] = (0.0, 1.0, 0.0)

    def of(self, predicted: Vector, truth: Vector, counts: Vector) -> tuple[float, ...]:
        """Return the pairs of a positive row above a negative one, all pairs, and the outliers.

        Equal decision values count half. The truth is +1 or -1, or the mean of the labels of
        equal rows.
        """
        positive, negative = counts * (1.0 + truth) / 2.0, counts * (1.0 - truth) / 2.0
        pairs = float(positive.sum()) * float(negative.sum())
        outside = float(counts[predicted <= 0.0].sum())
        return ordered_pairs(predicted, positive, negative), pairs, outside

    def scores(self, found: Mapping[str, Vector], rows: Vector) -> dict[str, Vector]:
        """Return the AUC (1/2 where all labels are equal) and the share of outliers."""
        some = found["pairs"] > 0.0
        auc = np.where(some, found["ordered"] / np.where(some, found["pairs"], 1.0), 0.5)
        return {"auc": auc, "outliers": found["outside"] / rows}


def tally_of(
    task: Task, targets: Mapping[str, Any] | None = None, scoring: str = ACCURACY
) -> Tally:
    """Return the scores of a task as sums over rows.

    Parameters
    ----------
    task : Task
    targets : mapping, optional
        Statistics of real targets, of which the ``mean`` is used.
    scoring : {"accuracy", "balanced-accuracy", "auc"}, default "accuracy"
        The main score of a task that has classes.

    Raises
    ------
    InputError
        If the task has no such scores.
    """
    if task.has_classes:
        return OF_CLASSES[scoring]()
    if isinstance(task, Regression | NuRegression):
        return Residuals(0.0 if targets is None else float(targets["mean"]))
    if isinstance(task, Quantile):
        return Pinball(task.quantile)
    if isinstance(task, OneClass):
        return Pairs()
    raise InputError(f"task {task.name}: its scores are no sums over rows")
