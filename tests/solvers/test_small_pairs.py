"""Pairs of classes of a few rows: what the solver of larger problems and SVC say of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from dcsvm_dask.estimators import DCSVC
from dcsvm_dask.kernels import Kernel, kernel_matrix
from dcsvm_dask.solvers import machines_of, small_pairs, solve_machines, violation_pair
from dcsvm_dask.solvers.small_pairs import solve_small_pairs
from dcsvm_dask.tasks import svc_dual

# Twenty classes: of each digit even and odd rows, of different numbers.
DIGITS, NUMBERS = load_digits(return_X_y=True)
CLASSES = 2 * NUMBERS + np.arange(len(NUMBERS)) % 2
KEPT = np.concatenate([np.flatnonzero(c == CLASSES)[: 3 + c] for c in range(20)])
KEPT.sort()
X, CODES = (DIGITS[KEPT] / 16.0).astype(np.float32), CLASSES[KEPT]
PAIRS = [(a, b) for a in range(20) for b in range(a + 1, 20)]


@pytest.mark.parametrize("kernel", [Kernel("rbf", 0.2), Kernel("linear"), Kernel("poly", 0.1)])
@pytest.mark.parametrize("C", [0.05, 10.0, 1e6])
def test_they_are_solved_as_by_the_solver_of_larger_problems(
    kernel: Kernel, C: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    bounds = np.full(len(X), C)
    found = solve_small_pairs(kernel, X, CODES, bounds, PAIRS)
    assert list(found) == PAIRS
    monkeypatch.setattr(small_pairs, "PAIR_ROWS", 0)
    how: dict[str, Any] = {"equality": True, "tol": 1e-9}
    solved = solve_machines(kernel, X, CODES, C, machines_of(20), **how)
    for pair, other in zip(PAIRS, solved, strict=True):
        rows, one = found[pair]
        np.testing.assert_array_equal(rows, other.rows)
        y = np.where(CODES[rows] == pair[0], 1.0, -1.0)
        assert ((y * one.beta >= 0.0) & (y * one.beta <= C)).all()
        assert abs(one.beta.sum()) <= 1e-12 * np.abs(one.beta).sum()
        assert one.objective == pytest.approx(other.solution.objective, rel=1e-9, abs=1e-12)
        assert one.bias == pytest.approx(other.solution.bias, rel=1e-6, abs=1e-6)
        np.testing.assert_allclose(one.gradient, other.solution.gradient, atol=1e-6)


@pytest.mark.parametrize("is_sparse", [False, True])
def test_an_estimator_of_many_classes_is_svc(is_sparse: bool) -> None:
    rows = sparse.csr_array(X) if is_sparse else X
    weight = np.random.default_rng(0).uniform(0.1, 2.0, len(X))
    ours = DCSVC(C=3.0, gamma=0.2).fit(rows, CODES, sample_weight=weight)
    theirs = SVC(C=3.0, gamma=0.2, tol=1e-10).fit(X.astype(float), CODES, sample_weight=weight)
    for name in ("n_support_", "support_", "classes_"):
        np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name))
    shape = {"decision_function_shape": "ovo"}
    found, wanted = (
        one.set_params(**shape).decision_function(DIGITS / 16.0) for one in (ours, theirs)
    )
    np.testing.assert_allclose(found, wanted, atol=1e-5)
    np.testing.assert_allclose(
        np.asarray(abs(ours.dual_coef_).sum()), abs(theirs.dual_coef_).sum(), rtol=1e-7
    )


@pytest.mark.parametrize("kernel", [Kernel("rbf", 0.2), Kernel("linear")])
@pytest.mark.parametrize("C", [0.05, 100.0])
def test_pairs_of_more_rows_are_solved_within_the_tolerance(kernel: Kernel, C: float) -> None:
    tol, some = 1e-4, slice(0, 1000)
    rows = (DIGITS[some] / 16.0).astype(np.float32)
    rows[:300:10] = 0.0  # where the curvature of linear kernels is nothing
    codes, bounds = NUMBERS[some], np.full(1000, C)
    pairs = [(a, b) for a in range(10) for b in range(a + 1, 10)]
    found = solve_small_pairs(kernel, rows, codes, bounds, pairs, tol=tol, threads=2)
    assert set(found) == set(pairs)
    K = kernel_matrix(kernel, rows, dtype=np.float64)
    for pair, (own, one) in found.items():
        y = np.where(codes[own] == pair[0], 1.0, -1.0)
        theirs = SVC(C=C, kernel="precomputed", tol=1e-9).fit(K[np.ix_(own, own)], y)
        coef = theirs.dual_coef_[0]
        near = K[np.ix_(own[theirs.support_], own[theirs.support_])]
        least = 0.5 * coef @ near @ coef - np.abs(coef).sum()
        assert one.violation <= tol
        assert -1e-9 <= one.objective - least <= tol * np.abs(one.beta).sum()
        assert ((y * one.beta >= 0.0) & (y * one.beta <= C)).all()
        gradient = K[np.ix_(own, own)] @ one.beta - y
        np.testing.assert_allclose(one.gradient, gradient, rtol=0, atol=1e-9 * max(1.0, C))


def test_free_variables_of_a_few_larger_pairs_are_exact() -> None:
    some = NUMBERS < 3
    rows, codes = (DIGITS[some] / 16.0).astype(np.float32)[:300], NUMBERS[some][:300]
    pairs = [(0, 1), (0, 2), (1, 2)]
    found = solve_small_pairs(Kernel("rbf", 0.05), rows, codes, np.full(300, 10.0), pairs)
    assert all(one.violation < 1e-11 for _, one in found.values())


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer])
@pytest.mark.parametrize("C", [1.0, 1e3])
def test_free_variables_are_found_by_equations_where_steps_are_many(load: Any, C: float) -> None:
    rows, codes = load(return_X_y=True)
    rows = (StandardScaler().fit_transform(rows) if C > 1.0 else rows).astype(np.float32)
    pairs = [(0, 1)] if codes.max() == 1 else [(0, 1), (0, 2), (1, 2)]
    found = solve_small_pairs(Kernel("linear"), rows, codes, np.full(len(rows), C), pairs)
    K = kernel_matrix(Kernel("linear"), rows, dtype=np.float64)
    assert found
    for pair, (own, one) in found.items():
        y = np.where(codes[own] == pair[0], 1.0, -1.0)
        assert one.violation <= 1e-3
        assert ((y * one.beta >= 0.0) & (y * one.beta <= C)).all()
        assert abs(one.beta.sum()) <= 1e-9 * np.abs(one.beta).sum()
        f = K[np.ix_(own, own)] @ one.beta + one.bias
        primal = 0.5 * one.beta @ (f - one.bias) + C * np.maximum(0.0, 1.0 - y * f).sum()
        size = np.abs(one.beta)
        noise = 1e-14 * size @ np.abs(K[np.ix_(own, own)]) @ size
        # What the tolerance leaves of the gap: so much of it for each support vector.
        assert -noise <= primal + one.objective <= 1e-3 * size.sum() + noise


def test_a_kernel_that_is_not_positive_is_solved_within_the_tolerance() -> None:
    rows, codes = (DIGITS / 16.0).astype(np.float32)[:600], NUMBERS[:600]
    kernel = Kernel("sigmoid", 0.2, coef0=-1.0)
    pairs = [(a, b) for a in range(10) for b in range(a + 1, 10)]
    found = solve_small_pairs(kernel, rows, codes, np.full(600, 10.0), pairs)
    K = kernel_matrix(kernel, rows, dtype=np.float64)
    assert np.linalg.eigvalsh(K)[0] < -1e-3
    assert len(found) > 30
    for pair, (own, one) in found.items():
        y = np.where(codes[own] == pair[0], 1.0, -1.0)
        assert one.violation <= 1e-3
        assert one.objective < 0.0
        assert ((y * one.beta >= 0.0) & (y * one.beta <= 10.0)).all()
        np.testing.assert_allclose(one.gradient, K[np.ix_(own, own)] @ one.beta - y, atol=1e-8)


@pytest.mark.parametrize("tol", [1e-3, 1e-8])
@pytest.mark.parametrize("size", [1e-6, 1.0, 1e2, 1e4])
@pytest.mark.parametrize("kernel", [Kernel("linear"), Kernel("poly", 0.1, degree=2)])
def test_reported_measures_are_exact_whatever_the_size_of_kernel_values(
    kernel: Kernel, size: float, tol: float
) -> None:
    X, y = load_wine(return_X_y=True)
    rows, pairs = (size * X).astype(np.float32), [(0, 1), (0, 2), (1, 2)]
    K = kernel_matrix(kernel, rows, dtype=np.float64)
    found = solve_small_pairs(kernel, rows, y, np.full(len(y), 1e3), pairs, tol=tol)
    for pair, (own, one) in found.items():
        dual = svc_dual(np.where(y[own] == pair[0], 1.0, -1.0), 1e3)
        gradient = K[np.ix_(own, own)] @ one.beta + dual.p
        reported = violation_pair(gradient, one.beta, dual)
        noise = 1e-13 * float(np.max(K[np.ix_(own, own)] @ np.abs(one.beta), initial=1.0))
        assert reported <= tol + noise
        assert abs(reported - one.violation) <= noise
        assert abs(one.beta.sum()) <= 1e-11 * np.abs(one.beta).sum()


def test_a_gradient_does_not_drift_through_huge_variables() -> None:
    X = np.float32([9999.568359375, 9999.9248046875, 10000.0341796875, 9999.6376953125, 9998.125])
    y, kernel = np.array([0, 1, 1, 0, 0]), Kernel("poly", 1e-4, degree=2)
    found = solve_small_pairs(kernel, X[:, None], y, np.full(5, 1e6), [(0, 1)], tol=1e-8)
    for own, one in found.values():
        K = kernel_matrix(kernel, X[own, None], dtype=np.float64)
        gradient = K @ one.beta - np.where(y[own] == 0, 1.0, -1.0)
        np.testing.assert_allclose(one.gradient, gradient, rtol=0, atol=1e-9)


@pytest.mark.parametrize("size", [1e4, 1e9, 1e30])
def test_values_that_float32_does_not_hold_are_left_to_others(size: float) -> None:
    X, y = load_iris(return_X_y=True)
    rows, kernel = (size * X).astype(np.float32), Kernel("poly", 1.0)
    assert not solve_small_pairs(kernel, rows, y, np.ones(len(y)), [(0, 1), (1, 2)])


def test_larger_pairs_are_left_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(small_pairs, "PAIR_ROWS", 25)
    counts = np.bincount(CODES)
    found = solve_small_pairs(Kernel("rbf", 0.2), X, CODES, np.ones(len(X)), PAIRS)
    small = {(a, b) for a, b in PAIRS if counts[a] + counts[b] <= 25}
    assert 10 <= len(small) < len(PAIRS)
    assert set(found) == small
    assert not solve_small_pairs(Kernel("rbf", 0.2), X, CODES, np.ones(len(X)), PAIRS, most=1e3)


def test_what_is_not_solved_in_time_is_left_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = DCSVC(C=3.0, gamma=0.2).fit(X, CODES).decision_function(X)
    monkeypatch.setattr(small_pairs, "solve_pairs", lambda *given: given[-1].fill(np.inf))
    found = DCSVC(C=3.0, gamma=0.2, tol=1e-6).fit(X, CODES).decision_function(X)
    np.testing.assert_allclose(found, wanted, atol=1e-5)
