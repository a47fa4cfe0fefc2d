"""Kernel matrix times matrix against dense float64 products."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels import Kernel, kernel_product, kernel_products, linear_sums, matrix
from dcsvm_dask.kernels.products import TILE


@pytest.fixture
def weights() -> Any:
    """Signed weights, half of them zero: dual_coef of many machines."""

    def make(m: int, q: int = 4) -> Any:
        rng = np.random.default_rng(m)
        return rng.uniform(-32, 32, (m, q)) * (rng.random((m, q)) < 0.5)

    return make


@pytest.mark.one_quick
def test_in_float64(kernel: Kernel, rows: Any, exact: Any, weights: Any) -> None:
    X, Z = rows[:290], rows[20:]
    V, K = weights(Z.shape[0]), exact(kernel, X, Z)
    found = kernel_products(kernel, X, Z, V, dtype=np.float64)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, K @ V, rtol=0, atol=1e-13 * (abs(K) @ abs(V)).max())


@pytest.mark.one_quick
def test_in_float32(kernel: Kernel, rows: Any, exact: Any, weights: Any) -> None:
    X, Z = rows[:290], rows[20:]
    V, K = weights(Z.shape[0]), exact(kernel, X, Z)
    found = kernel_products(kernel, X, Z, V)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, K @ V, rtol=0, atol=2e-6 * (abs(K) @ abs(V)).max())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("is_sparse", [False, True], ids=["dense", "csr"])
@pytest.mark.parametrize("name", ["rbf", "linear"])
def test_above_a_tile_threads_do_not_change_it(
    dtype: Any, is_sparse: bool, name: str, weights: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matrix, "LITTLE_WORK", 0)
    monkeypatch.setattr(linear_sums, "LITTLE", 0)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2 * TILE + 1, 7)).astype(np.float32) * (rng.random(7) < 0.7)
    Z = rng.standard_normal((TILE + 3, 7)).astype(np.float32)
    V, kernel = weights(len(Z), 3), Kernel(name, 0.3)
    argument = ((X[:, None].astype(np.float64) - Z) ** 2).sum(axis=2)
    if not kernel.is_shift_invariant:
        argument = X.astype(np.float64) @ Z.T.astype(np.float64)
    A, B = (sparse.csr_array(X), sparse.csr_array(Z)) if is_sparse else (X, Z)
    found = kernel_products(kernel, A, B, V, dtype=dtype)
    close = 1e-9 if dtype == np.float64 else 5e-3
    np.testing.assert_allclose(found, kernel.value(argument) @ V, rtol=0, atol=close)
    shared = kernel_products(kernel, A, B, V, dtype=dtype, threads=3)
    np.testing.assert_array_equal(found, shared)
    one, _ = kernel_product(kernel, A, B, V[:, 0], dtype=dtype)
    np.testing.assert_array_equal(
        one, kernel_product(kernel, A, B, V[:, 0], dtype=dtype, threads=3)[0]
    )


@pytest.mark.one_quick
def test_a_sum_for_each_group(kernel: Kernel, rows: Any, exact: Any, weights: Any) -> None:
    X, Z = rows[:290], rows[20:]
    m = Z.shape[0]
    V, K = weights(m), exact(kernel, X, Z)
    groups = np.array([0, 3, 3, 160, min(m, TILE + 20), m])
    found = kernel_products(kernel, X, Z, V, groups=groups, dtype=np.float64)
    expected = np.stack([K[:, a:b] @ V[a:b] for a, b in pairwise(groups)], axis=1)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13 * (abs(K) @ abs(V)).max())


@pytest.mark.parametrize("is_sparse", [False, True], ids=["dense", "csr"])
@pytest.mark.parametrize(("n", "m", "q"), [(0, 3, 2), (3, 0, 2), (0, 0, 1), (3, 2, 0)])
def test_nothing_adds_up_to_nothing(
    kernel: Kernel, n: int, m: int, q: int, is_sparse: bool
) -> None:
    X, Z = np.ones((n, 4), dtype=np.float32), np.ones((m, 4), dtype=np.float32)
    A, B = (sparse.csr_array(X), sparse.csr_array(Z)) if is_sparse else (X, Z)
    np.testing.assert_array_equal(kernel_products(kernel, A, B, np.ones((m, q))), np.zeros((n, q)))


def test_bad_arguments_are_refused() -> None:
    X = np.ones((3, 2), dtype=np.float32)
    for V in (np.ones(3), np.ones((2, 3)), np.ones((3, 1, 1))):
        with pytest.raises(InputError, match=r"V has shape \(.*give a row for each of 3 rows"):
            kernel_products(Kernel(), X, X, V)
    with pytest.raises(InputError):
        kernel_products(Kernel(), X, X[:, :1], np.ones((3, 1)))
    with pytest.raises(InputError):
        kernel_products(Kernel(), X, sparse.csr_array(X), np.ones((3, 1)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_that_are_not_finite_are_refused(dtype: Any) -> None:
    good = np.random.default_rng(0).random((30, 5), dtype=np.float32)
    bad = good.copy()
    bad[17, 3] = np.nan
    for X, Z in ((bad, good), (good, bad)):
        with pytest.raises(InputError, match="not finite"), np.errstate(invalid="ignore"):
            kernel_products(Kernel(), X, Z, np.ones((30, 2)), dtype=dtype)


def test_overflow_is_refused() -> None:
    X = np.full((3, 2), 1e6, dtype=np.float32)
    with (
        pytest.raises(InputError, match="lower gamma or degree"),
        np.errstate(over="ignore", invalid="ignore"),
    ):
        kernel_products(Kernel("poly", degree=9), X, X, np.ones((3, 1)))
