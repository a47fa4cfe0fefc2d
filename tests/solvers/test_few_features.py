"""solve_few_features against scikit-learn's SVC and SVR with a linear kernel, and its use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.svm import SVC, SVR

from dcsvm_dask.estimators import DCSVC
from dcsvm_dask.kernels import Kernel
from dcsvm_dask.solvers import whole
from dcsvm_dask.solvers.inner.few_features import has_few_features, solve_few_features
from dcsvm_dask.solvers.inner.interior_point import solve_interior_point
from dcsvm_dask.solvers.optimality import violation
from dcsvm_dask.tasks import Dual

LINEAR = Kernel("linear")


def standard(found: Any, rows: int) -> tuple[Any, Any]:
    """Return the first rows of a set, standardised, and its targets, or its classes as signs."""
    X, y = found["X_train"][:rows].astype(np.float64), found["y_train"][:rows].astype(np.float64)
    X = ((X - X.mean(axis=0)) / X.std(axis=0)).astype(np.float32)
    if len(np.unique(y)) == 2:
        return X, np.where(y == y.max(), 1.0, -1.0)
    return X, (y - y.mean()) / y.std()


def gram(X: Any) -> Any:
    return X.astype(np.float64) @ X.T.astype(np.float64)


@pytest.mark.parametrize("as_csr", [False, True])
@pytest.mark.parametrize(
    ("name", "C"), [("magic", 0.1), ("magic", 100.0), ("bank_marketing", 10.0)]
)
def test_classes_as_scikit_learn(
    name: str, C: float, as_csr: bool, shared_data: Callable[[str], Any]
) -> None:
    X, y = standard(shared_data(name), 1500)
    dual = Dual(-y, np.where(y > 0, 0.0, -C), np.where(y > 0, C, 0.0))
    found = solve_few_features(csr_array(X) if as_csr else X, dual, equality=True, tol=1e-6)
    peer = SVC(kernel="linear", C=C, tol=1e-6).fit(X, y)
    theirs = np.zeros(len(y))
    theirs[peer.support_] = peer.dual_coef_[0]
    assert found.converged
    assert abs(found.beta.sum()) <= 1e-9 * C * len(y)
    K = gram(X)
    np.testing.assert_allclose(found.gradient, K @ found.beta - y, atol=1e-6 * C)
    assert violation(K @ found.beta - y, found.beta, dual, equality=True) <= 2e-6
    assert found.objective == pytest.approx(0.5 * theirs @ K @ theirs - y @ theirs, rel=1e-7)
    np.testing.assert_allclose(
        X.T @ found.beta, peer.coef_[0], atol=1e-3 * np.abs(peer.coef_).max()
    )
    assert found.bias == pytest.approx(peer.intercept_[0], abs=1e-3)


@pytest.mark.parametrize(("name", "C"), [("cadata", 1.0), ("cpusmall", 10.0)])
def test_targets_as_scikit_learn(name: str, C: float, shared_data: Callable[[str], Any]) -> None:
    X, y = standard(shared_data(name), 600)
    n = len(y)
    dual = Dual(-y, np.full(n, -C), np.full(n, C), epsilon=np.full(n, 0.1))
    found = solve_few_features(X, dual, equality=True, tol=1e-6)
    peer = SVR(kernel="linear", C=C, epsilon=0.1, tol=1e-6).fit(X, y)
    theirs = np.zeros(n)
    theirs[peer.support_] = peer.dual_coef_[0]
    K = gram(X)
    value = 0.5 * theirs @ K @ theirs - y @ theirs + 0.1 * np.abs(theirs).sum()
    assert found.converged
    assert found.objective == pytest.approx(value, rel=1e-7)


@settings(deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    size=st.floats(-3.0, 6.0),
    equality=st.booleans(),
    is_dependent=st.booleans(),
)
def test_any_bounds(seed: int, size: float, equality: bool, is_dependent: bool) -> None:
    """As the method whose factor is of the whole kernel matrix."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(20, 60)), int(rng.integers(1, 5))
    X = rng.standard_normal((n, d)).astype(np.float32)
    if is_dependent:
        X[:, -1] = X[:, 0]
    y = np.where(rng.random(n) < 0.5, -1.0, 1.0)
    C = 10.0**size * rng.choice([0.5, 1.0, 3.0], n)
    dual = Dual(-y, np.where(y > 0, 0.0, -C), np.where(y > 0, C, 0.0))
    found = solve_few_features(X, dual, equality=equality, tol=1e-4)
    whole_matrix = solve_interior_point(gram(X), dual, equality=equality, tol=1e-4)
    assert (found.beta >= dual.lower).all()
    assert (found.beta <= dual.upper).all()
    if equality:
        assert abs(found.beta.sum()) <= 1e-9 * C.sum()
    if found.converged and whole_matrix.converged:
        off = 2e-4 * C.sum()
        assert found.objective == pytest.approx(whole_matrix.objective, rel=1e-6, abs=off)


