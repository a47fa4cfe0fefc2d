"""Curves of decision values against true labels: ROC, precision and recall."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Curve:
    """A curve and the area below it.

    Attributes
    ----------
    x, y : ndarray, shape (m,), float64
        ROC: false and true positive rate, ascending. Precision and recall: recall, ascending, and
        precision.
    area : float
        ROC: area by trapezoids (AUC). Precision and recall: average precision, the sum of the
        precisions weighted with the steps in recall (AP).
    """

    x: Vector
    y: Vector
    area: float


def roc(positive: NDArray[np.bool_], decision: Vector) -> Curve | None:
    """Return the ROC curve, a point for each distinct decision value; None for one class."""
    true, false = _counts(positive, decision)
    if not true[-1] or not false[-1]:
        return None
    x = np.concatenate([[0.0], false / false[-1]])
    y = np.concatenate([[0.0], true / true[-1]])
    return Curve(x, y, float(np.trapezoid(y, x)))


def precision_recall(positive: NDArray[np.bool_], decision: Vector) -> Curve | None:
    """Return precision over recall; None where no row is positive."""
    true, false = _counts(positive, decision)
    if not true[-1]:
        return None
    recall = np.concatenate([[0.0], true / true[-1]])
    precision = np.concatenate([[1.0], true / (true + false)])
    return Curve(recall, precision, float(np.sum(np.diff(recall) * precision[1:])))


def thinned(curve: Curve, points: int) -> tuple[Vector, Vector]:
    """Return at most about so many points of a curve, equally far from one another on it."""
    length = np.hypot(np.diff(curve.x), np.diff(curve.y)).cumsum()
    length = np.concatenate([[0.0], length])
    at = np.searchsorted(length, np.linspace(0.0, length[-1], points))
    keep = np.unique(np.concatenate([[0], at, [len(length) - 1]]))
    return curve.x[keep], curve.y[keep]


def _counts(positive: NDArray[np.bool_], decision: Vector) -> tuple[Vector, Vector]:
    """Return true and false positives at each distinct decision value, from the largest."""
    order = np.argsort(-decision, kind="stable")
    last = np.flatnonzero(np.append(np.diff(decision[order]) != 0.0, True))
    true = np.cumsum(positive[order], dtype=np.float64)[last]
    return true, last + 1.0 - true
