"""The k-d order: a permutation whose runs are compact."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dcsvm_dask.kernels import kd_order


def spread(X: Any, order: Any, run: int) -> float:
    """Mean squared distance of rows to the mean of their run."""
    runs = X[order[: len(order) // run * run]].reshape(-1, run, X.shape[1]).astype(np.float64)
    return float(((runs - runs.mean(axis=1, keepdims=True)) ** 2).sum(axis=2).mean())


@pytest.mark.parametrize("run", [32, 64, 256])
def test_runs_are_compact(covtype: Any, run: int) -> None:
    shuffled = covtype[np.random.default_rng(0).permutation(len(covtype))]
    before = spread(shuffled, np.arange(len(shuffled)), run)
    assert spread(shuffled, kd_order(shuffled), run) < 0.5 * before


@given(
    n=st.integers(0, 700),
    d=st.integers(1, 5),
    leaf=st.integers(1, 300),
    distinct=st.integers(1, 50),
    seed=st.integers(0, 2**32 - 1),
)
@settings(max_examples=80, deadline=None)
def test_it_is_a_permutation(n: int, d: int, leaf: int, distinct: int, seed: int) -> None:
    X = np.random.default_rng(seed).integers(0, distinct, (n, d)).astype(np.float32)
    order = kd_order(X, leaf)
    assert order.dtype == np.int64
    np.testing.assert_array_equal(np.sort(order), np.arange(n))
    np.testing.assert_array_equal(order, kd_order(X, leaf))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_first_cut_is_where_the_widest_feature_crosses_its_mean(dtype: Any) -> None:
    X = np.random.default_rng(5).standard_normal((1000, 4)).astype(dtype)
    X[:, 2] = np.where(X[:, 2] < 0.5, X[:, 2], 9.0)
    below = np.count_nonzero(X[:, 2] < X[:, 2].mean(dtype=np.float64))
    first = X[kd_order(X, leaf=1)[:below], 2]
    np.testing.assert_array_equal(np.sort(first), np.sort(X[:, 2])[:below])


def test_separate_groups_stay_apart() -> None:
    rng = np.random.default_rng(2)
    which = np.repeat(np.arange(8), 256)
    X = rng.random((2048, 3), dtype=np.float32) + 10 * np.stack(
        [which & 1, which & 2, which & 4], 1
    )
    X = X.astype(np.float32)
    mixed = rng.permutation(2048)
    found = which[mixed][kd_order(X[mixed])].reshape(8, 256)
    assert np.all(found == found[:, :1])


def test_outliers_do_not_make_the_tree_deep() -> None:
    X = np.exp(np.linspace(0, 80, 20000, dtype=np.float32))[:, None]
    order = kd_order(X, leaf=4)
    np.testing.assert_array_equal(np.sort(order), np.arange(20000))
    assert np.mean(np.abs(np.diff(order))) < 8


def test_sparse_rows_keep_their_order(a9a: Any) -> None:
    np.testing.assert_array_equal(kd_order(a9a), np.arange(a9a.shape[0]))
