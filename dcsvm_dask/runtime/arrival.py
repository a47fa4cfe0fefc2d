"""Waiting for a first worker: clusters that adapt have none before there is a task."""

from __future__ import annotations

import contextlib
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from dcsvm_dask.runtime.placement import Placement, workers_of

WAIT_SECONDS = 600.0
"""How long a scheduler without workers is waited for where nothing is said."""
TOLD_AFTER = 10.0
LOOK_SECONDS = 0.2


def first_workers(
    client: Any, patience: float | None, tell: Callable[[], None], told_after: float | None = None
) -> dict[str, dict[str, Any]]:
    """Return the workers that tasks may use, as the scheduler describes them, once there are any.

    Parameters
    ----------
    patience : float or None
        Seconds to wait; None: for ever.
    tell : callable
        Called once, where it takes longer.
    told_after : float, optional
        Seconds after which it is called; by default `TOLD_AFTER`.

    Returns
    -------
    dict
        Empty where nobody has come.
    """
    found = workers_of(client)
    if found:
        return found
    begin, told = time.monotonic(), False
    told_after = TOLD_AFTER if told_after is None else told_after
    with asked_for(client):
        while not (found := workers_of(client)):
            waited = time.monotonic() - begin
            if patience is not None and waited >= patience:
                break
            if waited >= told_after and not told:
                told = True
                tell()
            time.sleep(LOOK_SECONDS)
    return found


@contextmanager
def asked_for(client: Any) -> Iterator[None]:
    """Have a task that waits for a worker, without which an adaptive cluster starts none."""
    task = client.submit(time.time, key=f"dcsvm_wait-{uuid.uuid4().hex[:12]}", pure=False)
    try:
        yield
    finally:
        with contextlib.suppress(Exception):  # the scheduler may be gone
            client.cancel([task], force=True)


def in_words(seconds: float) -> str:
    """Return a time to wait as users write it."""
    for unit, name in ((3600, "h"), (60, "m")):
        if seconds >= unit and seconds % unit == 0:
            return f"{seconds / unit:g}{name}"
    return f"{seconds:g}s"


def wanted() -> str:
    """Return which workers are waited for, as it follows the words "no worker"."""
    placement = Placement.here()
    words = [f" called {' or '.join(placement.workers)}"] if placement.workers else []
    if placement.resources:
        has = ", ".join(f"{name}={n:g}" for name, n in placement.resources.items())
        words.append(f" with the resources {has}")
    return "".join(words)
