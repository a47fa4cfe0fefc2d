"""DCSVC as a run: kept, gone on with, early, on a cluster."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from distributed import Client
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.svm import SVC

import dcsvm_dask
from dcsvm_dask import api
from dcsvm_dask.errors import InputError
from dcsvm_dask.estimators import DCSVC
from dcsvm_dask.pipeline import levels as training_levels
from dcsvm_dask.runtime.execution import Execution
from dcsvm_dask.storage.dataset import DataSet
from tests.marks import long

ROWS, WORDS = 2500, {"C": 8.0, "gamma": 8.0}


@pytest.fixture(scope="module")
def rows(demo_rows: Callable[..., Path]) -> tuple[np.ndarray, np.ndarray]:
    """Return some of the demo's rows, labels as words, some rows twice."""
    data = DataSet.open(demo_rows(ROWS))
    X, codes = np.asarray(data.rows.read(0, ROWS)), data.read_codes(0, ROWS)
    y = np.array(["other", "pine"])[codes]
    return np.concatenate([X, X[:40]]), np.concatenate([y, y[:40]])


@pytest.fixture
def trees(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have some thousand rows make a tree of a level."""
    monkeypatch.setattr(training_levels, "LEAST_ROWS_FOR_LEVELS", 1000)


@pytest.mark.parametrize("fit_intercept", [True, long(False)])
def test_a_run_ends_in_the_same_machine(
    rows: Any, tmp_path: Path, trees: None, fit_intercept: bool
) -> None:
    X, y = rows
    words: dict[str, Any] = {**WORDS, "tol": 1e-5, "fit_intercept": fit_intercept}
    words["class_weight"] = {"pine": 2.0}
    here = DCSVC(**words).fit(X, y)
    run = DCSVC(**words, run=tmp_path / "run").fit(X, y)
    np.testing.assert_allclose(run.decision_function(X), here.decision_function(X), atol=1e-3)
    np.testing.assert_allclose(run.objective_, here.objective_, rtol=1e-6)
    np.testing.assert_allclose(run.intercept_, here.intercept_, atol=1e-3)
    assert run.dual_coef_.shape == (1, len(run.support_))
    np.testing.assert_array_equal(run.support_vectors_, X[run.support_])
    np.testing.assert_array_equal(
        run.n_support_, np.bincount(np.unique(y, return_inverse=True)[1][run.support_])
    )
    # Equal rows share: those that come twice have equal coefficients.
    by_row = np.zeros(len(y))
    by_row[run.support_] = run.dual_coef_[0]
    np.testing.assert_array_equal(by_row[:40], by_row[ROWS:])


@pytest.mark.long
def test_an_early_model_goes_on_to_the_exact_one(rows: Any, tmp_path: Path, trees: None) -> None:
    X, y = rows
    early = DCSVC(**WORDS, stop_at=1, run=tmp_path / "run").fit(X, y)
    assert early.level_ == 1
    assert not hasattr(early, "dual_coef_")
    assert np.mean(early.predict(X) == y) > 0.75
    reported = api.open_run(tmp_path / "run").decision_function(
        X, mode="early", precision="float64"
    )
    np.testing.assert_allclose(early.decision_function(X), reported, atol=1e-9)
    exact = clone(early).set_params(stop_at=0).fit(X, y)
    assert exact.level_ == 0
    assert exact.violation_[0] <= exact.tol
    again = DCSVC.from_run(tmp_path / "run")
    np.testing.assert_array_equal(again.decision_function(X), exact.decision_function(X))
    np.testing.assert_array_equal(again.support_, exact.support_)
    assert (again.C, again.gamma, again.stop_at) == (8.0, 8.0, 0)
    assert again.classes_.tolist() == ["other", "pine"]


@pytest.mark.one_quick
@pytest.mark.parametrize(
    ("labels", "reported"),
    [
        ([-1, 1], [-1, 1]),
        ([1.0, 2.0], [1, 2]),
        (["b", "a"], ["a", "b"]),
        (["9", "10"], [0, 1]),
        ([False, True], [0, 1]),
        ([7, 3, 10], [3, 7, 10]),
    ],
)
def test_a_run_has_the_labels(labels: Any, reported: Any, rows: Any, tmp_path: Path) -> None:
    X, _ = rows
    y = np.array(labels)[np.arange(300) % len(labels)]
    model = DCSVC(class_weight="balanced", run=tmp_path / "run").fit(X[:300], y)
    again = DCSVC.from_run(tmp_path / "run")
    assert again.classes_.tolist() == reported
    np.testing.assert_array_equal(model.classes_, np.unique(y))
    found = np.searchsorted(again.classes_, again.predict(X[:300]))
    np.testing.assert_array_equal(model.classes_[found], model.predict(X[:300]))
    np.testing.assert_array_equal(again.class_weight_, model.class_weight_)


@pytest.mark.long
def test_threads_do_not_change_a_bit_of_a_run(rows: Any, trees: None) -> None:
    X, y = rows
    one, two = (
        DCSVC(**WORDS, n_jobs=jobs, callbacks=[dcsvm_dask.Callback()]).fit(X, y) for jobs in (1, 2)
    )
    np.testing.assert_array_equal(one.support_, two.support_)
    np.testing.assert_array_equal(one.dual_coef_, two.dual_coef_)
    np.testing.assert_array_equal(one.intercept_, two.intercept_)


def test_what_a_run_was_begun_with_has_to_be_given_again(rows: Any, tmp_path: Path) -> None:
    X, y = rows
    DCSVC(**WORDS, run=tmp_path / "run").fit(X[:300], y[:300])
    reported = f"C {WORDS['C']}, now 9.5; random_state 0, now 3"
    with pytest.raises(
        InputError, match=rf"begun with other parameters \({reported}\); give what it"
    ):
        DCSVC(**{**WORDS, "C": 9.5, "random_state": 3}, run=tmp_path / "run").fit(X[:300], y[:300])
    with pytest.raises(InputError, match="begun with other data"):
        DCSVC(**WORDS, run=tmp_path / "run").fit(X[:299], y[:299])


@pytest.mark.parametrize(
    ("words", "fitted", "said"),
    [
        ({"run": "r", "max_iter": 5}, {}, "max_iter is not possible with run"),
        ({"stop_at": 1, "max_iter": 5}, {}, "which a time_budget bounds"),
        ({"stop_at": 4}, {}, r"there is no level 4: .* levels= of dcsvm_dask\.train"),
        ({"time_budget": "10m"}, {}, "time-budget must be a positive number of seconds, got '10m'"),
        ({"time_budget": -1}, {}, "time-budget must be a positive number of seconds, got -1"),
        ({"client": "tcp://here"}, {}, "must be a distributed.Client, got"),
        ({"callbacks": 5}, {}, "give a list of dcsvm_dask.Callback"),
    ],
)
def test_what_a_run_cannot_do_is_refused(
    rows: Any, words: dict[str, Any], fitted: dict[str, Any], said: str
) -> None:
    X, y = rows
    with pytest.raises(InputError, match=said):
        DCSVC(**WORDS, **words).fit(X[:300], y[:300], **fitted)


def test_callbacks_receive_the_events(rows: Any) -> None:
    stages: list[str] = []

    class Follows(dcsvm_dask.Callback):
        def on_commit(self, event: Any) -> None:
            stages.append(event.stage)

    X, y = rows
    DCSVC(**WORDS, callbacks=[Follows()]).fit(X[:300], y[:300])
    assert any(stage.startswith("model-") for stage in stages)


def test_a_fitted_one_travels(rows: Any, trees: None) -> None:
    X, y = rows
    model = DCSVC(**WORDS, stop_at=1).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))


@pytest.mark.long
def test_a_client_s_cluster_trains(rows: Any, tmp_path: Path, two_workers: Execution) -> None:
    X, y = rows
    here = DCSVC(**WORDS, run=tmp_path / "here").fit(X, y)
    digits, labels = load_digits(return_X_y=True)
    svc = SVC(tol=1e-4).fit(digits, labels)
    with Client(two_workers.scheduler) as client:
        there = DCSVC(**WORDS, client=client, run=tmp_path / "there").fit(X, y)
        many = DCSVC(tol=1e-4, client=client).fit(digits, labels)
    np.testing.assert_array_equal(there.decision_function(X), here.decision_function(X))
    np.testing.assert_array_equal(many.predict(digits), svc.predict(digits))
    assert many.n_iter_.shape == (45,)
    np.testing.assert_allclose(many.intercept_, svc.intercept_, atol=1e-3)
