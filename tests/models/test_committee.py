"""Platt's sigmoid beside scikit-learn's, and the committee's log odds written out by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression

from dcsvm_dask.models.committee import Committee, fit_line, fit_sigmoid


class Given(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier whose decision value is the row itself."""

    def fit(self, X: Any, y: Any) -> Given:
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, X: Any) -> Any:
        return np.asarray(X)[:, 0]

    def predict(self, X: Any) -> Any:
        return self.classes_[(self.decision_function(X) > 0).astype(int)]


def draw(seed: int, n: int = 400) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    values = 2.0 * rng.standard_normal(n)
    return values, rng.random(n) < 1.0 / (1.0 + np.exp(0.4 - 1.7 * values))


@pytest.mark.parametrize("seed", range(5))
def test_the_sigmoid_is_that_of_sklearn(seed: int) -> None:
    values, positive = draw(seed)
    given = FrozenEstimator(Given().fit(values[:, None], positive))
    found = CalibratedClassifierCV(given, method="sigmoid").fit(values[:, None], positive)
    peer = found.calibrated_classifiers_[0].calibrators[0]
    slope, intercept = fit_sigmoid(values, positive, np.ones(len(values)))
    assert slope == pytest.approx(-peer.a_, rel=1e-3)
    assert intercept == pytest.approx(-peer.b_, rel=1e-3, abs=1e-4)


@settings(deadline=None)
@given(
    st.integers(0, 1000), st.integers(1, 60), st.floats(0.1, 1e3), st.sampled_from([1.0, 1e-3, 1e4])
)
def test_no_other_sigmoid_is_likelier(seed: int, n: int, heavy: float, scale: float) -> None:
    values, positive = draw(seed, n)
    values *= scale
    weights = np.where(np.arange(n) % 3 == 0, heavy, 1.0)
    slope, intercept = fit_sigmoid(values, positive, weights)
    up, down = weights[positive].sum(), weights[~positive].sum()
    target = np.where(positive, (up + 1) / (up + 2), 1 / (down + 2))

    def loss(ab: Any) -> float:
        logit = ab[0] * values / scale + ab[1]
        return float(weights @ (np.logaddexp(0.0, logit) - target * logit))

    best = minimize(loss, [0.0, 0.0], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12})
    assert np.isfinite([slope, intercept]).all()
    assert loss([slope * scale, intercept]) <= best.fun + 1e-6 * (1.0 + abs(best.fun))


def test_rows_of_one_class_or_none_keep_the_odds_finite() -> None:
    for n in (0, 1, 50):
        slope, intercept = fit_sigmoid(np.ones(n), np.ones(n, dtype=np.bool_), np.ones(n))
        assert slope + intercept == pytest.approx(np.log(n + 1.0), abs=1e-3)


def test_members_that_know_nothing_leave_the_prior() -> None:
    prior = 0.7
    committee = Committee(np.zeros(5), np.full(5, prior), prior)
    np.testing.assert_allclose(committee.logits(np.ones((3, 5))), prior)
    knowing = Committee(np.array([0.0, 2.0]), np.array([prior, prior]), prior)
    np.testing.assert_allclose(knowing.logits(np.array([[9.0, 1.5]])), 3.0 + prior)


def test_the_line_is_that_of_sklearn() -> None:
    rng = np.random.default_rng(0)
    f, w = rng.standard_normal(300), rng.random(300)
    z = 5.0 + 0.7 * f + 0.3 * rng.standard_normal(300)
    slope, intercept, explained = fit_line(f, z, w)
    peer = LinearRegression().fit(f[:, None], z, sample_weight=w)
    assert (slope, intercept) == pytest.approx((peer.coef_[0], peer.intercept_))
    shrunk = peer.score(f[:, None], z, sample_weight=w) * 300 / 302
    assert explained == pytest.approx(shrunk)
    assert fit_line(np.ones(300), z, w) == pytest.approx((0.0, np.average(z, weights=w), 0.0))
    assert fit_line(z, z, w)[2] < 1.0
    assert fit_line(f[:0], z[:0], w[:0]) == (0.0, 0.0, 0.0)


def test_members_of_real_targets_are_one_normal_distribution() -> None:
    """Independent given the target: the density of the product, over that of the prior."""
    f, slope, intercept = np.array([[0.3, -1.0, 2.0]]), np.array([1.0, 0.5, 2.0]), np.ones(3)
    precision, mean, least = np.array([2.0, 1.0, 9.0]), 0.4, 1.0
    made = Committee.of_normal(slope, intercept, precision, prior=(mean, least))

    def minus_log(z: Any) -> float:
        of_members = precision * (z[0] - slope * f[0] - intercept) ** 2
        return 0.5 * float(of_members.sum() - 2 * least * (z[0] - mean) ** 2)

    wanted = minimize(minus_log, [0.0]).x[0]
    assert made.logits(f)[0] == pytest.approx(wanted, abs=1e-5)
    nothing = Committee.of_normal(np.zeros(3), np.full(3, mean), np.full(3, least), (mean, least))
    np.testing.assert_allclose(nothing.logits(f), mean)
