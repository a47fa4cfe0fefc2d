"""The journal of a run: events that commits do not record.

Commits record when and where every task ran, and its memory. The journal records which process
carried the run on how many workers, when stages began, and faults. It is one sealed object
``journal/OWNER.json`` for each process that carried the run, named after the claim by which the
process owned the run.
"""

from __future__ import annotations

import contextlib
from dataclasses import asdict
from typing import Any

from dcsvm_dask.errors import DcsvmError, InputError
from dcsvm_dask.runtime.callbacks import Callback
from dcsvm_dask.runtime.events import (
    Event,
    Fault,
    OtherVersions,
    RunBegins,
    RunEnds,
    StageBegins,
)
from dcsvm_dask.storage.run import RunFolder

JOURNAL = "journal"


class Journal(Callback):
    """Writes the journal of one process that carries a run."""

    def __init__(self, run: RunFolder) -> None:
        self._run = run
        self._entries: list[dict[str, Any]] = []

    def on_begin(self, event: RunBegins) -> None:
        """Write the begin of the run."""
        self._write(event)

    def on_stage(self, event: StageBegins) -> None:
        """Write the begin of a stage."""
        self._write(event)

    def on_fault(self, event: Fault) -> None:
        """Write a fault."""
        self._write(event)

    def on_versions(self, event: OtherVersions) -> None:
        """Write differing versions."""
        self._write(event)

    def on_end(self, event: RunEnds) -> None:
        """Write the end of the run."""
        self._write(event)

    def _write(self, event: Event) -> None:
        entry = {key: value for key, value in asdict(event).items() if key != "run"}
        self._entries.append({"event": type(event).__name__, **entry})
        # No result depends on it, so the run continues if it cannot be written.
        with contextlib.suppress(OSError, DcsvmError):
            self._run.write(f"{JOURNAL}/{self._run.writer}.json", {"entries": self._entries})


def read_journal(run: RunFolder, first: int = 0) -> list[list[dict[str, Any]]]:
    """Return the events of each process that carried a run, in the order of the processes.

    Each entry has the fields of an event of `dcsvm_dask.runtime.events`, and its class as
    ``event``.

    Parameters
    ----------
    run : RunFolder
    first : int, default 0
        Number of processes to skip.

    Returns
    -------
    list of list of dict

    Raises
    ------
    InputError
        If a journal is damaged.
    """
    folder, found = run.place / JOURNAL, []
    names = [name for name in folder.list() if name.endswith(".json")]
    for name in names[first:]:
        try:
            found.append(list((folder / name).read_json(sealed=True)["entries"]))
        except InputError as error:
            raise InputError(f"{error}; delete it, the run continues without it") from error
    return found
