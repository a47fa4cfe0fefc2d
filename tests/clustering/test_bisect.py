"""Blocks by halving: all rows, none twice, none too large."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dcsvm_dask.clustering import bisect


@given(
    weights=st.lists(st.integers(1, 256), min_size=1, max_size=120).map(np.array),
    cap=st.integers(1, 2000),
    distinct=st.integers(1, 120),
)
def test_weights_of_blocks_are_within_the_cap(weights: np.ndarray, cap: int, distinct: int) -> None:
    rng = np.random.default_rng(7)
    X = rng.random((distinct, 3), dtype=np.float32)[np.arange(len(weights)) % distinct]
    blocks = bisect(X, cap, rng, weights)
    assert np.array_equal(np.sort(np.concatenate(blocks)), np.arange(len(weights)))
    for block in blocks:
        assert len(block) == 1 or weights[block].sum() <= cap
        assert np.array_equal(block, np.sort(block))


@pytest.mark.parametrize("weighted", [False, True])
def test_blocks_are_nearly_of_equal_weight_and_compact(weighted: bool) -> None:
    rng = np.random.default_rng(3)
    X = rng.random((4096, 2), dtype=np.float32)
    weights = rng.integers(1, 9, len(X)) if weighted else None
    sizes = np.ones(len(X)) if weights is None else weights
    blocks = bisect(X, sizes.sum() / 15, rng, weights)
    assert len(blocks) == 16
    assert all(abs(sizes[block].sum() * 16 / sizes.sum() - 1) < 0.02 for block in blocks)
    spread = np.sum([X[block].var(axis=0).sum() * len(block) for block in blocks]) / len(X)
    assert spread < 0.2 * X.var(axis=0).sum()
