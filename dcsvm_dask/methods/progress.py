"""What a step tells while it is at work, and who is told: nobody, unless the runtime listens."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from dcsvm_dask.storage.node import Record

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


def tell_of_advance() -> Callable[..., None]:
    """Return who is to be told how far a node is; tells once a second, so ask as often as you like.

    Call it with `done`, `total` (0: nobody knows) and `unit`, which say how much of what is done,
    and a `record` of a few numbers; and with `share`, that of the work, where it is not done /
    total. See `dcsvm_dask.runtime.events.Advanced`.
    """
    listener, told = _listener.get(), time.monotonic()

    def advanced(
        done: int, total: int, unit: str, record: Record, share: float | None = None
    ) -> None:
        nonlocal told
        if listener is not None and time.monotonic() - told >= EVERY_SECONDS:
            told = time.monotonic()
            if share is None:
                share = done / total if total else 0.0
            about = {"done": done, "total": total, "unit": unit, "share": share}
            listener({"kind": "advance", **about, "record": record})

    return advanced


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
