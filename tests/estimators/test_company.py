"""The estimators inside scikit-learn's tools, and kept on disk."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dask.array as da
import joblib
import numpy as np
import pytest
import sklearn
from distributed import Client
from scipy import sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris
from sklearn.ensemble import BaggingClassifier
from sklearn.inspection import permutation_importance
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from dcsvm_dask.estimators import DCSVC, LinearDCSVC
from dcsvm_dask.runtime.execution import Execution

PAIRS = [
    pytest.param(DCSVC(tol=1e-5), SVC(tol=1e-5), id="DCSVC"),
    pytest.param(
        LinearDCSVC(tol=1e-5, C=0.1, max_iter=10**6),
        LinearSVC(tol=1e-5, C=0.1, max_iter=10**6),
        id="LinearDCSVC",
    ),
]
FITTED = [
    pytest.param((estimator, is_sparse), id=f"{type(estimator).__name__}-{kind}")
    for estimator in (DCSVC(C=10.0), LinearDCSVC(C=0.1))
    for is_sparse, kind in ((False, "dense"), (True, "csr"))
]


@pytest.fixture(scope="module")
def iris() -> Any:
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    return X[order].astype(np.float32), np.array(["setosa", "versicolor", "virginica"])[y[order]]


@pytest.fixture
def fitted(iris: Any, request: pytest.FixtureRequest) -> Any:
    estimator, is_sparse = request.param
    X, y = iris
    X = sparse.csr_array(X) if is_sparse else X
    return clone(estimator).fit(X, y), X


def check_decides_the_same(one: Any, other: Any, X: Any) -> None:
    np.testing.assert_array_equal(other.decision_function(X), one.decision_function(X))
    np.testing.assert_array_equal(other.predict(X), one.predict(X))
    assert other.get_params() == one.get_params()


@pytest.mark.parametrize("fitted", FITTED, indirect=True)
@pytest.mark.parametrize("protocol", [2, pickle.HIGHEST_PROTOCOL])
def test_pickle(fitted: Any, protocol: int) -> None:
    one, X = fitted
    check_decides_the_same(one, pickle.loads(pickle.dumps(one, protocol)), X)


@pytest.mark.parametrize("fitted", FITTED, indirect=True)
@pytest.mark.parametrize("mmap_mode", [None, "r"])
def test_joblib(fitted: Any, mmap_mode: Any, tmp_path: Path) -> None:
    one, X = fitted
    joblib.dump(one, tmp_path / "model.joblib")
    check_decides_the_same(one, joblib.load(tmp_path / "model.joblib", mmap_mode=mmap_mode), X)


@pytest.mark.parametrize("fitted", FITTED, indirect=True)
def test_skops(fitted: Any) -> None:
    io = pytest.importorskip("skops.io")
    one, X = fitted
    kept = io.dumps(one)
    unknown = io.get_untrusted_types(data=kept)
    assert {name.split(".")[0] for name in unknown} <= {"dcsvm_dask", "scipy"}
    check_decides_the_same(one, io.loads(kept, trusted=unknown), X)


@pytest.mark.parametrize("fitted", FITTED, indirect=True)
def test_a_clone_is_not_fitted_and_fits_the_same(fitted: Any, iris: Any) -> None:
    one, X = fitted
    copy = clone(one)
    assert not hasattr(copy, "classes_")
    check_decides_the_same(one, copy.fit(X, iris[1]), X)
    # Fitted again on something else, nothing is left of the first time.
    two = iris[1] != "setosa"
    again = clone(one).fit(X[two], iris[1][two])
    check_decides_the_same(again, copy.fit(X[two], iris[1][two]), X)
    assert copy.decision_function(X).ndim == 1


@pytest.mark.parametrize(("ours", "theirs"), PAIRS)
def test_a_pipeline_scores_like_that_of_scikit_learn(ours: Any, theirs: Any, iris: Any) -> None:
    scores = [
        cross_val_score(make_pipeline(StandardScaler(), clone(one)), *iris, cv=5)
        for one in (ours, theirs)
    ]
    np.testing.assert_array_equal(*scores)


@pytest.mark.long
@pytest.mark.parametrize(("ours", "theirs"), PAIRS)
def test_a_search_on_two_processes_finds_what_scikit_learn_finds(
    ours: Any, theirs: Any, iris: Any
) -> None:
    grid = {"C": [0.01, 0.1, 1.0]}
    if isinstance(ours, DCSVC):
        grid["gamma"] = [0.01, 0.1]
    searches = [
        GridSearchCV(clone(one), grid, cv=3, n_jobs=jobs).fit(*iris)
        for one, jobs in ((ours, 2), (theirs, None))
    ]
    np.testing.assert_array_equal(*(s.cv_results_["mean_test_score"] for s in searches))
    assert searches[0].best_params_ == searches[1].best_params_


def test_calibrated_probabilities_are_those_of_a_calibrated_svc(iris: Any) -> None:
    X, y = iris
    probabilities = [
        CalibratedClassifierCV(one, cv=3, ensemble=False).fit(X, y).predict_proba(X)
        for one in (DCSVC(tol=1e-6, gamma=0.1), SVC(tol=1e-6, gamma=0.1))
    ]
    assert probabilities[0].shape == (150, 3)
    np.testing.assert_allclose(*probabilities, rtol=0, atol=1e-3)
    assert not hasattr(DCSVC(), "predict_proba")


@pytest.mark.parametrize(("ours", "theirs"), PAIRS)
def test_other_tools_that_wrap_classifiers(ours: Any, theirs: Any, iris: Any) -> None:
    X, y = iris
    rest = [OneVsRestClassifier(clone(one)).fit(X, y) for one in (ours, theirs)]
    np.testing.assert_allclose(*(one.decision_function(X) for one in rest), rtol=0, atol=1e-3)
    bags = [BaggingClassifier(clone(one), 5, random_state=0).fit(X, y) for one in (ours, theirs)]
    np.testing.assert_allclose(*(one.predict_proba(X) for one in bags), rtol=0, atol=0.21)
    assert bags[0].score(X, y) == pytest.approx(bags[1].score(X, y), abs=0.01)
    importances = [
        permutation_importance(clone(one).fit(X, y), X, y, random_state=0).importances_mean
        for one in (ours, theirs)
    ]
    np.testing.assert_allclose(*importances, rtol=0, atol=0.01)


@pytest.mark.parametrize("kind", [DCSVC, LinearDCSVC])
def test_weights_are_routed_to_those_who_ask(kind: Any, iris: Any) -> None:
    X, y = iris
    weight = np.where(np.arange(150) % 2 == 0, 3.0, 0.2)
    how = {"C": 0.05}
    direct = kind(**how).fit(X, y, sample_weight=weight).decision_function(X)
    without = kind(**how).fit(X, y).decision_function(X)
    assert np.abs(direct - without).max() > 1e-2
    with sklearn.config_context(enable_metadata_routing=True):
        asks = kind(**how).set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        routed = make_pipeline(asks).fit(X, y, sample_weight=weight)
        np.testing.assert_array_equal(routed.decision_function(X), direct)
        with pytest.raises(ValueError, match="sample_weight"):
            make_pipeline(kind(**how)).fit(X, y, sample_weight=weight)
        search = GridSearchCV(clone(asks), {"C": [0.05]}, cv=3).fit(X, y, sample_weight=weight)
        np.testing.assert_array_equal(search.decision_function(X), direct)


def test_a_joblib_context_says_how_many_threads(iris: Any) -> None:
    one = DCSVC(n_jobs=1).fit(*iris)
    for jobs in (None, 2, -1):
        with joblib.parallel_config(backend="threading", n_jobs=2):
            other = DCSVC(n_jobs=jobs).fit(*iris)
        np.testing.assert_array_equal(other.dual_coef_, one.dual_coef_)


wrappers = pytest.importorskip("dask_ml.wrappers", exc_type=ImportError)


@pytest.fixture
def digits(problem: Callable[[str], Any]) -> Any:
    X, y = problem("digits")
    return X, y, da.from_array(X, chunks=(300, 64)), da.from_array(y, chunks=300)


def test_chunks_are_decided_as_all_rows_are(digits: Any) -> None:
    X, y, rows, labels = digits
    alone = DCSVC(C=10.0, gamma=0.001).fit(X, y)
    for fitted_to in ((X, y), (rows, labels)):
        wrapped = wrappers.ParallelPostFit(DCSVC(C=10.0, gamma=0.001)).fit(*fitted_to)
        found = wrapped.predict(rows)
        assert isinstance(found, da.Array)
        np.testing.assert_array_equal(found.compute(), alone.predict(X))
        assert wrapped.score(rows, labels) == alone.score(X, y)


@pytest.mark.long
def test_workers_decide(digits: Any, two_workers: Execution) -> None:
    X, y, rows, _ = digits
    wrapped = wrappers.ParallelPostFit(DCSVC(C=10.0, gamma=0.001)).fit(X, y)
    with Client(two_workers.scheduler):
        found = wrapped.predict(rows).compute()
    np.testing.assert_array_equal(found, DCSVC(C=10.0, gamma=0.001).fit(X, y).predict(X))
