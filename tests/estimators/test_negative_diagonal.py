"""The sigmoid kernel, whose values of a row with itself may be below 0."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_swiss_roll
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC, SVR, NuSVR, OneClassSVM

from dcsvm_dask.estimators import DCSVC, DCSVR, DCNuSVR, DCOneClassSVM

HOW: dict[str, Any] = {"kernel": "sigmoid", "gamma": 0.04, "coef0": -1.0, "C": 100.0}


@pytest.mark.parametrize("n", [300, 1000])
def test_steps_are_about_as_many_as_those_of_the_peer(n: int) -> None:
    """With a diagonal that is brought above 0 they were hundreds of times as many."""
    X, t = make_swiss_roll(n, random_state=0)
    X = MinMaxScaler().fit_transform(X).astype(np.float32)
    y = (t > np.median(t)).astype(int)
    ours, theirs = DCSVC(**HOW).fit(X, y), SVC(**HOW).fit(X, y)
    assert ours.n_iter_.sum() <= 10 * theirs.n_iter_.sum()
    assert ours.score(X, y) == pytest.approx(theirs.score(X, y), abs=0.01)
    ours, theirs = DCSVR(**HOW).fit(X, t / t.std()), SVR(**HOW).fit(X, t / t.std())
    assert np.sum(ours.n_iter_) <= 10 * theirs.n_iter_
    assert ours.score(X, t / t.std()) == pytest.approx(theirs.score(X, t / t.std()), abs=0.01)


@pytest.mark.parametrize("off", [0.0, 0.01], ids=["diagonal", "indefinite"])
@pytest.mark.parametrize(
    ("ours", "theirs", "how"),
    [
        (DCSVC, SVC, {}),
        (DCSVR, SVR, {}),
        (DCNuSVR, NuSVR, {"nu": 0.3}),
        (DCOneClassSVM, OneClassSVM, {"nu": 0.3}),
    ],
    ids=lambda one: getattr(one, "__name__", ""),
)
def test_values_of_rows_with_themselves_may_cancel(
    ours: Any, theirs: Any, how: dict[str, Any], off: float
) -> None:
    """Of some pairs K_ii + K_jj is 0, and K_ij not below it: a step has no curvature."""
    random = np.random.default_rng(0)
    K = np.diag(np.resize([1.0, -1.0], 60)) + off * np.ones((60, 60)) * (1.0 - np.eye(60))
    y = random.integers(0, 3, 60) if ours is DCSVC else random.normal(size=60)
    found = ours(kernel="precomputed", **how).fit(K, y)
    assert np.all(found.violation_ <= found.tol)
    peer = theirs(kernel="precomputed", **how).fit(K, y)
    np.testing.assert_allclose(np.abs(found.dual_coef_).sum(), np.abs(peer.dual_coef_).sum(), 0.05)
