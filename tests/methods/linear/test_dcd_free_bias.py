"""Dual coordinate descent with a free bias as runs: LIBSVM's answer, however rows are shared."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.svm import SVC, SVR

from dcsvm_dask import api
from dcsvm_dask.errors import DcsvmWarning, InputError
from dcsvm_dask.runtime.execution import Execution
from dcsvm_dask.solvers import solve_linear
from tests.left import KilledError
from tests.methods.linear.runs import (
    HERE,
    ROWS,
    SQUARED,
    C,
    Killing,
    Rows,
    model_of,
    weights_of,
)


@pytest.fixture
def train(train_linear: Callable[..., api.Run]) -> Callable[..., api.Run]:
    return partial(train_linear, method="dcd", fit_intercept=True, bias="free")


def hinge(X: Any, y: np.ndarray, w: np.ndarray, b: float, cost: Any = C) -> float:
    return float(0.5 * w @ w + np.sum(cost * np.maximum(0.0, 1.0 - y * (X @ w + b))))


@pytest.mark.one_quick
@pytest.mark.parametrize(
    ("how", "dense"),
    [
        ({}, True),
        ({"parts": 3}, False),
        ({"chunks": 4}, False),
        ({"parts": 2, "chunks": 3}, True),
        ({"order": "drawn"}, False),
        ({"order": "fixed", "shrinking": False, "parts": 2}, False),
        ({"constant": 0.2}, False),
    ],
)
def test_classes_are_libsvms(
    how: dict[str, Any], dense: bool, classes: Rows, train: Callable[..., api.Run]
) -> None:
    X, y = classes
    run = train((X.toarray(), y) if dense else classes, **how)
    svc = SVC(kernel="linear", C=C, tol=1e-8).fit(X.toarray().astype(float), y)
    b = float(svc.intercept_[0])
    wanted = hinge(X, y, svc.coef_[0], b)
    found = model_of(run)
    assert run.status()["converged"]
    assert -found["objective"] == pytest.approx(wanted, rel=1e-6)
    assert found["primal_objective"] == pytest.approx(wanted, rel=1e-6)
    assert found["bias"] == pytest.approx(b, abs=1e-4)
    w, bias = weights_of(run, X.shape[1])
    assert bias[0] == pytest.approx(b, abs=1e-4)
    assert hinge(X, y, w[0], bias[0]) == pytest.approx(wanted, rel=1e-6)


@pytest.mark.long
@pytest.mark.parametrize("how", [{"parts": 2}, {"chunks": 2}, {"parts": 3, "chunks": 2}])
def test_the_squared_loss_has_the_answer_of_the_solver(
    how: dict[str, Any], classes: Rows, train: Callable[..., api.Run]
) -> None:
    X, y = classes
    run = train(classes, loss=SQUARED, **how)
    wanted = solve_linear(X, y, C, loss="squared_hinge", bias="free", tol=1e-8, max_iter=10**5)
    assert model_of(run)["objective"] == pytest.approx(wanted.objective, rel=1e-8)
    assert model_of(run)["bias"] == pytest.approx(wanted.b, abs=1e-5)


@pytest.mark.long
@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
@pytest.mark.parametrize("how", [{"parts": 2}, {"chunks": 2}])
def test_targets_have_the_answer_of_all_rows(
    loss: str, how: dict[str, Any], targets: Rows, train: Callable[..., api.Run]
) -> None:
    X, z = targets
    words: dict[str, Any] = {"task": "regression", "epsilon": 0.1, "loss": loss}
    run = train(targets, **words, **how)
    found = model_of(run)
    w, bias = weights_of(run, X.shape[1])
    power = 2 if loss.startswith("squared") else 1

    def objective(w: np.ndarray, b: float) -> float:
        beyond = np.maximum(0.0, np.abs(z - X @ w - b) - 0.1)
        return float(0.5 * w @ w + C * np.sum(beyond**power))

    assert objective(w[0], bias[0]) == pytest.approx(-found["objective"], rel=1e-6)
    if power == 1:
        svr = SVR(kernel="linear", C=C, epsilon=0.1, tol=1e-8).fit(X.astype(float), z)
        wanted = objective(svr.coef_[0], float(svr.intercept_[0]))
        assert -found["objective"] == pytest.approx(wanted, rel=1e-6)
        assert bias[0] == pytest.approx(svr.intercept_[0], abs=1e-3)


@pytest.mark.long
@pytest.mark.parametrize("scheme", ["ovr", "ovo"])
@pytest.mark.parametrize("parts", [1, 2])
def test_many_classes_have_a_bias_each(
    scheme: str, parts: int, wine: tuple[np.ndarray, np.ndarray], train: Callable[..., api.Run]
) -> None:
    X, y = wine
    run = train(wine, multiclass=scheme, parts=parts)
    pairs = [(0, None), (1, None), (2, None)] if scheme == "ovr" else [(0, 1), (0, 2), (1, 2)]
    stage = run.status()["stages"][model_of(run)["source"]]
    for number, (one, other) in enumerate(pairs):
        rows = np.flatnonzero((y == one) | (y == other)) if other is not None else np.arange(len(y))
        signs = np.where(y[rows] == one, 1.0, -1.0)
        svc = SVC(kernel="linear", C=C, tol=1e-8).fit(X[rows].astype(float), signs)
        wanted = hinge(X[rows], signs, svc.coef_[0], svc.intercept_[0])
        assert -stage["of_svms"][number]["objective"] == pytest.approx(wanted, rel=1e-6)
        assert stage["of_svms"][number]["bias"] == pytest.approx(svc.intercept_[0], abs=1e-3)
    assert run.evaluate((X, y), execution=HERE)["accuracy"] > 0.95


@pytest.mark.long
@pytest.mark.parametrize("parts", [1, 2])
def test_quantiles_have_their_share_of_rows_below(
    parts: int, targets: Rows, train: Callable[..., api.Run]
) -> None:
    run = train(targets, task="quantile", quantile=(0.25, 0.75), C=10.0, tol=1e-4, parts=parts)
    below = [np.mean(targets[1] < values) for values in run.predict(targets[0], execution=HERE).T]
    # That of all rows but those on the surface, which are as many as weights and bias.
    np.testing.assert_allclose(below, [0.25, 0.75], atol=(targets[0].shape[1] + 1) / ROWS)


@pytest.mark.long
@pytest.mark.parametrize("parts", [1, 2])
def test_weights_are_costs(parts: int, classes: Rows, train: Callable[..., api.Run]) -> None:
    X, y = classes
    weights = np.random.default_rng(1).choice([0.0, 0.5, 1.0, 3.0], size=len(y))
    factors = {"1": 2.0, "-1": 1.0}
    run = train(classes, weights=weights, class_weight=factors, parts=parts)
    cost = weights * np.where(y > 0, 2.0, 1.0)
    svc = SVC(kernel="linear", C=C, tol=1e-8)
    svc.fit(X.toarray().astype(float), y, sample_weight=cost)
    wanted = hinge(X, y, svc.coef_[0], svc.intercept_[0], cost)
    assert -model_of(run)["objective"] == pytest.approx(wanted, rel=1e-6)
    assert model_of(run)["bias"] == pytest.approx(svc.intercept_[0], abs=1e-3)


@pytest.mark.long
def test_it_is_the_problem_of_dcsvm(
    classes: Rows, train: Callable[..., api.Run], train_linear: Callable[..., api.Run]
) -> None:
    run = train(classes)
    other = train_linear(classes, "other", method="dcsvm", fit_intercept=True)
    one, two = run.status(), other.status()
    assert one["objective"] == pytest.approx(two["objective"], rel=1e-6)
    X = classes[0].toarray()
    values = [each.decision_function(X, execution=HERE) for each in (run, other)]
    np.testing.assert_allclose(*values, atol=1e-3)


@pytest.mark.long
@pytest.mark.parametrize("how", [{"parts": 2}, {"chunks": 3}])
@pytest.mark.parametrize("share", [0.3, 0.5, 0.8])
def test_a_run_that_died_ends_at_the_same_model(
    how: dict[str, Any],
    share: float,
    classes: Rows,
    train: Callable[..., api.Run],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("dcsvm_dask.methods.dcd.graph.FIRST_WORK", 3e6)
    whole = train(classes, "whole", tol=1e-3, **how)
    commits = sum(len(whole.folder.nodes(stage)) for stage in whole.folder.stages())
    Killing(monkeypatch, int(share * commits))
    with pytest.raises(KilledError):
        train(classes, "cut", tol=1e-3, **how)
    again = api.resume(tmp_path / "cut", execution=HERE, quiet=True)
    one, other = model_of(again), model_of(whole)
    assert (one["objective"], one["bias"]) == (other["objective"], other["bias"])
    assert one["gap"] == other["gap"]
    X = classes[0].toarray()
    assert np.array_equal(*(run.decision_function(X, execution=HERE) for run in (again, whole)))


@pytest.mark.long
@pytest.mark.parametrize("parts", [1, 2])
def test_a_resumed_run_goes_on_from_its_alpha(
    parts: int, classes: Rows, train: Callable[..., api.Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dcsvm_dask.methods.dcd.graph.FIRST_WORK", 1e5)
    run = train(classes, tol=0.1, parts=parts)
    rounds = [name for name in run.status()["stages"] if name.startswith("descent")]
    near = model_of(run)
    again = api.resume(run.url, tol=1e-5, execution=HERE, quiet=True)
    stages = again.status()["stages"]
    after = [name for name in stages if name.startswith("descent") and name not in rounds]
    assert after
    assert again.status()["converged"]
    assert again.status()["violation"] <= 1e-5
    assert near["gap"] >= near["objective"] - again.status()["objective"] > 0.0
    # A larger tolerance asks for nothing more.
    api.resume(run.url, tol=0.1, execution=HERE, quiet=True)


@pytest.mark.long
@pytest.mark.parametrize("parts", [1, 2])
def test_the_record_bounds_what_is_left(
    parts: int, classes: Rows, train: Callable[..., api.Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    best = model_of(train(classes, "best"))["objective"]
    monkeypatch.setattr("dcsvm_dask.methods.dcd.graph.FIRST_WORK", 1e5)
    points = train(classes, tol=0.02, parts=parts).history()
    assert len(points) > 2
    for point in points:
        assert -1e-9 <= point["objective"] - best <= point["gap"] + 1e-9
        assert point["primal_objective"] == pytest.approx(point["gap"] - point["objective"])
    assert [point["passes"] for point in points] == sorted(point["passes"] for point in points)


@pytest.mark.long
@pytest.mark.parametrize("parts", [1, 2])
def test_a_tolerance_below_rounding_ends(
    parts: int, classes: Rows, train: Callable[..., api.Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dcsvm_dask.methods.dcd.graph.MOST_WORK", 1e6)
    monkeypatch.setattr("dcsvm_dask.methods.dcd.graph.FIRST_WORK", 1e6)
    X, y = classes
    with pytest.warns(DcsvmWarning, match="give a larger tol"):
        run = train((X[:60], y[:60]), tol=1e-200, parts=parts)
    assert not run.status()["converged"]
    assert model_of(run)["violation"] < 1e-10


@pytest.mark.long
def test_workers_change_nothing(
    classes: Rows, train: Callable[..., api.Run], two_workers: Execution
) -> None:
    how: dict[str, Any] = {"parts": 2, "loss": SQUARED, "tol": 1.0}
    here = train(classes, "here", **how)
    there = train(classes, "there", execution=two_workers, **how)
    X = classes[0].toarray()
    assert model_of(here)["objective"] == model_of(there)["objective"]
    assert np.array_equal(*(one.decision_function(X, execution=HERE) for one in (here, there)))


@pytest.mark.long
@pytest.mark.parametrize("kind", ["two", "rest", "targets"])
def test_other_programs_take_the_bias(
    kind: str,
    classes: Rows,
    targets: Rows,
    wine: tuple[np.ndarray, np.ndarray],
    train: Callable[..., api.Run],
    tmp_path: Path,
) -> None:
    rows = {"two": classes, "rest": wine, "targets": targets}[kind]
    how: dict[str, Any] = {"task": "regression"} if kind == "targets" else {}
    run = train(rows, tol=1e-3, **how, **({"multiclass": "ovr"} if kind == "rest" else {}))
    X = rows[0].toarray() if sparse.issparse(rows[0]) else rows[0]
    svm, wanted = run.to_sklearn(), run.predict(X, execution=HERE)
    assert np.allclose(svm.intercept_, model_of(run)["bias"])
    np.testing.assert_allclose(svm.predict(X.astype(np.float64)), wanted, atol=1e-5)
    onnx = pytest.importorskip("onnxruntime")
    run.export(tmp_path / "model.onnx", format="onnx")
    session = onnx.InferenceSession(str(tmp_path / "model.onnx"))
    found = session.run(None, {session.get_inputs()[0].name: X.astype(np.float32)})[0]
    np.testing.assert_allclose(np.ravel(found).astype(float), wanted, atol=1e-4)
    if kind == "rest":
        return
    run.export(tmp_path / "model.txt")
    lines = (tmp_path / "model.txt").read_text().splitlines()
    (rho,) = [float(line.split()[1]) for line in lines if line.startswith("rho")]
    assert abs(rho) == pytest.approx(abs(model_of(run)["bias"]), rel=1e-6)


@pytest.mark.one_quick
@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"fit_intercept": False}, "bias: free is for a problem with a bias, .* --fit-intercept"),
        ({"multi_class": "crammer_singer"}, "bias must be feature with multi-class crammer_singer"),
        ({"bias": "none"}, "bias must be one of feature, free"),
        ({"method": "ocas"}, "no such parameter of ocas"),
    ],
)
def test_what_is_impossible_is_refused(
    words: dict[str, Any], said: str, demo_rows: Callable[..., Path], tmp_path: Path
) -> None:
    usual = {"kernel": "linear", "method": "dcd", "bias": "free", "fit_intercept": True}
    with pytest.raises(InputError, match=said):
        api.train(demo_rows(ROWS), tmp_path / "run", execution=HERE, quiet=True, **usual | words)
    assert not (tmp_path / "run").exists()
