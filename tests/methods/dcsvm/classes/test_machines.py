"""Many classes: each pair solved, as SVC does it."""

from __future__ import annotations

import csv
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr
from scipy import sparse
from sklearn.datasets import dump_svmlight_file
from sklearn.metrics import accuracy_score, balanced_accuracy_score, confusion_matrix
from sklearn.svm import SVC

from dcsvm_dask import api
from dcsvm_dask.errors import InputError
from dcsvm_dask.estimators import DCSVC
from dcsvm_dask.methods.dcsvm.classes import together as tasks
from dcsvm_dask.methods.dcsvm.classes.blocks import _part
from dcsvm_dask.runtime.execution import Execution
from tests.left import forget_state
from tests.marks import long

pytestmark = pytest.mark.usefixtures("few_rows_a_task")

HERE = Execution(workers=0)
GAMMA, C, ROWS = 0.1, 5.0, 600
Train = Callable[..., api.Run]


@pytest.fixture(scope="module")
def data(digits: Any, tmp_path_factory: pytest.TempPathFactory) -> str:
    X, y = digits
    place = tmp_path_factory.mktemp("digits") / "d.zarr"
    # Some rows come twice: those are one variable.
    api.ingest((np.concatenate([X[:ROWS], X[:50]]), np.concatenate([y[:ROWS], y[:50]])), place)
    return str(place)


@pytest.fixture
def train(data: str, tmp_path: Path) -> Train:
    def call(name: str = "run", execution: Execution = HERE, **words: Any) -> api.Run:
        words = {"gamma": GAMMA, "C": C, "tol": 1e-4, "fit_intercept": True, **words}
        return api.train(data, tmp_path / name, execution=execution, quiet=True, **words)

    return call


@pytest.mark.parametrize("class_weight", [long(None), long("balanced"), {3: 0.2, 8: 4.0}])
def test_pairs_are_those_of_svc(train: Train, digits: Any, class_weight: Any) -> None:
    X, y = digits
    svc = SVC(gamma=GAMMA, C=C, tol=1e-4, class_weight=class_weight)
    svc.fit(np.concatenate([X[:ROWS], X[:50]]), np.concatenate([y[:ROWS], y[:50]]))
    run = train(class_weight=class_weight)
    unseen = X[ROWS:]
    np.testing.assert_array_equal(run.predict(unseen), svc.predict(unseen))
    values = run.decision_function(unseen)
    np.testing.assert_allclose(values, svc.decision_function(unseen), atol=2e-3)
    record = run.status()["stages"]["model-pairs"]
    assert record["pairs"] == 45
    # Rows whose margin is 1 and whose alpha is near 0 are support vectors to one of the two.
    of_svc = len(np.unique(svc.support_vectors_, axis=0))
    assert record["support"] == pytest.approx(of_svc, rel=0.03)
    assert record["violation"] <= 1e-4


def test_alpha_of_every_row_is_the_estimator_s(train: Train, digits: Any) -> None:
    X, y = digits
    run = train(fit_intercept=False, tol=1e-6)
    alpha = run.folder.node("model-pairs", "commit").read("alpha")
    rows = np.concatenate([X[:ROWS], X[:50]])
    svc = DCSVC(gamma=GAMMA, C=C, tol=1e-6, fit_intercept=False)
    svc.fit(rows, np.concatenate([y[:ROWS], y[:50]]))
    wanted = np.zeros(alpha.shape)
    wanted[:, svc.support_] = svc.dual_coef_
    np.testing.assert_allclose(alpha, wanted, atol=1e-4)
    np.testing.assert_array_equal(run.predict(X), svc.predict(X))


@pytest.mark.long
def test_evaluation_is_that_of_scikit_learn(train: Train, digits: Any) -> None:
    X, y = digits
    run = train()
    found, predicted = run.evaluate((X[ROWS:], y[ROWS:])), run.predict(X[ROWS:])
    assert found["accuracy"] == pytest.approx(accuracy_score(y[ROWS:], predicted))
    balanced = balanced_accuracy_score(y[ROWS:], predicted)
    assert found["balanced_accuracy"] == pytest.approx(balanced)
    matrix = confusion_matrix(y[ROWS:], predicted).tolist()
    assert found["confusion"] == {"labels": list(range(10)), "matrix": matrix}


