"""The method of a linear kernel where none is named."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dcsvm_dask import api
from dcsvm_dask.pipeline.linear import as_begun, as_linear, suited
from dcsvm_dask.pipeline.training import Training
from dcsvm_dask.runtime.execution import Execution
from dcsvm_dask.storage.dataset import DataSet

HERE = Execution(workers=0)


@pytest.fixture
def data(demo_rows: Callable[..., Path]) -> DataSet:
    return DataSet.open(demo_rows(300))


def chosen(data: DataSet, *, fits: bool = True, **words: Any) -> tuple[Training, list[str]]:
    said: list[str] = []
    found = suited(Training.of({"kernel": "linear", **words}), data, lambda _: fits, said.append)
    return found, said


@pytest.mark.parametrize(("fits", "method"), [(True, "dcd"), (False, "ocas")])
def test_without_a_bias_a_linear_solver_is_chosen_and_told(
    fits: bool, method: str, data: DataSet
) -> None:
    found, said = chosen(data, fits=fits, C=0.5, tol=1e-2)
    assert (found.method, found.C, found.tol) == (method, 0.5, 1e-2)
    (sentence,) = said
    assert sentence.startswith(f"method {method}: the kernel is linear and there is no bias")
    assert as_begun(Training.of({"kernel": "linear", "C": 0.5, "tol": 1e-2}), method) == found


def test_with_a_bias_the_other_problem_is_offered(data: DataSet) -> None:
    found, said = chosen(data, fit_intercept=True)
    assert found.method == "dcsvm"
    assert "its bias is regularised" in said[0]
    training = Training.of({"kernel": "linear", "fit_intercept": True})
    assert as_begun(training, "dcd") is training


def test_parameters_of_numpy_are_kept() -> None:
    levels = np.array([0.1, 0.5])
    training = Training.of({"kernel": "linear", "task": "quantile", "quantile": levels})
    linear = as_linear(training, "dcd")
    assert linear is not None
    assert np.array_equal(np.asarray(linear.quantile), levels)


@pytest.mark.parametrize(
    "words",
    [
        {"kernel": "rbf"},
        {"method": "dcsvm"},
        {"method": "dcsvm", "levels": 1},
        {"levels": 1},
        {"committee": True},
        {"svm_type": "nu", "nu": 0.2},
    ],
)
def test_who_asks_for_more_gets_it(words: dict[str, Any], data: DataSet) -> None:
    found, said = chosen(data, **words)
    assert found.method == "dcsvm"
    assert not said


def test_data_without_classes_have_one_class_svms(tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(60, 3)).astype(np.float32)
    data = api.ingest((X, None), tmp_path / "data", task="one-class")
    found, said = chosen(data, task="one-class", nu=0.2)
    assert found.method == "dcsvm"
    assert not said


def test_a_run_has_the_answer_of_dcsvm(demo_rows: Callable[..., Path], tmp_path: Path) -> None:
    place = demo_rows(300)
    words: dict[str, Any] = {"kernel": "linear", "tol": 1e-6, "execution": HERE, "quiet": True}
    run = api.train(place, tmp_path / "run", **words)
    assert run.folder.header["settings"]["method"] == "dcd"
    other = api.train(place, tmp_path / "other", method="dcsvm", **words)
    assert run.status()["objective"] == pytest.approx(other.status()["objective"], rel=1e-6)
    X = DataSet.open(place).rows.read(0, 50)
    np.testing.assert_allclose(
        run.decision_function(X, execution=HERE),
        other.decision_function(X, execution=HERE),
        atol=1e-3,
    )
    # The same words go on with it.
    again = api.train_or_resume(place, tmp_path / "run", **words)
    assert again.status()["state"] == "complete"
    stages = [stage.name for stage in api.plan(place, kernel="linear", execution=HERE).graph()]
    assert "descent-001" in stages


def test_choosing_is_no_parameter() -> None:
    training = Training.of({"kernel": "linear"})
    assert training.chooses
    assert "chooses" not in training.words()
    assert not replace(training, chooses=False).chooses
