"""Scores of predicted classes beside scikit-learn's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dcsvm_dask.models.scores import Scores

metrics: Any = pytest.importorskip("sklearn.metrics")

FEW = 1e-12
"""Rounding of quotients and of their mean."""


def scored(y: Any, predicted: Any, k: int, decision: Any = None) -> dict[str, Any]:
    """Return the scores of rows that come in three blocks."""
    scores = Scores([f"class {code}" for code in range(k)])
    for rows in np.array_split(np.arange(len(y)), 3):
        part = None if decision is None else decision[rows]
        scores.update(y[rows], predicted[rows], part)
    return scores.result()


def three(y: Any, predicted: Any, **how: Any) -> tuple[Any, ...]:
    found = metrics.precision_recall_fscore_support(y, predicted, zero_division=0, **how)
    return tuple(found)


@pytest.mark.parametrize("k", [2, 3, 7])
def test_scores_are_those_of_scikit_learn(k: int) -> None:
    rng = np.random.default_rng(k)
    y = rng.integers(0, k, 500).astype(np.int32)
    y[:100] = 0
    predicted = np.where(rng.random(500) < 0.6, y, rng.integers(0, k, 500)).astype(np.int32)
    found = scored(y, predicted, k)
    average = "binary" if k == 2 else "macro"
    assert found["average"] == average
    precision, recall, f1, _ = three(y, predicted, average=average)
    assert found["precision"] == pytest.approx(precision, rel=FEW)
    assert found["recall"] == pytest.approx(recall, rel=FEW)
    assert found["f1"] == pytest.approx(f1, rel=FEW)
    assert found["balanced_accuracy"] == pytest.approx(
        metrics.balanced_accuracy_score(y, predicted), rel=FEW
    )
    assert found["largest_class"] == np.bincount(y).max() / 500
    for name, values in zip(
        ("precision", "recall", "f1", "rows"), three(y, predicted), strict=True
    ):
        assert [one[name] for one in found["by_class"]] == pytest.approx(list(values), rel=FEW)
    assert [one["label"] for one in found["by_class"]] == found["confusion"]["labels"]
    assert "roc_auc" not in found


def test_classes_without_rows_or_predictions_count_as_in_scikit_learn() -> None:
    y = np.array([0, 0, 1, 1, 3], dtype=np.int32)
    predicted = np.array([0, 0, 0, 0, 4], dtype=np.int32)
    found = scored(y, predicted, 6)  # 2 and 5 neither occur nor are predicted
    precision, recall, f1, _ = three(y, predicted, average="macro")
    assert (found["precision"], found["recall"], found["f1"]) == pytest.approx(
        (precision, recall, f1), rel=FEW
    )
    assert found["by_class"][5] == {
        "label": "class 5",
        "precision": 0.0,
        "recall": 0.0,
        "f1": 0.0,
        "rows": 0,
    }


def test_auc_is_that_of_the_decision_values() -> None:
    rng = np.random.default_rng(0)
    decision = np.round(rng.standard_normal(300), 1)  # with equal values
    y = (decision + rng.standard_normal(300) > 0).astype(np.int32)
    found = scored(y, (decision > 0).astype(np.int32), 2, decision)
    assert found["roc_auc"] == pytest.approx(metrics.roc_auc_score(y, decision), rel=FEW)
    ones = np.ones(300, dtype=np.int32)
    assert "roc_auc" not in scored(ones, ones, 2, decision)
