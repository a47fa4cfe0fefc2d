"""What a step tells while it is at work, and who is told: nobody, unless the runtime listens."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from dcsvm_dask.storage.run import Record

EVERY_SECONDS = 1.0
_listener: ContextVar[Callable[[Record], None] | None] = ContextVar("listener", default=None)


@contextmanager
def telling(listener: Callable[[Record], None]) -> Iterator[None]:
    """Have a listener be told what is told inside the block."""
    before = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(before)


def tell_of_sets() -> Callable[[int, Record], None]:
    """Return who is to be told of each working set that a node has solved; tells once a second."""
    listener, told = _listener.get(), time.monotonic()

    def solved(number: int, record: Record) -> None:
        nonlocal told
        if listener is not None and time.monotonic() - told >= EVERY_SECONDS:
            told = time.monotonic()
            listener({"kind": "set", "number": number, "record": record})

    return solved


class Telling:
    """Tells of a node's blocks as they are solved, about once a second.

    Parameters
    ----------
    members : list of int
        The blocks that the node is going to solve.
    """

    def __init__(self, members: list[int]) -> None:
        self._listener = _listener.get()
        self._solved: list[Record] = []
        self._told = time.monotonic()
        if self._listener is not None:
            self._listener({"kind": "blocks", "blocks": members})

    def solved(self, block: int, record: Record) -> None:
        """Take what a block's solution says of itself."""
        self._solved.append({"block": block, **record})
        now = time.monotonic()
        if self._listener is not None and now - self._told >= EVERY_SECONDS:
            self._listener({"kind": "solve", "solved": self._solved})
            self._solved, self._told = [], now
