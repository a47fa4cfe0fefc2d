"""The choice between partitions: measured, capped, reported, and never the collapsed one."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse

from dcsvm_dask.clustering import (
    Partition,
    choose_partition,
    partition_quality,
    sample_size,
)
from dcsvm_dask.clustering.candidates import widened
from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels import Kernel

KERNELS = {
    Kernel("rbf", 2.0): ["input", "widened kernel", "kernel"],
    Kernel("rbf", 1e-4): ["input"],
    Kernel("laplacian", 2.0): ["input", "widened kernel", "kernel"],
    Kernel("linear"): ["cosine", "input"],
    Kernel("poly", 0.5, degree=2, coef0=1.0): ["cosine", "input", "normalised kernel"],
    Kernel("sigmoid", 0.1): ["input", "cosine"],
}


@pytest.mark.one_quick
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: f"{kernel.name} {kernel.gamma}")
def test_every_kernel_gets_a_partition_and_a_record(kernel: Kernel, rows: Any) -> None:
    def choose() -> tuple[Partition, dict[str, Any]]:
        return choose_partition(kernel, rows[:1000], n_clusters=10, n_rows=1500, cap=400, seed=3)

    partition, record = choose()
    labels = partition.assign(rows)
    assert labels.max() < partition.n_blocks == record["n_blocks"]
    names = [figures["name"] for figures in record["candidates"]]
    assert names == KERNELS[kernel]
    assert record["chosen"] in names
    assert record["reason"].startswith(record["chosen"])
    assert record["reason"].count(".") >= 1
    assert json.loads(json.dumps(record)) == record
    assert record["rows_clustered"] + record["rows_measured"] == 1000
    again, same = choose()
    assert same == record
    for name, array in again.to_arrays()[0].items():
        np.testing.assert_array_equal(array, partition.to_arrays()[0][name])


def test_the_figures_of_the_chosen_one_are_those_of_all_rows(blobs: NDArray[np.float32]) -> None:
    kernel = Kernel("rbf", 2.0)
    partition, record = choose_partition(
        kernel, blobs[:1000], n_clusters=10, n_rows=1500, cap=1500, seed=3
    )
    (figures,) = [f for f in record["candidates"] if f["name"] == record["chosen"]]
    labels = partition.assign(blobs)
    truth = partition_quality(kernel, blobs, labels)
    assert abs(figures["share_between"] - truth.share) < 4 * figures["share_between_error"]
    shares = np.bincount(labels, minlength=partition.n_blocks) / len(labels)
    assert figures["largest_share"] == pytest.approx(shares.max(), abs=0.05)
    assert figures["cost"] == pytest.approx(
        (0.05 + figures["mass_between"] / 1500) * figures["pairs_within"]
    )


@pytest.mark.one_quick
@pytest.mark.parametrize("kernel", [Kernel("rbf", 2.0), Kernel("poly", 0.5, coef0=1.0)])
@pytest.mark.parametrize("cap", [60, 400])
def test_the_cap_holds_exactly_where_the_sample_is_all_rows(
    kernel: Kernel, cap: int, rows: Any
) -> None:
    partition, record = choose_partition(kernel, rows, n_clusters=5, n_rows=1500, cap=cap, seed=0)
    assert np.bincount(partition.assign(rows)).max() <= cap
    assert partition.n_blocks >= 1500 / cap
    assert all(f["largest_share"] * 1500 <= cap + 1e-9 for f in record["candidates"])
    assert all(f["over_cap"] == 0 for f in record["candidates"])


def test_the_cap_holds_on_the_sample_and_nearly_on_all_rows(blobs: NDArray[np.float32]) -> None:
    partition, record = choose_partition(
        Kernel("rbf", 2.0), blobs[:900], n_clusters=6, n_rows=1500, cap=200, seed=1
    )
    (figures,) = [f for f in record["candidates"] if f["name"] == record["chosen"]]
    assert figures["largest_share"] <= 200 / 1500
    sizes = np.bincount(partition.assign(blobs))
    assert sizes.max() <= 1.3 * 200


def test_equal_rows_make_one_block_that_the_record_counts(blobs: NDArray[np.float32]) -> None:
    X = np.repeat(blobs[:3], 400, axis=0)
    partition, record = choose_partition(
        Kernel("rbf", 1.0), X, n_clusters=8, n_rows=1200, cap=100, seed=0
    )
    assert partition.n_blocks == record["n_blocks"] == 3
    assert all(figures["over_cap"] == 3 for figures in record["candidates"])
    equal, record = choose_partition(
        Kernel("rbf", 1.0), X[:400], n_clusters=8, n_rows=5000, cap=5000, seed=0
    )
    assert equal.n_blocks == record["n_blocks"] == 1
    assert (equal.assign(X) == 0).all()


def test_a_heap_of_equal_rows_does_not_multiply_the_blocks(blobs: NDArray[np.float32]) -> None:
    X = np.concatenate([blobs, np.zeros((800, 6), dtype=np.float32)])
    partition, record = choose_partition(
        Kernel("rbf", 1.0), X, n_clusters=10, n_rows=len(X), cap=300, seed=0
    )
    assert partition.n_blocks < 80
    sizes = np.sort(np.bincount(partition.assign(X)))
    assert sizes[-2] <= 300
    assert {figures["over_cap"] for figures in record["candidates"]} == {1}


def test_many_clusters_are_made_in_two_steps() -> None:
    X = np.random.default_rng(0).random((8_000, 3), dtype=np.float32)
    for kernel in (Kernel("rbf", 3.0), Kernel("rbf", 200.0)):
        partition, record = choose_partition(
            kernel, X, n_clusters=200, n_rows=50_000, cap=2000, seed=0
        )
        assert all(150 < figures["n_blocks"] < 260 for figures in record["candidates"])
        sizes = np.bincount(partition.assign(X), minlength=partition.n_blocks)
        assert sizes.max() < 6 * 8_000 / 200


def test_shares_come_from_the_rows_that_are_given_for_them(blobs: NDArray[np.float32]) -> None:
    # Support vectors from one side only; all rows lie on both.
    left = blobs[blobs[:, 0] < np.median(blobs[:, 0])]
    partition, record = choose_partition(
        Kernel("rbf", 1.0),
        left,
        n_clusters=4,
        n_rows=1500,
        cap=300,
        seed=0,
        X_balance=blobs[::2],
    )
    (figures,) = [f for f in record["candidates"] if f["name"] == record["chosen"]]
    sizes = np.bincount(partition.assign(blobs[::2]), minlength=partition.n_blocks)
    assert figures["largest_share"] == pytest.approx(sizes.max() / 750)


@pytest.mark.long
def test_dense_centres_give_way_to_means_of_rows_where_features_are_many(
    blobs: NDArray[np.float32],
) -> None:
    parts = sparse.csr_array(blobs)
    X = sparse.csr_array(
        (parts.data, parts.indices * 500_000, parts.indptr), shape=(len(blobs), 3_000_000)
    )
    for kernel in (Kernel("linear"), Kernel("rbf", 1.0)):
        partition, _ = choose_partition(
            kernel, X[:600], n_clusters=8, n_rows=1500, cap=1500, seed=0
        )
        assert partition.rule == "kernel"
        assert partition.n_blocks == 8
        assert len(np.unique(partition.assign(X))) == 8


@pytest.mark.parametrize("name", ["rbf", "laplacian"])
def test_a_widened_kernel_is_e_to_the_minus_one_at_the_median_distance(
    name: str, rows: Any, reference: Any
) -> None:
    sample = rows[:300]
    wide = widened(Kernel(name, 50.0), sample)
    values = reference.kernel_values(wide, sample, sample)[np.triu_indices(300, 1)]
    assert np.median(values) == pytest.approx(np.exp(-1), rel=1e-3)


def test_parameters_out_of_range_are_refused(blobs: NDArray[np.float32]) -> None:
    good = {"n_clusters": 3, "n_rows": 1500, "cap": 100, "seed": 0}
    for name, value in (("n_clusters", 0), ("cap", 0)):
        with pytest.raises(InputError, match=f"{name} must be at least 1.*, got {value}"):
            choose_partition(Kernel(), blobs, **{**good, name: value})
    with pytest.raises(InputError, match="has no rows"):
        choose_partition(Kernel(), blobs[:0], **good)


def test_a_sample_has_rows_enough_for_its_centres() -> None:
    assert sample_size(4, 10**6) == 4048
    assert sample_size(1000, 10**6) == 42_048
    assert sample_size(64, 3000) == 3000


def test_the_collapse_of_a_sharp_kernel_is_seen_and_avoided(shared_data: Any) -> None:
    """Kernel k-means at gamma = 32 on 1,280 rows of covtype leaves a third of them in one block."""
    X = shared_data("covtype")["X_train"]
    low, high = X.min(axis=0), X.max(axis=0)
    order = np.random.default_rng(0).permutation(len(X))[:100_000]
    rows = np.sort(np.random.default_rng(1).permutation(100_000)[: sample_size(64, 100_000)])
    sample = ((X[order[rows]] - low) / np.where(high > low, high - low, 1)).astype(np.float32)
    _, record = choose_partition(
        Kernel("rbf", 32.0), sample, n_clusters=64, n_rows=100_000, cap=100_000, seed=0
    )
    figures = {each["name"]: each for each in record["candidates"]}
    assert figures["kernel"]["largest_share"] > 0.2
    assert record["chosen"] != "kernel"
    taken = figures[record["chosen"]]
    assert taken["largest_share"] < 0.1
    assert taken["share_between"] < 0.7 * figures["kernel"]["share_between"]
    assert taken["cost"] < 0.2 * figures["kernel"]["cost"]
