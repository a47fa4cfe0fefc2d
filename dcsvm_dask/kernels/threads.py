"""Independent pieces of work side by side: compiled work lets go of Python's lock."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Executor, ThreadPoolExecutor, wait
from contextlib import nullcontext
from typing import TypeVar, cast

Item = TypeVar("Item")


def for_each(
    work: Callable[[Item], object],
    items: Iterable[Item],
    threads: int,
    *,
    after: float = 0.0,
    pool: Executor | None = None,
) -> None:
    """Call `work` on every item, on so many threads; what it raises is raised here.

    Parameters
    ----------
    after : float, default 0.0
        Seconds after which other threads than this one join in. Many pieces that take less than
        that together are done sooner by one.
    pool : Executor, optional
        One of `threads` - 1 threads, which stay; by default threads are started and ended.
    """
    if threads <= 1:
        for item in items:
            work(item)
        return
    left, nothing = iter(items), object()
    turn, over = threading.Lock(), threading.Event()

    def take_part(later: float) -> None:
        over.wait(later)
        try:
            while not over.is_set():
                with turn:
                    item = next(left, nothing)
                if item is nothing:
                    return
                work(cast("Item", item))
        finally:
            over.set()  # nothing is left, or it has failed

    with ThreadPoolExecutor(threads - 1) if pool is None else nullcontext(pool) as helpers:
        others = [helpers.submit(take_part, after) for _ in range(threads - 1)]
        try:
            take_part(0.0)
        finally:
            wait([other for other in others if not other.cancel()])
    for other in others:
        if not other.cancelled():
            other.result()
