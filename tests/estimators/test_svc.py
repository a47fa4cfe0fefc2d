"""DCSVC against scikit-learn's SVC: decisions, attributes, votes."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.svm import SVC

from dcsvm_dask.estimators import DCSVC, DCSVMSearchCV
from tests.marks import long, soak
from tests.svc import objective, violation_pair

Problem = Callable[[str], Any]

TOL = 1e-4
# The sigmoid kernel is not positive semi-definite, so that a problem may have several answers.
# With a gamma this small tanh is nearly the identity and the kernel nearly linear: there is one.
SIGMOID = {"kernel": "sigmoid", "gamma": 0.01}
CASES: list[Any] = [
    ("iris", {}),
    ("iris", {"kernel": "poly", "coef0": 1.0}),
    ("iris", {"kernel": "linear", "C": 100.0}),
    ("iris", {"C": 1e5, "gamma": 0.5}),
    ("iris", {"C": 1e-3, "tol": 1e-6, "class_weight": {0: 100.0, 2: 0.5}}),
    ("wine", {}),
    ("wine", {"gamma": "auto", "class_weight": "balanced"}),
    ("wine", {"kernel": "linear"}),
    ("wine", SIGMOID),
    ("raw_wine", {"C": 100.0}),
    ("breast_cancer", {}),
    ("breast_cancer", {"C": 1e5}),
    ("breast_cancer", {"kernel": "linear", "class_weight": {0: 3.0}}),
    ("breast_cancer", {"kernel": "poly", "degree": 2, "coef0": 1.0, "class_weight": "balanced"}),
    ("breast_cancer", SIGMOID),
    ("digits", {}),
    ("digits", {"kernel": "poly", "class_weight": "balanced"}),
    ("digits", {"kernel": "linear"}),
    long("usps", {"C": 10.0, "gamma": 0.02}),
    soak("mnist", {"C": 10.0, "gamma": 0.02}),
    soak("usps", {"kernel": "poly", "gamma": 0.02, "coef0": 1.0}),
    soak("usps", {"kernel": "linear", "class_weight": "balanced"}),
    long("mnist", {"kernel": "linear"}),
    long("mnist", {"kernel": "poly", "degree": 2, "gamma": 0.02, "class_weight": {8: 2.0}}),
]
SPARSE: list[Any] = [
    ("iris", {}),
    ("wine", {"kernel": "poly", "coef0": 1.0, "gamma": 0.05}),
    ("breast_cancer", {"class_weight": "balanced"}),
    ("digits", {"kernel": "linear"}),
    ("digits", {"C": 10.0}),
    ("news20-800", {"kernel": "linear"}),
    *(long(name, parameters) for name, parameters in (("news20-800", {"gamma": 0.5, "C": 10.0}),)),
    soak("news20-2000", {"kernel": "linear"}),
    soak("usps", {"C": 10.0, "gamma": 0.02}),
    soak("news20-4000", {"gamma": 0.5, "C": 10.0}),
]


def both(X: Any, y: Any, parameters: dict[str, Any], **fit: Any) -> tuple[SVC, DCSVC]:
    """Return SVC and ours, fitted with the same parameters."""
    how = {"tol": TOL, "decision_function_shape": "ovo", **parameters}
    svc = SVC(**how, cache_size=1000).fit(X.astype(np.float64), y, **fit)
    return svc, DCSVC(**how).fit(X, y, **fit)


def check_agree(svc: SVC, ours: DCSVC, X: Any) -> None:
    theirs, mine = svc.decision_function(X.astype(np.float64)), ours.decision_function(X)
    assert mine.shape == theirs.shape
    assert np.abs(mine - theirs).max() <= 1e-3 * theirs.std()
    # The vote of a pair is open where its decision value is as good as 0.
    sure = (np.abs(mine.reshape(len(mine), -1)) > 1e-5 * theirs.std()).all(axis=1)
    assert sure.mean() > 0.99
    labels = svc.predict(X.astype(np.float64))
    np.testing.assert_array_equal(ours.predict(X)[sure], labels[sure])
    assert len(ours.support_) == pytest.approx(len(svc.support_), rel=0.01, abs=2)
    np.testing.assert_allclose(ours.n_support_, svc.n_support_, rtol=0.02, atol=2)
    np.testing.assert_array_equal(ours.class_weight_, svc.class_weight_)
    assert (ours.violation_ <= ours.tol).all()
    assert ours.fit_status_ == 0


@pytest.mark.one_quick
@pytest.mark.parametrize(("name", "parameters"), CASES)
def test_dense_rows_have_the_decisions_of_svc(
    name: str, parameters: dict[str, Any], problem: Problem
) -> None:
    X, y = problem(name)
    check_agree(*both(X, y, parameters), X)


@pytest.mark.one_quick
@pytest.mark.parametrize(("name", "parameters"), SPARSE)
def test_sparse_rows_have_the_decisions_of_svc(
    name: str, parameters: dict[str, Any], problem: Problem
) -> None:
    X, y = problem(name)
    X = sparse.csr_array(X)
    check_agree(*both(X, y, parameters), X)


@pytest.mark.parametrize("name", ["iris", "breast_cancer", "digits"])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_weights_of_rows(name: str, kernel: str, problem: Problem) -> None:
    X, y = problem(name)
    rng = np.random.default_rng(0)
    weight = rng.choice([0.0, 0.3, 1.0, 4.0], len(y))
    svc, ours = both(X, y, {"kernel": kernel, "class_weight": {1: 2.0}}, sample_weight=weight)
    check_agree(svc, ours, X)
    assert (weight[ours.support_] > 0).all()
    alpha = np.abs(ours.dual_coef_).max(axis=0)
    assert (alpha <= (weight * ours.class_weight_[y])[ours.support_]).all()


def in_float64(fitted: Any, K: Any, y: Any, C: float) -> list[tuple[float, float]]:
    """Return violation and objective of each pair by a kernel matrix in float64."""
    coef = np.zeros((len(fitted.classes_) - 1, len(y)))
    coef[:, fitted.support_] = fitted.dual_coef_
    found = []
    for a, b in combinations(range(len(fitted.classes_)), 2):
        rows = np.flatnonzero((y == a) | (y == b))
        labels = np.where(y[rows] == a, 1.0, -1.0)
        alpha = np.abs(np.where(y[rows] == a, coef[b - 1, rows], coef[a, rows]))
        gradient = labels * (K[np.ix_(rows, rows)] @ (labels * alpha)) - 1.0
        found.append(
            (violation_pair(gradient, alpha, labels, C), objective(alpha, gradient)),
        )
    return found


@pytest.mark.one_quick
@pytest.mark.parametrize(
    "parameters",
    [{"C": 1e5, "gamma": 1e-6}, {"kernel": "poly", "degree": 3, "gamma": 1e-3, "C": 1.0}],
    ids=["a huge C", "huge kernel values"],
)
def test_rows_that_are_not_scaled(parameters: dict[str, Any], problem: Problem) -> None:
    # LIBSVM keeps kernel values in float32, so that its answer violates the conditions by more
    # than its tolerance here: optimality itself is the judge.
    X, y = problem("raw_wine")
    C, kernel = parameters["C"], parameters.get("kernel", "rbf")
    svc, ours = both(X, y, {**parameters, "tol": 1e-6})
    assert (ours.violation_ <= 1e-6).all()
    how = {"degree": 3, "coef0": 0.0} if kernel == "poly" else {}
    K = pairwise_kernels(X.astype(np.float64), metric=kernel, gamma=parameters["gamma"], **how)
    mine, theirs = (in_float64(one, K, y, C) for one in (ours, svc))
    for number, ((violation, value), (other, no_better)) in enumerate(
        zip(mine, theirs, strict=True)
    ):
        assert violation <= 3e-6
        assert violation <= other
        assert value <= no_better + 1e-9 * abs(no_better)
        assert ours.objective_[number] == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize("name", ["wine", "breast_cancer"])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("is_sparse", [False, True], ids=["dense", "csr"])
def test_attributes_are_those_of_svc(
    name: str, kernel: str, is_sparse: bool, problem: Problem
) -> None:
    X, y = problem(name)
    rows = sparse.csr_array(X) if is_sparse else X
    labels = np.array(["b", "a", "c"])[y]
    svc, ours = both(rows, labels, {"kernel": kernel, "tol": 1e-7, "class_weight": "balanced"})
    np.testing.assert_array_equal(ours.classes_, svc.classes_)
    np.testing.assert_array_equal(ours.support_, svc.support_)
    np.testing.assert_array_equal(ours.n_support_, svc.n_support_)
    for attribute in ("support_", "n_support_", "classes_", "n_iter_", "intercept_"):
        mine, theirs = getattr(ours, attribute), getattr(svc, attribute)
        assert mine.dtype == theirs.dtype, attribute
        assert mine.shape == theirs.shape, attribute
    for attribute in ("support_vectors_", "dual_coef_", "coef_"):
        if attribute == "coef_" and kernel != "linear":
            continue
        mine, theirs = getattr(ours, attribute), getattr(svc, attribute)
        assert sparse.issparse(mine) == sparse.issparse(theirs) == is_sparse, attribute
        assert mine.shape == theirs.shape, attribute
        assert mine.dtype == (np.float32 if attribute == "support_vectors_" else np.float64)
        np.testing.assert_allclose(as_dense(mine), as_dense(theirs), rtol=0, atol=1e-4)
    np.testing.assert_allclose(ours.intercept_, svc.intercept_, rtol=0, atol=1e-5)
    np.testing.assert_array_equal(ours.class_weight_, svc.class_weight_)
    assert ours.shape_fit_ == svc.shape_fit_ == X.shape
    assert ours.n_features_in_ == svc.n_features_in_
    assert ours.fit_status_ == svc.fit_status_ == 0
    assert (ours.n_iter_ > 1).all()


def as_dense(array: Any) -> Any:
    return array.toarray() if sparse.issparse(array) else array


def test_coef_is_of_the_linear_kernel_only(problem: Problem) -> None:
    X, y = problem("iris")
    ours = DCSVC().fit(X, y)
    assert not hasattr(ours, "coef_")
    assert not hasattr(DCSVC(kernel="linear"), "coef_")
    linear = DCSVC(kernel="linear", decision_function_shape="ovo").fit(X, y)
    np.testing.assert_allclose(
        linear.decision_function(X), X @ linear.coef_.T + linear.intercept_, rtol=0, atol=1e-5
    )


def test_steps_of_machines_above_two_thousand_rows_are_counted(problem: Problem) -> None:
    X, y = problem("usps")
    ours = DCSVC(gamma=0.02, C=10.0).fit(X, y % 2)
    assert ours.n_iter_.shape == (1,)
    assert ours.n_iter_[0] > len(ours.support_) / 2


@pytest.mark.parametrize("shape", ["ovr", "ovo"])
@pytest.mark.parametrize("name", ["breast_cancer", "wine", "digits"])
def test_shapes_of_decision_values(name: str, shape: str, problem: Problem) -> None:
    X, y = problem(name)
    svc, ours = both(X, y, {"decision_function_shape": shape})
    theirs, mine = svc.decision_function(X.astype(np.float64)), ours.decision_function(X)
    assert mine.shape == theirs.shape
    assert mine.dtype == np.float64
    # The vote of a pair may differ where its decision value is as good as 0.
    pairs = SVC(tol=TOL, decision_function_shape="ovo").fit(X.astype(np.float64), y)
    values = pairs.decision_function(X.astype(np.float64)).reshape(len(X), -1)
    sure = (np.abs(values) > 1e-3).all(axis=1)
    assert sure.mean() > 0.9
    np.testing.assert_allclose(mine[sure], theirs[sure], rtol=0, atol=2e-3)


@pytest.mark.parametrize("break_ties", [False, True])
def test_ties_are_broken_as_by_svc(break_ties: bool) -> None:
    # Labels without reason: many rows get tied votes.
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((300, 3)).astype(np.float32), rng.integers(0, 6, 300)
    how = {"gamma": 0.5, "C": 5.0, "tol": 1e-6, "break_ties": break_ties}
    svc, ours = both(X, y, {**how, "decision_function_shape": "ovr"})
    rows = rng.standard_normal((3000, 3)).astype(np.float32)
    np.testing.assert_array_equal(ours.predict(rows), svc.predict(rows.astype(np.float64)))
    if break_ties:
        best = np.argmax(ours.decision_function(rows), axis=1)
        np.testing.assert_array_equal(ours.predict(rows), best)
        first = ours.set_params(break_ties=False).predict(rows)
        assert np.count_nonzero(first != best) > 50


def test_without_an_intercept_it_is_a_svc_that_has_none(problem: Problem) -> None:
    # An offset of 0 is optimal for SVC too where every row stands opposite to its mirror image.
    X, y = problem("breast_cancer")
    mirrored, labels = np.concatenate([X, -X]), np.concatenate([y, 1 - y])
    how = {"kernel": "linear", "tol": 1e-7, "C": 0.01}
    svc = SVC(**how).fit(mirrored.astype(np.float64), labels)
    ours = DCSVC(**how, fit_intercept=False).fit(mirrored, labels)
    assert abs(svc.intercept_[0]) < 1e-6
    assert ours.intercept_.tolist() == [0.0]
    np.testing.assert_allclose(ours.coef_, svc.coef_, rtol=0, atol=1e-6)


def test_the_laplacian_kernel_is_a_precomputed_one_of_svc(problem: Problem) -> None:
    X, y = problem("wine")
    ours = DCSVC(kernel="laplacian", gamma=0.1, tol=1e-6, decision_function_shape="ovo").fit(X, y)
    K = pairwise_kernels(X.astype(np.float64), metric="laplacian", gamma=0.1)
    svc = SVC(kernel="precomputed", tol=1e-6, decision_function_shape="ovo").fit(K, y)
    np.testing.assert_array_equal(ours.support_, svc.support_)
    np.testing.assert_allclose(
        ours.decision_function(X), svc.decision_function(K), rtol=0, atol=1e-4
    )


@pytest.mark.long
def test_threads_seeds_and_memory_do_not_change_the_answer(problem: Problem) -> None:
    X, y = problem("mnist")
    how = {"C": 10.0, "gamma": 0.02, "decision_function_shape": "ovo"}
    one = DCSVC(**how, n_jobs=1).fit(X, y)
    two = DCSVC(**how, n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(one.dual_coef_, two.dual_coef_)
    np.testing.assert_array_equal(one.decision_function(X), two.decision_function(X))
    other = DCSVC(**how, random_state=np.random.RandomState(3), cache_size=2).fit(X, y % 2)
    svc = DCSVC(**how).fit(X, y % 2)
    np.testing.assert_allclose(
        other.decision_function(X), svc.decision_function(X), rtol=0, atol=5e-3
    )


def _decided(one: Any, X: Any, y: Any) -> float:
    return float(np.abs(one.decision_function(X)).sum())


@pytest.mark.long
@pytest.mark.parametrize("search", [False, pytest.param(True, marks=pytest.mark.long)])
def test_threads_do_not_change_a_bit_where_working_sets_are_smaller_than_machines(
    search: bool, problem: Problem
) -> None:
    X, y = (part[:2200] for part in problem("mnist"))  # above 2,048: not whole matrices
    found = []
    for jobs in (1, 2):
        how = {"gamma": 0.005, "cache_size": 4, "multiclass": "ovr", "n_jobs": jobs}
        if search:
            folds = [(np.arange(i, 2200), np.arange(i)) for i in (100, 150)]
            grid = {"C": [0.5, 1.0]}
            fit = {"cv": folds, "refit": False, "block_rows": 1000, "exact": 2, "n_jobs": jobs}
            one = DCSVMSearchCV(DCSVC(**how), grid, scoring=_decided, **fit).fit(X, y % 3)
            found.append(one.cv_results_["mean_test_score"])
        else:
            found.append(DCSVC(**how).fit(X, y % 3).dual_coef_)
    np.testing.assert_array_equal(*found)


@pytest.mark.long
def test_many_rows_predicted_in_float32_get_the_labels_of_float64(problem: Problem) -> None:
    X, y = problem("usps")
    ours = DCSVC(C=10.0, gamma=0.02, decision_function_shape="ovo").fit(X[:4000], y[:4000])
    rows = np.concatenate([X, X])  # more kernel values than are had in float64
    assert len(rows) * len(ours.support_) > 1 << 24
    few = np.concatenate([ours.decision_function(X[at : at + 500]) for at in range(0, len(X), 500)])
    np.testing.assert_allclose(ours.decision_function(rows)[: len(X)], few, rtol=0, atol=1e-4)
    labels = np.concatenate([ours.predict(X[at : at + 500]) for at in range(0, len(X), 500)])
    np.testing.assert_array_equal(ours.predict(rows), np.tile(labels, 2))


def test_tiny_kernel_values_keep_the_sum_of_the_variables(
    shared_data: Callable[[str], Any],
) -> None:
    X = 1e-8 * shared_data("phishing")["X_train"][:100].astype(np.float64)
    y = np.r_[1, 1, np.zeros(98, int)]
    words: dict[str, Any] = {"C": 82.0, "tol": 1e-4, "class_weight": {0: 7.76}}
    ours = DCSVC(kernel=lambda A, B: A @ B.T, **words).fit(X, y)
    peer = SVC(kernel=lambda A, B: A @ B.T, **words).fit(X, y)
    assert abs(ours.dual_coef_.sum()) <= 1e-12 * np.abs(ours.dual_coef_).sum()
    assert np.abs(ours.dual_coef_).sum() == pytest.approx(np.abs(peer.dual_coef_).sum())


@pytest.mark.parametrize("n", [91, 1500])
def test_the_bias_of_balanced_classes_is_the_middle_where_c_is_small(n: int, problem: Any) -> None:
    """All variables end at their bounds, whose sums are the same but for rounding."""
    X, y = problem("breast_cancer")
    some = np.random.default_rng(0).integers(0, len(y), n)
    # Other values of each row: equal ones would be one variable.
    X, y = X[some] + 1e-3 * np.arange(n)[:, None] / n, y[some]
    X = X.astype(np.float32).astype(np.float64)
    sign = np.where(y == 1, 1.0, -1.0)
    for C in (1e-8, 1e-5, 1e-4, 3e-4):
        ours = DCSVC(C=C, gamma=0.03, tol=1e-6, class_weight="balanced").fit(X, y)
        f = pairwise_kernels(X, metric="rbf", gamma=0.03) @ (C * ours.class_weight_[y] * sign)
        middle = 0.5 * ((sign - f)[y == 0].max() + (sign - f)[y == 1].min())
        assert ours.intercept_ == pytest.approx(middle, abs=1e-5 * C * n)
        assert set(ours.predict(X)) == {0, 1}


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_the_bias_is_libsvms_where_equal_rows_of_equal_classes_are_bounded(kernel: str) -> None:
    X = np.round(np.random.default_rng(0).normal(size=(80, 1)))
    y = np.arange(80) % 2
    for C in (1e-8, 1e-6, 1e-5):
        svc = SVC(C=C, kernel=kernel).fit(X, y)
        ours = DCSVC(C=C, kernel=kernel).fit(X, y)
        np.testing.assert_allclose(ours.intercept_, svc.intercept_, atol=1e-5 * C)
        np.testing.assert_array_equal(ours.predict(X), svc.predict(X))
