"""The file of a run's plan, written when the run begins and again after the probe."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from dcsvm_dask.methods.forecast import TYPICAL, Measured
from dcsvm_dask.methods.method import Goals, Shape
from dcsvm_dask.methods.plan import plan
from dcsvm_dask.methods.probe import resident_bytes
from dcsvm_dask.methods.problem import PROBE
from dcsvm_dask.methods.settings import Settings
from dcsvm_dask.runtime.announcer import Message
from dcsvm_dask.runtime.capacity import kept_bytes
from dcsvm_dask.storage.node import Record
from dcsvm_dask.storage.run import RunFolder

PLAN = "plan.json"


class PlanFile:
    """Writes and reports the plan of a run; no result depends on it.

    Parameters
    ----------
    run : RunFolder
    header : tuple (Settings, Goals, Shape)
        The run's parameters; see `read_header`.
    workers : int
        Tasks that may run at a time.
    memory : int or None
        Bytes that each of them may use; None: no limit.
    report : callable
        Called with messages of kind "plan".
    threads : int, default 1
        Threads of a task that runs while no other does.
    here : bool, default False
        Whether this process runs the tasks: it is as large as it is now.
    """

    def __init__(
        self,
        run: RunFolder,
        header: tuple[Settings, Goals, Shape],
        workers: int,
        memory: int | None,
        report: Callable[[Message], None],
        threads: int = 1,
        here: bool = False,
    ) -> None:
        self._run, self._header = run, header
        self._workers, self._memory, self._report = workers, memory, report
        self._threads = threads
        if run.find(PROBE, "commit") is None:
            process_bytes = resident_bytes() if here else TYPICAL.process_bytes
            planned = self._write(replace(TYPICAL, process_bytes=process_bytes))
            if PROBE not in planned["stages"]:
                report({"kind": "plan", "plan": planned})

    def __call__(self, records: dict[str, Record]) -> None:
        """Plan again if the probe is among newly committed stages, given their records."""
        if PROBE in records:
            planned = self._write(Measured.of(records[PROBE]))
            self._report({"kind": "plan", "plan": planned})

    def _write(self, measured: Measured) -> Record:
        found = plan(*self._header, measured)
        kept = found.data_bytes if self._memory is None else kept_bytes(found, self._memory)
        planned = found.to_json(self._workers, self._threads) | {"workers": self._workers}
        planned["worker_bytes"] += kept
        self._run.write(PLAN, planned)
        return planned
