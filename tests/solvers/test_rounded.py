"""Kernel values in 16 bits: used where steps are many, and never to be seen in an answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.svm import SVC, SVR

from dcsvm_dask.kernels import Kernel, kernel_matrix
from dcsvm_dask.solvers import solve_smo
from dcsvm_dask.solvers.matrix_memory import Scratch
from dcsvm_dask.solvers.smo import rounded
from dcsvm_dask.tasks import Regression, svc_dual

ROWS = 4000


@pytest.fixture(scope="module")
def table(shared_data: Callable[[str], Any]) -> tuple[Any, Any]:
    """Standardised rows of electricity, and their labels."""
    found = shared_data("electricity")
    X = found["X_train"][:ROWS].astype(np.float64)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return X.astype(np.float32), np.where(found["y_train"][:ROWS] > 0, 1.0, -1.0)


@pytest.fixture
def shapes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of rows whose values were rounded."""
    found: list[int] = []
    take = rounded.take_rounded

    def counted(K: Any, rows: Any, out: Any) -> bool:
        found.append(len(rows))
        return take(K, rows, out)

    monkeypatch.setattr(rounded, "take_rounded", counted)
    return found


def test_values_are_off_by_half_a_unit() -> None:
    K = np.random.default_rng(0).random((50, 50), dtype=np.float32)
    K[3, 7], K[7, 3] = 0.0, 1.0
    rows, out = np.arange(1, 50, 2), np.empty((25, 25), np.uint16)
    assert rounded.take_rounded(K, rows, out)
    np.testing.assert_allclose(
        out * rounded.UNIT, K[np.ix_(rows, rows)], rtol=0, atol=0.501 * rounded.UNIT
    )
    assert out[1, 3] == 0
    assert out[3, 1] == 65535


@pytest.mark.parametrize("value", [-1e-6, 1.0001, 7e4, np.nan, np.inf])
def test_values_outside_are_refused(value: float) -> None:
    K = np.ones((20, 20), np.float32)
    K[5, 5] = value
    assert not rounded.take_rounded(K, np.arange(20), np.empty((20, 20), np.uint16))


@pytest.mark.parametrize("equality", [False, True])
def test_an_svm_is_that_of_all_digits(table: Any, shapes: list[int], equality: bool) -> None:
    X, y = table
    K = kernel_matrix(Kernel("rbf", 4.0), X)
    found = solve_smo(K, svc_dual(y, 100.0), equality=equality, tol=1e-4, taken=10**6)
    assert shapes
    assert found.converged
    exact = kernel_matrix(Kernel("rbf", 4.0), X, dtype=np.float64)
    F = exact @ found.beta - y
    np.testing.assert_allclose(found.gradient, F, rtol=0, atol=2e-5)
    if equality:
        peer = SVC(kernel="precomputed", C=100.0, tol=1e-4).fit(exact, y)
        beta = np.zeros(ROWS)
        beta[peer.support_] = peer.dual_coef_[0]
        expected = 0.5 * beta @ (exact @ beta) - np.abs(beta).sum()
        assert found.objective == pytest.approx(expected, rel=1e-6)
        return
    size = y * found.beta
    projected = np.where(size <= 0.0, np.minimum(y * F, 0.0), y * F)
    projected = np.where(size >= 100.0, np.maximum(projected, 0.0), projected)
    assert np.abs(projected).max() <= 1.5e-4


@pytest.mark.long
def test_regression_is_that_of_all_digits(table: Any, shapes: list[int]) -> None:
    X, y = table
    X, z = X[:2500], np.sin(X[:2500, 0]) + 0.1 * y[:2500]
    K = kernel_matrix(Kernel("rbf", 1.0), X)
    dual = Regression(0.01).dual(z, np.full(len(z), 50.0))
    found = solve_smo(K, dual, equality=True, tol=1e-4, taken=10**6)
    assert shapes
    assert found.converged
    exact = K.astype(np.float64)
    peer = SVR(kernel="precomputed", C=50.0, epsilon=0.01, tol=1e-6).fit(exact, z)
    beta = np.zeros(len(z))
    beta[peer.support_] = peer.dual_coef_[0]
    expected = 0.5 * beta @ (exact @ beta) - z @ beta + 0.01 * np.abs(beta).sum()
    assert found.objective == pytest.approx(expected, rel=1e-6)


@pytest.mark.long
def test_where_too_much_is_lost_the_next_phases_have_all_digits(
    table: Any, shapes: list[int]
) -> None:
    """A smooth kernel and a large C: variables move far for a small change of the gradient."""
    X, y = table
    K = kernel_matrix(Kernel("rbf", 0.02), X)
    found = solve_smo(K, svc_dual(y, 1e5), equality=True, tol=1e-2, taken=10**6)
    assert 1 <= len(shapes) <= 3
    assert found.converged
    F = kernel_matrix(Kernel("rbf", 0.02), X, dtype=np.float64) @ found.beta - y
    # K in float32, to within half a unit of its last place, times variables of up to 1e5.
    np.testing.assert_allclose(found.gradient, F, rtol=0, atol=2**-25 * np.abs(found.beta).sum())


def test_kernels_with_negative_values_keep_all_digits(table: Any, shapes: list[int]) -> None:
    X, y = table
    X = X / np.linalg.norm(X, axis=1, keepdims=True)
    K = X @ X.T
    np.fill_diagonal(K, 1.0)
    found = solve_smo(K, svc_dual(y, 10.0), tol=1e-2, taken=10**6)
    assert len(shapes) == 1  # a look shows it
    assert found.converged


def test_neither_few_rows_nor_few_steps_are_worth_it() -> None:
    assert not rounded.pays(1000, 10**9)
    assert not rounded.pays(5000, 10_000)
    assert rounded.pays(5000, 20_000)


def test_scratch_is_asked_for_once() -> None:
    scratch = Scratch()
    first = scratch.of(1000, np.float32)
    again = scratch.of(1500, np.uint16)
    assert np.shares_memory(first, again)
    assert len(scratch.of(2000, np.float32)) == 2000
