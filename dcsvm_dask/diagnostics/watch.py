"""Following a run of another process by reading its folder."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from dcsvm_dask.diagnostics.json_lines import JsonLines
from dcsvm_dask.diagnostics.lines import Lines
from dcsvm_dask.diagnostics.progress.progress import Progress
from dcsvm_dask.diagnostics.progress.replay import Replay
from dcsvm_dask.diagnostics.status import state_now
from dcsvm_dask.errors import DcsvmError
from dcsvm_dask.runtime.callbacks import Callback
from dcsvm_dask.runtime.events import Notice
from dcsvm_dask.storage.run import RunFolder

RUNNING = "running"
PATIENCE = 5
"""Failed reads in a row after which watching ends: a store may fail to answer for a while."""


def watch(run: RunFolder, seconds: float, *, as_json: bool = False) -> None:
    """Show the progress of a run on standard output until it ends.

    Parameters
    ----------
    run : RunFolder
    seconds : float
        Time between two reads of the folder, in seconds.
    as_json : bool, default False
        Whether events are written as JSON; else bars are shown on a terminal, lines elsewhere.

    Raises
    ------
    KeyboardInterrupt
        At Ctrl-C; the terminal is left in order.
    """
    with shown_by(as_json=as_json) as follower:
        replay, failed, waiting = Replay(run, [follower], tasks=False), 0, False
        while True:
            # The state is read first, so that it is not newer than the events.
            left = state_now(run)
            try:
                replay.look()
                failed = 0
            except OSError:
                failed += 1
                if failed >= PATIENCE:
                    raise
            if left["state"] != RUNNING and not failed:
                replay.end(left["state"], left["message"], converged=left["converged"])
                return
            if not (replay.begun or waiting):
                waiting = True
                text = "waiting for the run's workers"
                follower.on_notice(Notice(run.place.url, time.time(), text, doing=True))
            time.sleep(seconds)


@contextmanager
def shown_by(*, as_json: bool) -> Iterator[Callback]:
    """Yield the callback that shows a run on standard output."""
    if as_json:
        yield JsonLines()
    elif sys.stdout.isatty():
        from rich.console import Console

        from dcsvm_dask.diagnostics.terminal.live import Terminal

        terminal = Terminal(Console(highlight=False))
        try:
            yield terminal
        finally:
            terminal.close()
    else:
        yield Lines(sys.stdout)


def seen(run: RunFolder) -> Progress:
    """Return the progress of a run as its folder holds it now."""
    progress = Progress()
    # Damage is reported by the status.
    with contextlib.suppress(DcsvmError, OSError):
        replay = Replay(run, [progress], tasks=False)
        left = state_now(run)
        replay.look()
        if left["state"] != RUNNING:
            replay.end(left["state"], left["message"], converged=left["converged"])
    return progress
