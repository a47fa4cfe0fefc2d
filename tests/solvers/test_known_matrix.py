"""The matrix of a working set: parts of the last one, and sums within their bounds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from dcsvm_dask.kernels import Kernel, kernel_matrix
from dcsvm_dask.solvers import whole
from dcsvm_dask.solvers.known_matrix import KnownMatrix
from dcsvm_dask.solvers.matrix_memory import MatrixMemory
from tests.svc import dual_of

ROWS = 1200
KERNELS = [
    Kernel("rbf", 0.02),
    Kernel("rbf", 3.0),
    Kernel("laplacian", 0.1),
    Kernel("linear"),
    Kernel("poly", 0.1, degree=3, coef0=1.0),
    Kernel("sigmoid", 0.1),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_sums_are_within_their_bounds(
    magic: tuple[Any, Any], kernel: Kernel, form: Callable[[Any], Any]
) -> None:
    if kernel.name == "laplacian" and form is not np.asarray:
        pytest.skip("there are no L1 distances of sparse rows")
    X, rng = form(magic[0]), np.random.default_rng(1)
    rows = np.flatnonzero(rng.random(ROWS) < 0.7)
    beta = np.zeros(ROWS)
    beta[rows[::3]] = 50.0 * rng.standard_normal(len(rows[::3]))
    known = KnownMatrix(kernel, X, MatrixMemory(len(rows)), 2)
    known.of(rows)
    found = known.sums(beta)
    assert found is not None
    sums, bounds = found
    exact = kernel_matrix(kernel, X[rows], X, dtype=np.float64) @ beta
    assert np.all(np.abs(sums - exact) <= bounds)
    assert np.abs(sums - exact).max() > 1e-3 * bounds.max()


def test_sums_of_other_rows_are_not_known(magic: tuple[Any, Any]) -> None:
    rows, beta = np.arange(0, ROWS, 2), np.zeros(ROWS)
    known = KnownMatrix(KERNELS[0], magic[0], MatrixMemory(ROWS), 1)
    assert known.sums(beta) is None
    known.of(rows)
    beta[4] = 1.0
    assert known.sums(beta) is not None
    beta[5] = 1.0
    assert known.sums(beta) is None
    known.forget()
    assert known.sums(beta) is None


def test_sums_of_rows_whose_distances_are_exact(shared_data: Callable[[str], Any]) -> None:
    X = sparse.csr_array(shared_data("a9a")["X_train"][:ROWS].astype(np.float32))
    kernel = Kernel("rbf", 8.0)  # beyond the reach of rounded float32 products
    rng = np.random.default_rng(3)
    known = KnownMatrix(kernel, X, MatrixMemory(ROWS), 1)
    known.of(np.arange(ROWS))
    beta = 50.0 * rng.standard_normal(ROWS)
    found = known.sums(beta)
    assert found is not None
    sums, bounds = found
    exact = kernel_matrix(kernel, X, dtype=np.float64) @ beta
    assert np.all(np.abs(sums - exact) <= bounds)
    assert bounds.max() < 1e-2


def test_a_part_of_the_last_set_is_taken_from_its_matrix(magic: tuple[Any, Any]) -> None:
    rng = np.random.default_rng(2)
    known = KnownMatrix(KERNELS[1], magic[0], MatrixMemory(ROWS), 1)
    rows = np.flatnonzero(rng.random(ROWS) < 0.8)
    K, values = known.of(rows)
    assert values > 0
    first = K.copy()
    part = np.flatnonzero(rng.random(len(rows)) < 0.6)
    K, values = known.of(rows[part])
    assert values == 0
    assert_array_equal(K, first[np.ix_(part, part)])
    K, values = known.of(rows)  # more than the last set had
    assert values > 0
    assert_array_equal(K, first)


def test_the_end_needs_no_product_where_all_rows_are_one_set(
    magic: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(whole, "SMALL", 100)
    X, y = magic
    kernel = Kernel("rbf", 20.0)  # most rows are support vectors
    solution, values = whole.solve_whole(kernel, X, dual_of(y, 4.0), equality=True)
    assert np.count_nonzero(solution.beta) > 0.8 * ROWS
    assert values < 0.9 * ROWS**2
    K = kernel_matrix(kernel, X, dtype=np.float64)
    assert np.abs(K @ solution.beta + dual_of(y, 4.0).p - solution.gradient).max() < 1e-4


def test_what_a_matrix_let_go_is_the_memory_of_the_next(magic: tuple[Any, Any]) -> None:
    memory = MatrixMemory(ROWS)
    known = KnownMatrix(KERNELS[0], magic[0], memory, 1)
    K, _ = known.of(np.arange(ROWS))
    other = memory.take()
    assert not np.shares_memory(other, K)
    known.forget()
    known.forget()
    again = memory.take()
    assert np.shares_memory(again, K)
    assert not np.shares_memory(again, memory.take())
