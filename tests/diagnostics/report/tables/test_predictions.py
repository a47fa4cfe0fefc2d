"""The curves against those of scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import metrics

from dcsvm_dask import api
from dcsvm_dask.diagnostics.report.tables.every import tables
from dcsvm_dask.diagnostics.report.tables.predictions import precision_recall, roc, thinned
from dcsvm_dask.diagnostics.report.tables.table import rows_of
from tests.diagnostics.report.conftest import HELD_OUT


def scores(ties: bool) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    positive = rng.random(500) < 0.3
    decision = rng.normal(size=500) + positive
    return positive, np.round(decision, 1) if ties else decision


@pytest.mark.parametrize("ties", [False, True])
def test_roc_is_that_of_scikit_learn(ties: bool) -> None:
    positive, decision = scores(ties)
    found = roc(positive, decision)
    assert found is not None
    x, y, _ = metrics.roc_curve(positive, decision, drop_intermediate=False)
    np.testing.assert_allclose((found.x, found.y), (x, y))
    assert found.area == pytest.approx(metrics.roc_auc_score(positive, decision), abs=1e-12)


@pytest.mark.parametrize("ties", [False, True])
def test_precision_and_recall_are_those_of_scikit_learn(ties: bool) -> None:
    positive, decision = scores(ties)
    found = precision_recall(positive, decision)
    assert found is not None
    precision, recall, _ = metrics.precision_recall_curve(positive, decision)
    np.testing.assert_allclose((found.x, found.y), (recall[::-1], precision[::-1]))
    ap = metrics.average_precision_score(positive, decision)
    assert found.area == pytest.approx(ap, abs=1e-12)


def test_one_class_alone_has_no_curve() -> None:
    decision = np.arange(4.0)
    assert roc(np.ones(4, bool), decision) is None
    assert roc(np.zeros(4, bool), decision) is None
    assert precision_recall(np.zeros(4, bool), decision) is None


def test_a_perfect_order_has_an_area_of_one() -> None:
    positive, decision = np.array([True, False, True, False]), np.array([4.0, 1.0, 3.0, 2.0])
    for found in (roc(positive, decision), precision_recall(positive, decision)):
        assert found is not None
        assert found.area == 1.0


def test_a_thinned_curve_keeps_ends_and_stays_near() -> None:
    positive, decision = scores(ties=False)
    found = roc(positive, decision)
    assert found is not None
    x, y = thinned(found, 60)
    assert len(x) <= 62
    assert (x[0], y[0], x[-1], y[-1]) == (0.0, 0.0, 1.0, 1.0)
    assert np.abs(np.interp(found.x, x, y) - found.y).max() < 0.05


def test_predictions_are_those_of_the_scores(trained: api.Run) -> None:
    found = tables(trained.folder)
    for row in rows_of(found["predictions"]):
        node = trained.folder.node(f"score-{row['stage']}", "commit")
        assert row["accuracy"] == pytest.approx(node.record["accuracy"])
        positive = node.read("positive") == 1
        right = (node.read("decision") > 0) == positive
        recalls = [right[positive].mean(), right[~positive].mean()]
        assert row["balanced_accuracy"] == pytest.approx(np.mean(recalls))
        own = [r for r in rows_of(found["confusion"]) if r["model"].startswith(_name(row))]
        assert sum(r["rows"] for r in own) == row["rows"] == HELD_OUT
        hits = sum(r["rows"] for r in own if r["true"] == r["predicted"])
        assert hits == right.sum()
    assert found["predictions"]["mode"] == ["early", "early", "exact"]


def _name(row: dict[str, object]) -> str:
    return f"level {row['level']}" if row["level"] else "exact"
