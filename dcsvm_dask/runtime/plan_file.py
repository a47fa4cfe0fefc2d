"""The file of a run's plan, written when the run begins and again after the probe."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from dcsvm_dask.methods.goals import Goals
from dcsvm_dask.methods.measured import TYPICAL, Measured
from dcsvm_dask.methods.plan import plan
from dcsvm_dask.methods.problem import PROBE
from dcsvm_dask.methods.settings import Settings
from dcsvm_dask.methods.shape import Shape
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
    at_a_time : int, default 1
        Tasks that a process carries at a time.
    process_bytes : int, optional
        Memory of the process that runs tasks, before the first; by default a typical one.
    """

    def __init__(
        self,
        run: RunFolder,
        header: tuple[Settings, Goals, Shape],
        workers: int,
        memory: int | None,
        report: Callable[[Message], None],
        threads: int = 1,
        at_a_time: int = 1,
        process_bytes: int | None = None,
    ) -> None:
        self._run, self._header = run, header
        self._workers, self._memory, self._report = workers, memory, report
        self._threads, self._at_a_time = threads, at_a_time
        if run.find(PROBE, "commit") is None:
            own = TYPICAL.process_bytes if process_bytes is None else process_bytes
            planned = self._write(replace(TYPICAL, process_bytes=own))
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
        planned["worker_bytes"] = found.likely_bytes(self._at_a_time) + kept
        self._run.write(PLAN, planned)
        return planned
