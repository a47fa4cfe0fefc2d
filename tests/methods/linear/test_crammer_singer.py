"""The problem of all classes as runs on real rows: the answer of LIBLINEAR and of the estimator."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from dcsvm_dask import api
from dcsvm_dask.diagnostics.report.tables.comparison import comparison
from dcsvm_dask.diagnostics.report.tables.records import read_records
from dcsvm_dask.errors import DcsvmWarning, InputError
from dcsvm_dask.estimators import LinearDCSVC
from dcsvm_dask.runtime.execution import Execution
from tests.left import KilledError
from tests.marks import long
from tests.methods.linear.runs import HERE, ROWS, SQUARED, Killing, Rows, model_of

JOINT = "crammer_singer"
TIGHT: dict[str, Any] = {"multi_class": JOINT, "tol": 1e-7, "max_iter": 10**7}


@pytest.fixture
def train(train_linear: Callable[..., api.Run]) -> Callable[..., api.Run]:
    how = {"method": "dcd", "multi_class": JOINT, "C": 0.1, "fit_intercept": True, "tol": 1e-5}
    return partial(train_linear, **how)


@pytest.fixture(scope="module")
def many(shared_data: Callable[[str], Any]) -> Callable[..., Rows]:
    """Return a maker of n random rows of a set of many classes, dense, and their labels."""

    def make(name: str, n: int = ROWS) -> Rows:
        found = shared_data(name)
        index = np.random.default_rng(0).permutation(len(found["X_train"]))[:n]
        X = found["X_train"][index].astype(np.float32)
        return X / np.float32(255.0 if name == "mnist" else 1.0), found["y_train"][index]

    return make


def primal(X: Any, y: Any, C: Any, W: Any, b: Any, constant: float = 1.0) -> float:
    """Return the primal objective of classes as y has them, by its definition."""
    codes = np.unique(y, return_inverse=True)[1]
    F = X.astype(np.float64) @ W.T + b + 1.0
    own = np.arange(len(y)), codes
    F[own] -= 1.0
    square = (W * W).sum() + np.sum((b / constant) ** 2)
    return float(0.5 * square + np.sum(C * (F.max(axis=1) - F[own])))


def liblinears(X: Any, y: Any, C: float = 0.1, weights: Any = None, **how: Any) -> LinearSVC:
    """Return LIBLINEAR's SVM.

    Its order of the rows is another in older versions, where it may end at the limit of its
    iterations a little above its own tolerance: objectives are compared by their definition.
    """
    svc = LinearSVC(C=C, random_state=0, **TIGHT | how)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return svc.fit(X.astype(np.float64), y, sample_weight=weights)


def rounds_of(run: api.Run) -> list[str]:
    return [name for name in run.status()["stages"] if name.startswith("descent")]


@pytest.mark.parametrize(
    ("name", "how", "dense"),
    [
        ("usps", {}, True),
        long("usps", {"fit_intercept": False}, False),
        long("mnist", {"C": 0.05, "constant": 2.0}, False),
        long("mnist", {"C": 1.0, "tol": 1e-4}, True),
        long("shuttle", {"C": 1.0}, True),
        long("shuttle", {"C": 1.0}, False),
    ],
)
def test_runs_have_the_answer_of_liblinear_and_of_the_estimator(
    name: str,
    how: dict[str, Any],
    dense: bool,
    many: Callable[..., Rows],
    train: Callable[..., api.Run],
) -> None:
    X, y = many(name)
    rows = (X if dense else sparse.csr_array(X), y)
    run, C, constant = train(rows, **how), how.get("C", 0.1), how.get("constant", 1.0)
    words = {"fit_intercept": how.get("fit_intercept", True), "intercept_scaling": constant}
    svc, found = liblinears(X, y, C, **words), model_of(run)
    wanted = primal(X, y, C, svc.coef_, svc.intercept_, constant)
    assert found["violation"] <= how.get("tol", 1e-5)
    assert -found["objective"] == pytest.approx(wanted, rel=1e-6)
    assert -1e-6 * wanted <= found["primal_objective"] - wanted <= found["gap"] + 1e-6 * wanted
    assert found["primal_objective"] + found["objective"] == pytest.approx(found["gap"])
    own = LinearDCSVC(C=C, random_state=0, **TIGHT | words).fit(rows[0], y)
    assert found["objective"] == pytest.approx(own.objective_[0], rel=1e-6)
    values = run.decision_function(rows[0], precision="float64", execution=HERE)
    np.testing.assert_allclose(values, svc.decision_function(X), atol=2e-2)
    # Rows on the margin of two classes at once are as near to both.
    best = np.partition(values, -2, axis=1)
    clear = best[:, -1] - best[:, -2] > 4e-2
    assert (run.predict(rows[0], execution=HERE) == svc.predict(X))[clear].all()
    assert clear.mean() > 0.8
    same = run.evaluate(rows, execution=HERE)["accuracy"]
    assert same == pytest.approx(svc.score(X, y), abs=0.01)


@pytest.mark.long
def test_weights_are_costs_and_equal_rows_one_variable(
    many: Callable[..., Rows], train: Callable[..., api.Run]
) -> None:
    X, y = many("usps", 300)
    X, y = np.concatenate([X, X[:200]]), np.concatenate([y, y[:200]])
    weights = np.random.default_rng(1).choice([0.0, 0.5, 1.0, 3.0], size=len(y))
    factors = {label: 2.0 if label == y[0] else 1.0 for label in np.unique(y)}
    named = {str(label): factor for label, factor in factors.items()}
    run = train((X, y), weights=weights, class_weight=named)
    taking = np.count_nonzero(weights[:300] + np.append(weights[300:], np.zeros(100)))
    assert run.status()["stages"]["arrange"]["variables"] == taking
    cost = weights * np.array([factors[label] for label in y])
    svc = liblinears(X, y, weights=cost)
    wanted = primal(X, y, 0.1 * cost, svc.coef_, svc.intercept_)
    assert -model_of(run)["objective"] == pytest.approx(wanted, rel=1e-6)
    assert run.to_sklearn().get_params()["multi_class"] == JOINT


def test_repeats_are_one_variable(many: Callable[..., Rows], train: Callable[..., api.Run]) -> None:
    X, y = many("usps", 200)
    twice = train((np.concatenate([X, X]), np.concatenate([y, y])))
    svc = liblinears(X, y, C=0.2)
    assert twice.status()["stages"]["arrange"]["variables"] == 200
    wanted = primal(X, y, 0.2, svc.coef_, svc.intercept_)
    assert -model_of(twice)["objective"] == pytest.approx(wanted, rel=1e-6)


@pytest.fixture
def short_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dcsvm_dask.methods.dcd.graph.FIRST_WORK", 1e6)
    monkeypatch.setattr("dcsvm_dask.methods.dcd.graph.MOST_WORK", 1e7)


@pytest.mark.long
@pytest.mark.usefixtures("short_rounds")
def test_a_run_that_died_after_any_round_ends_at_the_same_model(
    many: Callable[..., Rows],
    train: Callable[..., api.Run],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = many("usps", 300)
    whole = train(rows, "whole", tol=1e-3)
    commits = sum(len(whole.folder.nodes(stage)) for stage in whole.folder.stages())
    assert len(rounds_of(whole)) > 3
    for number in range(2, commits + 1):
        Killing(monkeypatch, number)
        with pytest.raises(KilledError):
            train(rows, f"cut-{number}", tol=1e-3)
        again = api.resume(tmp_path / f"cut-{number}", execution=HERE, quiet=True)
        keys = ("objective", "gap", "violation", "passes", "bias")
        assert [model_of(again)[key] for key in keys] == [model_of(whole)[key] for key in keys]
        values = [run.decision_function(rows[0], execution=HERE) for run in (again, whole)]
        assert np.array_equal(*values)


@pytest.mark.usefixtures("short_rounds")
def test_a_resumed_run_goes_on_from_its_alpha(
    many: Callable[..., Rows], train: Callable[..., api.Run]
) -> None:
    rows = many("usps", 300)
    run = train(rows, tol=0.1)
    begun, near = rounds_of(run), model_of(run)
    again = api.resume(run.url, tol=1e-4, execution=HERE, quiet=True)
    assert rounds_of(again)[: len(begun)] == begun
    assert len(rounds_of(again)) > len(begun)
    assert again.status()["converged"]
    assert again.status()["violation"] <= 1e-4
    points = again.history()
    values = [one["objective"] for one in points]
    assert values == sorted(values, reverse=True)
    assert values[-1] < near["objective"]
    for point in points:
        assert -1e-9 <= point["objective"] - values[-1] <= point["gap"] + 1e-9
        assert point["primal_objective"] == pytest.approx(point["gap"] - point["objective"])
    assert [point["passes"] for point in points] == sorted(point["passes"] for point in points)
    # A larger tolerance asks for nothing more, and gives the point back that it had.
    wider = api.resume(run.url, tol=0.1, execution=HERE, quiet=True)
    assert wider.status()["converged"]
    # The same rounds lead there at once.
    direct = train(rows, "direct", tol=1e-4)
    last = [one.history()[-1] for one in (again, direct)]
    assert last[0]["violation"] <= 1e-4
    assert last[1]["violation"] <= 1e-4
    assert last[0]["objective"] == pytest.approx(last[1]["objective"], rel=1e-5)


@pytest.mark.long
@pytest.mark.usefixtures("short_rounds")
def test_a_tolerance_below_rounding_ends(
    many: Callable[..., Rows], train: Callable[..., api.Run]
) -> None:
    with pytest.warns(DcsvmWarning, match="rounding"):
        run = train(many("usps", 100), tol=1e-200)
    assert not run.status()["converged"]
    assert model_of(run)["violation"] < 1e-10


@pytest.mark.long
def test_workers_change_nothing(
    many: Callable[..., Rows], train: Callable[..., api.Run], two_workers: Execution
) -> None:
    rows = many("usps", 300)
    here, there = train(rows, "here"), train(rows, "there", execution=two_workers)
    values = [run.decision_function(rows[0], execution=HERE) for run in (here, there)]
    assert np.array_equal(*values)


@pytest.mark.long
@pytest.mark.parametrize("dense", [True, False])
def test_other_programs_take_the_model(
    dense: bool, many: Callable[..., Rows], train: Callable[..., api.Run], tmp_path: Path
) -> None:
    X, y = many("usps", 300)
    run = train((X if dense else sparse.csr_array(X), y))
    svc, values = run.to_sklearn(), run.decision_function(X, execution=HERE)
    assert svc.get_params()["multi_class"] == JOINT
    assert (svc.get_params()["loss"], svc.get_params()["C"]) == ("hinge", 0.1)
    np.testing.assert_allclose(svc.decision_function(X.astype(np.float64)), values, atol=1e-5)
    onnx = pytest.importorskip("onnxruntime")
    run.export(tmp_path / "model.onnx", format="onnx")
    session = onnx.InferenceSession(str(tmp_path / "model.onnx"))
    found = session.run(None, {session.get_inputs()[0].name: X})[0]
    assert np.mean(np.ravel(found) == run.predict(X, execution=HERE)) > 0.97
    with pytest.raises(InputError, match="--multiclass ovo and without -P multi_class"):
        run.export(tmp_path / "model.txt")


@pytest.mark.long
def test_ovr_is_the_scheme_of_that_name(
    many: Callable[..., Rows], train: Callable[..., api.Run]
) -> None:
    rows = many("usps", 300)
    named = train(rows, "named", multi_class="ovr", tol=1e-3)
    plain = train(rows, "plain", multi_class="auto", multiclass="ovr", tol=1e-3)
    assert model_of(named)["objective"] == model_of(plain)["objective"]
    values = [run.decision_function(rows[0], execution=HERE) for run in (named, plain)]
    assert np.array_equal(*values)
    joint = train(rows, "joint", tol=1e-3)
    table = comparison([read_records(run.folder) for run in (named, plain, joint)])
    # Objectives of other problems are not compared.
    assert list(table["problem"]) == [1, 1, 2]
    assert list(table["relative_error"]) == [0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"multi_class": "ovo"}, "multi-class must be one of auto, ovr, crammer_singer"),
        ({"multi_class": 1}, "multi-class must be one of"),
        ({"parts": 3}, "parts must be 0 or 1 with multi-class crammer_singer: leave it out, got 3"),
        ({"chunks": 2}, "chunks must be 0 or 1 with multi-class crammer_singer"),
        ({"order": "drawn"}, "order must be shuffled with multi-class crammer_singer"),
        ({"shrinking": False}, "shrinking must be true with multi-class crammer_singer"),
        ({"loss": SQUARED}, "has the hinge loss only, got squared_hinge; leave out the loss"),
        ({"method": "ocas"}, "multi_class: there is no such parameter of ocas"),
        ({"svm_type": "nu"}, "not for nu-classification"),
        ({"kernel": "rbf"}, "kernel must be linear here"),
    ],
)
def test_what_is_impossible_is_refused(
    words: dict[str, Any],
    said: str,
    many: Callable[..., Rows],
    train: Callable[..., api.Run],
    tmp_path: Path,
) -> None:
    with pytest.raises(InputError, match=said):
        train(many("usps", 50), **words)
    assert not (tmp_path / "run").exists()


def test_two_classes_are_refused(
    many: Callable[..., Rows], train: Callable[..., api.Run], tmp_path: Path
) -> None:
    X, y = many("usps", 100)
    signs = np.where(y == y[0], 1, -1)
    with pytest.raises(InputError, match=r"more than two classes, got 2.*double C"):
        train((X, signs))
    assert not (tmp_path / "run").exists()
    # As the message says.
    pair, double = liblinears(X, signs), train((X, signs), multi_class="auto", C=0.2, tol=1e-6)
    svc = double.to_sklearn()
    codes, found = (signs > 0).astype(np.int64), []
    for w, b in ((pair.coef_, pair.intercept_), (svc.coef_, svc.intercept_)):
        halves = np.array([-0.5, 0.5])
        found.append(primal(X, codes, 0.1, halves[:, None] * w, halves * b))
    assert found[1] == pytest.approx(found[0], rel=1e-5)


@pytest.mark.parametrize("words", [{"task": "regression"}, {"task": "quantile", "quantile": 0.3}])
def test_targets_are_refused(
    words: dict[str, Any], targets: Rows, train: Callable[..., api.Run], tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=r"crammer_singer is for classes, and .* learns numbers"):
        train(targets, **words)
    assert not (tmp_path / "run").exists()


def test_rows_that_do_not_fit_a_worker_are_refused(
    many: Callable[..., Rows], train: Callable[..., api.Run], tmp_path: Path
) -> None:
    place, own = tmp_path / "data", 1 << 20
    api.ingest(many("usps"), place)
    process = 215 << 20
    with pytest.raises(InputError, match=r"leave out -P multi_class=crammer_singer, for which all"):
        train(
            many("usps"),
            execution=Execution(workers=1, memory_limit=str(round((process + own) / 0.95))),
        )
    assert not (tmp_path / "run").exists()
