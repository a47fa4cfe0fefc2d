"""LinearDCSVC and LinearDCSVR with an infinite intercept_scaling: the bias is free."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.svm import SVC, SVR

from dcsvm_dask.estimators import LinearDCSVC, LinearDCSVR
from dcsvm_dask.estimators.onnx import to_onnx

HOW: dict[str, Any] = {"intercept_scaling": np.inf, "tol": 1e-7, "max_iter": 200_000}


@pytest.fixture
def classes(shared_data: Callable[[str], Any]) -> tuple[np.ndarray, np.ndarray]:
    found = shared_data("ijcnn1")
    return found["X_train"][:800].astype(np.float64), found["y_train"][:800]


def test_classes_have_svcs_answer(classes: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = classes
    weight = np.random.default_rng(0).choice([0.5, 1.0, 2.0], size=len(y))
    words: dict[str, Any] = {"class_weight": {1: 3.0}}
    ours = LinearDCSVC(loss="hinge", **HOW, **words).fit(X, y, sample_weight=weight)
    theirs = SVC(kernel="linear", tol=1e-8, **words).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-3)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-3)
    assert (ours.violation_ <= ours.tol).all()
    assert np.mean(ours.predict(X) == theirs.predict(X)) > 0.998


def test_targets_have_svrs_answer() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = 1000.0 + X @ [10.0, -20.0, 5.0] + rng.normal(size=200)
    ours = LinearDCSVR(epsilon=0.5, **HOW).fit(X, y)
    theirs = SVR(kernel="linear", epsilon=0.5, tol=1e-8).fit(X.astype(np.float32), y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_[0], rtol=1e-4)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-6)
    assert ours.violation_ <= ours.tol
    # Another zero of the targets changes the bias alone.
    moved = LinearDCSVR(epsilon=0.5, **HOW).fit(X, y - 1000.0)
    np.testing.assert_allclose(moved.coef_, ours.coef_, rtol=1e-6)
    assert moved.intercept_[0] == pytest.approx(ours.intercept_[0] - 1000.0, abs=1e-4)


def test_squared_losses_take_the_dual_solver(classes: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = classes
    free = LinearDCSVC(**HOW).fit(X, y)
    near = LinearDCSVC(intercept_scaling=100.0, dual=False, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(free.coef_, near.coef_, atol=1e-3)
    np.testing.assert_allclose(free.intercept_, near.intercept_, atol=1e-3)


def test_many_classes_have_a_bias_each() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=150)
    X = rng.normal(size=(150, 2)) + np.array([[0.0, 3.0], [4.0, 0.0], [9.0, 9.0]])[y]
    ours = LinearDCSVC(loss="hinge", **HOW).fit(X, y)
    for number in range(3):
        svc = SVC(kernel="linear", tol=1e-8).fit(X.astype(np.float32), y == number)
        np.testing.assert_allclose(ours.coef_[number], svc.coef_[0], atol=1e-4)
        assert ours.intercept_[number] == pytest.approx(svc.intercept_[0], abs=1e-3)


def test_without_an_intercept_nothing_is_scaled(classes: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = classes
    found = LinearDCSVC(intercept_scaling=np.inf, fit_intercept=False).fit(X, y)
    usual = LinearDCSVC(fit_intercept=False).fit(X, y)
    assert np.array_equal(found.coef_, usual.coef_)
    assert found.intercept_ == 0.0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"dual": False}, "dual must be True or .auto. with intercept_scaling=inf"),
        ({"penalty": "l1"}, 'intercept_scaling is inf; give a finite number with penalty="l1"'),
        (
            {"multi_class": "crammer_singer"},
            "intercept_scaling is inf; give a finite number with multi_class",
        ),
        ({"intercept_scaling": -np.inf}, "intercept_scaling is -inf; give a number above 0"),
        ({"intercept_scaling": np.nan}, "intercept_scaling is nan; give a number above 0"),
    ],
)
def test_what_has_no_solver_is_refused(
    words: dict[str, Any], said: str, classes: tuple[np.ndarray, np.ndarray]
) -> None:
    with pytest.raises(ValueError, match=said):
        LinearDCSVC(**{"intercept_scaling": np.inf, **words}).fit(*classes)
    if words == {"dual": False}:
        svr = LinearDCSVR(intercept_scaling=np.inf, loss="squared_epsilon_insensitive", **words)
        with pytest.raises(ValueError, match=said):
            svr.fit(*classes)


@pytest.mark.long
def test_a_graph_has_the_bias(classes: tuple[np.ndarray, np.ndarray]) -> None:
    onnx = pytest.importorskip("onnxruntime")
    X, y = classes
    found = LinearDCSVC(loss="hinge", **HOW).fit(X, y)
    session = onnx.InferenceSession(to_onnx(found).SerializeToString())
    predicted = session.run(None, {session.get_inputs()[0].name: X.astype(np.float32)})[0]
    assert np.mean(np.ravel(predicted) == found.predict(X)) > 0.998
