"""Features that are fixed in the rows of a tile, on real rows with categories."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dcsvm_dask.kernels import Kernel, counted_kernel_matrix, kernel_product, product_error_bound
from dcsvm_dask.kernels.columns import row_tile
from dcsvm_dask.kernels.tiles import DenseTile
from dcsvm_dask.kernels.varying import varying_features
from dcsvm_dask.kernels.whole_numbers import small_whole_numbers

# A run of rows that lie close together, and rows of other categories with them.
TILE = slice(1024, 1280)


@pytest.mark.one_quick
def test_of_categories_few_vary(covtype: Any) -> None:
    rows = covtype[TILE]
    vary = varying_features(rows)
    assert 0 < len(vary) < 0.5 * rows.shape[1]
    np.testing.assert_array_equal(vary, np.flatnonzero(np.ptp(rows, axis=0)))
    at_zero = varying_features(rows, at_zero=True)
    np.testing.assert_array_equal(at_zero, np.flatnonzero(rows.any(axis=0)))
    assert len(at_zero) > len(vary)  # they have a category


def test_rows_that_are_all_the_same_keep_a_feature(covtype: Any) -> None:
    assert varying_features(np.repeat(covtype[:1], 32, axis=0)).tolist() == [0]


@pytest.mark.parametrize("columns", [slice(0, 10), slice(0, 1)], ids=["vary", "one"])
def test_nothing_is_left_out_where_all_vary(covtype: Any, columns: slice) -> None:
    assert len(varying_features(covtype[TILE, columns])) == 0


def test_a_feature_that_differs_in_one_row_is_not_left_out(covtype: Any) -> None:
    rows = covtype[TILE].copy()
    fixed = np.setdiff1d(np.arange(rows.shape[1]), varying_features(rows))
    rows[77, fixed[-1]] += 1
    assert fixed[-1] in varying_features(rows)


@pytest.mark.one_quick
@pytest.mark.parametrize("wide", [False, True], ids=["narrow", "wide"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_are_those_of_all_features(
    kernel: Kernel, covtype: Any, exact: Any, dtype: Any, wide: bool
) -> None:
    # With every other row's measurements beside the categories, or with many of them.
    X = np.hstack([covtype, covtype[::-1, :10], covtype[::-1, :10]]) if wide else covtype
    tile, Z = np.ascontiguousarray(X[TILE]), np.ascontiguousarray(X[::3])
    made = row_tile(kernel, tile, dtype).rows
    assert isinstance(made, DenseTile)
    assert len(made.features)
    v = np.random.default_rng(0).normal(size=len(Z))
    found, _ = kernel_product(kernel, tile, Z, v, dtype=dtype)
    K = exact(kernel, tile, Z)
    if dtype == np.float64:
        np.testing.assert_allclose(found, K @ v, rtol=0, atol=1e-14 * (abs(K) @ abs(v)).max())
    else:
        assert np.all(abs(found - K @ v) <= product_error_bound(kernel, tile, Z, v))


@pytest.mark.parametrize("gamma", [0.5, 32.0])
def test_a_matrix_is_that_of_all_features(covtype: Any, exact: Any, gamma: float) -> None:
    kernel = Kernel("rbf", gamma)
    rows = covtype[:1000]
    K, _ = counted_kernel_matrix(kernel, rows)
    np.testing.assert_allclose(K, exact(kernel, rows, rows), rtol=0, atol=2e-5)
    np.testing.assert_array_equal(K, K.T)


def test_large_values_that_are_fixed_cost_no_digits(covtype: Any, exact: Any) -> None:
    rows = covtype[TILE].copy()
    fixed = np.setdiff1d(np.arange(rows.shape[1]), varying_features(rows))
    kernel = Kernel("rbf", 32.0)
    expected = exact(kernel, rows, rows)
    rows[:, fixed] = 1e6
    np.testing.assert_allclose(counted_kernel_matrix(kernel, rows)[0], expected, atol=2e-6)


def test_products_of_whole_numbers_stay_exact(covtype: Any) -> None:
    # Categories and measurements to a hundredth: too wide for float32 unless products are exact.
    rows = np.rint(100 * np.hstack([covtype, covtype[:, ::-1]])).astype(np.float32)
    kernel, tile = Kernel("rbf", 1e-2), np.ascontiguousarray(rows[TILE])
    made = row_tile(kernel, tile, np.float32, whole=lambda: small_whole_numbers(rows))
    assert made.exact
    assert isinstance(made.rows, DenseTile)
    assert len(made.rows.features)
    K, _ = counted_kernel_matrix(kernel, rows[:1500], tile)
    distances = ((rows[:1500, None].astype(float) - tile[None, :64]) ** 2).sum(axis=2)
    np.testing.assert_allclose(K[:, :64], np.exp(-1e-2 * distances), rtol=2e-5, atol=1e-29)
