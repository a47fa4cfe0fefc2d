"""The threads of BLAS: how many it may use, and one alone beside threads of our own."""

from __future__ import annotations

from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


@cache
def _controller() -> ThreadpoolController:
    # To find the libraries in memory takes longer than to fit a hundred rows.
    return ThreadpoolController()


def most_threads() -> int:
    """Return how many threads BLAS may use now."""
    return max((pool["num_threads"] for pool in _controller().info()), default=1)


def one_thread_each() -> Any:
    """Return a context in which BLAS uses one thread."""
    return _controller().limit(limits=1)
