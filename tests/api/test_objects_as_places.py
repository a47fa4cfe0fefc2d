"""A data set and a run stand for their own paths, wherever a path can be given."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from dcsvm_dask import api
from dcsvm_dask.errors import DcsvmWarning, InputError
from dcsvm_dask.estimators import DCSVC
from dcsvm_dask.runtime.execution import Execution
from dcsvm_dask.storage.dataset import DataSet

X, Y = load_breast_cancer(return_X_y=True)
HOW: dict[str, Any] = {
    "C": 2.0,
    "gamma": 0.02,
    "execution": Execution(workers=0),
    "quiet": True,
    "report": False,
}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> DataSet:
    place = tmp_path_factory.mktemp("data") / "data.zarr"
    return api.ingest((X[:400], Y[:400]), place, test=(X[400:], Y[400:]), scale="standard")


@pytest.fixture(scope="module")
def run(data: DataSet, tmp_path_factory: pytest.TempPathFactory) -> api.Run:
    return api.train(data, tmp_path_factory.mktemp("run") / "run", **HOW)


def test_their_paths_are_where_they_live(data: DataSet, run: api.Run) -> None:
    assert os.fspath(data) == data.url
    assert os.fspath(run) == run.url


def test_training_planning_and_searching(data: DataSet, run: api.Run, tmp_path: Path) -> None:
    by_path = api.train(data.url, tmp_path / "run", **HOW)
    test = data.open_part("test")
    assert (run.predict(test) == by_path.predict(test.url)).all()
    assert api.plan(data, gamma=0.02, C=2.0).kernel_values > 0
    how = {key: HOW[key] for key in ("execution", "quiet")}
    found = api.search(data, tmp_path / "search", C=[1.0, 2.0], gamma=[0.02], cv=2, **how)
    assert len(found.results()) == 2
    held_out = api.train(data, tmp_path / "held", holdout=test, **HOW)
    assert held_out.status()["model"] == "model-conquer-001"


def test_a_data_set_is_taken_in_again(data: DataSet, tmp_path: Path) -> None:
    other = api.ingest(data, tmp_path / "other.zarr", test=data.open_part("test"))
    assert (other.n_rows, other.open_part("test").n_rows) == (400, len(X) - 400)


def test_predicting_and_evaluating(data: DataSet, run: api.Run) -> None:
    test = data.open_part("test")
    found = run.predict(test)
    assert run.evaluate(test)["accuracy"] == np.mean(found == Y[400:])


def test_going_on(run: api.Run) -> None:
    assert api.resume(run, execution=HOW["execution"], quiet=True).url == run.url
    assert api.open_run(run).url == run.url
    with pytest.warns(DcsvmWarning, match="trained on scaled rows"):
        estimator = DCSVC.from_run(run)
    assert (estimator.predict(run.scale(X[400:])) == run.predict(X[400:])).all()


def test_a_run_is_not_made_of_a_path(run: api.Run) -> None:
    with pytest.raises(InputError, match=r"open a run of a path by dcsvm_dask\.open_run"):
        api.Run(run.url)  # type: ignore[arg-type]
