"""Searches over regressors, nu-SVMs and the one-class SVM beside GridSearchCV over the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import d2_pinball_score, get_scorer, make_scorer, mean_pinball_loss
from sklearn.model_selection import GridSearchCV, KFold, LeaveOneOut, StratifiedKFold
from sklearn.svm import SVR

from dcsvm_dask.errors import InputError
from dcsvm_dask.estimators import (
    DCSVR,
    DCNuSVC,
    DCNuSVR,
    DCOneClassSVM,
    DCQuantileSVR,
    DCSVMSearchCV,
)
from dcsvm_dask.estimators.chain import Chain
from tests.marks import long


@pytest.fixture(scope="module")
def table(shared_data: Callable[[str], Any]) -> Callable[..., Any]:
    """Return a loader of some standardised rows, and labels or standardised targets."""

    def load(name: str, n: int, *, classes: bool = False) -> Any:
        file = shared_data(name)
        some = np.random.default_rng(0).permutation(len(file["X_train"]))[:n]
        X, y = file["X_train"][some].astype(np.float64), file["y_train"][some].astype(np.float64)
        spread = X.std(axis=0)
        X = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
        return X.astype(np.float32), y if classes else (y - y.mean()) / y.std()

    return load


@pytest.fixture(scope="module")
def synthetic() -> Any:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(150, 3)).astype(np.float32)
    return X, np.sin(X[:, 0]) + X[:, 1] + 0.2 * rng.normal(size=150)


@pytest.fixture(scope="module")
def outliers(table: Any) -> Any:
    """Return rows of ijcnn1, those of the larger class as inliers."""
    X, y = table("ijcnn1", 1200, classes=True)
    return X, np.where(y < 0, 1, -1)


def pinball(quantile: float) -> Any:
    return make_scorer(mean_pinball_loss, alpha=quantile, greater_is_better=False)


def assert_same(
    model: Any, grid: Any, X: Any, y: Any, atol: float, like: Any = None, **how: Any
) -> DCSVMSearchCV:
    """Compare a search with GridSearchCV's, whose scoring is `like`."""
    block_rows = how.pop("block_rows", 4096)
    ours = DCSVMSearchCV(model, grid, block_rows=block_rows, **how).fit(X, y)
    how["scoring"] = how.get("scoring", like)
    theirs = GridSearchCV(model, grid, **how).fit(X, y)
    found, wanted = ours.cv_results_, theirs.cv_results_
    assert set(wanted) <= set(found)
    assert found["params"] == wanted["params"]
    assert ours.n_splits_ == theirs.n_splits_
    for number in range(ours.n_splits_):
        key = f"split{number}_test_score"
        np.testing.assert_allclose(found[key], wanted[key], rtol=0, atol=atol)
    np.testing.assert_allclose(found["mean_test_score"], wanted["mean_test_score"], atol=atol)
    assert ours.best_score_ == pytest.approx(theirs.best_score_, abs=atol)
    # Of equally good candidates rounding may choose either one.
    assert wanted["mean_test_score"][ours.best_index_] >= theirs.best_score_ - 2 * atol
    assert found["rank_test_score"][ours.best_index_] == 1
    assert found["solved"].all()
    assert not found["early"].any()
    if how.get("refit", True):
        assert ours.score(X, y) == pytest.approx(
            refit_score(theirs, ours.best_params_, X, y), abs=atol
        )
    return ours


def refit_score(theirs: GridSearchCV, best: dict[str, Any], X: Any, y: Any) -> float:
    """Return the score of scikit-learn's refit at some parameters."""
    if theirs.best_params_ == best:
        return float(theirs.score(X, y))
    model = clone(theirs.estimator).set_params(**best).fit(X, y)
    return float(theirs.scorer_(model, X, y))


@pytest.mark.long
@pytest.mark.parametrize("name", ["cadata", long("cpusmall"), long("kin40k")])
def test_epsilon_svr(table: Any, name: str) -> None:
    X, y = table(name, 900)
    grid = {"C": [10.0, 0.1, 1.0], "gamma": [0.02, 0.2], "epsilon": [0.05, 0.3]}
    search = assert_same(DCSVR(tol=1e-5), grid, X, y, 1e-5, cv=3)
    assert not hasattr(search, "decision_function")
    np.testing.assert_array_equal(search.predict(X), search.best_estimator_.predict(X))
    # It is SVR's choice, too.
    peer = GridSearchCV(SVR(tol=1e-5), grid, cv=3).fit(X, y)
    mean = peer.cv_results_["mean_test_score"]
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], mean, atol=1e-4)


