"""Who is told of a run: bars on a terminal, plain lines elsewhere, JSON for other programs."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

from dcsvm_dask.diagnostics.dashboard.attach import DashboardPage
from dcsvm_dask.diagnostics.json_lines import JsonLines
from dcsvm_dask.diagnostics.lines import Lines
from dcsvm_dask.errors import InputError
from dcsvm_dask.runtime.callbacks import Callback

PROGRESS = ("auto", "bars", "lines", "json")


def followers(
    callbacks: Sequence[Callback], *, quiet: bool = False, progress: str = "auto"
) -> list[Callback]:
    """Return who is told of a run's progress.

    Parameters
    ----------
    callbacks : sequence of Callback
        The user's own.
    quiet : bool
        Whether neither bars nor lines are shown.
    progress : {"auto", "bars", "lines", "json"}
        What is shown: bars and lines on standard error, JSON on standard output. "auto": bars
        where standard error is a terminal, else lines.

    Raises
    ------
    InputError
        If `progress` is none of these.
    """
    for callback in callbacks:
        if not isinstance(callback, Callback):
            raise InputError(
                f"callbacks: {callback!r:.80} is none; give objects of classes that inherit from "
                "dcsvm_dask.Callback"
            )
    if progress not in PROGRESS:
        raise InputError(f"progress must be one of {PROGRESS}, got {progress!r}")
    own = [DashboardPage(), *_shown(quiet=quiet, progress=progress)]
    return [*map(shielded, own), *callbacks]


def _shown(*, quiet: bool, progress: str) -> list[Callback]:
    if progress == "json":
        return [JsonLines()]
    if quiet:
        return []
    if progress == "bars" or (progress == "auto" and on_terminal()):
        from dcsvm_dask.diagnostics.terminal.live import Terminal

        return [Terminal()]
    return [Lines()]


def on_terminal() -> bool:
    """Whether standard error is a terminal that lines can be drawn anew on."""
    try:
        return sys.stderr.isatty() and os.environ.get("TERM") not in (None, "", "dumb")
    except (AttributeError, ValueError):  # none, or closed
        return False


def shielded(callback: Callback) -> Callback:
    """Return a callback whose failures harm nobody: a closed terminal ends no run."""

    def harmless(tell: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def call(event: Any) -> Any:
            with contextlib.suppress(Exception):
                return tell(event)

        return call

    for name in dir(Callback):
        if name.startswith("on_"):
            setattr(callback, name, harmless(getattr(callback, name)))
    return callback