@pytest.mark.parametrize("extension", [long("csv"), "npy", long("parquet"), long("zarr")])
def test_files_have_a_decision_value_for_each_class(
    train: Train, digits: Any, extension: str, tmp_path: Path
) -> None:
    X, _ = digits
    run, out = train(), tmp_path / f"out.{extension}"
    run.predict_file(X[:30], out)
    labels, values = read_predictions(out)
    np.testing.assert_array_equal(labels, run.predict(X[:30]))
    np.testing.assert_array_equal(values, run.decision_function(X[:30]))


def read_predictions(out: Path) -> tuple[Any, Any]:
    names = [f"decision_{label}" for label in range(10)]
    if out.suffix == ".csv":
        with out.open() as file:
            rows = list(csv.DictReader(file))
        values = [[float(row[name]) for name in names] for row in rows]
        return [int(row["label"]) for row in rows], values
    if out.suffix == ".npy":
        found = np.load(out)
        return found["label"], found["decision"]
    if out.suffix == ".parquet":
        table = pytest.importorskip("pyarrow.parquet").read_table(out)
        columns = [table[name].to_numpy() for name in names]
        return table["label"].to_numpy(), np.stack(columns, axis=1)
    group = zarr.open_group(out, mode="r")
    return np.asarray(group["label"]), np.asarray(group["decision"])


@pytest.mark.long
def test_workers_tasks_and_a_resume_change_no_answer(
    train: Train, digits: Any, two_workers: Execution, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, _ = digits
    together = train("together")
    monkeypatch.setattr(tasks, "TOGETHER", 0.0)  # each SVM is a task
    here, there = train("here"), train("there", two_workers)
    wanted = together.decision_function(X)
    np.testing.assert_array_equal(here.decision_function(X), wanted)
    np.testing.assert_array_equal(there.decision_function(X), wanted)
    stage = here.folder.stage("model-pairs")
    (stage / "commit.json").delete()
    (stage / "solve-0003-0008.json").delete()
    forget_state(here.url)
    again = api.resume(here.url, execution=HERE, quiet=True)
    np.testing.assert_array_equal(again.decision_function(X), wanted)


def test_a_run_is_scored_reported_and_shown(data: str, digits: Any, tmp_path: Path) -> None:
    X, y = digits
    held_out = tmp_path / "h.zarr"
    api.ingest((X[ROWS:], y[ROWS:]), held_out)
    words: dict[str, Any] = {"gamma": GAMMA, "C": C, "holdout": held_out}
    run = api.train(data, tmp_path / "run", execution=HERE, progress="lines", **words)
    score = run.status()["stages"]["score-model-pairs"]
    assert score["accuracy"] == pytest.approx(np.mean(run.predict(X[ROWS:]) == y[ROWS:]))
    page = run.report(tmp_path / "report.html", csv=tmp_path / "csv")
    assert "model-pairs" in Path(page).read_text()


@pytest.mark.skipif(shutil.which("svm-predict") is None, reason="needs Debian's libsvm-tools")
def test_libsvm_predicts_the_same(train: Train, digits: Any, tmp_path: Path) -> None:
    X, y = digits
    run, model, rows, out = train(), *(tmp_path / name for name in ("m.model", "rows", "out"))
    found = run.export(model)
    assert (found["n_support"], found["labels"]) == (run_support(run), list(range(10)))
    dump_svmlight_file(X[ROWS:], y[ROWS:], str(rows), zero_based=False)
    subprocess.run(["svm-predict", "-q", rows, model, out], check=True)
    np.testing.assert_array_equal(np.loadtxt(out), run.predict(X[ROWS:]))


def run_support(run: api.Run) -> int:
    return int(run.status()["stages"]["model-pairs"]["support"])


@pytest.mark.long
@pytest.mark.parametrize("is_sparse", [False, long(True)], ids=["dense", "csr"])
def test_a_fitted_svc_makes_the_same_decisions(
    is_sparse: bool, digits: Any, tmp_path: Path
) -> None:
    X, y = digits
    rows = np.concatenate([X[:ROWS], X[:50]])
    rows = sparse.csr_array(rows) if is_sparse else rows
    y_rows = np.concatenate([y[:ROWS], y[:50]])
    api.ingest((rows, y_rows), tmp_path / "d.zarr")
    words: dict[str, Any] = {"gamma": GAMMA, "C": C, "tol": 1e-5, "fit_intercept": True}
    run = api.train(tmp_path / "d.zarr", tmp_path / "run", execution=HERE, quiet=True, **words)
    ours, theirs = run.to_sklearn(), SVC(gamma=GAMMA, C=C, tol=1e-5).fit(rows, y_rows)
    unseen = sparse.csr_array(X[ROWS:]) if is_sparse else X[ROWS:]
    newer = {"_effective_probability"}  # of scikit-learn 1.8
    assert set(vars(ours)) - newer == set(vars(theirs)) - newer - {"_class_weight"}
    np.testing.assert_array_equal(ours.predict(unseen), run.predict(unseen))
    values = ours.decision_function(unseen)
    np.testing.assert_allclose(values, run.decision_function(unseen), atol=1e-4)
    # Every row has its own support vector, repeated ones too, in the order that SVC has them.
    dual, coef = np.zeros((9, len(y_rows))), np.zeros((9, len(y_rows)))
    for found, svc in ((dual, ours), (coef, theirs)):
        held = svc.dual_coef_.toarray() if is_sparse else svc.dual_coef_
        found[:, svc.support_] = held
        assert (np.diff(y_rows[svc.support_]) >= 0).all()
        np.testing.assert_array_equal(np.bincount(y_rows[svc.support_]), svc.n_support_)
    # Repeated rows may share their sum otherwise.
    for coefficients in (dual, coef):
        coefficients[:, :50] += coefficients[:, ROWS:]
    np.testing.assert_allclose(dual[:, :ROWS], coef[:, :ROWS], atol=2e-2)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-3)


