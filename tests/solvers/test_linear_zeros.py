"""Dense rows that are mostly zeros are taken in CSR: the same answers, and the rows themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from dcsvm_dask.kernels import is_sparse
from dcsvm_dask.solvers import solve_cutting, solve_linear
from dcsvm_dask.solvers.linear import zeros
from dcsvm_dask.tasks import Classification


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have small rows looked at, too."""
    monkeypatch.setattr(zeros, "_LEAST_VALUES", 1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_values_and_their_places_are_kept(small: None, dtype: Any) -> None:
    rng = np.random.default_rng(0)
    X = np.where(rng.random((57, 31)) < 0.2, rng.standard_normal((57, 31)), 0.0).astype(dtype)
    X[3] = 0.0
    X[-1, -1] = 2.0
    found = zeros.without_zeros(X)
    assert is_sparse(found)
    assert found.dtype == dtype
    assert found.indices.dtype == np.int32
    np.testing.assert_array_equal(found.toarray(), X)
    assert found.nnz == np.count_nonzero(X)


def test_rows_with_many_values_stay_as_they_are(small: None) -> None:
    X = np.ones((10, 4), np.float32)
    X[:, 0] = 0.0
    assert zeros.without_zeros(X) is X
    csr = sparse.csr_array(np.eye(10, dtype=np.float32))
    assert zeros.without_zeros(csr) is csr


def test_small_rows_stay_as_they_are() -> None:
    X = np.eye(100, dtype=np.float32)
    assert zeros.without_zeros(X) is X


def test_rows_of_zeros_alone(small: None) -> None:
    found = zeros.without_zeros(np.zeros((5, 3), np.float32))
    assert is_sparse(found)
    assert found.shape == (5, 3)
    assert found.nnz == 0


def test_solvers_give_the_bits_of_csr(small: None, shared_data: Callable[[str], Any]) -> None:
    data = shared_data("w8a")  # a twentieth of its values is not zero
    dense, y = data["X_train"][:500].astype(np.float32), data["y_train"][:500].astype(np.float64)
    csr = sparse.csr_array(dense)
    dual = Classification().dual(y, np.ones(len(y)))
    assert np.array_equal(solve_linear(dense, y, 1.0).w, solve_linear(csr, y, 1.0).w)
    of_dense, of_csr = (solve_cutting(one, dual, tol=1e-2) for one in (dense, csr))
    assert np.array_equal(of_dense.w, of_csr.w)
