"""The active rows: what is let go, and the copies of the kernel matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dcsvm_dask.solvers.program import QuadraticProgram
from dcsvm_dask.solvers.smo.active import ActiveSet, pays
from dcsvm_dask.solvers.smo.columns import add_columns, kernel_times, take
from dcsvm_dask.tasks import svc_dual

N = 400


def _symmetric(dtype: Any = np.float32) -> Any:
    A = np.random.default_rng(0).random((N, N))
    return (A + A.T).astype(dtype)


def _active(K: Any) -> ActiveSet:
    problem = QuadraticProgram.of(N, svc_dual(np.ones(N), 1.0), None, None, False)
    return ActiveSet(K, np.ones(N, np.float32), problem)


def test_copies_follow_the_rows_whatever_came_before() -> None:
    K = _symmetric()
    active = _active(K)
    beta = np.zeros(N)
    # At 0 all variables can only rise: rows are active up to a gradient of the margin.
    few = np.where(np.arange(N) % 10 == 0, -1.0, 5.0)
    active.begin(beta, few, 0.0, 1.0, steps=10**6)
    np.testing.assert_array_equal(active.rows, np.arange(0, N, 10))
    np.testing.assert_array_equal(active.K, K[::10, ::10])
    # All rows, no copy; then more rows than the buffer of the first copy holds.
    many = np.where(np.arange(N) % 4 == 0, 2.0, -1.0)
    active.begin(beta, many, 0.0, 9.0, steps=10**6)
    assert active.K is K
    active.narrow(beta, 1.0, steps=10**6)
    kept = np.flatnonzero(np.arange(N) % 4 != 0)
    np.testing.assert_array_equal(active.rows, kept)
    np.testing.assert_array_equal(active.K, K[np.ix_(kept, kept)])
    # Within the buffer.
    active.G[5:] = 3.0
    active.beta[7] = 0.25
    active.narrow(beta, 1.0, steps=10**6)
    np.testing.assert_array_equal(active.rows, kept[:5])
    np.testing.assert_array_equal(active.K, K[np.ix_(kept[:5], kept[:5])])
    assert beta[kept[7]] == 0.25


def test_a_copy_must_pay() -> None:
    assert not pays(50, 100, steps=49)
    assert pays(50, 100, steps=50)
    assert pays(75, 100, steps=10**9)
    assert not pays(76, 100, steps=10**9)


def test_free_rows_and_violators_stay_whatever_the_margin() -> None:
    K = _symmetric()
    active = _active(K)
    beta = np.zeros(N)
    beta[:20] = 0.5
    beta[20:40] = 1.0
    F = np.full(N, 7.0)
    F[30:40] = -7.0
    F[40:50] = -7.0
    active.begin(beta, F, 0.0, 1.0, steps=10**6)
    # Free; at the upper bound and pulled down; at 0 and pulled up.
    np.testing.assert_array_equal(active.rows, np.r_[0:30, 40:50])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_columns_are_summed_in_float64(dtype: Any) -> None:
    K = _symmetric(dtype)
    rng = np.random.default_rng(1)
    weights = np.where(rng.random(N) < 0.3, 1e6 * rng.standard_normal(N), 0.0)
    exact = K.astype(np.float64) @ weights
    np.testing.assert_allclose(kernel_times(K, weights), exact, rtol=1e-12, atol=1e-6)
    F = np.ones(N)
    add_columns(K, F, weights)
    np.testing.assert_allclose(F, 1.0 + exact, rtol=1e-12, atol=1e-6)
    np.testing.assert_array_equal(kernel_times(K, np.zeros(N)), np.zeros(N))


def test_take_within_its_own_buffer() -> None:
    K = _symmetric()
    first, second = np.array([1, 2, 5, 7, 11]), np.array([0, 3, 4])
    out = np.empty(25, np.float32)
    once = take(K, first, out)
    np.testing.assert_array_equal(once, K[np.ix_(first, first)])
    twice = take(once, second, out)
    np.testing.assert_array_equal(twice, K[np.ix_(first[second], first[second])])
