"""Independent pieces of work side by side: compiled work lets go of Python's lock."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from time import perf_counter
from typing import TypeVar, cast

from dcsvm_dask.kernels.helpers import Ending, Helpers
from dcsvm_dask.kernels.team import current, working_for

Item = TypeVar("Item")


def for_each(
    work: Callable[[Item], object],
    items: Iterable[Item],
    threads: int,
    *,
    after: float = 0.0,
) -> None:
    """Call `work` on every item, on so many threads; what it raises is raised here.

    With one thread, those of `for_each_large` help that have no item of their own.

    Parameters
    ----------
    after : float, default 0.0
        Seconds after which other threads than this one join in, looked at between two items. Many
        pieces that take less than that together are done sooner by one.
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
    turn, ending = threading.Lock(), Ending()

    def take_part() -> None:
        try:
            while not ending.is_over:
                with turn:
                    item = next(left, nothing)
                if item is nothing:
                    return
                work(cast("Item", item))
        finally:
            ending.is_over = True

    def help_out() -> None:
        with working_for(ending):
            take_part()

    helpers = Helpers()
    try:
        for _ in range(threads - 1):
            helpers.start(help_out)
        take_part()
        helpers.wait()
    except BaseException:  # as an interrupt: what the others find is not looked at any more
        ending.is_over = ending.is_given_up = True
        helpers.wait()
        raise
    if helpers.error is not None:
        raise helpers.error
