"""LinearDCSVC against scikit-learn's LinearSVC with a tight tolerance."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.svm import LinearSVC
from sklearn.utils import compute_class_weight

from dcsvm_dask.estimators import LinearDCSVC

Problem = Callable[[str], Any]

TIGHT = {"tol": 1e-9, "max_iter": 10**7}
LOSSES = ("hinge", "squared_hinge")


def primal(fitted: Any, X: Any, y: Any, weight: Any = 1.0) -> Any:
    """Return the primal objective of each machine; the weight of the constant counts."""
    classes = fitted.classes_[-1:] if len(fitted.classes_) == 2 else fitted.classes_
    class_weight = dict.fromkeys(fitted.classes_, 1.0)
    if fitted.class_weight == "balanced":
        class_weight = {c: len(y) / (len(class_weight) * np.sum(y == c)) for c in class_weight}
    scaling = fitted.intercept_scaling if fitted.fit_intercept else np.inf
    found = []
    for c, w, b in zip(classes, fitted.coef_, np.atleast_1d(fitted.intercept_), strict=False):
        labels = np.where(y == c, 1.0, -1.0)
        lost = np.maximum(0.0, 1.0 - labels * (X @ w + b))
        lost = lost**2 if fitted.loss == "squared_hinge" else lost
        factor = np.array([class_weight[label] for label in y])
        # LIBLINEAR's rule: of more than two classes, the rest has no factor.
        C = fitted.C * weight * np.where((labels > 0) | (len(classes) == 1), factor, 1.0)
        found.append(0.5 * (w @ w + (b / scaling) ** 2) + np.sum(C * lost))
    return np.array(found)


def both(X: Any, y: Any, weight: Any = None, **how: Any) -> tuple[LinearSVC, LinearDCSVC]:
    """Return LinearSVC and ours, fitted with the same parameters."""
    how = {**TIGHT, "dual": True, **how}
    svc, ours = LinearSVC(random_state=0, **how), LinearDCSVC(**how)
    return svc.fit(X.astype(np.float64), y, sample_weight=weight), ours.fit(
        X, y, sample_weight=weight
    )


def check_agree(svc: LinearSVC, ours: LinearDCSVC, X: Any, close: float = 1e-5) -> None:
    theirs, mine = svc.decision_function(X.astype(np.float64)), ours.decision_function(X)
    assert mine.shape == theirs.shape
    assert np.abs(mine - theirs).max() <= close * theirs.std()
    np.testing.assert_array_equal(ours.predict(X), svc.predict(X.astype(np.float64)))
    assert ours.coef_.shape == svc.coef_.shape
    np.testing.assert_allclose(ours.coef_, svc.coef_, rtol=0, atol=close * abs(svc.coef_).max())
    np.testing.assert_allclose(
        ours.intercept_, np.broadcast_to(svc.intercept_, ours.intercept_.shape), rtol=0, atol=close
    )
    assert (ours.violation_ <= ours.tol).all()


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", ["iris", "wine", "breast_cancer"])
@pytest.mark.parametrize("is_sparse", [False, True], ids=["dense", "csr"])
def test_few_rows(name: str, loss: str, is_sparse: bool, problem: Problem) -> None:
    X, y = problem(name)
    rows = sparse.csr_array(X) if is_sparse else X
    svc, ours = both(rows, y, loss=loss, C=0.1, class_weight="balanced")
    check_agree(svc, ours, rows)
    balanced = len(y) / (len(ours.classes_) * np.bincount(y))
    np.testing.assert_allclose(ours.class_weight_, balanced, rtol=1e-15)
    value = primal(ours, X, y)
    np.testing.assert_allclose(value, primal(svc, X, y), rtol=1e-9)
    # At the answer the dual objective, which is minimised, is the primal one's negative.
    np.testing.assert_allclose(-ours.objective_, value, rtol=1e-6)


@pytest.mark.parametrize("name", ["wine", "breast_cancer"])
def test_balanced_classes_count_rows_by_their_weights(name: str, problem: Problem) -> None:
    X, y = problem(name)
    times = np.random.default_rng(0).integers(0, 4, len(y)) * (1 + y)
    words: dict[str, Any] = {"C": 0.1, "tol": 1e-8, "class_weight": "balanced", "max_iter": 100_000}
    repeated = X.repeat(times, axis=0), y.repeat(times)
    svc = LinearSVC(random_state=0, **words).fit(*repeated)
    ours = LinearDCSVC(**words).fit(X, y, sample_weight=times)
    np.testing.assert_allclose(ours.coef_, svc.coef_, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(
        ours.class_weight_, compute_class_weight("balanced", classes=svc.classes_, y=repeated[1])
    )


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(
    "how",
    [
        {"fit_intercept": False},
        {"intercept_scaling": 10.0},
        {"class_weight": {0: 5.0, 2: 0.2}},
    ],
    ids=["no intercept", "scaling", "weights of classes"],
)
def test_parameters(how: dict[str, Any], loss: str, problem: Problem) -> None:
    X, y = problem("wine")
    svc, ours = both(X, y, loss=loss, C=0.05, **how)
    check_agree(svc, ours, X)
    if not ours.fit_intercept:
        assert ours.intercept_.tolist() == [0.0] * 3


def test_a_class_of_no_weight(problem: Problem) -> None:
    X, y = problem("wine")
    svc, ours = both(X, y, C=0.05, class_weight={1: 0.0})
    check_agree(svc, ours, X)


@pytest.mark.parametrize("loss", LOSSES)
def test_weights_of_rows(loss: str, problem: Problem) -> None:
    X, y = problem("breast_cancer")
    weight = np.random.default_rng(0).choice([0.0, 0.3, 1.0, 4.0], len(y))
    svc, ours = both(X, y, weight, loss=loss, C=0.05)
    check_agree(svc, ours, X)
    assert primal(ours, X, y, weight) == pytest.approx(primal(svc, X, y, weight), rel=1e-9)


@pytest.mark.parametrize("loss", LOSSES)
def test_ten_classes(loss: str, problem: Problem) -> None:
    X, y = problem("digits")
    X = X / np.float32(16)
    svc, ours = both(X, y, loss=loss, C=0.1, tol=1e-6)
    check_agree(svc, ours, X, 1e-3)
    np.testing.assert_allclose(primal(ours, X, y), primal(svc, X, y), rtol=1e-6)


@pytest.mark.long
@pytest.mark.parametrize("loss", LOSSES)
def test_text_of_twenty_classes(loss: str, problem: Problem) -> None:
    X, y = problem("news20-4000")
    svc, ours = both(X, y, loss=loss, tol=1e-4)
    check_agree(svc, ours, X, 1e-3)
    np.testing.assert_allclose(primal(ours, X, y), primal(svc, X, y), rtol=1e-5)
    ours.sparsify()
    assert sparse.issparse(ours.coef_)
    X = X.astype(np.float64)  # scikit-learn multiplies sparse arrays of one dtype only
    np.testing.assert_array_equal(ours.predict(X), svc.predict(X))


@pytest.mark.long
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", ["usps", "mnist"])
def test_images(name: str, loss: str, problem: Problem) -> None:
    X, y = problem(name)
    svc, ours = both(X, y, loss=loss, C=0.01, tol=1e-5)
    check_agree(svc, ours, X, 2e-3)
    np.testing.assert_allclose(primal(ours, X, y), primal(svc, X, y), rtol=1e-5)


def test_the_default_tolerance_holds_where_nothing_moves(problem: Problem) -> None:
    X, y = problem("breast_cancer")
    ours = LinearDCSVC(C=0.1, dual=True).fit(X, y)
    assert (ours.violation_ <= 1e-4).all()
    tight = LinearDCSVC(C=0.1, dual=True, tol=1e-10, max_iter=10**6).fit(X, y)
    assert primal(ours, X, y) == pytest.approx(primal(tight, X, y), rel=1e-6)
    assert 1 <= ours.n_iter_ < tight.n_iter_


def test_threads_do_not_change_a_bit_and_seeds_only_the_way(problem: Problem) -> None:
    X, y = problem("digits")
    one, two, other = (
        LinearDCSVC(C=1e-3, dual=True, n_jobs=jobs, random_state=seed).fit(X, y)
        for jobs, seed in ((1, None), (3, 0), (1, 7))
    )
    np.testing.assert_array_equal(one.coef_, two.coef_)
    assert not np.array_equal(one.coef_, other.coef_)
    np.testing.assert_allclose(other.coef_, one.coef_, rtol=0, atol=1e-4)


def test_labels_that_are_words_and_two_of_them(problem: Problem) -> None:
    X, y = problem("breast_cancer")
    words = np.array(["benign", "malign"])[1 - y]
    svc, ours = both(X, words, C=0.1)
    check_agree(svc, ours, X)
    assert ours.coef_.shape == (1, 30)
    assert ours.decision_function(X).shape == (569,)
    assert ours.classes_.tolist() == ["benign", "malign"]
