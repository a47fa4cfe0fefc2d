"""`probability=True`: deprecated as in SVC, and near to its probabilities."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import log_loss
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from dcsvm_dask.errors import InputError
from dcsvm_dask.estimators import DCSVC
from dcsvm_dask.estimators.probability import LEAST, coupled

Problem = Callable[[str], Any]
# scikit-learn warns of its own parameter, too.
pytestmark = pytest.mark.filterwarnings("ignore:The `probability` parameter:FutureWarning")


@pytest.mark.parametrize(
    ("name", "words"),
    [("breast_cancer", {"C": 0.3}), ("usps", {"C": 10.0, "gamma": 0.02})],
)
def test_probabilities_are_about_those_of_svc(
    name: str, words: dict[str, Any], problem: Problem
) -> None:
    X, y = problem(name)
    train, test = (slice(0, 1500), slice(1500, 3000)) if name == "usps" else (slice(0, 400),) * 2
    if name != "usps":
        test = slice(400, None)
    X = X.astype(np.float64)
    mine, theirs = (
        kind(probability=True, random_state=0, **words).fit(X[train], y[train])
        for kind in (DCSVC, SVC)
    )
    found, expected = mine.predict_proba(X[test]), theirs.predict_proba(X[test])
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)
    assert (found > 0.0).all()
    # Folds are others, and each has its sigmoids: SVC's differ as much from seed to seed.
    assert np.abs(found - expected).mean() < 0.02
    losses = [log_loss(y[test], one) for one in (found, expected)]
    assert losses[0] < losses[1] + 0.02
    np.testing.assert_allclose(mine.predict_log_proba(X[test]), np.log(found), rtol=1e-12)
    with pytest.warns(FutureWarning, match="Attribute `prob[AB]_` was deprecated"):
        A, B = mine.probA_, mine.probB_
    assert A.shape == B.shape == mine.intercept_.shape
    assert (A < 0.0).all()
    values = mine._machine_values(X[test])
    pairs = np.clip(1.0 / (1.0 + np.exp(np.clip(A * values + B, -500, 500))), LEAST, 1 - LEAST)
    np.testing.assert_allclose(coupled(pairs, len(mine.classes_)), found, rtol=1e-9)


def test_coupled_probabilities_minimise_what_wu_lin_and_weng_say() -> None:
    rng = np.random.default_rng(0)
    k = 4
    first, second = np.triu_indices(k, k=1)
    pairs = rng.uniform(0.02, 0.98, (5, len(first)))
    for r, p in zip(pairs, coupled(pairs, k), strict=True):

        def loss(q: Any, r: Any = r) -> float:
            return float((((1.0 - r) * q[first] - r * q[second]) ** 2).sum())

        sums = {"type": "eq", "fun": lambda q: q.sum() - 1.0}
        best = minimize(loss, np.full(k, 1 / k), bounds=[(0, 1)] * k, constraints=sums, tol=1e-14)
        np.testing.assert_allclose(p, best.x, atol=1e-5)
    # Pairs that agree with some probabilities lead back to them.
    wanted = np.array([0.1, 0.2, 0.3, 0.4])
    agreeing = wanted[first] / (wanted[first] + wanted[second])
    np.testing.assert_allclose(coupled(agreeing[None, :], k)[0], wanted, rtol=1e-12)


@pytest.mark.parametrize("multiclass", ["ovo", "ovr"])
def test_they_do_not_depend_on_storage_repeats_or_the_way_kernels_are_given(
    multiclass: str, problem: Problem
) -> None:
    X, y = problem("wine")
    model = DCSVC(probability=True, gamma=0.05, multiclass=multiclass, tol=1e-6)
    found = clone(model).fit(X, y).predict_proba(X)
    assert (np.argmax(found, axis=1) == y).mean() > 0.95
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)
    of_csr = clone(model).fit(sparse.csr_array(X), y).predict_proba(X)
    np.testing.assert_allclose(of_csr, found, atol=1e-6)
    order = np.random.default_rng(0).permutation(len(y))
    shuffled = clone(model).fit(X[order], y[order]).predict_proba(X)
    np.testing.assert_allclose(shuffled, found, atol=1e-6)
    K = rbf_kernel(X.astype(np.float64), gamma=0.05)
    given = clone(model).set_params(kernel="precomputed").fit(K, y).predict_proba(K)
    assert np.abs(given - found).mean() < 0.03  # other folds
    again = pickle.loads(pickle.dumps(clone(model).fit(X, y))).predict_proba(X)
    assert np.array_equal(again, found)


def test_labels_and_decisions_are_those_without_probabilities(problem: Problem) -> None:
    X, y = problem("wine")
    plain, proba = DCSVC().fit(X, y), DCSVC(probability=True).fit(X, y)
    assert np.array_equal(plain.decision_function(X), proba.decision_function(X))
    assert np.array_equal(plain.predict(X), proba.predict(X))


@pytest.mark.filterwarnings("default:The `probability` parameter:FutureWarning")
def test_it_is_deprecated_and_absent_by_default(problem: Problem) -> None:
    X, y = problem("wine")
    with warnings.catch_warnings():
        warnings.simplefilter("error", FutureWarning)
        model = DCSVC().fit(X, y)
    assert not hasattr(model, "predict_proba")
    assert not hasattr(model, "predict_log_proba")
    for probability in (True, False):
        with pytest.warns(FutureWarning, match="Use `CalibratedClassifierCV") as reported:
            fitted = DCSVC(probability=probability).fit(X, y)
        assert reported[0].filename == __file__
        assert hasattr(fitted, "predict_proba") == probability
    model.probability = True
    with pytest.raises(NotFittedError, match="fitted with probability=False"):
        model.predict_proba(X)
    with pytest.warns(FutureWarning, match="probA_"):
        assert model.probA_.size == 0


def test_a_class_of_one_row_and_weights(problem: Problem) -> None:
    X, y = problem("wine")
    few = np.r_[np.flatnonzero(y == 0), np.flatnonzero(y == 1), np.flatnonzero(y == 2)[:1]]
    found = DCSVC(probability=True).fit(X[few], y[few]).predict_proba(X)
    assert found.shape == (len(X), 3)
    assert np.isfinite(found).all()
    weight = np.where(y == 2, 0.0, 1.0)
    found = DCSVC(probability=True).fit(X, y, sample_weight=weight).predict_proba(X)
    assert np.isfinite(found).all()


@pytest.mark.parametrize("asked", [{"run": "somewhere"}, {"stop_at": 1}, {"time_budget": 5.0}])
def test_a_run_has_none(asked: dict[str, Any], problem: Problem) -> None:
    with pytest.raises(InputError, match="probability=True is not possible with run"):
        DCSVC(probability=True, **asked).fit(*problem("breast_cancer"))
    with pytest.raises(InputError, match="probability is 'yes'; give True or False"):
        DCSVC(probability="yes").fit(*problem("breast_cancer"))
