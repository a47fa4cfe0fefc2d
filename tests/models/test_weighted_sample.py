"""Rows that stand for those of other blocks."""

from __future__ import annotations

import numpy as np
import pytest

from dcsvm_dask.kernels import Kernel
from dcsvm_dask.models.weighted_sample import (
    MOST,
    SAMPLE,
    sample_of,
    weighted_sample,
    weights_of_sample,
)


def test_every_class_has_its_share_of_the_sample() -> None:
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1, 2], [20_000, 9_000, 1_000])
    rows = np.sort(rng.permutation(len(codes))[:24_000])
    drawn = sample_of(codes, np.full(len(codes), 0.3), rows, 7)
    assert len(drawn) == len(np.unique(drawn)) == SAMPLE
    assert np.isin(drawn, rows).all()
    share = np.bincount(codes[rows]) / len(rows) * SAMPLE
    assert abs(np.bincount(codes[drawn]) - share).max() <= 1
    again, other = (sample_of(codes, np.ones(len(codes)), rows, seed) for seed in (7, 8))
    np.testing.assert_array_equal(drawn, again)
    assert (drawn != other).any()
    # Few rows are all taken.
    assert sorted(sample_of(codes, np.ones(len(codes)), rows[:50], 7)) == rows[:50].tolist()


def test_heavy_classes_have_more_of_the_sample_and_rows_of_no_weight_nothing() -> None:
    codes = np.repeat([0, 1, 2], [18_000, 2_000, 50])
    weight = np.array([1.0, 9.0, 1000.0])[codes]
    weight[::2] = 0
    drawn = sample_of(codes, weight, np.arange(len(codes)), 0)
    assert (weight[drawn] > 0).all()
    assert np.bincount(codes[drawn])[2] == 25
    assert np.bincount(codes[drawn])[0] == pytest.approx(np.bincount(codes[drawn])[1], abs=2)


@pytest.mark.parametrize(("largest", "standing"), [(300, 150), (5_000, MOST)])
def test_only_kernels_that_reach_other_blocks_have_them(largest: int, standing: int) -> None:
    rng = np.random.default_rng(1)
    labels = np.repeat(np.arange(4), SAMPLE // 4)
    X = (rng.standard_normal((SAMPLE, 3)) + 10 * labels[:, None]).astype(np.float32)
    assert len(weighted_sample(Kernel("rbf", 1.0), X, labels, largest)) == 0
    for smooth in (Kernel("rbf", 1e-4), Kernel("linear")):
        found = weighted_sample(smooth, X, labels, largest)
        assert len(found) == len(np.unique(found)) == standing
        assert np.ptp(np.bincount(labels[found])) <= 1


def test_they_weigh_what_they_stand_for() -> None:
    codes = np.array([0, 0, 1, 0])
    weight = weights_of_sample(codes, np.array([30.0, 7.0, 9.0]))
    np.testing.assert_array_equal(weight, [10.0, 10.0, 7.0, 10.0])
    assert weights_of_sample(codes[:0], np.ones(2)).shape == (0,)
