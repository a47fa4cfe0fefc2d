"""The sample of rows that an ingest looks at: evenly spread, of a bounded size, by any blocks."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from dcsvm_dask.data.row_sample import MOST_ROWS, RowSample


def sampled(n: int, width: int, block: int) -> RowSample:
    """Return the sample of rows whose first feature is their number, with its parity as label."""
    found = RowSample()
    for start in range(0, n, block):
        numbers = np.arange(start, min(n, start + block))
        rows = np.repeat(numbers[:, None], width, axis=1).astype(np.float32)
        found.update(rows, (numbers % 2).astype(np.int32))
    return found


@pytest.mark.parametrize("n", [3, MOST_ROWS])
def test_of_few_rows_it_has_all(n: int) -> None:
    found = sampled(n, 2, 1000)
    rows, y = found.read()
    assert found.is_all
    np.testing.assert_array_equal(rows[:, 0], np.arange(n))
    np.testing.assert_array_equal(y, np.arange(n) % 2)


@pytest.mark.parametrize("n", [MOST_ROWS + 1, 50_000, 333_333])
def test_of_many_it_has_rows_from_everywhere(n: int) -> None:
    found = sampled(n, 1, 7000)
    rows, y = found.read()
    numbers = rows[:, 0]
    assert not found.is_all
    assert MOST_ROWS // 2 - 2 <= len(rows) <= MOST_ROWS
    np.testing.assert_array_equal(numbers % 2, y)
    assert abs(y.mean() - 0.5) < 0.05  # also where classes take turns
    parts = np.histogram(numbers, bins=50, range=(0, n))[0] / len(rows)
    assert np.abs(parts - 1 / 50).max() < 0.002
    np.testing.assert_array_equal(rows, sampled(n, 1, 1234).read()[0])


def test_wide_rows_are_fewer() -> None:
    assert 250 <= len(sampled(3000, 4096, 100).read()[0]) <= 512
    assert len(sampled(10, 4097, 10).read()[0]) == 0


def test_sparse_rows_whose_columns_become_more() -> None:
    found, rows = RowSample(), np.arange(20.0)[:, None] * np.eye(20)
    for start in range(0, 20, 5):
        stop = start + 5
        found.update(sparse.csr_array(rows[start:stop, :stop]), np.arange(start, stop))
    dense, y = found.read()
    np.testing.assert_array_equal(dense, rows)
    np.testing.assert_array_equal(y, np.arange(20))
    found.update(sparse.csr_array((1, 4097)), np.zeros(1, np.int64))
    assert len(found.read()[0]) == len(found.read()[1]) == 0
    found.update(sparse.csr_array((1, 20)), np.zeros(1, np.int64))
    assert len(found.read()[0]) == 0
