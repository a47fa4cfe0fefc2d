"""DCSVC with the squared hinge loss against scikit-learn's solvers of the same problem.

SVC solves it as the hard margin of K + I / (2 C), LinearSVC for the linear kernel without a bias.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import cross_val_score
from sklearn.svm import SVC, LinearSVC

from dcsvm_dask.errors import InputError
from dcsvm_dask.estimators import DCSVC, BaggingSVC, CascadeSVC, DCSVMSearchCV, to_libsvm
from tests.marks import long

SETS = {"german_numer": (0.05, 1.0), "magic": (4.0, 10.0), "ijcnn1": (2.0, 0.5)}
"""gamma and C."""


@pytest.fixture(scope="module")
def rows(shared_data: Callable[[str], Any]) -> Callable[..., Any]:
    """Return a maker of rows of a set, 30 of them twice, and their labels."""

    def make(name: str, n: int) -> Any:
        found = shared_data(name)
        X, y = found["X_train"], found["y_train"].astype(np.int64)
        index = np.random.default_rng(0).permutation(len(X))[:n]
        X, y = X[index].astype(np.float64), y[index]
        if name == "german_numer":
            X = (X - X.mean(axis=0)) / X.std(axis=0)
        return np.concatenate([X, X[:30]]).astype(np.float32), np.concatenate([y, y[:30]])

    return make


def hard_margin(X: Any, y: Any, gamma: float, C: Any) -> tuple[Any, float]:
    """Return decision values and the dual objective, for the weight of each row's loss."""
    K = rbf_kernel(X.astype(np.float64), gamma=gamma)
    Q = K + np.diag(np.broadcast_to(0.5 / np.asarray(C), len(y)))
    peer = SVC(kernel="precomputed", C=1e9, tol=1e-8).fit(Q, y)
    beta = np.zeros(len(y))
    beta[peer.support_] = peer.dual_coef_[0]
    return K @ beta + peer.intercept_[0], float(0.5 * beta @ Q @ beta - np.abs(beta).sum())


@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("name", SETS)
def test_two_classes_are_a_hard_margin_with_a_ridge(name: str, store: Any, rows: Any) -> None:
    (X, y), (gamma, C) = rows(name, 500), SETS[name]
    weight = np.random.default_rng(1).choice([0.5, 1.0, 2.0], len(y))
    last = y.max()
    model = DCSVC(C=C, gamma=gamma, loss="squared_hinge", tol=1e-6, class_weight={last: 3.0})
    model.fit(store(X), y, sample_weight=weight)
    cost = C * weight * np.where(y == last, 3.0, 1.0)
    decision, objective = hard_margin(X, y, gamma, cost)
    np.testing.assert_allclose(model.objective_, objective, rtol=1e-6)
    np.testing.assert_allclose(model.decision_function(store(X)), decision, rtol=0, atol=1e-4)
    # At the solution alpha_i = 2 C_i max(0, 1 - y_i f_i), of each of several equal rows too.
    alpha = np.zeros(len(y))
    dual = model.dual_coef_
    alpha[model.support_] = np.abs(dual.toarray() if sparse.issparse(dual) else dual)[0]
    slack = np.maximum(0.0, 1.0 - np.where(y == last, 1.0, -1.0) * decision)
    np.testing.assert_allclose(alpha, 2.0 * cost * slack, rtol=0, atol=1e-3 * cost.max())
    assert (alpha > cost).any()


@pytest.mark.parametrize("weighted", [False, True])
def test_the_linear_kernel_without_a_bias_is_linear_svc(weighted: bool, rows: Any) -> None:
    X, y = rows("ijcnn1", 1500)
    C = 0.5
    weight = np.random.default_rng(1).choice([0.5, 1.0, 2.0], len(y)) if weighted else None
    how: dict[str, Any] = {"C": C, "loss": "squared_hinge", "fit_intercept": False}
    model = DCSVC(kernel="linear", tol=1e-6, **how).fit(X, y, sample_weight=weight)
    peer = LinearSVC(dual=True, tol=1e-10, max_iter=100_000, **how)
    peer.fit(X.astype(np.float64), y, sample_weight=weight)
    np.testing.assert_allclose(model.coef_, peer.coef_, rtol=0, atol=1e-4)
    lost = np.maximum(0.0, 1.0 - np.where(y == y.max(), 1.0, -1.0) * peer.decision_function(X))
    cost = C if weight is None else C * weight
    primal = 0.5 * float(np.sum(peer.coef_**2)) + float(np.sum(cost * lost**2))
    assert -model.objective_[0] == pytest.approx(primal, rel=1e-6)


def test_pairs_of_many_classes_have_it(wine: Any) -> None:
    X, y = wine
    model = DCSVC(C=2.0, gamma=0.1, loss="squared_hinge", tol=1e-6).fit(X, y)
    values = DCSVC(**{**model.get_params(), "decision_function_shape": "ovo"})
    found = values.fit(X, y).decision_function(X)
    for number, pair in enumerate([(0, 1), (0, 2), (1, 2)]):
        mine = np.isin(y, pair)
        decision, objective = hard_margin(X[mine], -y[mine], 0.1, 2.0)
        np.testing.assert_allclose(found[mine, number], decision, rtol=0, atol=1e-4)
        assert model.objective_[number] == pytest.approx(objective, rel=1e-6)


