"""Distinct hashes are counted exactly, each is read once, and few of them are in memory."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from dcsvm_dask.data import write as distinct
from dcsvm_dask.data.write import count_distinct
from dcsvm_dask.storage.hashing import row_hashes
from dcsvm_dask.storage.spool import Column

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("batch", [100, 1000, 10**6])
def test_distinct_rows_are_counted_in_batches(batch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    codes = np.zeros(5000, np.int32)
    rows = RNG.integers(0, 12, (5000, 3)).astype(np.float32)
    hashes = row_hashes(rows, codes)
    np.testing.assert_array_equal(hashes, row_hashes(sparse.csr_array(rows), codes))
    hashes.flags.writeable = False
    monkeypatch.setattr(distinct, "BATCH", batch)
    assert count_distinct(lambda a, b: hashes[a:b], 5000) == len(np.unique(rows, axis=0))


@pytest.mark.parametrize("n", [0, 1, 999, 1000, 1001, 40_000])
def test_every_hash_is_read_once(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distinct, "BATCH", 1000)
    hashes = RNG.integers(0, 1 << 63, (n, 2)).astype(np.uint64)
    seen = np.zeros(n, dtype=int)

    def read(start: int, stop: int) -> np.ndarray:
        seen[start:stop] += 1
        return hashes[start:stop]

    assert count_distinct(read, n) == n
    assert (seen == 1).all()


@pytest.mark.one_quick
@pytest.mark.parametrize("kinds", [1, 3])
def test_hashes_that_are_all_equal_fill_no_memory(
    kinds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = 1 << 16
    monkeypatch.setattr(distinct, "BATCH", batch)
    n = 24 * batch
    kept = Column(np.uint64, 2)
    for _ in range(12):  # 24 MiB
        kept.append(RNG.integers(0, kinds, (n // 12, 1)).astype(np.uint64) * np.ones(2, np.uint64))
    tracemalloc.start()
    try:
        assert count_distinct(kept.read, n) == kinds
        assert tracemalloc.get_traced_memory()[1] < 5 * 16 * batch + (4 << 20)
    finally:
        tracemalloc.stop()
        kept.close()
