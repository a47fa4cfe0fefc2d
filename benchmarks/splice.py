"""Rows of the shape of human splice sites: windows of DNA around acceptor sites, and made ones.

Sonnenburg, Franc (ICML 2010) and Franc, Sonnenburg (ICML 2008) train linear SVMs on 15,028,326 real
windows, of 141 letters each: 564 binary features, a quarter of them set. These here are drawn: the
letters by lot, those of a site by a consensus that fades with the distance from its middle.
"""

from __future__ import annotations

from typing import Any

import dask.array as da
import numpy as np
from dask import delayed
from numpy.typing import NDArray
from scipy import sparse

from dcsvm_dask import api

ROWS, LETTERS, WINDOW = 15_028_326, 4, 141
FEATURES = LETTERS * WINDOW
SITES = 0.1
STRENGTH, REACH = 0.5, 12.0
# Rows of a block, which are drawn by the block's own number.
BLOCK = 8192 * 16


def letters_of(number: int, count: int) -> tuple[NDArray[np.uint8], NDArray[np.int8]]:
    """Return the letters of a block's windows, shape (count, WINDOW), and their labels."""
    rng = np.random.default_rng([7, number])
    y = np.where(rng.random(count) < SITES, 1, -1).astype(np.int8)
    letters = rng.integers(0, LETTERS, (count, WINDOW), dtype=np.uint8)
    consensus = np.random.default_rng(1).integers(0, LETTERS, WINDOW, dtype=np.uint8)
    distance = np.abs(np.arange(WINDOW) - WINDOW // 2)
    kept = rng.random((count, WINDOW), dtype=np.float32) < STRENGTH * np.exp(-distance / REACH)
    return np.where(kept & (y[:, None] > 0), consensus, letters), y


def dense_rows(number: int, count: int) -> NDArray[np.uint8]:
    """Return the features of a block's windows, shape (count, FEATURES)."""
    letters, _ = letters_of(number, count)
    return (letters[:, :, None] == np.arange(LETTERS, dtype=np.uint8)).reshape(count, FEATURES)


def sparse_rows(number: int, count: int) -> Any:
    """Return the features of a block's windows in CSR."""
    letters, _ = letters_of(number, count)
    indices = letters.astype(np.int32) + LETTERS * np.arange(WINDOW, dtype=np.int32)
    indptr = np.arange(0, count * WINDOW + 1, WINDOW, dtype=np.int64)
    values = np.ones(indices.size, dtype=np.float32)
    return sparse.csr_array((values, indices.ravel(), indptr), shape=(count, FEATURES))


def labels(number: int, count: int) -> NDArray[np.int8]:
    """Return the labels of a block's windows."""
    return letters_of(number, count)[1]


def make(place: Any, rows: int, *, is_sparse: bool, client: Any) -> Any:
    """Write a data set of so many rows, each block by a worker of a client."""
    counts = [min(BLOCK, rows - start) for start in range(0, rows, BLOCK)]

    def array(draw: Any, width: tuple[int, ...], dtype: Any, meta: Any = None) -> Any:
        blocks = [
            da.from_delayed(delayed(draw)(i, n), (n, *width), dtype=dtype, meta=meta)
            for i, n in enumerate(counts)
        ]
        return da.concatenate(blocks)

    if is_sparse:
        meta = sparse.csr_array((0, FEATURES), dtype=np.float32)
        X = array(sparse_rows, (FEATURES,), np.float32, meta)
    else:
        X = array(dense_rows, (FEATURES,), np.bool_)
    return api.ingest((X, array(labels, (), np.int8)), place, client=client, overwrite=True)
