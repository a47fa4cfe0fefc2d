"""Weights that make the classes equally heavy, with every variable at its bound."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import AdaBoostClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from dcsvm_dask.estimators import DCSVC

X, Y = load_breast_cancer(return_X_y=True)
X = StandardScaler().fit_transform(X)
SIGNS = 2.0 * Y - 1.0


def test_the_bias_is_the_middle_of_the_optimal_ones() -> None:
    weights = 0.5 / np.bincount(Y)[Y]  # those of AdaBoost's second round
    ours, theirs = (kind(tol=1e-6).fit(X, Y, sample_weight=weights) for kind in (DCSVC, SVC))
    values, biases, objectives = {}, {}, {}
    for model in (ours, theirs):
        name, bias = type(model).__name__, float(model.intercept_[0])
        values[name], biases[name] = model.decision_function(X) - bias, bias
        beta = np.zeros(len(Y))
        beta[model.support_] = model.dual_coef_[0]
        np.testing.assert_allclose(beta, SIGNS * weights, rtol=0, atol=1e-15)
        objectives[name] = 0.5 * beta @ values[name] - np.abs(beta).sum()
        # No bias of the interval has another primal objective.
        loss = np.maximum(0.0, 1.0 - SIGNS * model.decision_function(X))
        primal = 0.5 * beta @ values[name] + weights @ loss
        assert primal == pytest.approx(-objectives[name], abs=1e-9)
    assert objectives["DCSVC"] == pytest.approx(objectives["SVC"], rel=1e-8)
    low, high = -1.0 - values["DCSVC"][Y == 0].min(), 1.0 - values["DCSVC"][Y == 1].max()
    assert high - low > 1.0
    assert biases["DCSVC"] == pytest.approx((low + high) / 2, abs=1e-9)
    assert low - 1e-6 <= biases["SVC"] <= high + 1e-6


def test_boosting_agrees_where_variables_are_free() -> None:
    fits = [AdaBoostClassifier(kind(C=len(Y), tol=1e-6), n_estimators=5) for kind in (DCSVC, SVC)]
    ours, theirs = (fit.fit(X, Y) for fit in fits)
    np.testing.assert_allclose(ours.estimator_errors_, theirs.estimator_errors_, atol=1e-6)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
