"""What happened in a run, told again from its folder: of a finished run, or of one under way.

The journal says which process carried the run, when stages began and what went wrong; commits say
what every task and every stage came to. Both become the messages that workers send, so whoever
follows a run can follow its folder as well.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from dcsvm_dask.methods.graph import COMMIT
from dcsvm_dask.methods.problem import PROBE
from dcsvm_dask.runtime.announcer import Announcer
from dcsvm_dask.runtime.callbacks import Callback
from dcsvm_dask.runtime.foretelling import PLAN
from dcsvm_dask.runtime.journal import read_journal
from dcsvm_dask.storage.node import Record
from dcsvm_dask.storage.run import RunFolder

KINDS = {
    "RunBegins": "begin",
    "StageBegins": "graph",
    "TaskFailed": "failed",
    "WorkerLost": "lost",
    "WorkerSilent": "silent",
    "NoWorkers": "alone",
    "OtherVersions": "versions",
    "RunEnds": "end",
}
"""What the journal calls an event, and the kind of message that it comes from."""


class Replay:
    """Tells callbacks what a run's folder says of the process that carried it last.

    What earlier processes had committed is told as it is after a resume: ``resumed``, without
    tasks.

    Parameters
    ----------
    run : RunFolder
    callbacks : sequence of Callback
    tasks : bool, default True
        Whether the tasks of stages that are committed by now are told of, too. They are many: to
        know where a run stands, the commits of those stages are enough.
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
        self._told: set[str] = set()
        self._planned = False
        self.ended = False
        """Whether the journal says that the process has left the run."""

    @property
    def begun(self) -> bool:
        """Whether a process has begun to carry the run: its workers were ready."""
        return self._process >= 0

    def look(self) -> None:
        """Tell what is new since the last look.

        Raises
        ------
        InputError
            If what the folder holds is damaged.
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
            fault = KINDS[entry["event"]] in ("failed", "lost", "silent", "alone")
            self._tell_tasks(until=entry["time"] if fault else math.inf)
            self._tell_entry(dict(entry))
        if not self.ended:
            self._tell_tasks()

    def end(self, state: str, message: str, *, converged: bool = False) -> None:
        """Tell how the run has ended, unless its journal has said so."""
        if not self.ended:
            self.ended = True
            self._announcer.end(state, message, converged=converged)

    def _tell_entry(self, entry: dict[str, Any]) -> None:
        kind = KINDS[entry.pop("event")]
        if kind == "graph":
            self._tell_stage(entry)
            return
        if kind == "begin":
            self._began, self._planned = entry["time"], False
        self.ended = kind == "end"
        self._send({"kind": kind, **entry})

    def _tell_stage(self, stage: dict[str, Any]) -> None:
        now = stage.pop("time")
        if stage["stage"] != PROBE:
            self._tell_plan(now)
        self._stage, self._layers, self._told = stage["stage"], stage["layers"], set()
        found = self._run.find(self._stage, COMMIT)
        if found is not None and ended(found.record) < self._began:
            self._stage, stage = "", {**stage, "record": found.record}
        self._send({"kind": "graph", "time": now, "stages": [stage]})

    def _tell_plan(self, now: float) -> None:
        """Tell the plan when the first stage after the probe begins: it is final then."""
        if self._planned:
            return
        self._planned = True
        try:
            plan = (self._run.place / PLAN).read_json(sealed=True)
        except FileNotFoundError:
            return
        self._send({"kind": "plan", "time": now, "plan": plan})

    def _tell_tasks(self, until: float = math.inf) -> None:
        """Tell the tasks of the stage under way that ended until then."""
        messages = []
        for node, record in self._new_nodes():
            if self._began <= ended(record) <= until:
                self._told.add(node)
                messages += list(self._of_node(node, record))
        # The commit is the last one, whatever the clocks of hosts say.
        for message in sorted(messages, key=lambda one: (one["node"] == COMMIT, one["time"])):
            self._send(message)

    def _of_node(self, node: str, record: Record) -> Iterator[dict[str, Any]]:
        """Yield what a node's task has told, or would have."""
        layer = node if node in self._layers else node.rsplit("-", 1)[0]
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
        yield {"kind": "task", "time": ended(record), **about, "layer": layer, "record": record}

    def _new_nodes(self) -> Iterator[tuple[str, Record]]:
        if not self._stage or COMMIT in self._told:
            return
        run, stage = self._run, self._stage
        whole = self._with_tasks or run.find(stage, COMMIT) is None
        if whole:
            for node, found in run.read(stage, but=self._told).items():
                yield node, found.record
        elif (commit := run.find(stage, COMMIT)) is not None:
            yield COMMIT, commit.record

    def _send(self, message: dict[str, Any]) -> None:
        self._announcer.send(message)
        self._announcer.drain()


def ended(record: Record) -> float:
    """Return when a node was committed, in seconds since 1970."""
    return float(record["began"] + record["seconds"])
