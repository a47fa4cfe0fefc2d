"""Reporting how the worker processes of a nanny end."""

from __future__ import annotations

import signal
from typing import Any

TOPIC = "dcsvm-exit"
"""Topic of the events of Dask in which nannies report it."""


def report_exits(nanny: Any) -> None:
    """Let a nanny log the exit status of processes that end unexpectedly."""
    from distributed.core import Status

    before = nanny._on_worker_exit_sync

    def on_exit(status: int) -> None:
        if nanny.status == Status.running:
            nanny.log_event(
                TOPIC,
                {
                    "worker": nanny.worker_address,
                    "status": status,
                    "limit": nanny.memory_manager.memory_limit,
                },
            )
        before(status)

    nanny._on_worker_exit_sync = on_exit  # of the processes that it starts from now on
    if nanny.process is not None:
        nanny.process.on_exit = on_exit


def described(status: int, limit: int | None) -> str:
    """Return a description of the end of a process.

    Parameters
    ----------
    status : int
        Exit status; negative for a signal.
    limit : int or None
        Memory limit of the process in bytes.
    """
    if status >= 0:
        return f"its process ended with status {status}"
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = f"signal {-status}"
    if -status != signal.SIGKILL:
        return f"its process was ended by {name}"
    has = f"; its limit was {limit / 2**20:,.0f} MiB" if limit else ""
    return f"its process was ended by {name}, as the system does where memory runs out{has}"
