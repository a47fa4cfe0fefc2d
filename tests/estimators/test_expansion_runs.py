"""Regressors and one-class SVMs as runs: kept, gone on with, early, with weights, on a cluster."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from distributed import Client
from scipy import sparse
from sklearn.base import clone

import dcsvm_dask
from dcsvm_dask import api
from dcsvm_dask.errors import InputError
from dcsvm_dask.estimators import (
    DCSVC,
    DCSVR,
    DCNuSVR,
    DCOneClassSVM,
    DCQuantileSVR,
    DCSVMSearchCV,
)
from dcsvm_dask.pipeline import levels as training_levels
from dcsvm_dask.runtime.execution import Execution
from tests.marks import long

WORDS: dict[str, Any] = {"C": 2.0, "gamma": 0.2, "tol": 1e-5}
OF_NU: dict[str, Any] = {"nu": 0.3, "gamma": 0.2, "tol": 1e-5}
KINDS = [
    DCSVR(epsilon=0.1, **WORDS),
    DCQuantileSVR(quantile=0.3, **WORDS),
    DCNuSVR(C=2.0, **OF_NU),
    DCOneClassSVM(**OF_NU),
]


@pytest.fixture(scope="module")
def rows(shared_data: Callable[[str], Any]) -> Any:
    """Return standardised houses, 40 of them twice, and targets of the unit one."""
    file = shared_data("cadata")
    some = np.random.default_rng(0).permutation(len(file["X_train"]))[:1200]
    X, y = file["X_train"][some].astype(np.float64), file["y_train"][some].astype(np.float64)
    X = ((X - X.mean(axis=0)) / X.std(axis=0)).astype(np.float32)
    y = (y - y.mean()) / y.std() + 3.0
    return np.concatenate([X, X[:40]]), np.concatenate([y, y[:40]])


@pytest.fixture
def trees(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have some hundred rows make a tree of a level."""
    monkeypatch.setattr(training_levels, "LEAST_ROWS_FOR_LEVELS", 500)


def values(model: Any, X: Any) -> Any:
    """Return what a model decides by."""
    return (model.decision_function if isinstance(model, DCOneClassSVM) else model.predict)(X)


def of_rows(model: Any, n: int) -> Any:
    """Return beta of all rows."""
    beta = np.zeros(n)
    dual = model.dual_coef_
    beta[model.support_] = dual.toarray()[0] if sparse.issparse(dual) else dual[0]
    return beta


