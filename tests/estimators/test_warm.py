"""DCSVC that begins at its last solution: the same answer for fewer steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.svm import SVC

from dcsvm_dask.errors import InputError
from dcsvm_dask.estimators import DCSVC
from dcsvm_dask.estimators.warm import LastFit
from dcsvm_dask.solvers import pairs_on_demand

Problem = Callable[[str], Any]
HOW: dict[str, Any] = {"tol": 1e-4, "gamma": 0.02, "decision_function_shape": "ovo"}


def check_near(one: Any, other: Any, X: Any) -> None:
    theirs = other.decision_function(X.astype(np.float64))
    assert np.abs(one.decision_function(X) - theirs).max() <= 1e-3 * theirs.std()


def steps(model: DCSVC) -> int:
    return int(model.n_iter_.sum())


@pytest.mark.one_quick
@pytest.mark.parametrize("is_sparse", [False, True], ids=["dense", "csr"])
@pytest.mark.parametrize("name", ["breast_cancer", "digits"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_a_larger_c_takes_fewer_steps(
    name: str,
    is_sparse: bool,
    fit_intercept: bool,
    problem: Problem,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X, y = problem(name)
    rows = sparse.csr_array(X) if is_sparse else X
    # Pairs of classes are solved from zero by steps of another kind, which count otherwise.
    monkeypatch.setattr(pairs_on_demand, "MOST_ROWS", 0)
    words = {**HOW, "gamma": "scale", "fit_intercept": fit_intercept}
    warm = DCSVC(**words, warm_start=True).fit(rows, y)
    warm.set_params(C=1.5).fit(rows, y)
    cold = DCSVC(**words, C=1.5).fit(rows, y)
    assert steps(warm) < 0.95 * steps(cold)
    check_near(warm, cold, rows)
    np.testing.assert_allclose(warm.objective_, cold.objective_, rtol=1e-6)
    assert (warm.violation_ <= warm.tol).all()


@pytest.mark.one_quick
@pytest.mark.parametrize("C", [0.2, 1.0, 30.0])
@pytest.mark.parametrize("weight", [None, 0.3], ids=["", "weights"])
def test_any_other_c_has_the_answer_of_svc(C: float, weight: Any, problem: Problem) -> None:
    X, y = problem("digits")
    weights = (
        None if weight is None else np.random.default_rng(0).choice([0.0, weight, 1.0], len(y))
    )
    how = {**HOW, "gamma": 0.001}
    warm = DCSVC(**how, warm_start=True).fit(X, y)
    warm.set_params(C=C).fit(X, y, sample_weight=weights)
    svc = SVC(**how, C=C).fit(X.astype(np.float64), y, sample_weight=weights)
    check_near(warm, svc, X)
    np.testing.assert_array_equal(warm.support_vectors_, X[warm.support_])
    if C == 1.0 and weights is None:
        np.testing.assert_array_equal(warm.n_iter_, 1)  # as SVC, at least one


@pytest.mark.long
def test_thousands_of_rows_begin_near_the_answer(problem: Problem) -> None:
    X, y = problem("usps")
    y = y % 2
    warm = DCSVC(**HOW, C=4.0, warm_start=True).fit(X, y)
    first = steps(warm)
    warm.fit(X, y)
    assert steps(warm) < 0.05 * first
    warm.set_params(C=5.0).fit(X, y)
    cold = DCSVC(**HOW, C=5.0).fit(X, y)
    assert steps(warm) < 0.7 * steps(cold)
    check_near(warm, cold, X)


def test_repeats_begin_at_their_sum(problem: Problem) -> None:
    X, y = problem("wine")
    X, y = np.concatenate([X, X[:60]]), np.concatenate([y, y[:60]])
    warm = DCSVC(**HOW, warm_start=True).fit(X, y).set_params(tol=1e-3)
    before = warm.decision_function(X)
    warm.fit(X, y)
    np.testing.assert_array_equal(warm.n_iter_, 1)
    np.testing.assert_allclose(warm.decision_function(X), before, rtol=0, atol=1e-12)


@pytest.mark.parametrize("what", ["fewer rows", "labels", "a row", "classes", "storage"])
def test_other_rows_begin_anew(what: str, problem: Problem) -> None:
    X, y = problem("wine")
    warm = DCSVC(**HOW, warm_start=True).fit(X, y)
    last = LastFit.of(warm)
    assert last is not None
    other, labels = X.copy(), y.copy()
    if what == "fewer rows":
        other, labels = X[:-1], y[:-1]
    elif what == "labels":
        labels = (y + 1) % 3
    elif what == "a row":
        other[warm.support_[3]] += 1
    elif what == "classes":
        labels = y + 5
    else:
        other = sparse.csr_array(X)
    classes, codes = np.unique(labels, return_inverse=True)
    assert last.alpha(other, codes, classes, "ovo") is None
    cold = clone(warm).fit(other, labels)
    warm.fit(other, labels)
    np.testing.assert_array_equal(warm.n_iter_, cold.n_iter_)
    np.testing.assert_array_equal(warm.decision_function(other), cold.decision_function(other))


@pytest.mark.parametrize("what", ["fewer rows", "fewer classes"])
def test_after_a_fit_that_failed_it_begins_anew(what: str, problem: Problem) -> None:
    X, y = problem("wine")
    warm = DCSVC(**HOW, warm_start=True).fit(X, y)
    values = warm.decision_function(X)
    other, labels = (X[100:], y[100:]) if what == "fewer rows" else (X, np.minimum(y, 1))
    with pytest.raises(InputError, match="tol must be a positive number, got -1"):
        warm.set_params(tol=-1.0, gamma=5.0).fit(other, labels)
    assert warm.shape_fit_ == X.shape
    if what == "fewer rows":
        with pytest.raises(InputError, match="tol must be a positive number, got -1"):
            warm.fit(X, y)
        np.testing.assert_array_equal(warm.decision_function(X), values)
    warm.set_params(**HOW).fit(other, labels)
    cold = DCSVC(**HOW).fit(other, labels)
    np.testing.assert_array_equal(warm.n_iter_, cold.n_iter_)
    np.testing.assert_array_equal(warm.decision_function(other), cold.decision_function(other))


def test_without_it_nothing_is_kept(problem: Problem) -> None:
    X, y = problem("wine")
    cold = DCSVC(**HOW).fit(X, y)
    iterations = cold.n_iter_.copy()
    np.testing.assert_array_equal(cold.fit(X, y).n_iter_, iterations)
    assert (iterations > 1).all()
    assert LastFit.of(DCSVC(warm_start=True)) is None


def test_after_a_run_it_goes_on_in_memory(
    problem: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dcsvm_dask.estimators import run_parameters, svc_runs

    X, y = problem("breast_cancer")
    monkeypatch.setattr(run_parameters, "LEAST_ROWS_OF_RUN", 100)
    warm = DCSVC(**HOW, warm_start=True).fit(X, y)
    monkeypatch.setattr(svc_runs, "fit", None)  # no other run
    warm.set_params(C=2.0).fit(X, y)
    cold = DCSVC(**HOW, C=2.0, max_iter=10**6).fit(X, y)
    assert steps(warm) < steps(cold)
    check_near(warm, cold, X)
