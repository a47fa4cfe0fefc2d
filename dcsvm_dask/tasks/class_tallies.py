"""Scores of classes as sums over rows: accuracy, balanced accuracy, and the AUC of two classes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dcsvm_dask.tasks.scores import ordered_pairs

Vector = NDArray[np.float64]

ACCURACY, BALANCED_ACCURACY, AUC = SCORINGS = ("accuracy", "balanced-accuracy", "auc")
"""The scores of classes by which candidates can be ranked."""


class Hits:
    """Accuracy."""

    sums: ClassVar[tuple[str, ...]] = ("right",)
    names: ClassVar[tuple[str, ...]] = ("accuracy",)
    main: ClassVar[str] = "accuracy"
    failed: ClassVar[tuple[float, ...]] = (0.0,)
    takes_values: ClassVar[bool] = False

    def of(self, predicted: Vector, truth: Vector, counts: Vector) -> tuple[float, ...]:
        """Return how many classes are right."""
        return (float(counts[predicted == truth].sum()),)

    def scores(self, found: Mapping[str, Vector], rows: Vector) -> dict[str, Vector]:
        """Return the accuracy."""
        return {"accuracy": found["right"] / rows}

    def errors(self, found: Mapping[str, Vector], rows: Vector) -> Vector:
        """Return the standard error of the accuracy."""
        return share_error(found["right"] / rows, rows)


@dataclass(frozen=True)
class BalancedHits:
    """Balanced accuracy, the mean share of each class that is right, and accuracy.

    It is the accuracy of rows that weigh as much as all rows of their class weigh together. So of
    some of the rows, too, sums are of use.

    Parameters
    ----------
    rows : ndarray, shape (n_classes,), float64
        Rows of each class among those that are scored in all, by which rows are weighted; only
        `of` needs them.
    """

    rows: Vector = field(default_factory=lambda: np.ones(0))

    sums: ClassVar[tuple[str, ...]] = (
        "right",
        "weighted_right",
        "weighted",
        "squared_right",
        "squared",
    )
    names: ClassVar[tuple[str, ...]] = ("balanced_accuracy", "accuracy")
    main: ClassVar[str] = "balanced_accuracy"
    failed: ClassVar[tuple[float, ...]] = (0.0, 0.0, 1.0, 0.0, 0.0)
    takes_values: ClassVar[bool] = False

    def of(self, predicted: Vector, truth: Vector, counts: Vector) -> tuple[float, ...]:
        """Return how many classes are right, and sums of the rows' weights and their squares."""
        right, weight = predicted == truth, 1.0 / _not_zero(self.rows)[truth.astype(np.intp)]
        weights, squares = counts * weight, counts * weight**2
        sums = (counts[right], weights[right], weights, squares[right], squares)
        return tuple(float(one.sum()) for one in sums)

    def scores(self, found: Mapping[str, Vector], rows: Vector) -> dict[str, Vector]:
        """Return balanced accuracy and accuracy."""
        return {
            "balanced_accuracy": found["weighted_right"] / _not_zero(found["weighted"]),
            "accuracy": found["right"] / rows,
        }

    def errors(self, found: Mapping[str, Vector], rows: Vector) -> Vector:
        """Return the standard error of the balanced accuracy: that of a weighted mean."""
        score = self.scores(found, rows)["balanced_accuracy"]
        right, wrong = found["squared_right"], found["squared"] - found["squared_right"]
        squared = right * (1.0 - score) ** 2 + wrong * score**2
        return np.asarray(np.sqrt(np.maximum(squared, 0.0)) / _not_zero(found["weighted"]))


class ClassPairs:
    """AUC of the decision values of two classes, and accuracy.

    Pairs of rows of one part count, as in `dcsvm_dask.tasks.tally.Pairs`.
    """

    sums: ClassVar[tuple[str, ...]] = ("ordered", "pairs", "positive", "right")
    names: ClassVar[tuple[str, ...]] = ("auc", "accuracy")
    main: ClassVar[str] = "auc"
    failed: ClassVar[tuple[float, ...]] = (0.0, 1.0, 0.0, 0.0)
    takes_values: ClassVar[bool] = True

    def of(self, predicted: Vector, truth: Vector, counts: Vector) -> tuple[float, ...]:
        """Return pairs in order and all pairs, the rows of class 1, and the right ones.

        Predicted are decision values of class 1.
        """
        positive = np.where(truth == 1, counts, 0.0)
        negative, n_positive = counts - positive, float(positive.sum())
        right = counts[(predicted > 0) == (truth == 1)]
        ordered = ordered_pairs(predicted, positive, negative)
        return ordered, n_positive * float(negative.sum()), n_positive, float(right.sum())

    def scores(self, found: Mapping[str, Vector], rows: Vector) -> dict[str, Vector]:
        """Return the AUC (1/2 where all rows are of one class) and the accuracy."""
        auc = np.where(found["pairs"] > 0.0, found["ordered"] / _not_zero(found["pairs"]), 0.5)
        return {"auc": auc, "accuracy": found["right"] / rows}

    def errors(self, found: Mapping[str, Vector], rows: Vector) -> Vector:
        """Return the standard error of the AUC."""
        positive = found["positive"]
        return auc_error(self.scores(found, rows)["auc"], positive, rows - positive)


def share_error(share: ArrayLike, rows: ArrayLike) -> Vector:
    """Return the standard error of a share of some rows.

    Parameters
    ----------
    share, rows : array-like
        Shares, in [0, 1] but for rounding, and the number of rows.
    """
    share = np.clip(share, 0.0, 1.0)
    return np.asarray(np.sqrt(share * (1.0 - share) / np.maximum(1.0, rows)))


def auc_error(auc: ArrayLike, positive: ArrayLike, negative: ArrayLike) -> Vector:
    """Return the standard error of an AUC (Hanley, McNeil, Radiology 143, 1982).

    Parameters
    ----------
    auc, positive, negative : array-like
        Areas under ROC curves, and the rows of either class.
    """
    auc, positive, negative = np.clip(auc, 0.0, 1.0), np.asarray(positive), np.asarray(negative)
    above, below = auc / (2.0 - auc), 2.0 * auc**2 / (1.0 + auc)
    squared = auc * (1.0 - auc) + (positive - 1.0) * (above - auc**2)
    squared = (squared + (negative - 1.0) * (below - auc**2)) / np.maximum(1.0, positive * negative)
    return np.asarray(np.sqrt(np.maximum(squared, 0.0)))


def _not_zero(values: Vector) -> Vector:
    """Return divisors of sums that are 0 where these are."""
    return np.where(values > 0.0, values, 1.0)