def test_levels_there_are_none_of_are_refused(train: Train) -> None:
    with pytest.raises(InputError, match="was trained without levels"):
        train().predict(np.zeros((1, 64), np.float32), mode="early")


@pytest.mark.parametrize("words", [{}, {"svm_type": "nu", "nu": 0.1, "C": 1.0}], ids=["C", "nu"])
def test_a_smaller_tolerance_goes_on_from_the_svms_that_are_there(
    train: Train, words: dict[str, Any]
) -> None:
    run, cold = train("run", tol=0.1, **words), train("cold", tol=1e-4, **words)
    coarse = run.status()["stages"]["model-pairs"]
    assert coarse["violation"] > 1e-4
    again = api.resume(run.folder.place, tol=1e-4, execution=HERE, quiet=True)
    assert again.status()["model"] == "model-pairs-002"
    assert again.status()["state"] == "complete"
    fine, other = (
        again.status()["stages"]["model-pairs-002"],
        cold.status()["stages"]["model-pairs"],
    )
    assert fine["violation"] <= 1e-4
    # That of a nu-SVC is of the solution after the division by rho, squared.
    assert fine["objective"] == pytest.approx(other["objective"], rel=1e-5 if words else 1e-6)
    assert fine["iterations"] < other["iterations"]
    # As far as it was already, nothing is to be done.
    api.resume(run.folder.place, tol=1e-4, execution=HERE, quiet=True)
    assert run.status()["model"] == "model-pairs-002"


def test_an_svm_takes_its_part_of_a_matrix() -> None:
    rng = np.random.default_rng(0)
    K = rng.random((150, 150), dtype=np.float32)
    for rows in (np.sort(rng.choice(150, 130, replace=False)), np.array([149]), np.arange(64)):
        found = _part(K, rows)
        np.testing.assert_array_equal(found, K[np.ix_(rows, rows)])
        assert found.flags.c_contiguous
