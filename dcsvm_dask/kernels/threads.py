"""Independent pieces of work side by side: compiled work lets go of Python's lock."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Executor, ThreadPoolExecutor, wait
from contextlib import nullcontext
from time import perf_counter
from typing import TypeVar, cast

from dcsvm_dask.kernels.team import current, working_for

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

    With one thread, those of `for_each_large` help that have no item of their own.

    Parameters
    ----------
    after : float, default 0.0
        Seconds after which other threads than this one join in, looked at between two items. Many
        pieces that take less than that together are done sooner by one.
    pool : Executor, optional
        One of `threads` - 1 threads, which stay; by default threads are started and ended.
    """
    items, nothing = list(items), object()
    left, threads = iter(items), min(threads, len(items))
    team = current()
    if team is not None and threads == 1 and len(items) > 1:
        team.share(work, items)
        return
    begun = perf_counter()
    if threads <= 1 or after > 0.0:
        for item in left:
            work(item)
            if threads > 1 and perf_counter() - begun >= after:
                break
        else:
            return
    turn, over, given_up = threading.Lock(), threading.Event(), threading.Event()

    def take_part() -> None:
        try:
            while not over.is_set():
                with turn:
                    item = next(left, nothing)
                if item is nothing:
                    return
                work(cast("Item", item))
        finally:
            over.set()  # nothing is left, or it has failed

    def help_out() -> None:
        with working_for(given_up):
            take_part()

    with ThreadPoolExecutor(threads - 1) if pool is None else nullcontext(pool) as helpers:
        others = [helpers.submit(help_out) for _ in range(threads - 1)]
        try:
            take_part()
            wait([other for other in others if not other.cancel()])
        except BaseException:  # as an interrupt: what the others find is not looked at any more
            over.set()
            given_up.set()
            wait([other for other in others if not other.cancel()])
            raise
    for other in others:
        if not other.cancelled():
            other.result()
