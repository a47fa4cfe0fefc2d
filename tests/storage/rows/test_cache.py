"""Rows that stay in memory: the same rows, within the limit, whatever threads ask for them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from dcsvm_dask.storage.location import Location
from dcsvm_dask.storage.rows.cache import CachedRows
from dcsvm_dask.storage.rows.write import write_rows


def test_threads_share_a_cache_and_its_limit(tmp_path: Path) -> None:
    X = np.random.default_rng(0).random((200, 3), np.float32)
    rows = write_rows(Location.of(tmp_path / "X"), [X], n_features=3, sparse=False, chunk_rows=10)
    limit = rows.nbytes_of(0, 50)
    cached = CachedRows(rows, limit)

    def ask(seed: int) -> None:
        for start in np.random.default_rng(seed).integers(0, 190, 40).tolist():
            np.testing.assert_array_equal(cached.read(start, start + 10), X[start : start + 10])

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(ask, range(8)))
    held = sum(rows.nbytes_of(*cached._span(chunk)) for chunk in cached._chunks)
    assert cached._bytes == held <= limit


def test_rows_of_a_chunk_stay_canonical_and_are_not_copied_where_they_are_all(
    tmp_path: Path,
) -> None:
    X = np.random.default_rng(0).random((200, 3), np.float32)
    X[X < 0.5] = 0.0
    rows = write_rows(Location.of(tmp_path / "X"), [X], n_features=3, sparse=True, chunk_rows=50)
    cached = CachedRows(rows, rows.nbytes_of(0, 200))
    whole = cached.read(50, 100)
    for start, stop in ((50, 100), (60, 90), (99, 100), (70, 70)):
        found = cached.read(start, stop)
        np.testing.assert_array_equal(found.toarray(), X[start:stop])
        assert found.has_canonical_format
    assert np.shares_memory(cached.read(50, 100).data, whole.data)
    np.testing.assert_array_equal(cached.read(30, 170).toarray(), X[30:170])
