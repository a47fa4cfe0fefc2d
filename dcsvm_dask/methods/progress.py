"""Progress that a step reports while it works; nothing is reported unless the runtime listens."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from dcsvm_dask.storage.node import Record

EVERY_SECONDS = 1.0
USUAL_REST = 2.0
"""Time of a solver after it first knows a violation, over that before it, typically ..."""
PRIOR = 0.05
"""... and the share of the violation's way as which that counts."""
MOST_REPORTED = 0.95
"""Share of the work where the violation first meets the tolerance: solvers go a little further."""
_listener: ContextVar[Callable[[Record], None] | None] = ContextVar("listener", default=None)


@contextmanager
def reporting_to(listener: Callable[[Record], None]) -> Iterator[None]:
    """Send the progress that is reported inside the block to a listener."""
    before = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(before)


def set_reporter() -> Callable[[int, Record], None]:
    """Return a callback for solved working sets, which reports about once a second."""
    listener, last = _listener.get(), time.monotonic()

    def solved(number: int, record: Record) -> None:
        nonlocal last
        if listener is not None and time.monotonic() - last >= EVERY_SECONDS:
            last = time.monotonic()
            listener({"kind": "set", "number": number, "record": record})

    return solved


def pass_reporter(tol: float) -> Callable[[int, float], None]:
    """Return a callback for the passes of a solver, which reports about once a second.

    Call it with the number of passes so far and the violation of the last one.

    Parameters
    ----------
    tol : float
        The violation at which the solver stops.
    """
    report, start = set_reporter(), 0.0

    def passed(number: int, violation: float) -> None:
        nonlocal start
        start = max(start, violation)
        report(number, {"violation": violation, "start": start, "tol": tol})

    return passed


def advance_reporter() -> Callable[..., bool]:
    """Return a callback for the progress of a node, which reports about once a second.

    It returns whether it has reported.

    Call it with `done`, `total` (0 if it is not known), their `unit`, a `record` of a few numbers,
    and the `share` of the work that is done if it differs from done / total. See
    `dcsvm_dask.runtime.events.Advanced`.
    """
    listener, last = _listener.get(), time.monotonic()

    def advanced(
        done: int, total: int, unit: str, record: Record, share: float | None = None
    ) -> bool:
        nonlocal last
        if listener is None or time.monotonic() - last < EVERY_SECONDS:
            return False
        last = time.monotonic()
        if share is None:
            share = done / total if total else 0.0
        about = {"done": done, "total": total, "unit": unit, "share": share}
        listener({"kind": "advance", **about, "record": record})
        return True

    return advanced


def violation_reporter(tol: float) -> Callable[[int, float], None]:
    """Return a callback for the steps and the violation of a solver, which reports how far it is.

    The share that it reports is about that of the time: what passed before a violation was known,
    and since then the way of the violation to the tolerance on a log scale.

    Parameters
    ----------
    tol : float
        The violation at which the solver stops.
    """
    advanced, begin = advance_reporter(), time.monotonic()
    looks, first, start, reached = 0, 0.0, 0.0, 0.0

    def report(_: int, violation: float) -> None:
        nonlocal looks, first, start, reached
        if not math.isfinite(violation):
            return
        spent = max(time.monotonic() - begin, 1e-9)
        first = first if looks else spent
        looks, start = looks + 1, max(start, violation)
        since, way = spent - first + PRIOR * USUAL_REST * first, fallen(start, violation, tol)
        left = (1.0 - way) * since / (way + PRIOR)
        # It does not fall from one report to the next.
        share = max(reached, MOST_REPORTED * spent / (spent + left))
        if advanced(looks, 0, "looks at the violation", {"violation": violation}, share):
            reached = share

    return report


class BlockReporter:
    """Reports the blocks of a node as they are solved, about once a second.

    Parameters
    ----------
    members : list of int
        Blocks that the node will solve.
    """

    def __init__(self, members: list[int]) -> None:
        self._listener = _listener.get()
        self._solved: list[Record] = []
        self._last = time.monotonic()
        if self._listener is not None:
            self._listener({"kind": "blocks", "blocks": members})

    def solved(self, block: int, record: Record) -> None:
        """Add the record of a block's solution."""
        self._solved.append({"block": block, **record})
        now = time.monotonic()
        if self._listener is not None and now - self._last >= EVERY_SECONDS:
            self._listener({"kind": "solve", "solved": self._solved})
            self._solved, self._last = [], now


def fallen(start: float, left: float, tol: float) -> float:
    """Return the progress of a violation to a tolerance on a log scale, in [0, 1].

    Parameters
    ----------
    start, left : float
        The largest and the present violation.
    tol : float
    """
    return math.log(start / max(left, tol)) / math.log(start / tol) if start > tol else 1.0
