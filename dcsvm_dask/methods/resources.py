"""Resources of a process: memory for cached rows, threads of a task."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

# Share of a process's memory that decompressed rows may take from one task to the next.
CACHE_SHARE = 1 / 8
_cache_bytes = 128 << 20
_threads = 1
# Threads of a task that runs alone, and tasks at a time, of one run in this process.
_lent: ContextVar[tuple[int, int] | None] = ContextVar("lent", default=None)
# Threads of a task that runs beside others in this process.
_share: ContextVar[int | None] = ContextVar("share", default=None)


def use(memory: int | None = None, threads: int = 1) -> Callable[[], None]:
    """Set the memory and the threads of this process; neither changes a result.

    Parameters
    ----------
    memory : int, optional
        Bytes.
    threads : int, default 1
        Threads of a task that runs while no other does; tasks that run side by side share them.

    Returns
    -------
    callable
        Restores what was set before.
    """
    global _cache_bytes, _threads
    before = _cache_bytes, _threads
    if memory is not None:
        _cache_bytes = int(CACHE_SHARE * memory)
    _threads = max(1, threads)

    def restore() -> None:
        global _cache_bytes, _threads
        _cache_bytes, _threads = before

    return restore


@contextmanager
def lent(threads: int, at_a_time: int | None = None) -> Iterator[None]:
    """Let the tasks of a run in this process use threads, whatever other runs beside it have.

    Parameters
    ----------
    threads : int
        Of a task that runs while no other of the run does.
    at_a_time : int, optional
        Tasks that share them, of those that may run side by side; by default as many.
    """
    token = _lent.set((max(1, threads), max(1, threads if at_a_time is None else at_a_time)))
    try:
        yield
    finally:
        _lent.reset(token)


def cache_bytes() -> int:
    """Return the bytes of rows that this process may cache."""
    return _cache_bytes


def threads(*, alone: bool = True) -> int:
    """Return the number of threads that this task may use.

    Parameters
    ----------
    alone : bool, default True
        Whether it is the only task of its layer; others would run beside it.
    """
    return _share.get() or (_own()[0] if alone else 1)


def side_by_side() -> int:
    """Return the number of tasks that a process without workers runs at a time."""
    return _share.get() or min(_own()[1], os.cpu_count() or 1)


def share(tasks: int) -> None:
    """Set the number of tasks that run side by side; call it in the context of each."""
    _share.set(max(1, _own()[0] // tasks))


def runs_alone() -> bool:
    """Whether no other task of this process runs beside this one."""
    return _share.get() is None


def _own() -> tuple[int, int]:
    """Return the threads of a task that runs alone, and how many tasks run at a time."""
    return _lent.get() or (_threads, _threads)
