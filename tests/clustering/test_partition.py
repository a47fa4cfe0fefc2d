"""Labels against distances written out in float64, and what must not change them."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import sparse
from scipy.spatial.distance import cdist

from dcsvm_dask.clustering import InputPartition, KernelPartition, Partition
from dcsvm_dask.clustering.tree import Tree
from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels import Kernel

KERNELS = {
    "rbf": (Kernel("rbf", 0.3), False),
    "sharp rbf": (Kernel("rbf", 20.0), False),
    "laplacian": (Kernel("laplacian", 0.2), False),
    "poly": (Kernel("poly", 0.5, degree=3, coef0=1.0), True),
    "linear": (Kernel("linear"), False),
}


def make(rule: str, X: Any, n_clusters: int = 9, seed: int = 0) -> Partition:
    rng = np.random.default_rng(seed)
    if rule in KERNELS:
        kernel, normalised = KERNELS[rule]
        return KernelPartition.fit(kernel, X, n_clusters, rng, normalised=normalised)
    return InputPartition.fit(X, n_clusters, rng, cosine=rule == "cosine")


RULES = ["input", "cosine", *KERNELS]


@pytest.mark.parametrize("rule", KERNELS)
def test_kernel_labels_are_nearest_by_the_definition(rule: str, rows: Any, reference: Any) -> None:
    rows = rows[:600]
    partition = make(rule, rows)
    assert isinstance(partition, KernelPartition)
    cuts = partition.member_offsets
    distances = np.stack(
        [
            reference.to_mean_in_kernel_space(
                partition.kernel,
                rows,
                partition.members[start:stop],
                normalised=partition.normalised,
            )
            for start, stop in pairwise(cuts)
        ],
        axis=1,
    )
    assert distances.min() > -1e-9
    labels = partition.assign(rows)
    least = distances.min(axis=1)
    np.testing.assert_allclose(distances[np.arange(len(labels)), labels], least, atol=1e-9)
    assert len(np.unique(labels)) == partition.n_blocks


@pytest.mark.parametrize("cosine", [False, True])
def test_input_labels_are_nearest(cosine: bool, rows: Any) -> None:
    partition = make("cosine" if cosine else "input", rows)
    assert isinstance(partition, InputPartition)
    X = (rows.toarray() if sparse.issparse(rows) else rows).astype(np.float64)
    if cosine:
        norms = np.linalg.norm(X, axis=1, keepdims=True)
        X = np.divide(X, norms, out=np.zeros_like(X), where=norms > 0)
    np.testing.assert_array_equal(
        partition.assign(rows), cdist(X, partition.centres.astype(np.float64)).argmin(axis=1)
    )


@pytest.mark.parametrize("cosine", [False, True])
def test_dense_and_sparse_rows_get_the_same_labels(
    cosine: bool, blobs: NDArray[np.float32]
) -> None:
    partition = make("cosine" if cosine else "input", blobs)
    np.testing.assert_array_equal(
        partition.assign(blobs), partition.assign(sparse.csr_array(blobs))
    )


@pytest.mark.parametrize("rule", RULES)
@settings(max_examples=6, deadline=None)
@given(data=st.data())
def test_a_label_depends_on_the_row_alone(rule: str, rows: Any, data: st.DataObject) -> None:
    partition = deepened(make(rule, rows), rows)
    labels = partition.assign(rows)
    n = rows.shape[0]
    assert labels.dtype == np.int32
    assert labels.min() >= 0
    assert labels.max() < partition.n_blocks
    cuts = sorted(data.draw(st.sets(st.integers(1, n - 1), max_size=5)))
    chunks = [partition.assign(rows[a:b]) for a, b in pairwise([0, *cuts, n])]
    np.testing.assert_array_equal(np.concatenate(chunks), labels)
    order = np.random.default_rng(data.draw(st.integers(0, 99))).permutation(n)
    np.testing.assert_array_equal(partition.assign(rows[order]), labels[order])


def deepened(partition: Partition, X: Any) -> Partition:
    """The partition with its largest block split, and a piece of that split again."""
    for seed in range(2):
        labels = partition.assign(X)
        block = int(np.bincount(labels).argmax())
        finer = partition.split(block, X[labels == block], 3, np.random.default_rng(seed))
        assert finer is not None
        partition = finer
    return partition


@pytest.mark.parametrize("rule", RULES)
def test_a_stored_partition_gives_the_same_labels(rule: str, rows: Any) -> None:
    partition = deepened(make(rule, rows), rows)
    arrays, meta = partition.to_arrays()
    arrays = {name: array.copy() for name, array in arrays.items()}
    again = Partition.from_arrays(arrays, json.loads(json.dumps(meta)))
    assert again.n_blocks == partition.n_blocks == meta["n_blocks"]
    assert again.kernel_values_per_row == partition.kernel_values_per_row
    np.testing.assert_array_equal(again.assign(rows), partition.assign(rows))
    for name, array in again.to_arrays()[0].items():
        assert array.dtype == arrays[name].dtype
        np.testing.assert_array_equal(array, arrays[name])


@pytest.mark.parametrize("rule", RULES)
def test_a_split_changes_its_own_block_only(rule: str, rows: Any) -> None:
    partition = make(rule, rows)
    labels = partition.assign(rows)
    block = int(np.bincount(labels).argmax())
    inside = labels == block
    finer = partition.split(block, rows[inside], 4, np.random.default_rng(3))
    assert finer is not None
    new = finer.assign(rows)
    np.testing.assert_array_equal(new[~inside], labels[~inside])
    own = np.unique(new[inside])
    assert finer.n_blocks == partition.n_blocks + len(own) - 1
    assert set(own) == {block, *range(partition.n_blocks, finer.n_blocks)}


def test_equal_distances_go_to_the_lowest_index() -> None:
    X = np.array([[-1, 0], [1, 0], [0, 3]], dtype=np.float32)
    between = np.array([[0, 0], [0, -2]], dtype=np.float32)
    for partition in (make("input", X, 3), make("rbf", X, 3)):
        assert partition.n_blocks == 3
        sides = partition.assign(X[:2])
        np.testing.assert_array_equal(partition.assign(between), [sides.min()] * 2)


def test_exact_ties_do_not_follow_the_chunks() -> None:
    # On a grid many rows are equally far from two centres, and only rounding could tell.
    grid = np.stack(np.meshgrid(np.arange(20), np.arange(20)), axis=-1).reshape(-1, 2)
    X = grid.astype(np.float32) / 20
    members, offsets = X[[0, 19, 380, 399]], np.arange(5)
    partition = KernelPartition(
        Kernel("rbf", 2.0), Tree.flat(4), members, offsets, np.ones(4), normalised=False
    )
    one_by_one = [partition.assign(X[i : i + 1])[0] for i in range(len(X))]
    np.testing.assert_array_equal(partition.assign(X), one_by_one)


def test_rows_of_another_data_set_are_refused(blobs: NDArray[np.float32]) -> None:
    for rule in ("input", "rbf"):
        with pytest.raises(InputError, match="5 features and the partition was made from 6"):
            make(rule, blobs).assign(blobs[:, :5])


def test_a_partition_of_an_unknown_rule_is_refused(blobs: NDArray[np.float32]) -> None:
    arrays, meta = make("input", blobs).to_arrays()
    with pytest.raises(InputError, match="'voronoi'"):
        Partition.from_arrays(arrays, {**meta, "rule": "voronoi"})
    del arrays["child"]
    with pytest.raises(InputError, match="lacks 'child'"):
        Partition.from_arrays(arrays, meta)


@pytest.mark.parametrize("rule", RULES)
def test_no_rows_and_rows_of_zeros(rule: str, rows: Any) -> None:
    partition = make(rule, rows)
    assert partition.assign(rows[:0]).shape == (0,)
    zeros = np.zeros((5, 6), dtype=np.float32)
    labels = partition.assign(sparse.csr_array(zeros) if sparse.issparse(rows) else zeros)
    assert len(set(labels)) == 1


def test_rows_may_come_in_other_forms(blobs: NDArray[np.float32]) -> None:
    partition = make("cosine", blobs)
    labels = partition.assign(blobs)
    frozen = blobs.copy()
    frozen.flags.writeable = False
    for same in (frozen, np.asfortranarray(blobs), blobs.astype(np.float64)):
        np.testing.assert_array_equal(partition.assign(same), labels)
    twice = sparse.coo_array(blobs)
    halves = sparse.csr_array(
        (
            np.concatenate([twice.data, twice.data]) / 2,
            (np.tile(twice.coords[0], 2), np.tile(twice.coords[1], 2)),
        ),
        shape=blobs.shape,
    )
    np.testing.assert_array_equal(partition.assign(halves), labels)
    np.testing.assert_array_equal(partition.assign(sparse.csr_matrix(blobs)), labels)
    with pytest.raises(InputError, match="1 axes"):
        partition.assign(blobs[0])
