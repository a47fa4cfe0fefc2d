"""Blocks of the kernel matrix against scikit-learn in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels import Kernel, columns, counted_kernel_matrix, kernel_matrix


@pytest.mark.one_quick
def test_values_in_float64(kernel: Kernel, rows: Any, exact: Any) -> None:
    X, Z = rows[:290], rows[150:]
    expected = exact(kernel, X, Z)
    K = kernel_matrix(kernel, X, Z, dtype=np.float64)
    assert K.dtype == np.float64
    np.testing.assert_allclose(K, expected, rtol=0, atol=1e-14 * max(1, abs(expected).max()))


def test_values_in_float32(kernel: Kernel, rows: Any, exact: Any) -> None:
    X, Z = rows[:290], rows[150:]
    expected = exact(kernel, X, Z)
    K = kernel_matrix(kernel, X, Z)
    assert K.dtype == np.float32
    np.testing.assert_allclose(K, expected, rtol=0, atol=2.0**-18 * max(1, abs(expected).max()))


def test_float64_tiles_leave_one_rounding(kernel: Kernel, rows: Any, exact: Any) -> None:
    X, Z = rows[:290], rows[150:]
    K = kernel_matrix(kernel, X, Z, tile_dtype=np.float64)
    assert K.dtype == np.float32
    np.testing.assert_allclose(K, exact(kernel, X, Z), rtol=2.0**-23, atol=1e-13)


@pytest.mark.one_quick
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_one_set_of_rows_gives_a_symmetric_matrix(
    kernel: Kernel, rows: Any, exact: Any, dtype: Any
) -> None:
    X = rows[:601]
    K = kernel_matrix(kernel, X, dtype=dtype)
    np.testing.assert_array_equal(K, K.T)
    expected = exact(kernel, X, X)
    np.testing.assert_allclose(K, expected, rtol=0, atol=2.0**-18 * max(1, abs(expected).max()))
    if kernel.is_shift_invariant:
        np.testing.assert_array_equal(np.diag(K), 1)


def test_symmetric_with_float64_tiles(rows: Any) -> None:
    X = rows[:601]
    K = kernel_matrix(Kernel("rbf", 0.5), X, tile_dtype=np.float64)
    np.testing.assert_array_equal(
        K, kernel_matrix(Kernel("rbf", 0.5), X, dtype=np.float64).astype(np.float32)
    )


@pytest.mark.parametrize("gamma", [2.0**-10, 1.0, 32.0, 1024.0, 1e8])
@pytest.mark.parametrize("name", ["rbf", "laplacian"])
def test_gamma_does_not_spoil_float32(covtype: Any, exact: Any, name: str, gamma: float) -> None:
    kernel = Kernel(name, gamma)
    X, Z = covtype[:512], covtype[::20]
    error = abs(kernel_matrix(kernel, X, Z) - exact(kernel, X, Z))
    assert error.max() <= 5 * 2.0**-20


@pytest.mark.parametrize("tile", [np.float32, np.float64])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_nothing_is_subnormal_nor_nearly_so(covtype: Any, dtype: Any, tile: Any) -> None:
    """Products of a value with a small step are to be normal in float32, too."""
    for gamma in (1.0, 32.0, 1024.0, 1e8):
        for name in ("rbf", "laplacian"):
            kernel = Kernel(name, gamma)
            K = kernel_matrix(kernel, covtype[:256], covtype[-1024:], dtype=dtype, tile_dtype=tile)
            assert K[K != 0.0].min(initial=1.0) >= 0.99 * 2.0**-100
            assert (K == 0.0).any() == (gamma > 1.0)


@pytest.mark.one_quick
@pytest.mark.parametrize("name", ["rbf", "laplacian"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_far_pairs_may_be_left_at_zero(covtype: Any, name: str, dtype: Any) -> None:
    kernel, X = Kernel(name, 32.0), covtype[:3000]
    for Z in (None, covtype[2000:4000]):
        whole = kernel_matrix(kernel, X, Z, dtype=dtype)
        near = kernel_matrix(kernel, X, Z, dtype=dtype, least=1e-7)
        zero = near == 0
        assert np.mean(zero) > 0.2
        assert whole[zero].max() < 1e-7
        tolerance = 1e-5 if dtype is np.float32 else 1e-12
        np.testing.assert_allclose(near[~zero], whole[~zero], rtol=0, atol=tolerance)


@pytest.mark.parametrize("least", [0.0, 1e-7])
def test_memory_that_was_used_before_gives_the_same_matrix(covtype: Any, least: float) -> None:
    kernel, X = Kernel("rbf", 32.0), covtype[:1500]
    memory = np.full(1500**2 + 7, 9.0, np.float32)
    found, computed = counted_kernel_matrix(kernel, X, least=least, memory=memory)
    assert np.shares_memory(found, memory)
    fresh, fresh_computed = counted_kernel_matrix(kernel, X, least=least)
    np.testing.assert_array_equal(found, fresh)
    assert computed == fresh_computed


def test_exponents_never_rise_above_zero(covtype: Any) -> None:
    X = np.repeat(covtype[:40] * np.float32(100), 8, axis=0)
    assert kernel_matrix(Kernel("rbf", 1e-3), X, X[::-1].copy()).max() <= 1


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array, sparse.csr_matrix])
def test_empty_sides(make: Any) -> None:
    X = make(np.ones((3, 2), dtype=np.float32))
    none = make(np.ones((0, 2), dtype=np.float32))
    assert kernel_matrix(Kernel(), none).shape == (0, 0)
    assert kernel_matrix(Kernel(), X, none).shape == (3, 0)
    assert kernel_matrix(Kernel(), none, X).shape == (0, 3)
    assert kernel_matrix(Kernel(), none, X, least=0.1).shape == (0, 3)


def test_sparse_rows_without_a_value(exact: Any) -> None:
    X = sparse.csr_array((5, 7), dtype=np.float32)
    np.testing.assert_array_equal(kernel_matrix(Kernel("laplacian"), X), np.ones((5, 5)))


def test_long_sparse_rows_come_in_smaller_tiles(
    news20: Any, exact: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, kernel = news20[:200], Kernel("rbf", 0.5)
    expected = exact(kernel, X, X)
    for limit in (1, 10_000, 100_000):
        monkeypatch.setattr(columns, "TILE_VALUES", limit)
        ranges = list(columns.tile_ranges(X))
        assert [start for start, _ in ranges[1:]] == [stop for _, stop in ranges[:-1]]
        assert len(ranges) > 2
        np.testing.assert_allclose(kernel_matrix(kernel, X), expected, rtol=0, atol=2.0**-20)


def test_unsorted_and_repeated_entries_of_sparse_rows(exact: Any) -> None:
    parts = (np.array([1, 2, 3, 4], np.float32), np.array([3, 0, 3, 1]), np.array([0, 3, 4]))
    X = sparse.csr_array(parts, shape=(2, 4))
    K = kernel_matrix(Kernel("linear"), X)
    np.testing.assert_array_equal(K, [[20, 0], [0, 16]])


def test_rows_that_do_not_fit_are_refused() -> None:
    X = np.ones((3, 2), dtype=np.float32)
    with pytest.raises(InputError, match="2 features and Z has 5"):
        kernel_matrix(Kernel(), X, np.ones((3, 5), dtype=np.float32))
    with pytest.raises(InputError, match="sparse"):
        kernel_matrix(Kernel(), X, sparse.csr_array(X))
    with pytest.raises(InputError, match="1 axes"):
        kernel_matrix(Kernel(), X[0])
