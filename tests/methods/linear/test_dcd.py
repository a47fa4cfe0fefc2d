"""Dual coordinate descent as runs on real rows: LIBLINEAR's answer, however rows are shared."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.svm import LinearSVC, LinearSVR

from dcsvm_dask import api
from dcsvm_dask.errors import DcsvmError, DcsvmWarning, InputError
from dcsvm_dask.runtime.execution import Execution
from tests.left import KilledError
from tests.methods.linear.runs import (
    HERE,
    ROWS,
    SQUARED,
    TOL,
    C,
    Killing,
    Rows,
    model_of,
    primal,
    weights_of,
)


@pytest.fixture
def train(train_linear: Callable[..., api.Run]) -> Callable[..., api.Run]:
    return partial(train_linear, method="dcd")


@pytest.mark.one_quick
@pytest.mark.parametrize(
    ("how", "dense"),
    [
        ({}, True),
        ({"parts": 3}, False),
        ({"loss": SQUARED, "chunks": 4}, False),
        ({"parts": 2, "chunks": 3, "loss": SQUARED}, True),
        ({"fit_intercept": False, "chunks": 3}, True),
        ({"order": "drawn"}, False),
        ({"order": "fixed", "shrinking": False, "parts": 2}, False),
    ],
)
def test_classes_are_liblinears(
    how: dict[str, Any], dense: bool, classes: Rows, train: Callable[..., api.Run]
) -> None:
    X, y = classes
    rows = (X.toarray(), y) if dense else classes
    words = {"fit_intercept": True, **how}
    run, squared = train(rows, **words), "loss" in how
    svc = LinearSVC(
        C=C,
        loss=how.get("loss", "hinge"),
        fit_intercept=words["fit_intercept"],
        tol=1e-9,
        max_iter=10**7,
        random_state=0,
    ).fit(X.toarray(), y)
    b = float(np.ravel(svc.intercept_)[0])
    wanted = primal(X, y, svc.coef_[0], b, squared=squared)
    found = model_of(run)
    assert found["violation"] <= TOL
    assert -found["objective"] == pytest.approx(wanted, rel=1e-6)
    assert found["primal_objective"] == pytest.approx(wanted, rel=1e-6)
    w, bias = weights_of(run, X.shape[1])
    assert primal(X, y, w[0], bias[0], squared=squared) == pytest.approx(wanted, rel=1e-6)


@pytest.mark.long
@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
@pytest.mark.parametrize("how", [{"parts": 2}, {"chunks": 2}])
def test_targets_are_liblinears(
    loss: str, how: dict[str, Any], targets: Rows, train: Callable[..., api.Run]
) -> None:
    X, z = targets
    run = train(targets, task="regression", epsilon=0.1, loss=loss, fit_intercept=True, **how)
    centre = z.mean()
    svr = LinearSVR(
        C=C, epsilon=0.1, loss=loss, dual=True, tol=1e-10, max_iter=10**7, random_state=0
    ).fit(X.astype(np.float64), z - centre)

    def objective(w: np.ndarray, b: float) -> float:
        beyond = np.maximum(0.0, np.abs(z - centre - X @ w - b) - 0.1)
        power = 2 if loss.startswith("squared") else 1
        return float(0.5 * (w @ w + b * b) + C * np.sum(beyond**power))

    wanted = objective(svr.coef_, float(np.ravel(svr.intercept_)[0]))
    found = model_of(run)
    assert -found["objective"] == pytest.approx(wanted, rel=1e-6)
    w, bias = weights_of(run, X.shape[1])
    assert objective(w[0], bias[0] - centre) == pytest.approx(wanted, rel=1e-6)


@pytest.mark.long
@pytest.mark.parametrize("scheme", ["ovr", "ovo"])
def test_many_classes_have_an_svm_each(
    scheme: str, wine: tuple[np.ndarray, np.ndarray], train: Callable[..., api.Run]
) -> None:
    X, y = wine
    parts = 2 if scheme == "ovo" else 1
    run = train(wine, multiclass=scheme, fit_intercept=True, parts=parts)
    w, b = weights_of(run, X.shape[1]) if scheme == "ovr" else (None, None)
    pairs = [(0, None), (1, None), (2, None)] if scheme == "ovr" else [(0, 1), (0, 2), (1, 2)]
    values = []
    for number, (one, other) in enumerate(pairs):
        rows = np.flatnonzero((y == one) | (y == other)) if other is not None else np.arange(len(y))
        signs = np.where(y[rows] == one, 1.0, -1.0)
        svc = LinearSVC(C=C, loss="hinge", tol=1e-9, max_iter=10**7, random_state=0)
        svc.fit(X[rows], signs)
        wanted = primal(X[rows], signs, svc.coef_[0], svc.intercept_[0], squared=False)
        stage = run.status()["stages"][model_of(run)["source"]]
        assert -stage["of_svms"][number]["objective"] == pytest.approx(wanted, rel=1e-6)
        values.append(svc.decision_function(X))
        if w is not None and b is not None:
            np.testing.assert_allclose(w[number], svc.coef_[0], atol=1e-3)
    if scheme == "ovr":
        predicted = np.argmax(np.array(values), axis=0)
        assert np.mean(run.predict(X, execution=HERE) == predicted) > 0.99
    assert run.evaluate((X, y), execution=HERE)["accuracy"] > 0.95


@pytest.mark.long
def test_quantiles_have_an_svm_each(targets: Rows, train: Callable[..., api.Run]) -> None:
    run = train(targets, task="quantile", quantile=(0.25, 0.75), fit_intercept=True, C=10.0)
    below = [np.mean(targets[1] < values) for values in run.predict(targets[0], execution=HERE).T]
    np.testing.assert_allclose(below, [0.25, 0.75], atol=0.02)


@pytest.mark.long
def test_weights_are_costs(classes: Rows, train: Callable[..., api.Run]) -> None:
    X, y = classes
    weights = np.random.default_rng(1).choice([0.0, 0.5, 1.0, 3.0], size=len(y))
    run = train(
        classes, weights=weights, fit_intercept=True, class_weight={"1": 2.0, "-1": 1.0}, parts=2
    )
    cost = weights * np.where(y > 0, 2.0, 1.0)
    svc = LinearSVC(C=C, loss="hinge", tol=1e-9, max_iter=10**7, random_state=0)
    svc.fit(X.toarray(), y, sample_weight=cost)
    wanted = primal(X, y, svc.coef_[0], svc.intercept_[0], squared=False, cost=cost)
    assert -model_of(run)["objective"] == pytest.approx(wanted, rel=1e-6)


@pytest.mark.long
@pytest.mark.parametrize("how", [{"parts": 2}, {"chunks": 3}])
def test_a_run_that_died_ends_at_the_same_model(
    how: dict[str, Any],
    classes: Rows,
    train: Callable[..., api.Run],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("dcsvm_dask.methods.dcd.graph.FIRST_WORK", 3e6)
    whole = train(classes, "whole", fit_intercept=True, tol=1e-3, **how)
    commits = sum(len(whole.folder.nodes(stage)) for stage in whole.folder.stages())
    Killing(monkeypatch, commits // 2)
    with pytest.raises(KilledError):
        train(classes, "cut", fit_intercept=True, tol=1e-3, **how)
    again = api.resume(tmp_path / "cut", execution=HERE, quiet=True)
    one, other = model_of(again), model_of(whole)
    assert (one["objective"], one["bias"]) == (other["objective"], other["bias"])
    X = classes[0].toarray()
    assert np.array_equal(*(run.decision_function(X, execution=HERE) for run in (again, whole)))


@pytest.mark.long
def test_a_resumed_run_goes_on_from_its_alpha(
    classes: Rows, train: Callable[..., api.Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dcsvm_dask.methods.dcd.graph.FIRST_WORK", 1e5)
    run = train(classes, fit_intercept=True, tol=0.1, parts=2)
    rounds = [name for name in run.status()["stages"] if name.startswith("descent")]
    near = model_of(run)["objective"]
    again = api.resume(run.url, tol=1e-5, execution=HERE, quiet=True)
    stages = again.status()["stages"]
    after = [name for name in stages if name.startswith("descent") and name not in rounds]
    assert after
    assert again.status()["converged"]
    assert again.status()["violation"] <= 1e-5
    values = [one["objective"] for one in again.history()]
    assert values == sorted(values, reverse=True)
    assert values[-1] < near
    # A larger tolerance asks for nothing more.
    api.resume(run.url, tol=0.1, execution=HERE, quiet=True)


@pytest.mark.long
def test_a_tolerance_below_rounding_ends(
    classes: Rows, train: Callable[..., api.Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dcsvm_dask.methods.dcd.graph.MOST_WORK", 1e6)
    monkeypatch.setattr("dcsvm_dask.methods.dcd.graph.FIRST_WORK", 1e6)
    X, y = classes
    with pytest.warns(DcsvmWarning, match="give a larger tol"):
        run = train((X[:60], y[:60]), tol=1e-200)
    assert not run.status()["converged"]
    assert model_of(run)["violation"] < 1e-10


@pytest.mark.long
def test_workers_change_nothing(
    classes: Rows, train: Callable[..., api.Run], two_workers: Execution
) -> None:
    how: dict[str, Any] = {"fit_intercept": True, "parts": 2, "loss": SQUARED, "tol": 1.0}
    here = train(classes, "here", **how)
    there = train(classes, "there", execution=two_workers, **how)
    X = classes[0].toarray()
    assert model_of(here)["objective"] == model_of(there)["objective"]
    assert np.array_equal(*(one.decision_function(X, execution=HERE) for one in (here, there)))


@pytest.mark.long
@pytest.mark.parametrize("kind", ["two", "rest", "targets"])
def test_other_programs_take_the_model(
    kind: str,
    classes: Rows,
    targets: Rows,
    wine: tuple[np.ndarray, np.ndarray],
    train: Callable[..., api.Run],
    tmp_path: Path,
) -> None:
    rows = {"two": classes, "rest": wine, "targets": targets}[kind]
    how: dict[str, Any] = {"task": "regression"} if kind == "targets" else {}
    run = train(
        rows, fit_intercept=True, **how, **({"multiclass": "ovr"} if kind == "rest" else {})
    )
    X = rows[0].toarray() if sparse.issparse(rows[0]) else rows[0]
    svm, wanted = run.to_sklearn(), run.predict(X, execution=HERE)
    np.testing.assert_allclose(svm.predict(X.astype(np.float64)), wanted, atol=1e-5)
    onnx = pytest.importorskip("onnxruntime")
    run.export(tmp_path / "model.onnx", format="onnx")
    session = onnx.InferenceSession(str(tmp_path / "model.onnx"))
    found = session.run(None, {session.get_inputs()[0].name: X.astype(np.float32)})[0]
    np.testing.assert_allclose(np.ravel(found).astype(float), wanted, atol=1e-4)
    if kind == "rest":
        with pytest.raises(InputError, match="one-vs-rest"):
            run.export(tmp_path / "model.txt")
        return
    run.export(tmp_path / "model.txt")
    lines = (tmp_path / "model.txt").read_text().splitlines()
    assert "kernel_type linear" in lines
    assert "total_sv 1" in lines


@pytest.mark.long
def test_the_record_bounds_what_is_left(classes: Rows, train: Callable[..., api.Run]) -> None:
    run = train(classes, fit_intercept=True, tol=0.05, parts=2)
    points = run.history()
    best = model_of(train(classes, "best", fit_intercept=True))["objective"]
    assert len(points) > 2
    for point in points:
        assert -1e-9 <= point["objective"] - best <= point["gap"] + 1e-9
        assert point["primal_objective"] == pytest.approx(point["gap"] - point["objective"])
    assert [point["passes"] for point in points] == sorted(point["passes"] for point in points)
    last = run.status()["stages"][points[-1]["stage"]]
    assert last["primal_objective"] == pytest.approx(last["gap"] - last["objective"])
    assert last["passes"] > 0


@pytest.mark.one_quick
@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"kernel": "rbf"}, "kernel must be linear here"),
        ({"parts": -1}, "parts must be at least 0"),
        ({"constant": 0.0}, "constant must be a positive number"),
        ({"task": "one-class"}, "one-class"),
        ({"svm_type": "nu"}, "not for nu-classification"),
        ({"levels": 2}, "no such parameter of dcd"),
    ],
)
def test_what_is_impossible_is_refused(
    words: dict[str, Any], said: str, demo_rows: Callable[..., Path], tmp_path: Path
) -> None:
    words = {"kernel": "linear", "method": "dcd", **words}
    with pytest.raises(InputError, match=said):
        api.train(demo_rows(ROWS), tmp_path / "run", execution=HERE, quiet=True, **words)
    assert not (tmp_path / "run").exists()


@pytest.mark.long
def test_rows_that_changed_are_found(
    classes: Rows, train: Callable[..., api.Run], tmp_path: Path
) -> None:
    api.ingest(classes, tmp_path / "data")
    chunks = [path for path in (tmp_path / "data").rglob("c/*") if path.is_file()]
    key = max(chunks, key=lambda path: path.stat().st_size)
    content = bytearray(key.read_bytes())
    content[len(content) // 2] ^= 1
    key.write_bytes(bytes(content))
    with pytest.raises(DcsvmError, match=r"damaged|checksum|changed"):
        train(classes)
