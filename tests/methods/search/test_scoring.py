"""Searches by balanced accuracy and by AUC: scores are those of SVC on the same rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, PredefinedSplit
from sklearn.svm import SVC

from dcsvm_dask import api
from dcsvm_dask.cli.finish import summary_of_search
from dcsvm_dask.diagnostics.report.parts import Picture
from dcsvm_dask.diagnostics.report.tables.candidates import candidates
from dcsvm_dask.diagnostics.report.tables.records import read_records
from dcsvm_dask.diagnostics.report.views.search import search_section
from dcsvm_dask.errors import InputError
from dcsvm_dask.pipeline.searching import settle
from dcsvm_dask.runtime.execution import Execution
from dcsvm_dask.storage.dataset import DataSet
from tests.marks import long

pytestmark = pytest.mark.usefixtures("few_rows_a_task")

COSTS, GAMMA, TRAINED = (0.25, 4.0), 0.02, 700
GRID: dict[str, Any] = {"C": COSTS, "gamma": GAMMA, "fit_intercept": True, "tol": 1e-4}
HOW: dict[str, Any] = {"refit": False, "quiet": True, "report": False}
HERE = Execution(workers=0)
OF_SKLEARN = {"balanced-accuracy": "balanced_accuracy", "auc": "roc_auc"}
OPTIONS = {"folds": 3, "exact": 1, "halving": False, "budget": 1000, "refit": False}


@pytest.fixture(scope="module")
def images(digits: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    return digits[0][:1100], digits[1][:1100]


@pytest.fixture(scope="module")
def data(images: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    """Give data sets with a class of a tenth of the rows: of two classes, and of three."""
    home, (X, y) = tmp_path_factory.mktemp("data"), images
    for k in (2, 3):
        codes = kinds(y, k)
        parts = (X[:TRAINED], codes[:TRAINED]), (X[TRAINED:], codes[TRAINED:])
        api.ingest(parts[0], home / f"{k}.zarr", test=parts[1], scale="none")
    return {k: home / f"{k}.zarr" for k in (2, 3)}


def kinds(y: np.ndarray, k: int) -> np.ndarray:
    """Return 0 or 1 for these digits, and the last of k classes for all others."""
    return np.minimum((y - 8) % 10, k - 1)


def of_svc(X: Any, y: Any, scoring: str, fold: Any) -> dict[float, np.ndarray]:
    """Return the scores of SVC in each fold, by C."""
    folds = PredefinedSplit(fold)
    made = GridSearchCV(SVC(tol=1e-4, gamma=GAMMA), {"C": COSTS}, scoring=scoring, cv=folds)
    found = made.fit(X, y).cv_results_
    splits = np.array([found[f"split{k}_test_score"] for k in range(folds.get_n_splits())])
    return {one["C"]: splits[:, k] for k, one in enumerate(found["params"])}


@pytest.mark.parametrize(
    ("scoring", "k", "words"),
    [
        ("balanced-accuracy", 3, {"cv": 3}),
        ("auc", 2, {"cv": 3}),
        long("balanced-accuracy", 3, {"cv": 3, "block_rows": 128, "exact": "all"}),
        long("auc", 2, {"cv": 3, "block_rows": 128, "exact": "all", "multiclass": "ovr"}),
        ("balanced-accuracy", 3, {"validation": "test"}),
        long("auc", 2, {"validation": "test", "block_rows": 128, "exact": "all"}),
    ],
)
def test_scores_are_those_of_svc(
    images: Any,
    data: dict[int, Path],
    scoring: str,
    k: int,
    words: dict[str, Any],
    tmp_path: Path,
) -> None:
    X, y = images[0], kinds(images[1], k)
    if "validation" in words:
        words = {**words, "validation": data[k] / "test"}
    run = api.search(
        data[k], tmp_path / "run", scoring=scoring, execution=HERE, **GRID, **HOW, **words
    )
    fold = np.r_[np.full(TRAINED, -1), np.zeros(len(y) - TRAINED, dtype=int)]
    if "cv" in words:
        X, y = X[:TRAINED], y[:TRAINED]
        fold = run.folder.node("split", "commit").read("fold_of_row")
    wanted = {name: of_svc(X, y, name, fold) for name in (OF_SKLEARN[scoring], "accuracy")}
    main = scoring.replace("-", "_")
    for row in run.results():
        # A row on the border may fall to either side; the smallest class has 23 in a fold.
        assert row["splits"] == pytest.approx(wanted[OF_SKLEARN[scoring]][row["C"]], abs=0.02)
        assert row[main] == row[f"exact_{main}"] == pytest.approx(np.mean(row["splits"]))
        assert row["accuracy"] == pytest.approx(wanted["accuracy"][row["C"]].mean(), abs=0.01)
        assert 0.0 < row[f"{main}_error"] < 0.05
    scores = [row[main] for row in run.results()]
    assert scores[0] < scores[1]
    assert [row["best"] for row in run.results()] == [False, True]


def test_tables_report_and_summary_show_the_score(data: dict[int, Path], tmp_path: Path) -> None:
    run = api.search(
        data[3], tmp_path / "run", class_weight="balanced", execution=HERE, **GRID, **HOW
    )
    assert run.folder.header["settings"]["options"]["scoring"] == "balanced-accuracy"
    best = next(row for row in run.results() if row["best"])
    shown = summary_of_search(run)
    assert f": balanced accuracy {best['balanced_accuracy']:.4f}, accuracy " in shown
    assert "balanced accuracy in %; ~ by blocks" in shown
    records = read_records(run.folder)
    found = candidates(records)
    assert found["balanced_accuracy"] == [row["balanced_accuracy"] for row in run.results()]
    section = search_section(records, {"candidates": found})
    titles = [part.title for part in section.parts if isinstance(part, Picture)]
    assert "Exact balanced accuracy (%)" in titles


@pytest.mark.long
def test_a_search_goes_on_with_its_score(data: dict[int, Path], tmp_path: Path) -> None:
    class Stop(api.Callback):
        def on_task(self, event: Any) -> None:
            if event.stage == "early-1":
                raise api.StopRun("enough")

    words: dict[str, Any] = {**GRID, **HOW, "scoring": "auc", "block_rows": 128, "exact": 1}
    whole = api.search(data[2], tmp_path / "whole", execution=HERE, **words)
    run = api.search(data[2], tmp_path / "run", execution=HERE, callbacks=[Stop()], **words)
    assert run.status()["state"] == "interrupted"
    api.resume(run.url, execution=HERE, quiet=True)
    pairs = zip(run.results(), whole.results(), strict=True)
    assert all(one["auc"] == other["auc"] for one, other in pairs)


def test_a_search_that_is_no_better_than_the_largest_class_says_what_to_do(
    data: dict[int, Path], tmp_path: Path
) -> None:
    words = {**GRID, **HOW, "C": (0.001, 0.002), "gamma": (0.001, 0.002)}
    run = api.search(data[2], tmp_path / "run", execution=HERE, **words)
    shown = " ".join(summary_of_search(run).split())
    assert "classes the largest has 0.9000 of the rows" in shown
    assert "hardly more accurate than always predicting the largest class" in shown
    assert "--class-weight balanced" in shown
    assert "(`--scoring`)" in shown
    assert "try smaller ones" not in shown


def test_the_default_follows_from_the_class_weights(data: dict[int, Path]) -> None:
    def scoring(words: dict[str, Any], **options: Any) -> Any:
        opened = DataSet.open(data[2])
        settled = settle(opened, words, OPTIONS | options, block_rows=None, held_out=0)
        return settled[0].options["scoring"]

    assert scoring({}) == "accuracy"
    assert scoring({"class_weight": {"1": 2.0}}) == "accuracy"
    assert scoring({"class_weight": "balanced"}) == "balanced-accuracy"
    assert scoring({"class_weight": "balanced"}, scoring="accuracy") == "accuracy"
    assert scoring({}, scoring="balanced_accuracy") == "balanced-accuracy"


@pytest.mark.parametrize(
    ("k", "words", "scoring", "said"),
    [
        (2, {}, "f1", "scoring must be one of accuracy, balanced-accuracy, auc, got 'f1'"),
        (3, {}, "auc", "auc is for two classes, and .* has 3; give balanced-accuracy"),
        (2, {"task": "regression"}, "auc", "scoring: is for classes.* leave it out"),
    ],
)
def test_impossible_scores_are_refused(
    data: dict[int, Path], k: int, words: dict[str, Any], scoring: str, said: str
) -> None:
    options = OPTIONS | {"scoring": scoring}
    with pytest.raises(InputError, match=said):
        settle(DataSet.open(data[k]), words, options, block_rows=None, held_out=0)