@pytest.mark.one_quick
@pytest.mark.parametrize("estimator", KINDS, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("fit_intercept", [True, long(False)])
def test_a_run_ends_in_the_same_solution(
    rows: Any, tmp_path: Path, trees: None, estimator: Any, weighted: bool, fit_intercept: bool
) -> None:
    X, y = rows
    weight = np.random.default_rng(1).choice([0.0, 0.25, 1.0, 3.5], len(y)) if weighted else None
    if "fit_intercept" in estimator.get_params():
        estimator = clone(estimator).set_params(fit_intercept=fit_intercept)
    elif not fit_intercept:
        pytest.skip("it has an offset always")
    here = clone(estimator).fit(X, y, weight)
    run = clone(here).set_params(run=tmp_path / "run").fit(X, y, weight)
    np.testing.assert_allclose(values(run, X), values(here, X), rtol=0, atol=2e-4)
    assert run.objective_ == pytest.approx(here.objective_, rel=1e-6)
    assert run.violation_ <= run.tol
    assert (run.level_, run.fit_status_, run.shape_fit_) == (0, 0, X.shape)
    np.testing.assert_array_equal(run.support_vectors_, X[run.support_])
    for name in {"epsilon_", "offset_"} & set(vars(here)):
        assert getattr(run, name) == pytest.approx(getattr(here, name), abs=1e-4)
    beta, C = of_rows(run, len(y)), getattr(run, "C", 1.0)
    assert (np.abs(beta) <= C * (1.0 if weight is None else weight) * (1 + 1e-12)).all()
    if weight is None:  # equal rows share
        np.testing.assert_array_equal(beta[:40], beta[1200:])
    again = type(estimator).from_run(tmp_path / "run")
    np.testing.assert_array_equal(values(again, X), values(run, X))
    own = {"C", "gamma", "tol", "fit_intercept", "epsilon", "quantile", "nu"}
    for name in own & set(run.get_params()):
        assert getattr(again, name) == getattr(run, name)


@pytest.mark.one_quick
@pytest.mark.parametrize("estimator", KINDS, ids=lambda one: type(one).__name__)
def test_rows_given_twice_are_rows_that_weigh_double(
    rows: Any, tmp_path: Path, estimator: Any
) -> None:
    X, y = sparse.csr_array(rows[0][:400]), rows[1][:400]
    times = np.random.default_rng(1).integers(0, 4, len(y))
    order = np.repeat(np.arange(len(y)), times)
    repeated = clone(estimator).set_params(run=tmp_path / "many").fit(X[order], y[order])
    weighted = clone(estimator).set_params(run=tmp_path / "few").fit(X, y, sample_weight=times)
    # Variables with sums begin at those of some rows of the data set, among which repeats are.
    far, apart = (2e-5, 1e-3) if hasattr(estimator, "nu") else (1e-9, 1e-9)
    np.testing.assert_allclose(values(weighted, X), values(repeated, X), rtol=0, atol=far)
    together = np.bincount(order, of_rows(repeated, len(order)), len(y))
    np.testing.assert_allclose(of_rows(weighted, len(y)), together, rtol=0, atol=apart)


@pytest.mark.one_quick
@pytest.mark.parametrize("estimator", KINDS, ids=lambda one: type(one).__name__)
def test_an_early_model_goes_on_to_the_exact_one(
    rows: Any, tmp_path: Path, trees: None, estimator: Any
) -> None:
    X, y = rows
    early = clone(estimator).set_params(stop_at=1, run=tmp_path / "run").fit(X, y)
    assert early.level_ == 1
    for name in ("dual_coef_", "n_support_", "intercept_", "epsilon_"):
        assert not hasattr(early, name)
    run = api.open_run(tmp_path / "run")
    decide = run.decision_function if isinstance(early, DCOneClassSVM) else run.predict
    reported = decide(X, mode="early", precision="float64")
    np.testing.assert_allclose(values(early, X), reported, atol=1e-9)
    again = pickle.loads(pickle.dumps(early))
    np.testing.assert_array_equal(values(again, X), values(early, X))
    here = clone(estimator).fit(X, y)
    # The values of a one-class SVM spread little: those of its rows are alike.
    least = 0.85 if isinstance(early, DCOneClassSVM) else 0.9
    assert np.corrcoef(values(early, X), values(here, X))[0, 1] > least
    exact = clone(early).set_params(stop_at=0).fit(X, y)
    assert exact.level_ == 0
    np.testing.assert_allclose(values(exact, X), values(here, X), rtol=0, atol=2e-4)
    early.set_params(stop_at=0, run=None).fit(X, y)
    assert early.early_model_ is None
    np.testing.assert_array_equal(values(early, X), values(here, X))


@pytest.mark.long
@pytest.mark.parametrize("kind", [DCSVR, DCSVC])
def test_a_run_goes_on_to_a_smaller_tolerance(kind: Any, rows: Any, tmp_path: Path) -> None:
    X, y = rows[0][:400], rows[1][:400]
    y = (y > 3.0).astype(int) if kind is DCSVC else y
    words: dict[str, Any] = {**WORDS, "run": tmp_path / "run"}
    coarse = kind(**{**words, "tol": 0.05}).fit(X, y)
    assert np.max(coarse.violation_) > 1e-5
    fine, here = kind(**words).fit(X, y), kind(**WORDS).fit(X, y)
    assert np.max(fine.violation_) <= 1e-5
    np.testing.assert_allclose(fine.objective_, here.objective_, rtol=1e-8)
    again = kind(**{**words, "tol": 0.05}).fit(X, y)  # it has that already
    np.testing.assert_array_equal(again.dual_coef_, fine.dual_coef_)


def test_what_a_run_was_begun_with_has_to_be_given_again(rows: Any, tmp_path: Path) -> None:
    X, y = rows[0][:300], rows[1][:300]
    model = DCSVR(**WORDS, run=tmp_path / "run").fit(X, y)
    with pytest.raises(InputError, match="begun with other parameters"):
        clone(model).set_params(epsilon=0.2).fit(X, y)
    with pytest.raises(InputError, match="begun with other parameters"):
        DCQuantileSVR(**WORDS, run=tmp_path / "run").fit(X, y)
    with pytest.raises(InputError, match="begun with other data"):
        clone(model).fit(X, y + 1.0)
    with pytest.raises(InputError, match="is one of task regression, not quantile"):
        DCQuantileSVR.from_run(tmp_path / "run")
    with pytest.raises(InputError, match="is one of task regression, not classification"):
        DCSVC.from_run(tmp_path / "run")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"run": "r", "max_iter": 5}, "max_iter is not possible with run"),
        ({"stop_at": 4}, "there is no level 4"),
        ({"time_budget": -1}, "time-budget must be a positive number of seconds, got -1"),
        ({"client": "tcp://here"}, "must be a distributed.Client, got"),
        ({"callbacks": 5}, "give a list of dcsvm_dask.Callback"),
    ],
)
def test_what_a_run_cannot_do_is_refused(rows: Any, words: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        DCSVR(**WORDS, **words).fit(rows[0][:300], rows[1][:300])


def test_callbacks_receive_the_events(rows: Any) -> None:
    stages: list[str] = []

    class Follows(dcsvm_dask.Callback):
        def on_commit(self, event: Any) -> None:
            stages.append(event.stage)

    DCSVR(**WORDS, callbacks=[Follows()]).fit(rows[0][:300], rows[1][:300])
    assert any(stage.startswith("model-") for stage in stages)


def test_a_search_trains_the_best_one_alone_as_a_run(rows: Any, tmp_path: Path) -> None:
    X, y = rows[0][:300], rows[1][:300]
    base = DCSVR(**WORDS, run=tmp_path / "run")
    search = DCSVMSearchCV(base, {"C": [0.5, 5.0]}, cv=2).fit(X, y)
    again = DCSVR.from_run(tmp_path / "run")
    assert search.best_params_["C"] == again.C
    np.testing.assert_array_equal(again.predict(X), search.predict(X))


@pytest.mark.long
def test_a_client_s_cluster_trains(rows: Any, tmp_path: Path, two_workers: Execution) -> None:
    X, y = rows
    here = DCSVR(**WORDS, run=tmp_path / "here").fit(X, y)
    with Client(two_workers.scheduler) as client:
        there = DCSVR(**WORDS, client=client, run=tmp_path / "there").fit(X, y)
    np.testing.assert_array_equal(there.predict(X), here.predict(X))


def test_a_run_has_the_squared_loss_too(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-2.0, 2.0, (400, 2)).astype(np.float32)
    y = 3.0 + np.sin(2.0 * X[:, 0]) + 0.1 * rng.standard_normal(400)
    how: dict[str, Any] = {"C": 2.0, "epsilon": 0.05, "loss": "squared_epsilon_insensitive"}
    memory = DCSVR(gamma=0.5, tol=1e-5, **how).fit(X, y)
    run = DCSVR(gamma=0.5, tol=1e-5, run=str(tmp_path / "run"), **how).fit(X, y)
    np.testing.assert_allclose(run.predict(X), memory.predict(X), rtol=0, atol=1e-3)
    assert run.objective_ == pytest.approx(memory.objective_, rel=1e-5)
    again = DCSVR.from_run(tmp_path / "run")
    assert again.loss == how["loss"]
    np.testing.assert_array_equal(again.predict(X), run.predict(X))


@pytest.mark.long
def test_a_budget_for_no_level_names_no_folder_that_is_gone(rows: Any) -> None:
    with pytest.raises(InputError, match=r"time_budget: no level was solved within 1e-06 s, and a"):
        DCSVR(time_budget=1e-6, **WORDS).fit(*rows)
