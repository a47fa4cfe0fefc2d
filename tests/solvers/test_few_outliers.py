"""One-class SVMs of few support vectors: LIBSVM's solution by few kernel rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits, make_blobs
from sklearn.svm import OneClassSVM

from dcsvm_dask.estimators import DCOneClassSVM
from dcsvm_dask.kernels import Kernel, kernel_matrix
from dcsvm_dask.kernels.row_by_row import KernelRows
from dcsvm_dask.solvers import nu as general
from dcsvm_dask.solvers import solve_nu
from dcsvm_dask.solvers.few_outliers import solve_few_outliers
from dcsvm_dask.tasks import OneClass

DIGITS = (load_digits().data / 16.0).astype(np.float32)
KERNELS = [Kernel("rbf", 0.02), Kernel("laplacian", 0.02), Kernel("poly", 0.05, coef0=1.0)]


@pytest.fixture(scope="module")
def many() -> Any:
    X, _ = make_blobs(4000, n_features=6, centers=5, random_state=0)
    return X.astype(np.float32)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
@pytest.mark.parametrize("nu", [0.01, 0.05, 0.15])
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
def test_the_solution_is_that_of_the_whole_matrix(kernel: Kernel, nu: float, storage: Any) -> None:
    C = np.random.default_rng(0).uniform(0.2, 2.0, len(DIGITS))
    zero, task, tol = np.zeros(len(C)), OneClass(nu=nu), 1e-5
    dual, total = task.dual(zero, C), task.total(C)
    found, values = solve_few_outliers(kernel, storage(DIGITS), dual, total, tol=tol)
    assert found is not None
    assert values <= 0.5 * len(C) ** 2
    K = kernel_matrix(kernel, DIGITS, dtype=np.float64)
    whole = general.solve_nu_matrix(K, zero, C, task, tol=1e-9).solution
    assert found.violation <= tol
    assert ((found.beta >= 0.0) & (found.beta <= C)).all()
    assert found.beta.sum() == pytest.approx(total, rel=1e-12)
    np.testing.assert_allclose(found.gradient, K @ found.beta, rtol=1e-9)
    excess = found.objective - whole.objective
    assert -1e-12 * whole.objective <= excess <= tol * total


@pytest.mark.parametrize("nu", [0.02, 0.1])
@pytest.mark.parametrize("threads", [1, 2])
def test_an_estimator_is_the_one_class_svm_of_scikit_learn(
    many: Any, nu: float, threads: int
) -> None:
    ours = DCOneClassSVM(nu=nu, gamma=0.02, tol=1e-6, n_jobs=threads).fit(many)
    theirs = OneClassSVM(nu=nu, gamma=0.02, tol=1e-9).fit(many)
    np.testing.assert_array_equal(ours.support_, theirs.support_)
    assert ours.offset_ == pytest.approx(theirs.offset_, abs=1e-5)
    found, wanted = (one.decision_function(many) for one in (ours, theirs))
    np.testing.assert_allclose(found, wanted, atol=2e-5)


def test_few_kernel_values_are_computed(many: Any) -> None:
    zero, one = np.zeros(len(many)), np.ones(len(many))
    found = solve_nu(Kernel("rbf", 0.02), many, zero, one, OneClass(nu=0.05))
    assert found.solution.converged
    assert found.kernel_values < 0.2 * len(many) ** 2


@pytest.mark.parametrize(
    ("rows", "nu", "how"),
    [(400, 0.05, {}), (1797, 0.5, {}), (1797, 0.05, {"most_bytes": 1e6})],
    ids=["few rows", "many support vectors", "little memory"],
)
def test_which_problems_suit(rows: int, nu: float, how: dict[str, Any]) -> None:
    X, C, task = DIGITS[:rows], np.ones(rows), OneClass(nu=nu)
    dual, total = task.dual(np.zeros(rows), C), task.total(C)
    assert solve_few_outliers(Kernel("rbf", 0.02), X, dual, total, **how) == (None, 0)


def test_what_asks_for_too_many_rows_is_left_to_the_whole_matrix() -> None:
    X = np.random.default_rng(0).normal(size=(2000, 60)).astype(np.float32)
    kernel, C, task = Kernel("rbf", 1.0), np.ones(2000), OneClass(nu=0.01)
    dual, total = task.dual(np.zeros(2000), C), task.total(C)
    found, values = solve_few_outliers(kernel, X, dual, total, tol=1e-6)
    assert found is None
    assert values > 0
    solved = solve_nu(kernel, X, np.zeros(2000), C, task, tol=1e-6)
    assert solved.solution.converged


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_rows_that_are_added_are_those_of_the_matrix(kernel: Kernel) -> None:
    X = DIGITS[:200]
    rows, some = KernelRows(kernel, X, 60), np.array([7, 3, 150])
    rows.block(some[:2], some)
    before = rows.K[:2].copy()
    rows.add(np.arange(0, 200, 50))
    rows.add(some)
    np.testing.assert_array_equal(rows.rows, [7, 3, 0, 50, 100, 150])
    np.testing.assert_array_equal(rows.K[:2], before)
    wanted = kernel_matrix(kernel, X, dtype=np.float64)
    np.testing.assert_allclose(rows.K[:6], wanted[rows.rows], rtol=1e-12)
    np.testing.assert_array_equal(rows.K[np.arange(6), rows.rows], rows.diagonal[rows.rows])
