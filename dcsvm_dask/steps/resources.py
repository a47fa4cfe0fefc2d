"""What a process may use beside its tasks: memory for rows that it keeps, threads of one task."""

from __future__ import annotations

# Share of a process's memory that decompressed rows may take from one task to the next.
CACHE_SHARE = 1 / 8
_cache_bytes = 128 << 20
_threads = 1


def use(memory: int | None = None, threads: int = 1) -> None:
    """Tell how much memory (bytes) and how many threads there are; neither changes a result.

    Threads are for tasks that run while no other does.
    """
    global _cache_bytes, _threads
    if memory is not None:
        _cache_bytes = int(CACHE_SHARE * memory)
    _threads = max(1, threads)


def cache_bytes() -> int:
    """Return how many bytes of rows this process may keep."""
    return _cache_bytes


def threads() -> int:
    """Return how many threads a task may use that runs while no other does."""
    return _threads
