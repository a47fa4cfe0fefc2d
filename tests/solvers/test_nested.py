"""Nested subsets of a dual problem, and what they say of a class that is rare."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn.svm import SVC

from dcsvm_dask import solvers
from dcsvm_dask.kernels import Kernel
from dcsvm_dask.solvers.nested import LEAST_SHARE, NestedSubsets
from dcsvm_dask.solvers.subsets import extrapolated_support
from dcsvm_dask.tasks import Classification, Dual, Regression

RADIATOR, BYPASS = 1, 7  # classes of 80 and .03 percent of shuttle's rows


def classes(y: Any, C: Any = 1.0) -> Dual:
    return Classification().dual(y, np.broadcast_to(np.asarray(C, np.float64), len(y)))


@pytest.fixture(scope="module")
def rare(shared_data: Callable[[str], Any]) -> tuple[Any, Any]:
    """Give scaled rows of shuttle of two classes, 11 rows of one and 5,000 of the other."""
    file = shared_data("shuttle")
    X, y = file["X_train"].astype(np.float64), file["y_train"]
    rows = np.flatnonzero(y == BYPASS)
    rows = np.sort(np.concatenate([rows, np.flatnonzero(y == RADIATOR)[:5000]]))
    X = ((X - X.mean(axis=0)) / X.std(axis=0))[rows].astype(np.float32)
    return X, np.where(y[rows] == BYPASS, 1.0, -1.0)


@given(st.integers(1, 300), st.integers(0, 300), st.integers(0, 20), st.integers(0, 9))
@example(1, 1, 15, 0)
def test_every_subset_has_rows_of_both_signs(plus: int, minus: int, none: int, seed: int) -> None:
    y = np.random.default_rng(seed).permutation(np.repeat([1.0, -1.0, 1.0], [plus, minus, none]))
    C = np.ones(len(y))
    C[np.flatnonzero(y > 0)[:none]] = 0.0
    subsets, n = NestedSubsets(classes(y, C), seed), len(y)
    found = [subsets.rows(size) for size in range(1, n + 1)]
    assert all(np.isin(small, large).all() for small, large in pairwise(found))
    np.testing.assert_array_equal(found[-1], np.arange(n))
    fewer = min(plus, minus)
    for rows in found:
        counts = subsets.counts(rows)
        assert sum(counts.values()) == len(rows)
        if fewer < LEAST_SHARE * n:
            assert min(counts.get(1, 0), counts.get(-1, 0)) >= min(
                fewer, int(LEAST_SHARE * len(rows))
            )
        # Bounds of each sign stand for all of them.
        dual, whole = subsets.dual(rows), classes(y, C)
        for bound, every in ((dual.upper, whole.upper), (-dual.lower, -whole.lower)):
            if bound.any():
                assert bound.sum() == pytest.approx(every.sum())


def test_subsets_of_real_targets_are_plain_samples() -> None:
    z = np.linspace(-1.0, 1.0, 100)
    dual = Regression(0.1).dual(z, np.ones(100))
    subsets = NestedSubsets(dual, 3)
    order = np.random.default_rng(3).permutation(100)
    np.testing.assert_array_equal(subsets.rows(20), np.sort(order[:20]))
    np.testing.assert_allclose(subsets.dual(subsets.rows(20)).upper, 5.0)


def test_a_rare_class_has_few_support_vectors_and_few_kernel_values(
    rare: tuple[Any, Any],
) -> None:
    X, y = rare
    kernel, dual = Kernel("rbf", 0.1), classes(y, 10.0)
    svc = SVC(C=10.0, gamma=0.1, tol=1e-3).fit(X, y)
    expected, *_ = extrapolated_support(kernel, X.__getitem__, dual, equality=True, seed=0)
    assert expected <= 4 * len(svc.support_) + 8
    found, values = solvers.solve_whole(kernel, X, dual, equality=True, tol=1e-3)
    assert values < 0.5 * len(y) ** 2 / 2
    support = np.flatnonzero(found.beta)
    own = kernel_values(X, X[support]) @ found.beta[support] + found.bias
    np.testing.assert_allclose(own, svc.decision_function(X), rtol=0, atol=5e-3)


def kernel_values(X: Any, Z: Any) -> Any:
    distance = ((X[:, None, :].astype(np.float64) - Z[None, :, :]) ** 2).sum(axis=2)
    return np.exp(-0.1 * distance)
