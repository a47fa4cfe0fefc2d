"""Which rows of a product need float64, by the errors that a few of them show."""

from __future__ import annotations

import numpy as np
import pytest

from dcsvm_dask.kernels import Kernel, kernel_product, product_error_bound
from dcsvm_dask.kernels.sampled_errors import ROWS, in_question, sample, seen_share

N, FEATURES = 1500, 1200
KERNEL = Kernel("rbf", 1 / FEATURES)


@pytest.fixture(scope="module")
def wide():
    """Return rows of many features, weights, and their sums in float64."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, FEATURES)).astype(np.float32)
    v = rng.choice([-1.0, 1.0], N) * rng.uniform(1, 2, N)
    return X, v, kernel_product(KERNEL, X, X, v, dtype=np.float64)[0]


def test_rows_whose_estimate_is_too_careful_stay_in_float32(wide) -> None:
    X, v, exact = wide
    bound = product_error_bound(KERNEL, X, X, v)
    tol = 0.3 * bound.min()
    found, computed = kernel_product(KERNEL, X, X, v, tol=tol)
    assert abs(found - exact).max() <= tol
    assert computed == (N + ROWS) * N


def test_rows_whose_errors_are_above_the_tolerance_are_summed_in_float64(wide) -> None:
    X, v, exact = wide
    rough, _ = kernel_product(KERNEL, X, X, v)
    tol = 0.5 * abs(rough - exact).max()
    found, computed = kernel_product(KERNEL, X, X, v, tol=tol)
    assert abs(found - exact).max() <= tol
    assert computed == 2 * N * N


def test_groups_are_in_question_together(wide) -> None:
    X, v, _ = wide
    groups = np.array([0, N // 3, N])
    exact, _ = kernel_product(KERNEL, X, X, v, groups=groups, dtype=np.float64)
    tol = 0.3 * product_error_bound(KERNEL, X, X, v).min()
    found, _ = kernel_product(KERNEL, X, X, v, groups=groups, tol=tol)
    assert abs(found - exact).sum(axis=1).max() <= tol


def test_a_sample_is_spread_over_many_rows_and_there_is_none_of_few() -> None:
    rows = np.arange(7, 7 + 10 * ROWS)
    bounds = np.ones(rows[-1] + 1)
    some = sample(rows, bounds)
    assert len(some) == ROWS
    assert np.diff(some).min() == np.diff(some).max() == 10
    assert len(sample(rows[:ROWS], bounds)) == 0


def test_rows_without_sums_say_nothing_of_the_errors_of_others() -> None:
    rows, bounds = np.arange(100 * ROWS), np.full(100 * ROWS, np.inf)
    bounds[:ROWS] = 1.0
    assert len(sample(rows, bounds)) == 0  # too few have sums
    bounds[: 10 * ROWS] = 1.0
    assert sample(rows, bounds).max() < 10 * ROWS


def test_a_share_of_the_bounds_is_neither_above_one_nor_nothing() -> None:
    bounds = np.full(ROWS, 1e-3)
    assert seen_share(bounds, bounds) == 1.0
    assert seen_share(bounds, 0.1 * bounds) == pytest.approx(0.2)
    assert 0 < seen_share(bounds, np.zeros(ROWS)) < 0.01
    assert seen_share(bounds[:0], bounds[:0]) == 1.0


def test_sums_that_are_in_no_doubt_are_not_in_question() -> None:
    sums, bounds = np.array([0.0, 5.0, 1.1]), np.array([0.2, 0.2, 0.2])
    doubt = np.full(3, -1.0), np.full(3, 1.0)
    np.testing.assert_array_equal(in_question(sums, bounds, 0.1, doubt), [0, 2])
    np.testing.assert_array_equal(in_question(sums, bounds, 0.1), [0, 1, 2])
    assert len(in_question(sums, bounds, 0.3)) == 0
