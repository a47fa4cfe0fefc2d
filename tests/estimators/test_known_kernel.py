"""Kernels that are precomputed or callables: the models of scikit-learn's, and of named kernels."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn import svm
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, cross_val_score

from dcsvm_dask.errors import InputError
from dcsvm_dask.estimators import (
    DCSVC,
    DCSVR,
    CascadeSVC,
    DCNuSVC,
    DCNuSVR,
    DCOneClassSVM,
    DCQuantileSVR,
    DCSVMSearchCV,
    to_libsvm,
    to_onnx,
)

GAMMA = 0.02


def rbf(X: Any, Z: Any) -> Any:
    return rbf_kernel(X, Z, gamma=GAMMA)


def linear(X: Any, Z: Any) -> Any:
    return X @ Z.T


@pytest.fixture(scope="module")
def usps(problem: Callable[[str], Any]) -> Any:
    """Return 1,500 rows of ten classes, which float32 holds exactly, and their kernel."""
    X, y = problem("usps")
    X, y = X[:1500].astype(np.float64), y[:1500]
    return X, y, rbf(X, X)


@pytest.fixture(scope="module")
def cpusmall(shared_data: Callable[[str], Any]) -> Any:
    data = shared_data("cpusmall")
    X, y = data["X_train"][:800].astype(np.float64), data["y_train"][:800]
    X = ((X - X.mean(axis=0)) / X.std(axis=0)).astype(np.float32).astype(np.float64)
    return X, y, rbf(X, X)


def decisions(model: Any, X: Any) -> Any:
    return getattr(model, "decision_function", model.predict)(X)


@pytest.mark.parametrize("given", ["dense", "csr", "callable", "callable on csr"])
@pytest.mark.parametrize(("kind", "peer"), [(DCSVC, svm.SVC), (DCNuSVC, svm.NuSVC)])
def test_classifiers_have_the_model_of_the_peer(
    kind: Any, peer: Any, given: str, usps: Any
) -> None:
    X, y, K = usps
    train, test = slice(0, 1000), slice(1000, 1500)
    words = {"C": 10.0} if kind is DCSVC else {"nu": 0.05}
    words |= {"tol": 1e-5, "decision_function_shape": "ovo"}
    theirs = peer(kernel="precomputed", **words).fit(K[train, train], y[train])
    if given.startswith("callable"):
        rows = sparse.csr_array(X) if given == "callable on csr" else X
        mine = kind(kernel=rbf, **words).fit(rows[train], y[train])
        found, labels = mine.decision_function(rows[test]), mine.predict(rows[test])
        assert not hasattr(mine, "n_features_in_")
    else:
        form = sparse.csr_array if given == "csr" else np.asarray
        mine = kind(kernel="precomputed", **words).fit(form(K[train, train]), y[train])
        found = mine.decision_function(form(K[test, train]))
        labels = mine.predict(form(K[test, train]))
        assert mine.n_features_in_ == 1000
    expected = theirs.decision_function(K[test, train])
    np.testing.assert_allclose(found, expected, rtol=0, atol=2e-4 * expected.std())
    assert np.array_equal(labels, theirs.predict(K[test, train]))
    assert mine.support_vectors_.shape == theirs.support_vectors_.shape == (0, 0)
    assert np.array_equal(mine.support_, theirs.support_)
    assert np.array_equal(mine.n_support_, theirs.n_support_)
    np.testing.assert_allclose(mine.dual_coef_, theirs.dual_coef_, atol=2e-2)


@pytest.mark.parametrize(
    "model",
    [
        DCSVC(C=10.0, multiclass="ovr"),
        DCSVC(loss="squared_hinge", multiclass="ovr"),
        DCSVC(loss="squared_hinge", fit_intercept=False, class_weight="balanced"),
        DCSVC(C=0.3, inner="newton"),
    ],
    ids=str,
)
def test_precomputed_values_have_the_model_of_their_kernel(model: Any, usps: Any) -> None:
    X, y, K = usps
    weight = 0.5 + np.arange(1500) % 3
    weight[::7] = 0.0
    model.set_params(tol=1e-6, decision_function_shape="ovr")
    named = clone(model).set_params(gamma=GAMMA).fit(X, y, weight)
    model = clone(model).set_params(kernel="precomputed").fit(K, y, weight)
    for one, other in zip(
        (model._machine_values(K), model.intercept_, model.objective_),
        (named._machine_values(X), named.intercept_, named.objective_),
        strict=True,
    ):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("model", "peer"),
    [
        (DCSVR(C=10.0, epsilon=1.0), svm.SVR(C=10.0, epsilon=1.0)),
        (DCNuSVR(C=10.0), svm.NuSVR(C=10.0)),
        (DCOneClassSVM(nu=0.1), svm.OneClassSVM(nu=0.1)),
        (DCQuantileSVR(quantile=[0.1, 0.9], C=10.0), None),
    ],
    ids=str,
)
def test_regressors_and_novelty(model: Any, peer: Any, cpusmall: Any) -> None:
    X, y, K = cpusmall
    train, test = slice(0, 600), slice(600, 800)
    model.set_params(tol=1e-6)
    mine = clone(model).set_params(kernel="precomputed").fit(K[train, train], y[train])
    called = clone(model).set_params(kernel=rbf).fit(X[train], y[train])
    found = decisions(mine, K[test, train])
    np.testing.assert_array_equal(decisions(called, X[test]), found)
    if peer is None:
        peer, at = clone(model).set_params(gamma=GAMMA).fit(X[train], y[train]), X[test]
    else:
        peer.set_params(kernel="precomputed", tol=1e-6).fit(K[train, train], y[train])
        at = K[test, train]
    expected = decisions(peer, at)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4 * expected.std())


def test_more_rows_than_a_small_matrix_has(problem: Callable[[str], Any]) -> None:
    X, y = problem("usps")
    X, y = X[:2500].astype(np.float64), y[:2500] % 2
    K = rbf(X, X)
    mine, theirs = (
        kind(kernel="precomputed", C=10.0, tol=1e-5).fit(K, y) for kind in (DCSVC, svm.SVC)
    )
    expected = theirs.decision_function(K)
    np.testing.assert_allclose(mine.decision_function(K), expected, atol=2e-4 * expected.std())


def test_kernel_values_that_are_given_are_not_written_to(usps: Any) -> None:
    _, y, K = usps
    before = K.copy()
    DCSVC(kernel="precomputed", loss="squared_hinge", multiclass="ovr").fit(K, y)
    DCSVC(kernel="precomputed", loss="squared_hinge").fit(K, y % 2)
    assert np.array_equal(K, before)


def test_a_fit_begins_at_the_last_solution_of_the_same_values(usps: Any) -> None:
    _, y, K = usps
    y = y % 2
    warm = DCSVC(kernel="precomputed", warm_start=True).fit(K, y).set_params(C=1.1)
    steps = warm.fit(K, y).n_iter_[0]
    anew = DCSVC(kernel="precomputed", C=1.1).fit(K, y)
    assert steps < 0.7 * anew.n_iter_[0]
    np.testing.assert_allclose(warm.decision_function(K), anew.decision_function(K), atol=5e-3)
    other = np.eye(len(y)) + K
    assert np.array_equal(
        warm.fit(other, y).decision_function(K),
        DCSVC(kernel="precomputed", C=1.1).fit(other, y).decision_function(K),
    )


def test_models_are_kept_by_pickle_and_cloned(usps: Any) -> None:
    X, y, K = usps
    for kernel, rows in ((rbf, X), ("precomputed", K)):
        model = clone(DCSVC(kernel=kernel)).fit(
            rows[:500, : len(rows[0])] if kernel is rbf else rows[:500, :500], y[:500]
        )
        test = rows[500:600] if kernel is rbf else rows[500:600, :500]
        again = pickle.loads(pickle.dumps(model))
        assert np.array_equal(again.predict(test), model.predict(test))


def test_folds_of_scikit_learn_take_rows_and_columns(usps: Any) -> None:
    _, y, K = usps
    mine, theirs = (
        cross_val_score(kind(kernel="precomputed", C=10.0), K, y, cv=3) for kind in (DCSVC, svm.SVC)
    )
    np.testing.assert_allclose(mine, theirs, atol=1.5 / 500)


@pytest.mark.parametrize("given", ["precomputed", "callable", "in the grid"])
def test_a_search_has_the_scores_of_grid_search(given: str, usps: Any) -> None:
    X, y, K = usps
    grid: dict[str, Any] = {"C": [0.01, 0.1, 1.0]}
    peer = GridSearchCV(svm.SVC(kernel="precomputed", tol=1e-4), grid, cv=3).fit(K, y)
    rows = K if given == "precomputed" else X
    estimator = DCSVC(kernel=rbf if given == "callable" else "precomputed", tol=1e-4)
    if given == "in the grid":
        grid["kernel"] = [rbf, "linear"]
        estimator = DCSVC(tol=1e-4)
    search = DCSVMSearchCV(estimator, grid, cv=3, block_rows=200).fit(rows, y)
    own = [one.get("kernel", rbf) is rbf for one in search.cv_results_["params"]]
    found = search.cv_results_["mean_test_score"][own]
    np.testing.assert_allclose(found, peer.cv_results_["mean_test_score"], atol=1e-12)
    assert np.array_equal(search.predict(rows), search.best_estimator_.predict(rows))
    assert getattr(search, "n_features_in_", None) == (1500 if given == "precomputed" else None)


@pytest.mark.parametrize("given", ["precomputed", "callable"])
def test_a_search_of_regressors(given: str, cpusmall: Any) -> None:
    X, y, K = cpusmall
    grid = {"C": [1.0, 10.0]}
    rows, kernel = (K, "precomputed") if given == "precomputed" else (X, rbf)
    peer = GridSearchCV(svm.SVR(kernel="precomputed", tol=1e-5), grid, cv=3).fit(K, y)
    search = DCSVMSearchCV(DCSVR(kernel=kernel, tol=1e-5), grid, cv=3).fit(rows, y)
    np.testing.assert_allclose(
        search.cv_results_["mean_test_score"], peer.cv_results_["mean_test_score"], atol=1e-6
    )


K3 = np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 1.0], [0.0, 1.0, 2.0]])


@pytest.mark.parametrize(
    ("words", "X", "said"),
    [
        ({"kernel": "precomputed"}, K3[:, :2], "must be a square matrix. Input is a 3x2 matrix"),
        ({"kernel": "precomputed"}, K3 + np.eye(3, k=1), "is not symmetric: .* rows 0 and 1 is 2"),
        ({"kernel": "precomputed"}, K3 * np.nan, "NaN"),
        ({"kernel": lambda X, Z: X @ Z.T * np.inf}, K3, "kernel returned values that are not fin"),
        ({"kernel": lambda X, Z: X}, K3[:, :2], r"of shape \(3, 2\): of 3 rows with 3 others"),
        ({"kernel": lambda X, Z: K3[:2, :2]}, K3, r"it must be of shape \(3, 3\)"),
        ({"kernel": lambda X, Z: X[0]}, K3, "kernel returned an array of 1 axes"),
        ({"kernel": "precomputed", "stop_at": 1}, K3, "stop_at is not possible with a kernel"),
        ({"kernel": linear, "run": "somewhere"}, K3, "run is not possible with a kernel"),
    ],
)
def test_what_is_no_kernel_matrix_is_refused(words: Any, X: Any, said: str) -> None:
    for kind in (DCSVC, DCSVR):
        with np.errstate(invalid="ignore"), pytest.raises(ValueError, match=said):
            kind(**words).fit(X, [0, 1, 1])


def test_kernel_values_of_other_rows_are_refused() -> None:
    kernel = lambda X, Z: K3  # noqa: E731
    for model in (DCSVC(kernel=kernel), DCSVR(kernel=kernel)):
        model.fit(K3, [0, 1, 1])
        with pytest.raises(InputError, match=r"of shape \(3, 3\): of 2 rows with 3 others it must"):
            model.predict(K3[:2])


def test_other_numbers_of_kernel_values_are_refused() -> None:
    model = DCSVC(kernel="precomputed").fit(K3, [0, 1, 1])
    with pytest.raises(ValueError, match="expecting 3 features"):
        model.predict(K3[:, :2])
    model = DCSVC(kernel=lambda X, Z: (X @ Z.T)[:, :3]).fit(K3, [0, 1, 1])
    model._kernel.rows[:] = 0.0  # whatever the function does with them
    assert model.predict(K3).shape == (3,)
    short = DCSVC(kernel=lambda X, Z: X @ Z.T if len(X) == 3 else (X @ Z.T)[:, :2])
    with pytest.raises(InputError, match=r"of shape \(2, 2\): of 2 rows with 3 others"):
        short.fit(K3, [0, 1, 1]).predict(K3[:2])


def test_what_needs_rows_says_so(tmp_path: Any) -> None:
    model = DCSVC(kernel="precomputed").fit(K3, [0, 1, 1])
    with pytest.raises(InputError, match="to_libsvm: the kernel is precomputed"):
        to_libsvm(model, tmp_path / "model")
    with pytest.raises(InputError, match="to_onnx: the kernel is precomputed"):
        to_onnx(model)
    with pytest.raises(InputError, match='kernel="precomputed" beside others'):
        DCSVMSearchCV(DCSVC(), {"kernel": ["precomputed", "rbf"]}).fit(K3, [0, 1, 1])
    with pytest.raises(InputError, match="choose one of rbf"):
        CascadeSVC(kernel="precomputed").fit(K3, [0, 1, 1])
