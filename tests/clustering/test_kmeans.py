"""Both k-means against scikit-learn's, against each other, and on rows that do not cluster."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans

from dcsvm_dask.clustering import InputPartition, KernelPartition, kernel_kmeans, kmeans
from dcsvm_dask.kernels import Kernel


def inertia(X: Any, centres: NDArray[np.float32]) -> float:
    X = X.toarray() if sparse.issparse(X) else X
    return float((cdist(X, centres).min(axis=1) ** 2).sum())


@pytest.mark.parametrize("k", [3, 12, 40])
def test_centres_are_as_good_as_scikit_learns(k: int, rows: Any) -> None:
    theirs = KMeans(k, n_init=3, random_state=0).fit(rows).cluster_centers_
    ours = kmeans(rows, k, np.random.default_rng(0))
    assert ours.dtype == np.float32
    assert ours.shape == (k, 6)
    assert inertia(rows, ours) <= 1.1 * inertia(rows, theirs)


def test_dense_and_sparse_rows_give_the_same_centres(blobs: NDArray[np.float32]) -> None:
    dense = kmeans(blobs, 10, np.random.default_rng(4))
    csr = kmeans(sparse.csr_array(blobs), 10, np.random.default_rng(4))
    np.testing.assert_allclose(dense, csr, atol=1e-5)


@pytest.mark.parametrize("k", [3, 12, 40])
def test_the_linear_kernel_clusters_as_input_space_does(k: int, blobs: NDArray[np.float32]) -> None:
    K = blobs.astype(np.float64) @ blobs.T.astype(np.float64)
    labels = kernel_kmeans(K, k, np.random.default_rng(0))
    means = np.stack([blobs[labels == c].mean(axis=0) for c in range(k)])
    theirs = KMeans(k, n_init=3, random_state=0).fit(blobs).cluster_centers_
    assert inertia(blobs, means) <= 1.1 * inertia(blobs, theirs)


def test_no_row_of_the_sample_is_nearer_to_another_mean(
    blobs: NDArray[np.float32], reference: Any
) -> None:
    kernel = Kernel("rbf", 0.3)
    K = reference.kernel_values(kernel, blobs, blobs)
    labels = kernel_kmeans(K, 15, np.random.default_rng(1), max_iter=200)
    distances = np.stack(
        [
            reference.to_mean_in_kernel_space(kernel, blobs, blobs[labels == c], normalised=False)
            for c in range(15)
        ]
    )
    np.testing.assert_allclose(
        distances[labels, np.arange(len(labels))], distances.min(axis=0), atol=1e-10
    )


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
@settings(max_examples=15, deadline=None)
@given(distinct=st.integers(1, 6), copies=st.integers(1, 9), k=st.integers(1, 12))
def test_equal_rows_never_part_and_clusters_are_at_most_the_distinct_rows(
    storage: Any, distinct: int, copies: int, k: int
) -> None:
    rng = np.random.default_rng(distinct)
    base = rng.integers(0, 9, (distinct, 3)).astype(np.float32)
    base[:, 0] = np.arange(distinct)
    which = np.repeat(np.arange(distinct), copies)
    X = storage(base[which])
    for partition in (
        InputPartition.fit(X, k, rng),
        KernelPartition.fit(Kernel("rbf", 0.5), X, k, rng),
    ):
        labels = partition.assign(X)
        assert partition.n_blocks <= min(k, distinct)
        assert len(np.unique(labels)) == partition.n_blocks
        for row in range(distinct):
            assert len(np.unique(labels[which == row])) == 1
        if partition.n_blocks == 1:
            assert partition.split(0, X[which == 0], 4, rng) is None


@pytest.mark.parametrize("k", [1, 7])
def test_more_clusters_than_distinct_rows_give_each_its_own(k: int) -> None:
    X = np.repeat(np.eye(k, dtype=np.float32), 5, axis=0)
    rng = np.random.default_rng(0)
    assert InputPartition.fit(X, 30, rng).n_blocks == k
    assert KernelPartition.fit(Kernel("rbf", 3.0), X, 30, rng).n_blocks == k
