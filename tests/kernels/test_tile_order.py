"""The order of rows for products of tiles: outliers are last."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.preprocessing import StandardScaler

from dcsvm_dask.kernels import Kernel, kd_order, tile_order
from dcsvm_dask.kernels.columns import row_tile, tile_ranges, widest_in_float32
from dcsvm_dask.kernels.tiles import PRODUCTS, SPARSE

RBF = Kernel("rbf", gamma=2 / 123)


@pytest.fixture(scope="module")
def tailed(shared_data: Callable[[str], Any]) -> np.ndarray:
    """Categories in one-hot codes, standardised: those with rare ones lie far out."""
    X = shared_data("a9a")["X_train"][:6000]
    return np.asarray(StandardScaler().fit_transform(X), np.float32)


def by_one_product(X: Any, order: Any) -> float:
    """Return the share of rows whose tile meets others by one product in float32."""
    X, found = X[order], []
    for start, stop in tile_ranges(X):
        tile = row_tile(RBF, X[start:stop], np.float32)
        if tile.how in (PRODUCTS, SPARSE) and tile.dtype == np.float32:
            found.append(stop - start)
    return sum(found) / X.shape[0]


@pytest.mark.parametrize("as_csr", [False, True])
def test_outliers_have_tiles_of_their_own(tailed: np.ndarray, as_csr: bool) -> None:
    X = sparse.csr_array(tailed - tailed.min(axis=0)) if as_csr else tailed
    order = tile_order(RBF, X)
    np.testing.assert_array_equal(np.sort(order), np.arange(len(tailed)))
    np.testing.assert_array_equal(order, tile_order(RBF, X))
    assert by_one_product(X, kd_order(X)) < 0.3
    assert by_one_product(X, order) > 0.8


def test_without_outliers_it_is_that_of_the_tree(tailed: np.ndarray) -> None:
    wide = Kernel("rbf", gamma=1e-6)
    np.testing.assert_array_equal(tile_order(wide, tailed), kd_order(tailed))


def test_of_other_kernels_rows_stay_where_they_are(tailed: np.ndarray) -> None:
    np.testing.assert_array_equal(tile_order(Kernel("poly"), tailed), np.arange(len(tailed)))


def test_outliers_are_found_far_from_zero() -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(-4, 5, (3000, 80)).astype(np.float32) + np.float32(2.0**20)
    X[::10, 0] += 2048.0
    kernel = Kernel("rbf", gamma=1e-4)
    distances = np.linalg.norm(X - X.mean(axis=0, dtype=np.float64), axis=1)
    outliers = np.flatnonzero(distances > widest_in_float32(kernel, X))
    np.testing.assert_array_equal(outliers, np.arange(0, 3000, 10))
    np.testing.assert_array_equal(np.sort(tile_order(kernel, X)[-300:]), outliers)


def test_squares_that_float32_does_not_hold() -> None:
    X = np.random.default_rng(0).standard_normal((3000, 80)).astype(np.float32)
    X[::10, :2] = 1e20
    np.testing.assert_array_equal(tile_order(RBF, X), kd_order(X))