def test_few_rows_other_kernels_and_losses_are_left_to_others() -> None:
    X, n = np.ones((5000, 8), np.float32), 5000
    dual = Dual(np.ones(n), np.zeros(n), np.ones(n))
    how = {"most_bytes": 16.0 * X.size}
    assert has_few_features(LINEAR, X, dual, **how)
    assert not has_few_features(LINEAR, X, dual, most_bytes=16.0 * X.size - 1.0)
    assert not has_few_features(LINEAR, X[:500], dual[np.arange(500)], **how)
    assert not has_few_features(Kernel("rbf", gamma=1.0), X, dual, **how)
    assert not has_few_features(LINEAR, X, replace(dual, ridge=np.ones(n)), **how)
    assert not has_few_features(LINEAR, X[:, :0], dual, **how)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("as_csr", [False, True])
def test_estimators_solve_large_bounds_within_the_tolerance(
    as_csr: bool, fit_intercept: bool, shared_data: Callable[[str], Any]
) -> None:
    X, y = standard(shared_data("magic"), 19020)
    rng = np.random.default_rng(0).permutation(len(y))[:4000]
    X, y, C = X[rng], y[rng], 1e4
    fitted = DCSVC(kernel="linear", C=C, fit_intercept=fit_intercept, class_weight={1.0: 2.0})
    fitted.fit(csr_array(X) if as_csr else X, y)
    beta = np.zeros(len(y))
    coefficients = fitted.dual_coef_.toarray() if as_csr else fitted.dual_coef_
    beta[fitted.support_] = coefficients[0]
    limit = np.where(y > 0, 2.0 * C, C)
    dual = Dual(-y, np.where(y > 0, 0.0, -limit), np.where(y > 0, limit, 0.0))
    gradient = gram(X) @ beta - y
    equality = fit_intercept
    assert violation(gradient, beta, dual, equality=equality) <= 1.1e-3
    assert fitted.violation_ <= 1e-3


def test_what_does_not_converge_is_solved_as_before(
    monkeypatch: pytest.MonkeyPatch, shared_data: Callable[[str], Any]
) -> None:
    X, y = standard(shared_data("magic"), 19020)
    rng = np.random.default_rng(0).permutation(len(y))[:3000]
    X, y = X[rng], y[rng]
    exact = DCSVC(kernel="linear", C=10.0).fit(X, y)
    called: list[int] = []

    def unsolved(X: Any, dual: Dual, **how: Any) -> Any:
        called.append(len(dual))
        return replace(solve_few_features(X, dual, **how), converged=False)

    monkeypatch.setattr(whole, "solve_few_features", unsolved)
    other = DCSVC(kernel="linear", C=10.0).fit(X, y)
    assert called
    assert other.objective_[0] == pytest.approx(exact.objective_[0], rel=1e-6)
    np.testing.assert_allclose(other.coef_, exact.coef_, atol=2e-2)
