"""Fused products against dense float64 ones."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels import Kernel, kernel_product, product_error_bound


@pytest.fixture
def weights() -> Any:
    """Signed weights, a third of them zero."""

    def make(n: int) -> Any:
        rng = np.random.default_rng(n)
        return rng.uniform(-32, 32, n) * (rng.random(n) < 0.67)

    return make


@pytest.mark.one_quick
def test_in_float64(kernel: Kernel, rows: Any, exact: Any, weights: Any) -> None:
    X, Z = rows[:290], rows[20:]
    v = weights(Z.shape[0])
    K = exact(kernel, X, Z)
    f, computed = kernel_product(kernel, X, Z, v, dtype=np.float64)
    np.testing.assert_allclose(f, K @ v, rtol=0, atol=1e-14 * (abs(K) @ abs(v)).max())
    # The linear kernel has sums without kernel values.
    assert computed == (0 if kernel.is_linear else 290 * np.count_nonzero(v))


@pytest.mark.one_quick
def test_in_float32_within_the_bound(kernel: Kernel, rows: Any, exact: Any, weights: Any) -> None:
    X, Z = rows[:290], rows[20:]
    v = weights(Z.shape[0])
    f, _ = kernel_product(kernel, X, Z, v)
    error = abs(f - exact(kernel, X, Z) @ v)
    assert np.all(error <= product_error_bound(kernel, X, Z, v))


def test_a_sum_for_each_group(kernel: Kernel, rows: Any, exact: Any, weights: Any) -> None:
    X, Z = rows[:260], rows[20:]
    m = Z.shape[0]
    v = weights(m)
    v[220:230] = 0
    groups = np.array([0, 3, 3, 160, 220, 230, m - 1, m])
    f, computed = kernel_product(kernel, X, Z, v, groups=groups, dtype=np.float64)
    K = exact(kernel, X, Z)
    expected = np.stack([K[:, a:b] @ v[a:b] for a, b in pairwise(groups)], 1)
    np.testing.assert_allclose(f, expected, rtol=0, atol=1e-14 * (abs(K) @ abs(v)).max())
    # The linear kernel has sums without kernel values.
    assert computed == (0 if kernel.is_linear else 260 * np.count_nonzero(v))


def test_groups_add_up_with_a_budget(covtype: Any, weights: Any) -> None:
    v = weights(6000)
    groups = np.array([0, 100, 3000, 6000])
    kernel = Kernel("rbf", 32.0)
    whole, computed = kernel_product(kernel, covtype[:512], covtype, v, budget=1e-3)
    parts, again = kernel_product(kernel, covtype[:512], covtype, v, budget=1e-3, groups=groups)
    np.testing.assert_allclose(parts.sum(axis=1), whole, rtol=0, atol=1e-12 * abs(v).sum())
    assert computed == again


@given(
    n=st.integers(1, 600),
    m=st.integers(1, 1300),
    d=st.integers(1, 70),
    seed=st.integers(0, 2**32 - 1),
    density=st.sampled_from([0.0, 0.02, 0.5, 1.0]),
    how=st.sampled_from(["dense", "sparse"]),
    gamma=st.sampled_from([0.01, 1.0, 100.0]),
)
@settings(max_examples=60, deadline=None)
def test_any_shape(
    n: int, m: int, d: int, seed: int, density: float, how: str, gamma: float
) -> None:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)).astype(np.float32) * (rng.random((n, d)) < 0.6)
    Z = rng.standard_normal((m, d)).astype(np.float32)
    Z[:, rng.random(d) < 0.2] = 0
    v = rng.standard_normal(m) * (rng.random(m) < density)
    groups = np.array([0, *np.sort(rng.integers(0, m + 1, 4)), m])
    squares = ((X[:, None].astype(np.float64) - Z) ** 2).sum(axis=2)
    weighted = np.exp(-gamma * squares) * v
    expected = np.stack([weighted[:, a:b].sum(axis=1) for a, b in pairwise(groups)], 1)
    A, B = (sparse.csr_array(X), sparse.csr_array(Z)) if how == "sparse" else (X, Z)
    f, _ = kernel_product(Kernel("rbf", gamma), A, B, v, groups=groups, dtype=np.float64)
    np.testing.assert_allclose(f, expected, rtol=0, atol=1e-12)
    f, _ = kernel_product(Kernel("rbf", gamma), A, B, v, groups=groups, budget=1e-7)
    error = abs(f - expected).sum(axis=1)
    assert np.all(error <= 1e-7 + 1e-5 * np.sqrt(v @ v))


def test_a_product_is_the_same_every_time(rows: Any, weights: Any) -> None:
    X, v = rows, weights(rows.shape[0])
    first, _ = kernel_product(Kernel("rbf", 0.5), X, X, v, budget=1e-4, tol=1e-5)
    again, _ = kernel_product(Kernel("rbf", 0.5), X, X, v, budget=1e-4, tol=1e-5)
    np.testing.assert_array_equal(first, again)


def test_threads_do_not_disturb_each_other(covtype: Any, weights: Any) -> None:
    v, kernel = weights(6000), Kernel("rbf", 2.0)
    parts = [covtype[start : start + 512] for start in range(0, 6000, 512)]
    alone = [kernel_product(kernel, part, covtype, v)[0] for part in parts]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda part: kernel_product(kernel, part, covtype, v)[0], parts))
    np.testing.assert_array_equal(np.concatenate(together), np.concatenate(alone))


def test_bad_arguments_are_refused() -> None:
    X = np.ones((3, 2), dtype=np.float32)
    with pytest.raises(InputError, match=r"v has shape \(2,\)"):
        kernel_product(Kernel(), X, X, np.ones(2))
    for groups in ([0, 2], [1, 3], [0, 2, 1, 3], []):
        with pytest.raises(InputError, match="groups"):
            kernel_product(Kernel(), X, X, np.ones(3), groups=np.array(groups, dtype=np.int64))


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("side", ["rows", "columns"])
def test_rows_that_are_not_finite_are_refused(value: float, side: str) -> None:
    good = np.random.default_rng(0).random((300, 20), dtype=np.float32)
    bad = good.copy()
    bad[17, 3] = value
    X, Z = (bad, good) if side == "rows" else (good, bad)
    with pytest.raises(InputError, match="not finite"), np.errstate(invalid="ignore"):
        kernel_product(Kernel("rbf"), X, Z, np.ones(300))


def test_overflow_is_refused() -> None:
    X = np.full((3, 2), 1e6, dtype=np.float32)
    with pytest.raises(InputError, match="lower gamma or degree"):
        kernel_product(Kernel("poly", degree=9), X, X, np.ones(3))
