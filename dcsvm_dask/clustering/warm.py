"""Compiling the room at a moment of the caller's choice."""

from __future__ import annotations

import numpy as np
from scipy import sparse as scipy_sparse

from dcsvm_dask.clustering.choice import choose_partition
from dcsvm_dask.kernels import Kernel

ROWS, FEATURES = 64, 4


def warm_up(*, sparse: bool) -> None:
    """Compile, or load from the cache, what clusters rows, dense or CSR."""
    dense = np.random.default_rng(0).random((ROWS, FEATURES), dtype=np.float32)
    X = scipy_sparse.csr_array(dense) if sparse else dense
    # A sharp kernel and a cap: all candidates are fitted, and some of their blocks split.
    partition, _ = choose_partition(
        Kernel("rbf", 100.0), X, n_clusters=3, n_rows=ROWS, cap=ROWS // 4, seed=0
    )
    partition.assign(X)
