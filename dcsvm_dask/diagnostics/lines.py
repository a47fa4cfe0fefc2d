"""Progress as plain lines, one for each committed stage."""

from __future__ import annotations

import sys
from typing import TextIO

from dcsvm_dask.diagnostics.outline import in_brief
from dcsvm_dask.diagnostics.terminal.wrapping import fitted
from dcsvm_dask.masking import printable
from dcsvm_dask.methods.registry import kind_of
from dcsvm_dask.runtime.callbacks import Callback
from dcsvm_dask.runtime.events import (
    THIS_PROCESS,
    Event,
    Fault,
    Notice,
    NoWorkers,
    OtherVersions,
    Planned,
    RunBegins,
    StageDone,
    WorkerLost,
    WorkerSilent,
)


class Lines(Callback):
    """Print a line for each committed stage.

    Parameters
    ----------
    stream : TextIO, optional
        The stream to print to; standard error by default, which leaves standard output to results.
    since : float, optional
        The time (in seconds since 1970) from which seconds are counted; by default that of the
        first line.
    """

    def __init__(self, stream: TextIO | None = None, since: float | None = None) -> None:
        self._stream = stream if stream is not None else sys.stderr
        self._begin = since

    def on_begin(self, event: RunBegins) -> None:
        """Print the cluster or process that runs the tasks."""
        self._print(event, f"running on {event.where}")

    def on_plan(self, event: Planned) -> None:
        """Print the estimated time, memory and work of the run."""
        self._print(event, f"{'plan':<13} {in_brief(event.plan)}")

    def on_commit(self, event: StageDone) -> None:
        """Print the result of a stage."""
        if not event.resumed:
            self._print(event, f"{event.stage:<13} {kind_of(event.stage).describe(event.record)}")

    def on_fault(self, event: Fault) -> None:
        """Print a fault."""
        self._print(event, fault(event))

    def on_versions(self, event: OtherVersions) -> None:
        """Print the versions that differ."""
        self._print(event, other_versions(event))

    def on_notice(self, event: Notice) -> None:
        """Print a sentence."""
        self._print(event, event.text)

    def _print(self, event: Event, text: str) -> None:
        """Print one line with the seconds since the begin."""
        if self._begin is None:
            self._begin = event.time
        elapsed = max(0.0, event.time - self._begin)
        line = fitted(f"{elapsed:7.1f} s  {printable(text)}", self._stream)
        print(line, file=self._stream, flush=True)


def fault(event: Fault) -> str:
    """Return a sentence that describes a fault."""
    if isinstance(event, WorkerLost):
        why = f" ({event.why})" if event.why else ""
        return f"worker {event.worker} was lost{why}; its tasks run again"
    if isinstance(event, WorkerSilent):
        return (
            f"worker {event.worker} has been silent for {event.seconds:.0f} s: it is stopped, "
            "hangs or swaps; without a heartbeat the scheduler removes it, at most twice its "
            "worker-ttl after the last one, and its tasks run again"
        )
    if isinstance(event, NoWorkers):
        return f"no workers are left; waiting for one to join {event.where}"
    return f"{event.stage}: {event.node} failed on {event.worker}: {event.error}"


def other_versions(event: OtherVersions) -> str:
    """Return a sentence that names the differing versions and their consequence."""
    differing = ", ".join(
        f"{name.replace('_', ' ')} {found} (the run was begun with {recorded})"
        for name, (recorded, found) in event.differing.items()
    )
    if event.refused:
        return f"worker {event.worker} is excluded from the run: it has {differing}"
    who = event.worker if event.worker == THIS_PROCESS else f"worker {event.worker}"
    return (
        f"warning: {who} has {differing}; the model may differ by rounding from that of a run "
        "that was not interrupted"
    )
