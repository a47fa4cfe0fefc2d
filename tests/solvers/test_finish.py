"""The last digits: linear equations of the free variables, where the tolerance left some."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.svm import SVC

from dcsvm_dask.estimators import DCSVC
from dcsvm_dask.kernels import Kernel, kernel_matrix
from dcsvm_dask.solvers import finish, solve_inner, solve_whole
from dcsvm_dask.solvers.finish import MOST_FREE, finished
from dcsvm_dask.solvers.optimality import bias, objective, violation
from dcsvm_dask.tasks import Classification, Quantile, Regression


@pytest.fixture(scope="module")
def rows(shared_data: Callable[[str], Any]) -> Any:
    data = shared_data("cpusmall")
    X, y = data["X_train"][:300].astype(np.float64), data["y_train"][:300].astype(np.float64)
    X = ((X - X.mean(axis=0)) / X.std(axis=0)).astype(np.float32)
    return X, (y - y.mean()) / y.std()


def problem(name: str, rows: Any) -> tuple[Any, Any]:
    """Return a kernel matrix and a dual problem."""
    X, z = rows
    kernel = Kernel("linear") if name == "linear" else Kernel("rbf", 0.05)
    K, y = kernel_matrix(kernel, X, dtype=np.float64), np.where(z > 0.0, 1.0, -1.0)
    C = np.full(len(z), 1.0)
    task: Any
    task, targets = {
        "squared hinge": (Classification(squared=True), y),
        "epsilon": (Regression(0.1, False), z),
        "quantile": (Quantile(0.3), z),
    }.get(name, (Classification(), y))
    return K, task.dual(targets, C)


@pytest.fixture
def _many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Problems as large as digits that nobody asks for would take too long for."""
    monkeypatch.setattr(finish, "MOST_FREE", 256)


@pytest.mark.usefixtures("_many")
@pytest.mark.parametrize("equality", [True, False])
@pytest.mark.parametrize("name", ["hinge", "linear", "squared hinge", "epsilon", "quantile"])
def test_free_variables_are_exact(name: str, equality: bool, rows: Any) -> None:
    K, dual = problem(name, rows)
    found = solve_inner(K, dual, equality=equality, tol=1e-4)
    before = found.beta.copy()
    last = finished(K, dual, found, equality=equality)
    assert found.violation > 1e-7
    assert last.violation < 1e-11
    assert np.array_equal(found.beta, before)
    gradient = dual.gradient(K @ last.beta, last.beta)
    np.testing.assert_allclose(last.gradient, gradient, atol=1e-11)
    assert violation(gradient, last.beta, dual, equality=equality) < 1e-11
    assert (last.beta >= dual.lower).all()
    assert (last.beta <= dual.upper).all()
    assert last.objective == pytest.approx(objective(last.beta, gradient, dual), abs=1e-11)
    assert last.objective <= found.objective + 1e-12
    if equality:
        assert abs(last.beta.sum()) < 1e-11
        assert last.bias == pytest.approx(bias(gradient, last.beta, dual), abs=1e-11)


@pytest.mark.usefixtures("_many")
def test_it_is_what_a_far_smaller_tolerance_leads_to(rows: Any) -> None:
    X, z = rows
    dual = Classification().dual(np.where(z > 0.0, 1.0, -1.0), np.full(len(z), 1.0))
    for kernel in (Kernel("rbf", 0.05), Kernel("rbf", 1.0), Kernel("poly", 0.1, 2, 1.0)):
        one, _ = solve_whole(kernel, X, dual, equality=True, tol=1e-3, exact=True)
        other, _ = solve_whole(kernel, X, dual, equality=True, tol=1e-9, exact=True)
        np.testing.assert_allclose(one.beta, other.beta, rtol=0, atol=1e-9)
        assert one.bias == pytest.approx(other.bias, abs=1e-9)


def test_what_would_leave_the_bounds_or_is_not_known_stays(rows: Any) -> None:
    K, dual = problem("hinge", rows)
    loose = solve_inner(K, dual, equality=True, tol=0.5)
    last = finished(K, dual, loose, equality=True)
    assert last.violation <= loose.violation
    assert (last.beta >= dual.lower).all()
    assert (last.beta <= dual.upper).all()
    found = solve_inner(K, dual, equality=True, tol=1e-3)
    for same in (
        finished(K.astype(np.float32), dual, found, equality=True),
        finished(K, dual, replace(found, converged=False), equality=True),
    ):
        assert np.array_equal(same.beta, found.beta)


def test_many_free_variables_stay_as_they_are() -> None:
    n = MOST_FREE + 1
    X = np.random.default_rng(0).normal(size=(n, 3)).astype(np.float32)
    K = kernel_matrix(Kernel("rbf", 1.0), X, dtype=np.float64)
    dual = Classification(squared=True).dual(np.where(X[:, 0] > 0, 1.0, -1.0), np.full(n, 1e-3))
    found = solve_inner(K, dual, tol=1e-3)
    assert np.count_nonzero(found.beta) > MOST_FREE
    assert finished(K, dual, found, equality=False) is found


def test_the_sum_of_variables_is_kept_beside_huge_kernel_values() -> None:
    X = np.array([[3e3] * 5 + [-2763.0, -1042.0, -338.0], [3e3] * 5 + [-1106.0, -1654.0, -13.0]])
    model = DCSVC(kernel="linear", C=np.inf).fit(X, [0, 1])
    size = np.abs(model.dual_coef_).sum()
    assert abs(model.dual_coef_.sum()) <= 1e-12 * size
    wanted = SVC(kernel="linear", C=1.0, tol=1e-12).fit(X, [0, 1])  # all variables are below 1
    np.testing.assert_allclose(model.dual_coef_, wanted.dual_coef_, rtol=1e-6)
    np.testing.assert_allclose(model.intercept_, wanted.intercept_, rtol=1e-4)
