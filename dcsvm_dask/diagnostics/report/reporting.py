"""The report at the end of a run."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from threading import Thread

from dcsvm_dask.diagnostics.report.page import available
from dcsvm_dask.runtime.announcer import INTERRUPTED, TERMINATED
from dcsvm_dask.runtime.callbacks import Callback
from dcsvm_dask.runtime.events import THIS_PROCESS, Notice, RunBegins, RunEnds
from dcsvm_dask.storage.run import RunFolder


class Reporting(Callback):
    """Writes ``report.html`` into a run's folder when a process leaves the run.

    It computes no kernel values, and an error becomes one sentence.

    Parameters
    ----------
    run : RunFolder
    others : sequence of Callback
        Callbacks that receive the sentence, and before that one that says what is done.
    """

    def __init__(self, run: RunFolder, others: Sequence[Callback] = ()) -> None:
        self._run, self._others = run, others

    def on_begin(self, event: RunBegins) -> None:
        """Import what draws while workers compute: this process has nothing else to do."""
        if event.where != THIS_PROCESS and available():
            Thread(target=_load, name="dcsvm-report", daemon=True).start()

    def on_end(self, event: RunEnds) -> None:
        """Write the report, unless the process was told to end at once."""
        if event.message not in (INTERRUPTED, TERMINATED):
            self.write()

    def write(self) -> None:
        """Write the report, or report why it cannot be written."""
        if not available():
            self._say("no report: it needs bokeh and jinja2 (pip install bokeh jinja2)")
            return
        # Drawing takes some seconds, after the last line of the run.
        self._say("writing the report", doing=True)
        try:
            from dcsvm_dask.diagnostics.report.report import report
            from dcsvm_dask.diagnostics.report.writing import place_in, write_html

            # The goals in the header may have changed.
            run = RunFolder.open(self._run.place)
            self._run.check_owner()
            write_html(report(run, compute=False)[0], place_in(run))
        except Exception as error:  # noqa: BLE001 (a report must not make a run fail)
            self._say(f"no report: {error}")

    def _say(self, text: str, *, doing: bool = False) -> None:
        for other in self._others:
            other.on_event(Notice(self._run.place.url, time.time(), text, doing))


def _load() -> None:
    """Import the views, which import bokeh; whoever writes the report meets what is wrong."""
    with suppress(Exception):
        import_module("dcsvm_dask.diagnostics.report.views.run")
