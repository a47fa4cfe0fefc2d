"""The method of a linear kernel where none is named."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from dcsvm_dask import api
from dcsvm_dask.pipeline.linear import as_begun, as_linear, suited
from dcsvm_dask.pipeline.training import Training
from dcsvm_dask.runtime.execution import Execution
from dcsvm_dask.storage.dataset import DataSet
from tests.methods.linear.runs import rows_of

HERE = Execution(workers=0)


@pytest.fixture
def data(demo_rows: Callable[..., Path]) -> DataSet:
    return DataSet.open(demo_rows(300))


def chosen(data: DataSet, *, pieces: int = 1, **words: Any) -> tuple[Training, list[str]]:
    said: list[str] = []
    found = suited(Training.of({"kernel": "linear", **words}), data, lambda _: pieces, said.append)
    return found, said


@pytest.mark.parametrize(("pieces", "method"), [(1, "dcd"), (4, "ocas"), (0, "ocas")])
def test_without_a_bias_a_linear_solver_is_chosen_and_reported(
    pieces: int, method: str, data: DataSet
) -> None:
    found, said = chosen(data, pieces=pieces, C=0.5, tol=1e-2)
    assert (found.method, found.C, found.tol) == (method, 0.5, 1e-2)
    (sentence,) = said
    assert sentence.startswith(f"method {method}: the kernel is linear and there is no bias")
    assert as_begun(Training.of({"kernel": "linear", "C": 0.5, "tol": 1e-2}), method) == found


@pytest.mark.parametrize("pieces", [1, 4])
def test_with_a_bias_it_is_free(pieces: int, data: DataSet) -> None:
    words: dict[str, Any] = {"fit_intercept": True, "C": 0.5, "multiclass": "ovr"}
    found, said = chosen(data, pieces=pieces, **words)
    assert (found.method, found.C, found.multiclass) == ("dcd", 0.5, "ovr")
    assert found.options.to_json()["bias"] == "free"
    (sentence,) = said
    assert sentence.startswith("method dcd -P bias=free: the kernel is linear and the bias is not")
    assert ("read in 4 pieces, again for each pass" in sentence) is (pieces == 4)
    training = Training.of({"kernel": "linear", **words})
    assert as_begun(training, "dcd") == found
    # Their bias is regularised: another problem, which nobody gets without asking.
    for other in ("ocas", "dcsvm"):
        assert as_begun(training, other) is training


def test_with_a_bias_vectors_that_fit_no_worker_leave_dcsvm(data: DataSet) -> None:
    found, (sentence,) = chosen(data, pieces=0, fit_intercept=True)
    assert found.method == "dcsvm"
    assert sentence.startswith("method dcsvm: vectors of dcd -P bias=free do not fit")


def test_parameters_of_numpy_are_kept() -> None:
    levels = np.array([0.1, 0.5])
    training = Training.of({"kernel": "linear", "task": "quantile", "quantile": levels})
    linear = as_linear(training, "dcd")
    assert linear is not None
    assert np.array_equal(np.asarray(linear.quantile), levels)


@pytest.mark.parametrize(
    "words",
    [{"kernel": "rbf"}, {"method": "dcsvm"}, {"method": "dcsvm", "levels": 1}, {"method": "dcd"}],
)
def test_who_names_a_method_or_another_kernel_gets_it(words: dict[str, Any], data: DataSet) -> None:
    found, said = chosen(data, **words)
    assert found == Training.of({"kernel": "linear", **words})
    assert not said


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ({"levels": 1}, "levels is given"),
        ({"committee": True, "stop_at": 1}, "committee, stop-at is given"),
        ({"svm_type": "nu", "nu": 0.2}, "classification with svm-type nu is asked for"),
    ],
)
def test_who_asks_for_more_stays_with_dcsvm(
    bias: bool, words: dict[str, Any], reason: str, data: DataSet
) -> None:
    found, (sentence,) = chosen(data, fit_intercept=bias, **words)
    assert found.method == "dcsvm"
    assert sentence.startswith(f"method dcsvm: {reason}, which linear solvers lack")


def test_data_without_classes_have_one_class_svms(tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(60, 3)).astype(np.float32)
    data = api.ingest((X, None), tmp_path / "data", task="one-class")
    found, (sentence,) = chosen(data, task="one-class", nu=0.2)
    assert found.method == "dcsvm"
    assert sentence.startswith("method dcsvm: task one-class, which linear solvers lack")


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


def objective_of(run: api.Run) -> float:
    return float(run.status()["objective"])


CASES: dict[str, tuple[str, bool, dict[str, Any]]] = {
    "a9a, sparse": ("a9a", True, {}),
    "w8a, dense, class weights": ("w8a", False, {"class_weight": {"1": 3.0, "-1": 0.5}}),
    "a9a, squared hinge, weighted rows": ("a9a", True, {"loss": "squared_hinge", "weights": True}),
    "usps, one-vs-one": ("usps", False, {"C": 0.1}),
    "usps, one-vs-rest": ("usps", False, {"C": 0.1, "multiclass": "ovr"}),
    "cadata": ("cadata", False, {"task": "regression"}),
    "cadata, sparse, weighted rows": ("cadata", True, {"task": "regression", "weights": True}),
    "cadata, squared": (
        "cadata",
        False,
        {"task": "regression", "loss": "squared_epsilon_insensitive"},
    ),
    "cadata, quantile": ("cadata", False, {"task": "quantile", "quantile": 0.3}),
}


@pytest.mark.long
@pytest.mark.parametrize("case", list(CASES))
def test_with_a_bias_the_model_is_that_of_dcsvm(
    case: str, shared_data: Callable[[str], Any], tmp_path: Path
) -> None:
    name, as_csr, words = CASES[case]
    words = {"kernel": "linear", "fit_intercept": True, "tol": 1e-6, **words}
    X, y = rows_of(shared_data, name)
    if name == "cadata":
        X, y = (X - X.mean(axis=0)) / X.std(axis=0), y / y.std() + 5.0
    rows = sparse.csr_array(X) if as_csr else X
    costs = np.random.default_rng(1).choice([0.5, 1.0, 3.0], size=len(y))
    weights = costs if words.pop("weights", False) else None
    task = words.get("task", "classification")
    api.ingest((rows, y), tmp_path / "data", task=task, weights=weights)
    how: dict[str, Any] = {"execution": HERE, "quiet": True}
    run = api.train(tmp_path / "data", tmp_path / "run", **how, **words)
    other = api.train(tmp_path / "data", tmp_path / "other", method="dcsvm", **how, **words)
    settings = run.folder.header["settings"]
    assert (settings["method"], settings["options"]["bias"]) == ("dcd", "free")
    assert settings["multiclass"] == other.folder.header["settings"]["multiclass"]
    assert run.status()["converged"]
    assert other.status()["converged"]
    assert objective_of(run) == pytest.approx(objective_of(other), rel=1e-6)
    decide = "decision_function" if task == "classification" else "predict"
    values = [
        getattr(one, decide)(X[:200].astype(np.float32), execution=HERE) for one in (run, other)
    ]
    np.testing.assert_allclose(*values, atol=2e-3 * max(1.0, float(np.abs(values[1]).max())))


def test_a_run_with_a_bias_goes_on_with_the_same_words(
    demo_rows: Callable[..., Path], tmp_path: Path
) -> None:
    place = demo_rows(300)
    words: dict[str, Any] = {"kernel": "linear", "fit_intercept": True, "C": 0.1}
    how: dict[str, Any] = {"execution": HERE, "quiet": True}
    run = api.train_or_resume(place, tmp_path / "run", **words, **how)
    options = run.folder.header["settings"]["options"]
    # The step is a function of the rows, and kept.
    assert (
        options["constant"]
        == Training.of(run_words(words)).settle(DataSet.open(place))[0].options["constant"]
    )
    again = api.train_or_resume(place, tmp_path / "run", tol=1e-4, **words, **how)
    assert again.status()["state"] == "complete"
    assert again.status()["violation"] <= 1e-4
    stages = [stage.name for stage in api.plan(place, execution=HERE, **words).graph()]
    assert "descent-001" in stages


def run_words(words: dict[str, Any]) -> dict[str, Any]:
    return {**words, "method": "dcd", "bias": "free"}
