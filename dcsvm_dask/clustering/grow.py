"""From a clustering of a sample to a partition whose blocks meet a size cap."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.clustering.candidates import Fit
from dcsvm_dask.clustering.partition import Partition
from dcsvm_dask.kernels import Rows

FLAT = 150
"""Largest number of clusters of a node: its sample (20 rows a centre) fits a kernel matrix in
memory."""


def grow(
    fit: Fit,
    X: Rows,
    X_balance: Rows,
    *,
    n_clusters: int,
    limit: float,
    rng: np.random.Generator,
) -> tuple[Partition, NDArray[np.int32]]:
    """Cluster a sample, in two steps if there are many clusters, then split blocks by the size cap.

    Parameters
    ----------
    fit : Candidate.fit
    X : ndarray or CSR, shape (m, d), float32
        Rows to cluster.
    X_balance : ndarray or CSR, shape (e, d), float32
        Rows to estimate each block's share; distinct from X unless X is all rows.
    n_clusters : int
    limit : float
        Largest number of rows of X_balance in a block.
    rng : numpy.random.Generator

    Returns
    -------
    Partition
    ndarray, shape (e,), int32
        Blocks of X_balance.
    """
    if n_clusters <= FLAT:
        return enforce_cap(fit(X, n_clusters, rng), X, X_balance, limit=limit, rng=rng)
    partition = fit(X, math.ceil(math.sqrt(n_clusters)), rng)
    labels = partition.assign(X)
    counts = np.bincount(partition.assign(X_balance), minlength=partition.n_blocks)
    for block in range(partition.n_blocks):
        pieces = round(n_clusters * counts[block] / X_balance.shape[0])
        rows = np.flatnonzero(labels == block)
        if pieces > 1 and rows.size > 1:
            partition = partition.split(block, X[rows], pieces, rng) or partition
    return enforce_cap(partition, X, X_balance, limit=limit, rng=rng)


def enforce_cap(
    partition: Partition,
    X: Rows,
    X_balance: Rows,
    *,
    limit: float,
    rng: np.random.Generator,
) -> tuple[Partition, NDArray[np.int32]]:
    """Cluster every block again that has more than `limit` rows of X_balance, until none has.

    Where a split leaves three quarters of the rows together (outliers were separated), the next
    one makes eight times as many clusters; after that the block is left as it is.

    Parameters
    ----------
    partition : Partition
    X, X_balance, limit, rng
        See `grow`.

    Returns
    -------
    Partition
    ndarray, shape (e,), int32
        Blocks of X_balance.
    """
    others = partition.assign(X_balance)
    counts = np.bincount(others, minlength=partition.n_blocks)
    waiting = [(int(block), 0) for block in np.flatnonzero(counts > limit)]
    labels = partition.assign(X) if waiting else others
    while waiting:
        block, futile = waiting.pop(0)
        rows, measured = np.flatnonzero(labels == block), np.flatnonzero(others == block)
        pieces = math.ceil(measured.size / max(limit, 1.0)) * 8**futile
        if rows.size < 2:
            continue
        finer = partition.cluster_again(X[rows], min(FLAT, max(2, pieces)), rng)
        if finer is None:
            continue
        numbers = np.arange(finer.n_blocks, dtype=np.int32) + np.int32(partition.n_blocks - 1)
        numbers[0] = block
        labels[rows] = numbers[finer.assign(X[rows])]
        others[measured] = numbers[finer.assign(X_balance[measured])]
        partition = partition.graft(block, finer)
        counts = np.bincount(others[measured], minlength=partition.n_blocks)
        futile = futile + 1 if counts.max() > 0.75 * measured.size else 0
        if futile < 2:
            waiting += [(int(block), futile) for block in np.flatnonzero(counts > limit)]
    return partition, others
