"""Hashes of rows."""

from __future__ import annotations

import numpy as np

from dcsvm_dask.storage.hashing import row_hashes


def test_hashes_of_small_changes_do_not_meet() -> None:
    # Rows of small whole numbers with moved or swapped values are what data are made of.
    grid = np.array(np.meshgrid(*[np.arange(8)] * 5)).reshape(5, -1).T.astype(np.float32)
    hashes = row_hashes(grid, np.zeros(len(grid), np.int32))
    assert len(np.unique(hashes[:, 0])) == len(np.unique(hashes[:, 1])) == len(grid)
