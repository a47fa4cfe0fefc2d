"""Independent tiles side by side: compiled work lets go of Python's lock."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")


def for_each(work: Callable[[Item], object], items: Iterable[Item], threads: int) -> None:
    """Call `work` on every item, on so many threads; what it raises is raised here."""
    if threads <= 1:
        for item in items:
            work(item)
        return
    with ThreadPoolExecutor(threads) as pool:
        for _ in pool.map(work, items):
            pass
