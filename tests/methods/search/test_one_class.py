"""Searches of one-class SVMs: AUC is that of scikit-learn's GridSearchCV on the same folds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, PredefinedSplit
from sklearn.svm import OneClassSVM

from dcsvm_dask import api
from dcsvm_dask.diagnostics.search import described
from dcsvm_dask.errors import InputError
from dcsvm_dask.runtime.execution import Execution
from tests.marks import long

pytestmark = pytest.mark.usefixtures("few_rows_a_task")

GRID = {"nu": (0.1, 0.5), "gamma": (0.01, 0.2)}
Rows = tuple[NDArray[Any], NDArray[Any]]


@pytest.fixture
def rows(digits: Rows) -> Rows:
    """Give threes, and some eights and nines among them as novelties."""
    X, y = digits
    mine = np.concatenate([np.flatnonzero(y == 3)[:150], np.flatnonzero(y >= 8)[:50]])
    mine = np.random.default_rng(0).permutation(mine)
    return X[mine], np.where(y[mine] == 3, 1, -1)


def search(data: Any, place: Path, **words: Any) -> api.Run:
    words = {"tol": 1e-6, "cv": 3, **GRID, **words}
    return api.search(data, place, execution=Execution(workers=0), quiet=True, **words)


@pytest.mark.parametrize(
    "words", [{}, long({"block_rows": 96, "exact": "all"})], ids=["one-block", "blocks"]
)
def test_scores_are_those_of_scikit_learn(
    rows: Rows, tmp_path: Path, words: dict[str, Any]
) -> None:
    api.ingest(rows, tmp_path / "d.zarr", task="one-class")
    run = search(tmp_path / "d.zarr", tmp_path / "s", refit=False, **words)
    folds = PredefinedSplit(run.folder.node("split", "commit").read("fold_of_row"))
    grid = {name: list(values) for name, values in GRID.items()}
    peer = GridSearchCV(OneClassSVM(tol=1e-6), grid, cv=folds, scoring="roc_auc", refit=False)
    found = peer.fit(rows[0].astype(float), rows[1]).cv_results_
    expected = {
        (one["nu"], one["gamma"]): score
        for one, score in zip(found["params"], found["mean_test_score"], strict=True)
    }
    assert len(run.results()) == len(expected)
    for row in run.results():
        assert row["solved"]
        # Pairs of all folds count alike here, and each fold alike there.
        assert row["exact_auc"] == pytest.approx(expected[row["nu"], row["gamma"]], abs=2e-3)


@pytest.mark.long
def test_the_best_is_trained_and_repeats_score_by_all_their_labels(
    rows: Rows, tmp_path: Path
) -> None:
    X, y = rows
    twice = np.concatenate([X, X[:40]]), np.concatenate([y, -y[:40]])
    data = tmp_path / "d.zarr"
    api.ingest(twice, data, task="one-class", test=(X, y))
    run = search(data, tmp_path / "s", validation=f"{data}/test", refit=True)
    best = next(row for row in run.results() if row["best"])
    assert best["C"] is None
    assert described(best).startswith("gamma ")
    peer = OneClassSVM(nu=best["nu"], gamma=best["gamma"], tol=1e-6).fit(twice[0].astype(float))
    theirs = peer.decision_function(X.astype(float))
    pairs = 150 * 50  # of which one may be as good as equal
    assert best["exact_auc"] == pytest.approx(roc_auc_score(y, theirs), abs=1.5 / pairs)
    assert run.best is not None
    np.testing.assert_allclose(run.best.decision_function(X), theirs, atol=1e-3)
    folded = search(data, tmp_path / "folds", nu=0.5, gamma=0.2, refit=False)
    assert folded.results()[0]["exact_auc"] < best["exact_auc"]


def test_what_cannot_be_scored_is_refused(rows: Rows, tmp_path: Path) -> None:
    X, y = rows
    for name, labels in (("none", None), ("one", np.ones(len(X)))):
        api.ingest((X, labels), tmp_path / f"{name}.zarr", task="one-class")
        with pytest.raises(InputError, match="needs the label"):
            search(tmp_path / f"{name}.zarr", tmp_path / "s")
    api.ingest((X, y), tmp_path / "both.zarr", task="one-class")
    with pytest.raises(InputError, match="a one-class SVM has no C"):
        search(tmp_path / "both.zarr", tmp_path / "s", C=(1.0, 2.0))
