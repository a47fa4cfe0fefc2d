"""Following a run that another process carries, from its folder alone."""

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
from dcsvm_dask.runtime.events import Said
from dcsvm_dask.storage.run import RunFolder

RUNNING = "running"
PATIENCE = 5
"""Looks in a row that may fail: a store that does not answer may do so again."""


def watch(run: RunFolder, seconds: float, *, as_json: bool = False) -> None:
    """Show a run on standard output until it ends.

    Parameters
    ----------
    run : RunFolder
    seconds : float
        Between two looks into the folder.
    as_json : bool, default False
        Whether what happens is shown as JSON; else as bars on a terminal, as lines elsewhere.

    Raises
    ------
    KeyboardInterrupt
        At Ctrl-C; the terminal is left in order.
    """
    with shown_by(as_json=as_json) as follower:
        replay, failed, waiting = Replay(run, [follower], tasks=False), 0, False
        while True:
            # What is asked first is not newer than what is told.
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
                follower.on_say(Said(run.place.url, time.time(), text, doing=True))
            time.sleep(seconds)


@contextmanager
def shown_by(*, as_json: bool) -> Iterator[Callback]:
    """Give who shows a run on standard output."""
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
    """Return how far a run is now."""
    progress = Progress()
    # What is there is shown; what is damaged is told of elsewhere.
    with contextlib.suppress(DcsvmError, OSError):
        replay = Replay(run, [progress], tasks=False)
        left = state_now(run)
        replay.look()
        if left["state"] != RUNNING:
            replay.end(left["state"], left["message"], converged=left["converged"])
    return progress
