"""What a run's folder keeps of how it went, beside what its commits say.

Commits say when every task ran, where, and how much memory it took. The journal says what no
commit does: which process carried the run on how many workers, when stages began, what went wrong.
It lies in ``journal/OWNER.json``, one sealed object for each process that carried the run, under
the name of the claim by which that process owned the run.
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
        """Begin."""
        self._write(event)

    def on_stage(self, event: StageBegins) -> None:
        """Keep it."""
        self._write(event)

    def on_fault(self, event: Fault) -> None:
        """Keep it."""
        self._write(event)

    def on_versions(self, event: OtherVersions) -> None:
        """Keep it."""
        self._write(event)

    def on_end(self, event: RunEnds) -> None:
        """Keep it."""
        self._write(event)

    def _write(self, event: Event) -> None:
        entry = {key: value for key, value in asdict(event).items() if key != "run"}
        self._entries.append({"event": type(event).__name__, **entry})
        # Nothing that is computed rests on it: where it cannot be written, the run goes on.
        with contextlib.suppress(OSError, DcsvmError):
            self._run.write(f"{JOURNAL}/{self._run.writer}.json", {"entries": self._entries})


def read_journal(run: RunFolder, first: int = 0) -> list[list[dict[str, Any]]]:
    """Return what each process that carried a run has told, the first one first.

    Each entry is what an event of `dcsvm_dask.runtime.events` holds, with its name as ``event``.

    Parameters
    ----------
    run : RunFolder
    first : int, default 0
        How many processes are left out.

    Raises
    ------
    InputError
        If what is there is damaged.
    """
    folder, found = run.place / JOURNAL, []
    names = [name for name in folder.list() if name.endswith(".json")]
    for name in names[first:]:
        try:
            found.append(list((folder / name).read_json(sealed=True)["entries"]))
        except InputError as error:
            raise InputError(f"{error}; delete it, the run goes on without it") from error
    return found
