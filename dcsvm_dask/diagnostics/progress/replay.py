"""Replaying the events of a run, finished or running, from its folder.

The journal has the process that ran the run, the begin of stages and faults; commits have the
results of tasks and stages. Both become the messages that workers send, so the callbacks of a run
can follow its folder as well.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from dcsvm_dask.diagnostics.progress.stage import layer_of
from dcsvm_dask.methods.graph import COMMIT
from dcsvm_dask.methods.problem import PROBE
from dcsvm_dask.runtime.announcer import Announcer
from dcsvm_dask.runtime.callbacks import Callback
from dcsvm_dask.runtime.journal import read_journal
from dcsvm_dask.runtime.plan_file import PLAN
from dcsvm_dask.storage.node import Record
from dcsvm_dask.storage.run import RunFolder

KINDS = {
    "RunBegins": "begin",
    "StageBegins": "graph",
    "TaskFailed": "failed",
    "WorkerLost": "lost",
    "WorkerSilent": "silent",
    "NoWorkers": "no_workers",
    "OtherVersions": "versions",
    "RunEnds": "end",
}
"""Names of events in the journal, and the kinds of the messages that they come from."""


class Replay:
    """Sends callbacks the events of the process that ran a run last.

    Stages that earlier processes committed are reported as after a resume: ``resumed``, without
    tasks.

    Parameters
    ----------
    run : RunFolder
    callbacks : sequence of Callback
    tasks : bool, default True
        Whether to report the tasks of stages that are committed by now. There are many of them; the
        commits of these stages are enough for the state of the run.
    """

    def __init__(
        self, run: RunFolder, callbacks: Sequence[Callback], *, tasks: bool = True
    ) -> None:
        self._run, self._with_tasks = run, tasks
        self._announcer = Announcer(run.place.url, callbacks)
        self._process, self._entries = -1, 0
        self._began = -math.inf
        self._stage = ""
        self._layers: dict[str, int] = {}
        self._sent: set[str] = set()
        self._planned = False
        self.ended = False
        """Whether the journal holds the end of the process."""

    @property
    def begun(self) -> bool:
        """Whether a process has begun the run: its workers were ready."""
        return self._process >= 0

    def look(self) -> None:
        """Report the events since the last call.

        Raises
        ------
        InputError
            If the run's folder is damaged.
        """
        processes = read_journal(self._run, first=max(0, self._process))
        if not processes:
            return
        latest = max(0, self._process) + len(processes) - 1
        if latest != self._process:
            self._process, self._entries, self._stage, self.ended = latest, 0, "", False
        for entry in processes[-1][self._entries :]:
            self._entries += 1
            # A stage has ended when the next one begins, whatever the clocks of hosts say.
            fault = KINDS[entry["event"]] in ("failed", "lost", "silent", "no_workers")
            self._replay_tasks(until=entry["time"] if fault else math.inf)
            self._replay_entry(dict(entry))
        if not self.ended:
            self._replay_tasks()

    def end(self, state: str, message: str, *, converged: bool = False) -> None:
        """Report the end of the run, unless the journal holds it.

        Parameters
        ----------
        state : {"complete", "interrupted", "failed"}
        message : str
        converged : bool, default False
        """
        if not self.ended:
            self.ended = True
            self._announcer.end(state, message, converged=converged)

    def _replay_entry(self, entry: dict[str, Any]) -> None:
        kind = KINDS[entry.pop("event")]
        if kind == "graph":
            self._replay_stage(entry)
            return
        if kind == "begin":
            self._began, self._planned = entry["time"], False
        self.ended = kind == "end"
        self._send({"kind": kind, **entry})

    def _replay_stage(self, stage: dict[str, Any]) -> None:
        now = stage.pop("time")
        if stage["stage"] != PROBE:
            self._replay_plan(now)
        self._stage, self._layers, self._sent = stage["stage"], stage["layers"], set()
        found = self._run.find(self._stage, COMMIT)
        if found is not None and ended(found.record) < self._began:
            self._stage, stage = "", {**stage, "record": found.record}
        self._send({"kind": "graph", "time": now, "stages": [stage]})

    def _replay_plan(self, now: float) -> None:
        """Report the plan when the first stage after the probe begins: it is final then."""
        if self._planned:
            return
        self._planned = True
        try:
            plan = (self._run.place / PLAN).read_json(sealed=True)
        except FileNotFoundError:
            return
        self._send({"kind": "plan", "time": now, "plan": plan})

    def _replay_tasks(self, until: float = math.inf) -> None:
        """Report the tasks of the present stage that ended until a time."""
        messages = []
        for node, record in self._new_nodes():
            if self._began <= ended(record) <= until:
                self._sent.add(node)
                messages += list(self._of_node(node, record))
        # The commit is the last one, whatever the clocks of hosts say.
        for message in sorted(messages, key=lambda one: (one["node"] == COMMIT, one["time"])):
            self._send(message)

    def _of_node(self, node: str, record: Record) -> Iterator[dict[str, Any]]:
        """Yield the messages of a node's task."""
        layer = layer_of(node, self._layers)
        about = {"stage": self._stage, "node": node, "worker": record["host"]}
        if self._with_tasks and "each" in record:
            now = record["began"]
            yield {"kind": "blocks", "time": now, **about, "blocks": record["members"]}
            for i, block in enumerate(record["members"]):
                solved = {key: values[i] for key, values in record["each"].items()}
                now += solved["seconds"]
                yield {
                    "kind": "solve",
                    "time": min(now, ended(record)),
                    **about,
                    "solved": [{"block": block, **solved}],
                }
        trace = record.get("trace")
        if trace:
            points = zip(trace["seconds"], trace["sets"], trace["violation"], strict=True)
            of_run = {"start": trace["start"], "tol": trace["tol"]}
            for seconds, number, violation in points:
                solved = {"violation": violation, "rows": record["active"], **of_run}
                at = min(record["began"] + seconds, ended(record))
                yield {"kind": "set", "time": at, **about, "number": number, "record": solved}
        yield {"kind": "task", "time": ended(record), **about, "layer": layer, "record": record}

    def _new_nodes(self) -> Iterator[tuple[str, Record]]:
        if not self._stage or COMMIT in self._sent:
            return
        run, stage = self._run, self._stage
        whole = self._with_tasks or run.find(stage, COMMIT) is None
        if whole:
            for node, found in run.read(stage, but=self._sent).items():
                yield node, found.record
        elif (commit := run.find(stage, COMMIT)) is not None:
            yield COMMIT, commit.record

    def _send(self, message: dict[str, Any]) -> None:
        self._announcer.send(message)
        self._announcer.drain()


def ended(record: Record) -> float:
    """Return when a node was committed, in seconds since 1970."""
    return float(record["began"] + record["seconds"])
