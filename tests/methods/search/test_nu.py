"""Searches of nu-SVMs: scores are those of scikit-learn's GridSearchCV on the same folds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_diabetes
from sklearn.model_selection import GridSearchCV, PredefinedSplit
from sklearn.svm import NuSVC, NuSVR

from dcsvm_dask import api
from dcsvm_dask.errors import InputError
from dcsvm_dask.runtime.execution import Execution

pytestmark = pytest.mark.usefixtures("few_rows_a_task")

HERE = Execution(workers=0)


def search(rows: tuple[Any, Any], place: Path, task: str, **words: Any) -> api.Run:
    data = str(place.with_suffix(".zarr"))
    if not Path(data).exists():
        api.ingest(rows, data, task=task)
    words = {"svm_type": "nu", "tol": 1e-6, "refit": False, "cv": 3, **words}
    return api.search(data, place, execution=HERE, quiet=True, **words)


def compare(
    run: api.Run, peer: Any, grid: dict[str, Any], rows: tuple[Any, Any], score: str
) -> None:
    """Compare all exact scores with those of scikit-learn on the same folds."""
    folds = PredefinedSplit(run.folder.node("split", "commit").read("fold_of_row"))
    listed = {key: list(values) for key, values in grid.items()}
    found = GridSearchCV(peer, listed, cv=folds, refit=False).fit(rows[0].astype(float), rows[1])
    each = found.cv_results_
    number = {tuple(one[key] for key in grid): place for place, one in enumerate(each["params"])}
    assert len(run.results()) == len(number)
    for row in run.results():
        place = number[tuple(row[key] for key in grid)]
        assert row["solved"]
        assert row[f"exact_{score}"] == pytest.approx(each["mean_test_score"][place], abs=1e-5)


@pytest.mark.long
@pytest.mark.parametrize(
    "words", [{}, {"block_rows": 96, "exact": "all"}], ids=["one-block", "blocks"]
)
def test_scores_are_those_of_nu_svc(
    digits: tuple[NDArray[Any], NDArray[Any]], tmp_path: Path, words: dict[str, Any]
) -> None:
    X, y = digits
    mine = np.flatnonzero((y == 3) | (y == 8) | (y == 9))[:240]
    rows, grid = (X[mine], y[mine]), {"nu": (0.1, 0.6), "gamma": (0.01, 0.2)}
    run = search(rows, tmp_path / "s", "classification", **grid, **words)
    compare(run, NuSVC(tol=1e-6), grid, rows, "accuracy")


@pytest.mark.long
@pytest.mark.parametrize(
    "words", [{}, {"block_rows": 96, "exact": "all"}], ids=["one-block", "blocks"]
)
def test_scores_are_those_of_nu_svr(tmp_path: Path, words: dict[str, Any]) -> None:
    X, z = load_diabetes(return_X_y=True)
    X = (X / X.std(axis=0)).astype(np.float32)[:240]
    rows, grid = (X, z[:240] / 50.0), {"nu": (0.2, 0.7), "C": (0.5, 4.0), "gamma": (0.05,)}
    run = search(rows, tmp_path / "s", "regression", **grid, **words)
    compare(run, NuSVR(tol=1e-6), grid, rows, "r2")


@pytest.mark.long
def test_the_best_is_trained_with_its_own_nu(
    digits: tuple[NDArray[Any], NDArray[Any]], tmp_path: Path
) -> None:
    X, y = digits
    mine = np.flatnonzero(y < 2)[:120]
    rows = X[mine], y[mine]
    run = search(rows, tmp_path / "s", "classification", nu=(0.05, 0.2), gamma=0.1, refit=True)
    best = next(row for row in run.results() if row["best"])
    assert run.best is not None
    settings = run.best.folder.header["settings"]
    assert (settings["task"], settings["task_options"]["nu"]) == ("nu-classification", best["nu"])
    peer = NuSVC(nu=best["nu"], gamma=0.1, tol=1e-6).fit(X[mine].astype(float), y[mine])
    assert np.array_equal(run.best.predict(X).astype(int), peer.predict(X.astype(float)))
    with pytest.raises(InputError, match="a nu-SVC has no C"):
        search(rows, tmp_path / "s", "classification", nu=0.1, C=(1.0, 2.0), gamma=0.1)
    with pytest.raises(InputError, match="it is at most"):
        search(rows, tmp_path / "s", "classification", nu=(0.1, 1.0), gamma=0.1)
    with pytest.raises(InputError, match="nu: is a parameter of task"):
        search(rows, tmp_path / "s", "classification", nu=0.1, gamma=0.1, svm_type="c")