def test_the_svms_of_classes_do_not_share_their_ridge(shared_data: Callable[[str], Any]) -> None:
    data = shared_data("usps")
    X, y = data["X_train"][:1500], data["y_train"][:1500]
    words: dict[str, Any] = {"loss": "squared_hinge", "multiclass": "ovr", "gamma": 0.02, "C": 10.0}
    one, several = (DCSVC(**words, n_jobs=jobs).fit(X, y) for jobs in (1, 4))
    assert np.array_equal(one.support_, several.support_)
    assert np.array_equal(one.dual_coef_, several.dual_coef_)


def test_a_run_is_the_fit_in_memory(rows: Any, tmp_path: Path) -> None:
    X, y = rows("magic", 300)
    how: dict[str, Any] = {"C": 10.0, "gamma": 4.0, "loss": "squared_hinge", "tol": 1e-5}
    weight = np.random.default_rng(1).choice([0.0, 1.0, 2.0], len(y))
    memory = DCSVC(**how).fit(X, y, sample_weight=weight)
    run = DCSVC(**how, run=tmp_path / "run").fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(run.objective_, memory.objective_, rtol=1e-6)
    np.testing.assert_allclose(
        run.decision_function(X), memory.decision_function(X), rtol=0, atol=1e-4
    )
    again = DCSVC.from_run(tmp_path / "run")
    assert again.loss == "squared_hinge"
    np.testing.assert_array_equal(again.decision_function(X), run.decision_function(X))
    with pytest.raises(InputError, match="other parameters"):
        DCSVC(**{**how, "loss": "hinge"}, run=tmp_path / "run").fit(X, y, sample_weight=weight)


@pytest.mark.parametrize(
    "model",
    [CascadeSVC(leaves=2), long(CascadeSVC(leaves=4, passes=0)), long(BaggingSVC(members=2))],
    ids=["cascade", "cascade-4", "bagging"],
)
def test_methods_have_it(model: Any, rows: Any) -> None:
    X, y = rows("magic", 200)
    gamma, C = 4.0, 10.0
    bag = isinstance(model, BaggingSVC)
    # Violations of kernel values in float32 end at 2e-5: below it a cascade has all its passes.
    model.set_params(C=C, gamma=gamma, loss="squared_hinge", tol=5e-5)
    if bag:  # every SVM has all rows, once
        model.set_params(members=1)
    model.fit(X, y)
    decision, objective = hard_margin(X, y, gamma, C)
    np.testing.assert_allclose(model.decision_function(X), decision, rtol=0, atol=1e-4)
    if not bag:
        assert model.objective_ == pytest.approx(objective, rel=1e-6)
    with pytest.raises(InputError, match="loss must be one of hinge, squared_hinge"):
        model.set_params(loss="log").fit(X, y)


def test_a_larger_c_goes_on_from_the_last_solution(rows: Any) -> None:
    X, y = rows("magic", 500)
    how: dict[str, Any] = {"gamma": 4.0, "loss": "squared_hinge", "tol": 1e-5}
    warm = DCSVC(C=10.0, warm_start=True, **how).fit(X, y).set_params(C=11.0).fit(X, y)
    cold = DCSVC(C=11.0, **how).fit(X, y)
    np.testing.assert_allclose(warm.objective_, cold.objective_, rtol=1e-6)
    assert warm.n_iter_[0] < cold.n_iter_[0]
    back = warm.set_params(loss="hinge", C=1.0).fit(X, y)
    np.testing.assert_allclose(
        back.objective_, DCSVC(C=1.0, gamma=4.0, tol=1e-5).fit(X, y).objective_, rtol=1e-6
    )


@pytest.mark.parametrize("block_rows", [4096, 200])
def test_a_search_scores_as_its_estimator(block_rows: int, rows: Any) -> None:
    X, y = rows("german_numer", 400)
    base = DCSVC(loss="squared_hinge", gamma=0.05, tol=1e-5)
    costs = [0.01, 0.1, 1.0]
    search = DCSVMSearchCV(base, {"C": costs}, cv=3, block_rows=block_rows, exact=3).fit(X, y)
    expected = [cross_val_score(DCSVC(**{**base.get_params(), "C": C}), X, y, cv=3) for C in costs]
    np.testing.assert_allclose(
        search.cv_results_["mean_test_score"], np.mean(expected, axis=1), rtol=0, atol=1e-9
    )
    assert search.best_estimator_.loss == "squared_hinge"
    assert search.cv_results_["solved"].all()


def test_libsvm_s_file_holds_it_and_others_losses_are_refused(rows: Any, tmp_path: Path) -> None:
    svmutil = pytest.importorskip("libsvm.svmutil")
    X, y = rows("magic", 300)
    model = DCSVC(C=2.0, gamma=4.0, loss="squared_hinge").fit(X, y)
    to_libsvm(model, tmp_path / "model")
    read = svmutil.svm_load_model(str(tmp_path / "model"))
    labels, _, values = svmutil.svm_predict(y, X.astype(np.float64), read, "-q")
    np.testing.assert_array_equal(labels, model.predict(X))
    sign = 1.0 if read.get_labels()[0] == y.max() else -1.0
    np.testing.assert_allclose(
        sign * np.array(values)[:, 0], model.decision_function(X), rtol=0, atol=1e-5
    )
    for loss in ("log", None, "epsilon_insensitive"):
        with pytest.raises(InputError, match="loss must be one of hinge, squared_hinge"):
            DCSVC(loss=loss).fit(X, y)
