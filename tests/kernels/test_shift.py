"""Rows shifted so that most of their values are 0 have the same distances."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import StandardScaler

from dcsvm_dask.kernels import Kernel, kernel_matrix, shifted


@pytest.fixture(scope="module", params=["a9a", "w8a"])
def standardised(request: pytest.FixtureRequest, shared_data: Callable[[str], Any]) -> np.ndarray:
    """3,000 rows of binary features, most of them 0."""
    X = shared_data(request.param)["X_train"][:3000]
    return np.asarray(StandardScaler().fit_transform(X), np.float32)


def test_kernel_values_are_those_of_the_rows(standardised: np.ndarray) -> None:
    gamma = 1 / standardised.shape[1]
    X = shifted(Kernel("rbf", gamma=gamma), standardised)
    assert sparse.issparse(X)
    assert X.dtype == np.float32
    assert X.nnz < 0.2 * standardised.size
    expected = rbf_kernel(standardised.astype(np.float64), gamma=gamma)
    np.testing.assert_allclose(kernel_matrix(Kernel("rbf", gamma=gamma), X), expected, atol=4e-6)


@pytest.mark.parametrize("kernel", ["linear", "poly", "laplacian"])
def test_other_kernels_keep_the_rows(standardised: np.ndarray, kernel: Any) -> None:
    assert shifted(Kernel(kernel), standardised) is standardised


def test_rows_that_are_sparse_or_few_or_short_are_kept(standardised: np.ndarray) -> None:
    for X in (sparse.csr_array(standardised), standardised[:500], standardised[:, :60].copy()):
        assert shifted(Kernel("rbf"), X) is X


def test_rows_without_common_values_are_kept() -> None:
    X = np.random.default_rng(0).standard_normal((3000, 80)).astype(np.float32)
    assert shifted(Kernel("rbf"), X) is X


def test_rows_that_rounding_would_change_are_kept(standardised: np.ndarray) -> None:
    far = standardised.copy()
    far[7, 3] = 1e5  # the other values of its row keep fewer digits
    assert shifted(Kernel("rbf", gamma=0.01), far) is far


def test_a_second_table_is_not_made() -> None:
    X = np.ones((40_000, 100), np.float32)
    X[::50, ::7] = 0.0
    tracemalloc.start()
    try:
        found = shifted(Kernel("rbf"), X)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert sparse.issparse(found)
    assert most < 0.5 * X.nbytes


def test_differences_that_float32_does_not_hold() -> None:
    X = np.full((2000, 80), -3e38, np.float32)
    X[::20, 3] = 3e38
    assert shifted(Kernel("rbf"), X) is X


def test_the_rows_that_show_common_values_have_an_order_of_their_own() -> None:
    X = np.zeros((2000, 80), np.float32)
    X[:, 0] = np.repeat([1.0, 2.0], 1000)
    order = np.random.default_rng(0).permutation(2000)
    place = np.argsort(order)
    one = shifted(Kernel("rbf"), X)
    other = shifted(Kernel("rbf"), X[order], place)
    np.testing.assert_array_equal(other.toarray(), one.toarray()[order])
