"""Reading ahead changes neither blocks nor errors, and leaves no thread behind."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from dcsvm_dask.readers.ahead import ahead


def numbers(closed: list[str], fail_at: int = -1) -> Iterator[int]:
    try:
        for k in range(10):
            if k == fail_at:
                raise ValueError("block 5")
            yield k
    finally:
        closed.append(threading.current_thread().name)


def test_the_same_blocks() -> None:
    closed: list[str] = []
    assert list(ahead(numbers(closed))) == list(range(10))
    assert list(ahead(iter([]))) == []
    assert len(closed) == 1
    assert closed[0].startswith("dcsvm-ahead")


def test_errors_come_where_they_are_met() -> None:
    blocks = ahead(numbers([], fail_at=5))
    found = [next(blocks) for _ in range(5)]
    with pytest.raises(ValueError, match="block 5"):
        next(blocks)
    assert found == [0, 1, 2, 3, 4]


def test_an_early_end_closes_the_source() -> None:
    closed: list[str] = []
    blocks = ahead(numbers(closed))
    assert next(blocks) == 0
    blocks.close()  # type: ignore[attr-defined]
    assert len(closed) == 1
    assert not [t for t in threading.enumerate() if t.name.startswith("dcsvm-ahead")]
