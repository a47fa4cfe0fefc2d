"""Reading ahead: the next block is read while the present one is used."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")

_END = object()


def ahead(blocks: Iterator[T]) -> Iterator[T]:
    """Yield the same blocks, while another thread computes the next one.

    Parameters
    ----------
    blocks : iterator
        Runs in the other thread only, and is closed there.
    """
    pool = ThreadPoolExecutor(1, thread_name_prefix="dcsvm-ahead")
    try:
        future = pool.submit(next, blocks, _END)
        while (block := future.result()) is not _END:
            future = pool.submit(next, blocks, _END)
            yield block  # type: ignore[misc]
    finally:
        close = getattr(blocks, "close", None)
        if close is not None:
            pool.submit(close).result()
        pool.shutdown()
