"""The step of a free bias comes from the rows, is kept in the run, and changes no answer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from dcsvm_dask import api
from dcsvm_dask.methods.dcd.options import Descent
from dcsvm_dask.methods.linear.step import usual_step
from dcsvm_dask.pipeline.training import Training
from dcsvm_dask.solvers import step_of
from dcsvm_dask.storage.dataset import DataSet
from tests.methods.linear.runs import HERE, Rows, model_of, rows_of

FREE: dict[str, Any] = {
    "kernel": "linear",
    "method": "dcd",
    "bias": "free",
    "fit_intercept": True,
}


@pytest.mark.parametrize("as_csr", [False, True])
@pytest.mark.parametrize("size", [1.0, 300.0])
def test_it_is_a_third_of_the_length_of_a_row(size: float, as_csr: bool, tmp_path: Path) -> None:
    X = size * np.random.default_rng(0).normal(size=(500, 4)).astype(np.float32)
    y = np.where(X[:, 0] > 0, 1, -1)
    data = api.ingest((sparse.csr_array(X) if as_csr else X, y), tmp_path / "data")
    assert usual_step(data) == pytest.approx(step_of((X,)), rel=1e-2)
    assert usual_step(data) == pytest.approx(np.sqrt(0.1 * np.mean(np.sum(X**2, axis=1))), rel=1e-2)
    found = Training.of(FREE).settle(data)[0].options["constant"]
    assert found == usual_step(DataSet.open(tmp_path / "data"))
    # Three digits: what is shown is all of it.
    assert found == float(f"{found:.3g}")


def test_what_is_given_and_a_constant_feature_stay(demo_rows: Callable[..., Path]) -> None:
    data = DataSet.open(demo_rows(300))
    for words, wanted in (({"constant": 1.0}, 1.0), ({"constant": 0.3}, 0.3)):
        assert Training.of(FREE | words).settle(data)[0].options["constant"] == wanted
    other = Training.of(FREE | {"bias": "feature"}).settle(data)[0]
    assert other.options["constant"] == Descent().feature == 1.0
    ocas = Training.of({"kernel": "linear", "method": "ocas", "fit_intercept": True})
    assert ocas.settle(data)[0].options["constant"] == 1.0


def test_rows_of_all_of_a_sorted_data_set_count(tmp_path: Path) -> None:
    X = np.ones((20_000, 2), np.float32)
    X[10_000:] *= 10.0
    api.ingest((X, np.repeat([0, 1], 10_000)), tmp_path / "data")
    found = usual_step(DataSet.open(tmp_path / "data"))
    assert found == pytest.approx(np.sqrt(0.1 * 0.5 * (2.0 + 200.0)), rel=1e-2)


@pytest.mark.long
@pytest.mark.parametrize("name", ["a9a", "w8a", "cadata"])
def test_it_changes_passes_and_no_answer(
    name: str, shared_data: Callable[[str], Any], train_linear: Callable[..., api.Run]
) -> None:
    rows: Rows = rows_of(shared_data, name, 1000)
    words = dict(FREE)
    if name == "cadata":
        X, z = rows
        rows = ((X - X.mean(axis=0)) / X.std(axis=0)).astype(np.float32), z / z.std()
        words |= {"task": "regression", "loss": "squared_epsilon_insensitive"}
    one, other = (
        train_linear(rows, str(how), execution=HERE, **words, **how)
        for how in ({}, {"constant": 1.0})
    )
    assert model_of(one)["objective"] == pytest.approx(model_of(other)["objective"], rel=1e-6)
    passes = [run.history()[-1]["passes"] for run in (one, other)]
    assert passes[0] <= 1.5 * passes[1]
