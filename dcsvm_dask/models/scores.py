"""How good predicted classes are: shares of right rows, AUC, the confusion matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.tasks import auc_error, share_error
from dcsvm_dask.tasks.scores import area_under_curve

Counts = NDArray[np.int64]
Vector = NDArray[np.float64]


class Scores:
    """Counts predictions block by block.

    Parameters
    ----------
    classes : list
        Labels in the order of their codes.
    """

    def __init__(self, classes: list[Any]) -> None:
        self._classes = classes
        self._counts: Counts = np.zeros((len(classes), len(classes)), dtype=np.int64)
        self._positive: list[NDArray[np.bool_]] = []
        self._decision: list[Vector] = []

    def update(
        self,
        true: NDArray[np.int32],
        predicted: NDArray[np.int32],
        decision: Vector | None = None,
    ) -> None:
        """Take some rows in.

        Parameters
        ----------
        true, predicted : ndarray, shape (n,), int32
            Codes of classes.
        decision : ndarray, shape (n,), float64, optional
            Decision values of the second of two classes. They are kept, for AUC.
        """
        k = len(self._classes)
        pairs = true.astype(np.int64) * k + predicted
        self._counts += np.bincount(pairs, minlength=k * k).reshape(k, k)
        if decision is not None:
            self._positive.append(true == 1)
            self._decision.append(decision)

    def result(self) -> dict[str, Any]:
        """Return the scores as JSON values, as scikit-learn defines them.

        Returns
        -------
        dict
            ``accuracy`` in [0, 1]; ``balanced_accuracy``, the mean over the classes that occur
            of the share of their rows that is predicted right; ``largest_class``, the share of the
            class with the most rows; ``precision``, ``recall`` and ``f1`` of the second of two
            classes, of more the mean over classes (macro average: ``average`` says which);
            ``roc_auc``, the area under the ROC curve, of two classes where both occur;
            ``by_class``, the three and the number of rows of each class; ``confusion`` with
            ``labels`` and ``matrix`` (a row for each true class, a column for each predicted one);
            ``n_rows``. A precision without predictions of a class, and a recall without rows of
            it, is 0.
        """
        n, rows, right = int(self._counts.sum()), self._counts.sum(axis=1), np.diag(self._counts)
        occurs = rows > 0
        found = {
            "accuracy": float(right.sum() / n) if n else 0.0,
            "balanced_accuracy": float(np.mean(right[occurs] / rows[occurs])) if n else 0.0,
            "largest_class": float(rows.max() / n) if n else 0.0,
            **self._of_classes(rows, right),
            "confusion": {"labels": list(self._classes), "matrix": self._counts.tolist()},
            "n_rows": n,
        }
        auc = self._area()
        return found if auc is None else {**found, "roc_auc": auc}

    def _of_classes(self, rows: Counts, right: Counts) -> dict[str, Any]:
        """Return precision, recall and F1, of all and of each class."""
        predicted = self._counts.sum(axis=0)
        three = {
            "precision": _share(right, predicted),
            "recall": _share(right, rows),
            "f1": _share(2 * right, predicted + rows),
        }
        two, seen = len(self._classes) == 2, (predicted + rows) > 0
        counted = np.array([False, True]) if two else seen
        means = {
            name: float(values[counted].mean()) if counted.any() else 0.0
            for name, values in three.items()
        }
        by_class = [
            {"label": label, **{name: float(v[k]) for name, v in three.items()}, "rows": int(r)}
            for k, (label, r) in enumerate(zip(self._classes, rows, strict=True))
        ]
        return {**means, "average": "binary" if two else "macro", "by_class": by_class}

    def _area(self) -> float | None:
        """Return the area under the ROC curve; None where it is not defined."""
        if not self._positive:
            return None
        positive = np.concatenate(self._positive)
        if not 0 < positive.sum() < len(positive):
            return None
        return area_under_curve(np.concatenate(self._decision), positive)


def standard_error(evaluated: dict[str, Any], score: str) -> float | None:
    """Return the standard error of a score of classes; None of other scores.

    Parameters
    ----------
    evaluated : dict
        What `Scores.result` returns.
    score : str
        The key of the score: "accuracy", "balanced_accuracy" or "roc_auc" (of which the error is
        that of Hanley and McNeil, 1982).
    """
    if score == "accuracy":
        return float(share_error(evaluated[score], evaluated["n_rows"]))
    if score not in ("balanced_accuracy", "roc_auc"):
        return None
    rows = np.array([one["rows"] for one in evaluated["by_class"]])
    if score == "roc_auc":
        return float(auc_error(evaluated[score], rows[1], rows[0]))
    recalls = np.array([one["recall"] for one in evaluated["by_class"]])[rows > 0]
    errors = share_error(recalls, rows[rows > 0])
    return float(np.sqrt(np.sum(errors**2)) / len(errors))


def _share(part: Counts, whole: Counts) -> Vector:
    """Return quotients; 0 where there is nothing to divide by."""
    return np.divide(part, whole, out=np.zeros(len(whole)), where=whole > 0)