@pytest.mark.one_quick
@pytest.mark.parametrize(
    ("model", "grid"),
    [
        (DCSVR(tol=1e-6), {"C": [0.1, 3.0], "gamma": ["scale", "auto"]}),
        (DCSVR(tol=1e-6, fit_intercept=False, gamma=0.2), {"C": [0.1, 3.0]}),
        (
            DCSVR(tol=1e-6, loss="squared_epsilon_insensitive"),
            {"C": [0.1, 1.0, 30.0], "epsilon": [0, 0.2], "gamma": [0.3]},
        ),
        (
            DCSVR(tol=1e-6),
            [{"kernel": ["linear"], "C": [0.3, 3.0]}, {"kernel": ["poly"], "degree": [2, 3]}],
        ),
        (DCNuSVR(tol=1e-6), {"nu": [0.2, 0.6], "C": [1.0, 5.0, 0.3], "gamma": [0.3]}),
        (DCQuantileSVR(tol=1e-6, gamma=0.2, warm_start=True), {"C": [0.3, 3.0]}),
    ],
    ids=["scale", "no intercept", "squared", "kernels", "nu", "median"],
)
@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
def test_small_regressions(model: Any, grid: Any, store: Any, synthetic: Any) -> None:
    X, y = synthetic
    cv = KFold(4, shuffle=True, random_state=0)
    like = pinball(0.5) if isinstance(model, DCQuantileSVR) else None
    assert_same(model, grid, store(X), y, 1e-4, like, cv=cv)


@pytest.mark.one_quick
@pytest.mark.parametrize("quantile", [0.2, 0.9])
def test_quantiles_are_scored_by_their_pinball_loss(table: Any, quantile: float) -> None:
    X, y = table("kin40k", 800)
    model, grid = DCQuantileSVR(quantile=quantile, tol=1e-5), {"C": [1, 10], "gamma": [0.05, 0.3]}
    search = assert_same(model, grid, X, y, 1e-5, pinball(quantile), cv=3)
    assert search.best_score_ < 0
    assert search.score(X, y) == -mean_pinball_loss(y, search.predict(X), alpha=quantile)
    other = make_scorer(d2_pinball_score, alpha=quantile)
    assert_same(model, grid, X, y, 1e-4, cv=3, scoring=other, refit=False)


@pytest.mark.long
def test_nu_svr(table: Any) -> None:
    X, y = table("cpusmall", 700)
    grid = {"nu": [0.5, 0.2], "C": [1.0, 10.0], "gamma": [0.02, 0.1]}
    assert_same(DCNuSVR(tol=1e-5), grid, X, y, 1e-4, cv=3)
    assert_same(
        DCNuSVR(tol=1e-5), grid, X, y, 1e-4, cv=3, scoring="neg_mean_absolute_error", refit=False
    )


@pytest.mark.one_quick
@pytest.mark.parametrize("name", ["magic", "shuttle", "usps"])
def test_nu_svc_of_two_classes_and_many(table: Any, name: str) -> None:
    X, y = table(name, 900, classes=True)
    if name == "shuttle":  # of some classes there are too few rows
        X, y = X[np.isin(y, [1, 4, 5])], y[np.isin(y, [1, 4, 5])]
    nu = {"magic": [0.3, 0.6], "shuttle": [0.02, 0.05], "usps": [0.05, 0.2]}[name]
    grid = {"nu": nu, "gamma": [0.1 / X.shape[1], 1.0 / X.shape[1]]}
    labels = np.array(["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"])[y.astype(int)]
    search = assert_same(DCNuSVC(tol=1e-6), grid, X, labels, 1e-9, cv=3)
    assert search.classes_.tolist() == np.unique(labels).tolist()
    assert search.decision_function(X).shape[0] == len(y)
    if name == "magic":
        folds: dict[str, Any] = {"cv": 3, "scoring": "roc_auc", "refit": False}
        assert_same(DCNuSVC(tol=1e-6), grid, X, labels, 1e-4, **folds)


def test_one_class_is_scored_by_the_auc_of_labelled_rows(outliers: Any) -> None:
    X, y = outliers
    grid = {"nu": [0.05, 0.3, 0.1], "gamma": [0.01, 0.1]}
    search = assert_same(
        DCOneClassSVM(tol=1e-5), grid, X, y, 1e-4, "roc_auc", cv=StratifiedKFold(3)
    )
    assert set(search.predict(X)) == {1, -1}
    assert search.decision_function(X).shape == y.shape
    assert_same(DCOneClassSVM(tol=1e-5), grid, X, y, 5e-3, cv=3, scoring="accuracy", refit=False)


