"""The callbacks that report a run's progress: bars on a terminal, plain lines, or JSON."""

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
    """Return the callbacks that report a run's progress, with the user's own at the end.

    Parameters
    ----------
    callbacks : sequence of Callback
        The user's callbacks.
    quiet : bool, default False
        Whether to show neither bars nor lines. JSON is written in any case.
    progress : {"auto", "bars", "lines", "json"}, default "auto"
        The form of the reports: bars or lines on standard error, JSON on standard output.
        "auto" shows bars where standard error is a terminal and lines elsewhere.

    Returns
    -------
    list of Callback
        The package's callbacks, whose failures are ignored, then the user's.

    Raises
    ------
    InputError
        If a callback is not a `Callback`, or `progress` is not one of the four values.
    """
    for callback in callbacks:
        if not isinstance(callback, Callback):
            raise InputError(
                f"callbacks must be instances of dcsvm_dask.Callback, got {callback!r:.80}; let "
                "its class inherit from dcsvm_dask.Callback"
            )
    return [shielded(DashboardPage()), *shown(quiet=quiet, progress=progress), *callbacks]


def shown(*, quiet: bool, progress: str, since: float | None = None) -> list[Callback]:
    """Return the callbacks that print a run's progress; see `followers`.

    Parameters
    ----------
    quiet : bool
    progress : {"auto", "bars", "lines", "json"}
    since : float, optional
        The time (in seconds since 1970) from which lines count their seconds; by default that of
        the first line.

    Returns
    -------
    list of Callback
        Their failures are ignored.

    Raises
    ------
    InputError
        If `progress` is not one of the four values.
    """
    if progress not in PROGRESS:
        raise InputError(f"progress must be one of {PROGRESS}, got {progress!r}")
    if progress == "json":
        return [shielded(JsonLines())]
    if quiet:
        return []
    if progress == "bars" or (progress == "auto" and on_terminal()):
        from dcsvm_dask.diagnostics.terminal.live import Terminal

        return [shielded(Terminal())]
    return [shielded(Lines(since=since))]


def on_terminal() -> bool:
    """Return whether standard error is a terminal whose lines can be redrawn."""
    try:
        return sys.stderr.isatty() and os.environ.get("TERM") not in (None, "", "dumb")
    except (AttributeError, ValueError):  # none, or closed
        return False


def shielded(callback: Callback) -> Callback:
    """Return a callback whose exceptions are ignored, so that a closed terminal ends no run."""

    def harmless(method: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def call(event: Any) -> Any:
            with contextlib.suppress(Exception):
                return method(event)

        return call

    for name in dir(Callback):
        if name.startswith("on_"):
            setattr(callback, name, harmless(getattr(callback, name)))
    return callback
