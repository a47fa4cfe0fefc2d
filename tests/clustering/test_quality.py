"""Kernel mass between blocks against its definition, and its estimate against the truth."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dcsvm_dask.clustering import (
    InputPartition,
    balance,
    between_mass,
    locality,
    partition_quality,
    quality,
    theorem_bound,
)
from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels import Kernel

KERNELS = [
    Kernel("rbf", 0.3),
    Kernel("laplacian", 0.4),
    Kernel("linear"),
    Kernel("poly", 0.2, degree=3, coef0=0.5),
    Kernel("sigmoid", 0.1, coef0=-0.2),
]


@pytest.mark.one_quick
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_mass_is_the_sum_over_pairs(
    kernel: Kernel, rows: Any, reference: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quality, "_TILE_NUMBERS", 100_000)  # several tiles
    rng = np.random.default_rng(0)
    labels, weights = rng.integers(0, 7, rows.shape[0]), rng.random(rows.shape[0])
    labels[labels == 3] = 4  # an empty block
    ones = np.ones(len(labels))
    assert between_mass(kernel, rows, labels) == pytest.approx(
        reference.mass_between(kernel, rows, labels, ones), rel=1e-5
    )
    assert between_mass(kernel, rows, labels, weights) == pytest.approx(
        reference.mass_between(kernel, rows, labels, weights), rel=1e-5
    )
    whole = partition_quality(kernel, rows, labels)
    everything = reference.mass_between(kernel, rows, np.arange(len(labels)), ones)
    assert whole.share == pytest.approx(whole.between / everything, rel=1e-5)
    assert whole.between_error == whole.share_error == 0
    sample = quality.SampleMass(kernel, rows).rows(labels)
    exact = quality.row_mass(kernel, rows, labels)
    np.testing.assert_allclose(sample.between, exact.between, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(sample.total, exact.total, rtol=1e-5)


@pytest.mark.parametrize("gamma", [0.05, 0.5])
def test_a_sample_estimates_the_mass_within_its_standard_error(
    gamma: float, blobs: NDArray[np.float32]
) -> None:
    kernel, n = Kernel("rbf", gamma), len(blobs)
    labels = InputPartition.fit(blobs, 8, np.random.default_rng(0)).assign(blobs)
    truth = partition_quality(kernel, blobs, labels)
    estimates = []
    for seed in range(60):
        rows = np.random.default_rng(seed).permutation(n)[:300]
        estimates.append(partition_quality(kernel, blobs[rows], labels[rows], n_rows=n))
    for name in ("between", "share"):
        values = np.array([getattr(estimate, name) for estimate in estimates])
        errors = np.array([getattr(estimate, f"{name}_error") for estimate in estimates])
        assert abs(values.mean() - getattr(truth, name)) < 4 * values.std() / np.sqrt(60)
        # The jackknife errs on the large side.
        assert 0.8 * values.std() < errors.mean() < 1.6 * values.std()


def test_bounds_of_both_theorems(blobs: NDArray[np.float32], reference: Any) -> None:
    kernel, rng = Kernel("rbf", 0.3), np.random.default_rng(0)
    n = len(blobs)
    labels, C, support = rng.integers(0, 4, n), rng.uniform(0.5, 3, n), rng.random(n) < 0.2
    ones = np.ones(n)
    whole = theorem_bound(kernel, blobs, labels, 3.0)
    assert whole == pytest.approx(
        4.5 * reference.mass_between(kernel, blobs, labels, ones), rel=1e-5
    )
    weighted = theorem_bound(kernel, blobs, labels, C)
    assert weighted == pytest.approx(
        0.5 * reference.mass_between(kernel, blobs, labels, C), rel=1e-5
    )
    some = theorem_bound(kernel, blobs, labels, C, support=support)
    masked = np.where(support, C, 0.0)
    assert some == pytest.approx(
        0.5 * reference.mass_between(kernel, blobs, labels, masked), rel=1e-5
    )
    assert some < weighted
    assert theorem_bound(kernel, blobs, np.zeros(n, dtype=int), C) == 0
    assert theorem_bound(kernel, blobs, labels, C, support=np.zeros(n, dtype=bool)) == 0


def test_no_theorem_for_an_indefinite_kernel(blobs: NDArray[np.float32]) -> None:
    with pytest.raises(InputError, match="sigmoid kernel"):
        theorem_bound(Kernel("sigmoid"), blobs, np.zeros(len(blobs), dtype=int), 1.0)


def test_labels_and_rows_must_match(blobs: NDArray[np.float32]) -> None:
    with pytest.raises(InputError, match="10 labels for 1500 rows"):
        between_mass(Kernel(), blobs, np.zeros(10, dtype=int))


def test_balance_of_known_labels() -> None:
    figures = balance(np.array([0, 0, 0, 1, 3, 3]), 4)
    assert figures.n_blocks == 4
    assert figures.largest_share == 0.5
    assert figures.empty_blocks == 1
    assert figures.pairs_within == pytest.approx((3 * 2 + 0 + 2) / 30)
    assert figures.effective_blocks == pytest.approx(30 / 8)
    # Six rows, one in each block: no better than six equal blocks.
    assert balance(np.arange(6), 6).effective_blocks == 6


def test_locality_tells_a_local_kernel_from_a_smooth_one(blobs: NDArray[np.float32]) -> None:
    partition = InputPartition.fit(blobs[:700], 12, np.random.default_rng(0))
    held = blobs[700:]
    pairs = balance(partition.assign(held), partition.n_blocks).pairs_within
    blocks = partition.assign(held)
    assert locality(Kernel("rbf", 10.0), held, blocks) > 0.8
    assert locality(Kernel("rbf", 1e-4), held, blocks) == pytest.approx(pairs, rel=0.02)
    assert locality(Kernel("rbf", 1e6), held[:1], blocks[:1]) == 1.0
