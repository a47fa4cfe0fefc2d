"""What a process may use beside its tasks: memory for rows that it keeps, threads of one task."""

from __future__ import annotations

import os
from contextvars import ContextVar

# Share of a process's memory that decompressed rows may take from one task to the next.
CACHE_SHARE = 1 / 8
_cache_bytes = 128 << 20
_threads = 1
# Of a task that runs beside others in this process.
_share: ContextVar[int | None] = ContextVar("share", default=None)


def use(memory: int | None = None, threads: int = 1) -> None:
    """Tell how much memory (bytes) and how many threads there are; neither changes a result.

    Threads are for tasks that run while no other does; those that run side by side share them.
    """
    global _cache_bytes, _threads
    if memory is not None:
        _cache_bytes = int(CACHE_SHARE * memory)
    _threads = max(1, threads)


def cache_bytes() -> int:
    """Return how many bytes of rows this process may keep."""
    return _cache_bytes


def threads(*, alone: bool = True) -> int:
    """Return how many threads this task may use.

    Parameters
    ----------
    alone : bool, default True
        Whether its layer has no other tasks: those run beside it, in this process or in others.
    """
    return _share.get() or (_threads if alone else 1)


def side_by_side() -> int:
    """Return how many tasks a process runs at a time that has no workers: one a core at most."""
    return min(threads(), os.cpu_count() or 1)


def share(tasks: int) -> None:
    """Tell that so many tasks run side by side, this one (in its own context) among them."""
    _share.set(max(1, _threads // tasks))


def runs_alone() -> bool:
    """Whether no other task of this process runs beside this one."""
    return _share.get() is None
