"""Waiting for a first worker: adaptive clusters start none before there is a task."""

from __future__ import annotations

import contextlib
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from dcsvm_dask.runtime.placement import Placement, workers_of

WAIT_SECONDS = 600.0
"""Default waiting time for the first worker of a scheduler."""
REPORT_AFTER = 10.0
LOOK_SECONDS = 0.2


def first_workers(
    client: Any,
    patience: float | None,
    report: Callable[[], None],
    report_after: float | None = None,
) -> dict[str, dict[str, Any]]:
    """Return the workers that tasks may use, waiting for the first one.

    Parameters
    ----------
    client : distributed.Client
    patience : float or None
        Largest waiting time in seconds; None waits without limit.
    report : callable
        Called once if waiting takes longer than `report_after`.
    report_after : float, optional
        Seconds; by default `REPORT_AFTER`.

    Returns
    -------
    dict
        The scheduler's description of each worker, by address; empty if none has come.
    """
    found = workers_of(client)
    if found:
        return found
    begin, reported = time.monotonic(), False
    report_after = REPORT_AFTER if report_after is None else report_after
    with asked_for(client):
        while not (found := workers_of(client)):
            waited = time.monotonic() - begin
            if patience is not None and waited >= patience:
                break
            if waited >= report_after and not reported:
                reported = True
                report()
            time.sleep(LOOK_SECONDS)
    return found


@contextmanager
def asked_for(client: Any) -> Iterator[None]:
    """Keep a waiting task on the scheduler, without which an adaptive cluster starts no worker."""
    task = client.submit(time.time, key=f"dcsvm_wait-{uuid.uuid4().hex[:12]}", pure=False)
    try:
        yield
    finally:
        with contextlib.suppress(Exception):  # the scheduler may be gone
            client.cancel([task], force=True)


def in_words(seconds: float) -> str:
    """Return a waiting time in the form of the option --wait."""
    for unit, name in ((3600, "h"), (60, "m")):
        if seconds >= unit and seconds % unit == 0:
            return f"{seconds / unit:g}{name}"
    return f"{seconds:g}s"


def wanted() -> str:
    """Return the restrictions on workers, as they follow the words "no worker"."""
    placement = Placement.here()
    words = [f" called {' or '.join(placement.workers)}"] if placement.workers else []
    if placement.resources:
        has = ", ".join(f"{name}={n:g}" for name, n in placement.resources.items())
        words.append(f" with the resources {has}")
    return "".join(words)
