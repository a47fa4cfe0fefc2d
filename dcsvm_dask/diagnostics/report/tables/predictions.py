"""The quality of a run's models on held-out rows, with ROC and precision-recall curves."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.diagnostics.report.tables.records import Records
from dcsvm_dask.diagnostics.report.tables.table import Table, table
from dcsvm_dask.storage.stage_id import SCORE, StageId

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
    """Return the precision-recall curve; None where no row is positive."""
    true, false = _counts(positive, decision)
    if not true[-1]:
        return None
    recall = np.concatenate([[0.0], true / true[-1]])
    precision = np.concatenate([[1.0], true / (true + false)])
    return Curve(recall, precision, float(np.sum(np.diff(recall) * precision[1:])))


def thinned(curve: Curve, points: int) -> tuple[Vector, Vector]:
    """Return about `points` points of a curve at equal distances along it."""
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


Codes = NDArray[np.integer[Any]]

POINTS = 300
"""Largest number of points of a curve."""


@dataclass(frozen=True)
class Scored:
    """The predictions of a model for held-out rows."""

    level: int
    """0 for the exact model."""
    mode: str
    """exact, early or committee."""
    stage: str
    """The stage that made it; that of a committee is its calibration."""
    true: Codes
    """Class number of each row; of two classes 1 is the positive one."""
    predicted: Codes
    decision: NDArray[np.float64] | None
    """Decision values of two classes; None for many."""

    @property
    def right(self) -> NDArray[np.bool_]:
        """Which rows are predicted correctly."""
        return np.asarray(self.true == self.predicted)

    @cached_property
    def roc(self) -> Curve | None:
        """The ROC curve; None where the rows are of one class, or there are many classes."""
        return None if self.decision is None else roc(self.true == 1, self.decision)

    @cached_property
    def retrieval(self) -> Curve | None:
        """The precision-recall curve; None where no row is positive, or there are many classes."""
        return None if self.decision is None else precision_recall(self.true == 1, self.decision)

    @property
    def name(self) -> str:
        """Name of the model in figures."""
        return f"level {self.level}, {self.mode}" if self.level else self.mode


def scored(records: Records) -> list[Scored]:
    """Return the scored classifiers of a run, the bottom level first and the exact model last.

    Models of real targets are in `target_scores`.
    """
    found = []
    for stage, commit in records.commits.items():
        scores = StageId(stage).kind == SCORE
        node = records.run.find(stage, "commit") if scores else None
        if node is None or node.released:
            continue
        source = commit["source"]
        level = StageId(source).height
        if not level and source != records.status["model"]:
            continue  # an exact model that was replaced
        if node.has("targets"):
            continue
        made = StageId(stage).subject
        decision = None
        if node.has("decision"):
            decision = node.read("decision")
            true, predicted = (
                node.read("positive").astype(np.int32),
                (decision > 0).astype(np.int32),
            )
        else:
            true, predicted = node.read("true"), node.read("predicted")
        found.append(Scored(level, commit["mode"], made, true, predicted, decision))
    return sorted(found, key=lambda one: (-one.level, one.mode != "early"))


def predictions(records: Records, models: list[Scored] | None = None) -> Table:
    """Return a row for each model that was scored on held-out rows.

    ``time`` is when the model was committed, in seconds of the run; ``accuracy_error`` the
    standard error of the accuracy; ``balanced_accuracy`` the mean of the classes' recalls; ``auc``
    and ``ap`` the areas below the ROC curve and below the precision-recall curve.
    """
    rows = []
    for one in scored(records) if models is None else models:
        right = one.right
        accuracy, n = float(right.mean()), len(right)
        recalls = [float(right[one.true == code].mean()) for code in np.unique(one.true)]
        rows.append(
            {
                "level": one.level,
                "mode": one.mode,
                "stage": one.stage,
                "time": records.committed_at(one.stage),
                "rows": n,
                "accuracy": accuracy,
                "accuracy_error": (accuracy * (1.0 - accuracy) / n) ** 0.5,
                "balanced_accuracy": sum(recalls) / len(recalls),
                "auc": None if one.roc is None else one.roc.area,
                "ap": None if one.retrieval is None else one.retrieval.area,
            }
        )
    columns = ("level", "mode", "stage", "time", "rows", "accuracy", "accuracy_error")
    return table((*columns, "balanced_accuracy", "auc", "ap"), rows)


def confusion(records: Records, models: list[Scored] | None = None) -> Table:
    """Return the confusion matrices: a row for each model, true class and predicted class.

    ``share`` is relative to the rows of the true class. Two classes are named -1 and +1.
    """
    rows, names = [], class_names(records)
    for one in scored(records) if models is None else models:
        k = len(names)
        counts = np.bincount(one.true.astype(np.int64) * k + one.predicted, minlength=k * k)
        for number, count in enumerate(counts.tolist()):
            true, predicted = divmod(number, k)
            of_true = int(np.count_nonzero(one.true == true))
            about = {"true": names[true], "predicted": names[predicted]}
            share = count / of_true if of_true else None
            rows.append({"model": one.name, **about, "rows": count, "share": share})
    return table(("model", "true", "predicted", "rows", "share"), rows)


def class_scores(records: Records, models: list[Scored] | None = None) -> Table:
    """Return recall and precision of each model and class.

    ``rows`` are those of the class, ``predicted`` those that are predicted as the class; ``recall``
    is the share of the class that is predicted correctly, ``precision`` the share of the predicted
    rows that are of the class.
    """
    rows, names = [], class_names(records)
    for one in scored(records) if models is None else models:
        for code, name in enumerate(names):
            of_class, decided = one.true == code, one.predicted == code
            n, m, hits = (
                int(np.count_nonzero(mask)) for mask in (of_class, decided, of_class & decided)
            )
            rows.append(
                {
                    "model": one.name,
                    "class": name,
                    "rows": n,
                    "predicted": m,
                    "recall": hits / n if n else None,
                    "precision": hits / m if m else None,
                }
            )
    return table(("model", "class", "rows", "predicted", "recall", "precision"), rows)


def class_names(records: Records) -> list[str]:
    """Return the names of the classes in tables: of two -1 and +1, of many their labels."""
    many = len(records.run.header["shape"].get("class_rows", ()))
    if not many:
        return ["-1", "+1"]
    data = records.data
    return [str(label) for label in (range(many) if data is None else data.classes)]


def roc_curves(records: Records, models: list[Scored] | None = None) -> Table:
    """Return the ROC curves of all models, thinned to some hundred points each."""
    rows = []
    for one in scored(records) if models is None else models:
        curve = one.roc
        for x, y in [] if curve is None else zip(*thinned(curve, POINTS), strict=True):
            rows.append({"model": one.name, "false_positive_rate": x, "true_positive_rate": y})
    return table(("model", "false_positive_rate", "true_positive_rate"), rows)


def precision_recall_curves(records: Records, models: list[Scored] | None = None) -> Table:
    """Return the precision-recall curves of all models, thinned to some hundred points each."""
    rows = []
    for one in scored(records) if models is None else models:
        curve = one.retrieval
        for x, y in [] if curve is None else zip(*thinned(curve, POINTS), strict=True):
            rows.append({"model": one.name, "recall": x, "precision": y})
    return table(("model", "recall", "precision"), rows)