@pytest.mark.one_quick
@pytest.mark.parametrize("block_rows", [4096, 500], ids=["matrix", "working sets"])
@pytest.mark.parametrize(
    ("model", "name", "grid"),
    [
        (DCSVR(), "cpusmall", {"C": [1.0, 8.0], "epsilon": [0.1, 0.02]}),
        (DCNuSVR(), "cpusmall", {"C": [1.0, 8.0]}),
        (DCQuantileSVR(quantile=0.7), "cpusmall", {"C": [1.0, 8.0]}),
        (DCNuSVC(), "magic", {"nu": [0.4, 0.5]}),
    ],
    ids=lambda one: type(one).__name__ if hasattr(one, "fit") else None,
)
def test_more_rows_than_are_solved_at_once(
    table: Any, model: Any, name: str, grid: Any, block_rows: int
) -> None:
    """From 2,048 rows on the shared matrix is of float32, or there is none."""
    X, y = table(name, 3600, classes=name == "magic")
    model.set_params(gamma=0.1, tol=1e-4)
    like = pinball(0.7) if isinstance(model, DCQuantileSVR) else None
    atol = 2e-3 if name == "magic" else 2e-4
    cv = [(np.arange(2700), np.arange(2700, 3600))]
    assert_same(model, grid, X, y, atol, like, cv=cv, refit=False, block_rows=block_rows)


def test_weights_count_in_training_and_not_in_scores(synthetic: Any) -> None:
    X, y = synthetic
    labels = np.where(y > np.median(y), 1, -1)
    weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    cv = list(KFold(3).split(X))
    for model, targets, scoring in (
        (DCSVR(tol=1e-6, C=2.0, gamma=0.2), y, "r2"),
        (DCNuSVC(tol=1e-6, nu=0.3, gamma=0.2), labels, "accuracy"),
        (DCOneClassSVM(tol=1e-6, nu=0.3, gamma=0.2), labels, "roc_auc"),
    ):
        search = DCSVMSearchCV(model, {"gamma": [0.2]}, cv=cv)
        search.fit(X, targets, sample_weight=weight)
        for number, (train, test) in enumerate(cv):
            fitted = clone(model).fit(X[train], targets[train], sample_weight=weight[train])
            wanted = get_scorer(scoring)(fitted, X[test], targets[test])
            score = search.cv_results_[f"split{number}_test_score"][0]
            assert score == pytest.approx(wanted, abs=1e-4)
        assert weight[search.best_estimator_.support_].min() > 0


def test_names_of_features_are_kept(synthetic: Any) -> None:
    X, y = synthetic
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    search = assert_same(DCSVR(tol=1e-6), {"C": [0.3, 3.0]}, frame, y, 1e-4, cv=3)
    assert search.feature_names_in_.tolist() == ["a", "b", "c"]
    assert search.best_estimator_.feature_names_in_.tolist() == ["a", "b", "c"]


def test_threads_do_not_matter(table: Any) -> None:
    X, y = table("cadata", 500)
    grid = {"C": [1.0, 5.0], "gamma": [0.1, 0.3]}
    one, two = (
        DCSVMSearchCV(DCSVR(), grid, cv=3, refit=False, n_jobs=n).fit(X, y).cv_results_
        for n in (1, 2)
    )
    np.testing.assert_array_equal(one["mean_test_score"], two["mean_test_score"])


@pytest.mark.parametrize(
    ("make", "axis", "values"),
    [
        (DCSVR, "C", [1.0, 1.5]),
        (DCQuantileSVR, "C", [1.0, 1.5]),
        (DCNuSVR, "C", [1.0, 1.5]),
        (DCNuSVC, "nu", [0.5, 0.6]),
        (DCOneClassSVM, "nu", [0.6, 0.5]),
    ],
)
def test_a_fit_of_a_chain_starts_from_the_one_before(
    table: Any, make: Any, axis: str, values: list[float]
) -> None:
    X, y = table("magic", 800, classes=True)
    chain = Chain(1000)
    for value in values:
        model, alone = (make(gamma=0.1, **{axis: value}) for _ in range(2))
        model._fit(X, y, None, chain)
        alone._fit(X, y, None)
        assert model.objective_ == pytest.approx(alone.objective_, rel=1e-3)
    assert np.sum(model.n_iter_) < 0.8 * np.sum(alone.n_iter_)
    assert chain.matrix(model._kernel, X, 1) is chain.matrix(model._kernel, X, 1)
    assert Chain(100).matrix(model._kernel, X, 1) is None


