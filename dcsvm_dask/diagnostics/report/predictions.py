"""How well the models of a run predict the rows that were held out."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.diagnostics.report.curves import Curve, precision_recall, roc, thinned
from dcsvm_dask.diagnostics.report.records import LEVEL, Records, level_of
from dcsvm_dask.diagnostics.report.table import Table, table

POINTS = 300
"""Most points of a curve."""


@dataclass(frozen=True)
class Scored:
    """A model's decision values of held-out rows."""

    level: int
    """0 for the exact model."""
    mode: str
    """exact, early or committee."""
    stage: str
    """The stage that made it: the committee's is that which calibrated it."""
    decision: NDArray[np.float64]
    positive: NDArray[np.bool_]

    @cached_property
    def roc(self) -> Curve | None:
        """Its ROC curve; None where the rows are of one class."""
        return roc(self.positive, self.decision)

    @cached_property
    def retrieval(self) -> Curve | None:
        """Its precision over recall; None where no row is positive."""
        return precision_recall(self.positive, self.decision)

    @property
    def name(self) -> str:
        """What the model is called in figures."""
        return f"level {self.level}, {self.mode}" if self.level else self.mode


def scored(records: Records) -> list[Scored]:
    """Return what the scores of a run hold, the bottom level first and the exact model last."""
    found = []
    for stage, commit in records.commits.items():
        node = records.run.find(stage, "commit") if stage.startswith("score-") else None
        if node is None or node.released:
            continue
        source = commit["source"]
        level = level_of(source) if source.startswith(LEVEL) else 0
        if not level and source != records.status["model"]:
            continue  # an exact model that a later one has replaced
        if "decision/zarr.json" not in node.keys:
            continue  # of many classes, which have no one decision value
        decision, positive = node.read("decision"), node.read("positive") == 1
        made = stage.removeprefix("score-")
        found.append(Scored(level, commit["mode"], made, decision, positive))
    return sorted(found, key=lambda one: (-one.level, one.mode != "early"))


def predictions(records: Records, models: list[Scored] | None = None) -> Table:
    """Return a row for each model that was scored on the rows that were held out.

    ``time`` is when the model was committed, in seconds of the run; ``accuracy_error`` the
    standard error of the accuracy; ``balanced_accuracy`` the mean of the classes' recalls; ``auc``
    and ``ap`` the areas below the ROC curve and below precision over recall.
    """
    rows = []
    for one in scored(records) if models is None else models:
        right = (one.decision > 0) == one.positive
        accuracy, n = float(right.mean()), len(right)
        recalls = [float(right[one.positive == sign].mean()) for sign in set(one.positive.tolist())]
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

    ``share`` is that of the rows of the true class.
    """
    rows = []
    for one in scored(records) if models is None else models:
        for true in (False, True):
            mine = one.decision[one.positive == true] > 0
            for predicted in (False, True):
                count = int(np.count_nonzero(mine == predicted))
                about = {"true": "-+"[true] + "1", "predicted": "-+"[predicted] + "1"}
                share = count / len(mine) if len(mine) else None
                rows.append({"model": one.name, **about, "rows": count, "share": share})
    return table(("model", "true", "predicted", "rows", "share"), rows)


def roc_curves(records: Records, models: list[Scored] | None = None) -> Table:
    """Return the ROC curves of all models, thinned to some hundred points each."""
    rows = []
    for one in scored(records) if models is None else models:
        curve = one.roc
        for x, y in [] if curve is None else zip(*thinned(curve, POINTS), strict=True):
            rows.append({"model": one.name, "false_positive_rate": x, "true_positive_rate": y})
    return table(("model", "false_positive_rate", "true_positive_rate"), rows)


def precision_recall_curves(records: Records, models: list[Scored] | None = None) -> Table:
    """Return precision over recall of all models, thinned to some hundred points each."""
    rows = []
    for one in scored(records) if models is None else models:
        curve = one.retrieval
        for x, y in [] if curve is None else zip(*thinned(curve, POINTS), strict=True):
            rows.append({"model": one.name, "recall": x, "precision": y})
    return table(("model", "recall", "precision"), rows)