def test_candidates_that_do_not_end_are_marked(table: Any) -> None:
    X, y = table("cadata", 500)
    search = DCSVMSearchCV(DCSVR(max_iter=200), {"C": [1e-3, 1e4]}, cv=2, refit=False)
    with pytest.warns(ConvergenceWarning, match="1 of 2 candidates are not solved"):
        search.fit(X, y)
    assert search.cv_results_["solved"].tolist() == [True, False]


def test_callbacks_follow_the_refit_only(synthetic: Any) -> None:
    pytest.importorskip("sklearn.callback")

    class Counts:
        begun = 0

        def setup(self, estimator: Any, context: Any) -> None: ...

        def teardown(self, estimator: Any, context: Any) -> None: ...

        def on_fit_task_begin(self, estimator: Any, context: Any, **about: Any) -> None:
            self.begun += context.task_name == "machine"

        def on_fit_task_end(self, estimator: Any, context: Any, **about: Any) -> bool:
            return False

    follows = Counts()
    DCSVMSearchCV(DCSVR().set_callbacks(follows), {"C": [1.0, 2.0]}, cv=2).fit(*synthetic)
    assert follows.begun == 1


@pytest.mark.parametrize(
    ("model", "grid", "said"),
    [
        (DCSVR(), {"nu": [0.5]}, "param_grid has nu; possible are C, epsilon, kernel"),
        (DCNuSVR(), {"epsilon": [0.5]}, "param_grid has epsilon; possible are nu, C, kernel"),
        (DCNuSVC(), {"C": [1.0]}, "param_grid has C; possible are nu, kernel"),
        (DCOneClassSVM(), {"C": [1.0]}, "param_grid has C; possible are nu, kernel"),
        (DCQuantileSVR(), {"quantile": [0.1, 0.9]}, "quantile, which is not searched over: pinb"),
        (DCQuantileSVR(quantile=2), {"C": [1.0]}, "quantile must be a number between 0 and 1"),
        (DCSVR(), {"C": [1.0, 0.0]}, "C must be a positive number, got 0"),
        (DCSVR(), {"epsilon": [-1.0]}, "epsilon must be a number, 0 or more"),
        (DCSVR(), {"gamma": [-1.0]}, "gamma is -1"),
        (DCSVR(cache_size=0), {"C": [1.0]}, "cache_size is 0"),
        (DCNuSVR(), {"nu": [0.5, 1.5]}, "nu must be a number above 0, at most 1, got 1.5"),
        (SVR(), {"C": [1.0]}, "estimator is a SVR: give a DCSVC, DCSVR, .* or DCOneClassSVM"),
    ],
)
def test_what_cannot_be_searched_is_refused(
    model: Any, grid: Any, said: str, synthetic: Any
) -> None:
    X, y = synthetic
    labels = np.where(y > 0, 1, -1)
    with pytest.raises(InputError, match=said) as error:
        DCSVMSearchCV(model, grid).fit(X, labels)
    assert "\n" not in str(error.value)


def test_rows_that_cannot_be_scored_are_refused(synthetic: Any) -> None:
    X, y = synthetic
    labels = np.where(y > 0, 1, -1)
    one_class = DCSVMSearchCV(DCOneClassSVM(), {"nu": [0.1]})
    with pytest.raises(InputError, match="y is missing: give labels, 1 for inliers and -1 for"):
        one_class.fit(X)
    for wrong, said in ((y > 0, "y holds 0, 1: give both labels"), (y * 0 + 1, "y holds 1: give")):
        with pytest.raises(InputError, match=said):
            one_class.fit(X, wrong)
    with pytest.raises(InputError, match="no AUC: give a StratifiedKFold"):
        one_class.fit(X[np.argsort(labels)], np.sort(labels))
    few = np.where(np.arange(150) < 30, 1, -1)
    with pytest.raises(InputError, match=r"nu must be at most 0\.4, which the classes -1 and 1"):
        DCSVMSearchCV(DCNuSVC(), {"nu": [0.1, 0.7]}, cv=2).fit(X, few)
    with (
        pytest.warns(match="R.2 score is not well-defined"),
        pytest.raises(InputError, match="A score is nan"),
    ):
        DCSVMSearchCV(DCSVR(), {"C": [1.0]}, cv=LeaveOneOut()).fit(X[:9], y[:9])
