"""Passing the messages of workers to the callbacks of a run."""

from __future__ import annotations

import contextlib
import queue
import time
import warnings
from collections.abc import Sequence
from typing import Any

from dcsvm_dask.masking import masked
from dcsvm_dask.methods.graph import COMMIT, Graph, Stage
from dcsvm_dask.runtime.callbacks import Callback
from dcsvm_dask.runtime.events import (
    Advanced,
    BlocksBegin,
    BlockSolved,
    Event,
    Notice,
    NoWorkers,
    OtherVersions,
    Planned,
    RunBegins,
    RunEnds,
    SetSolved,
    StageBegins,
    StageDone,
    TaskDone,
    TaskFailed,
    WorkerLost,
    WorkerSilent,
)
from dcsvm_dask.runtime.failures import named
from dcsvm_dask.storage.node import Record

Message = dict[str, Any]
"""An event as it is sent through Dask: its ``kind``, the ``run``, the ``time``, and the fields of
the event of that kind."""


INTERRUPTED = "stopped from the keyboard"
"""Message of a run that was ended by Ctrl-C."""
TERMINATED = "ended by SIGTERM"
"""Message of a run whose process received SIGTERM."""


class Announcer:
    """Passes messages to callbacks, each event once and in the order of the stages.

    Messages may come twice (a task that ran again), late, or not at all (a worker died after its
    commit); missing commits are reported from storage when their graph is done.

    Parameters
    ----------
    run : str
        URL of the run; messages of other runs are ignored.
    callbacks : sequence of Callback
    """

    def __init__(self, run: str, callbacks: Sequence[Callback]) -> None:
        self.run, self._callbacks = run, callbacks
        self._messages: queue.SimpleQueue[Message] = queue.SimpleQueue()
        self._ahead: list[Record] = []
        self._begun: str | None = None
        self._committed: set[str] = set()
        self._solved: set[tuple[str, int]] = set()
        self._versions_reported: set[tuple[bool, str]] = set()
        self.refused: str | None = None
        """The sentence of a task that found that there is no solution; see `InfeasibleError`."""

    def send(self, message: Message) -> None:
        """Queue a message, from any thread."""
        if message.get("run", self.run) == self.run:
            self._messages.put({"run": self.run, "time": time.time(), **message})

    def drain(self) -> None:
        """Pass the queued messages to the callbacks, in this thread."""
        while True:
            try:
                message = self._messages.get_nowait()
            except queue.Empty:
                return
            getattr(self, "_" + message.pop("kind"))(message)

    def attach(self, client: Any) -> None:
        """Pass the Dask client of the run's scheduler to the callbacks."""
        for callback in self._callbacks:
            text = callback.on_client(client)
            if text:
                self.say(text)

    def say(self, text: str, *, doing: bool = False) -> None:
        """Report a sentence.

        `doing` marks the present activity of the process, until the next report.
        """
        self.send({"kind": "notice", "text": masked(text), "doing": doing})
        self.drain()

    def end(self, state: str, message: str = "", *, converged: bool = False) -> None:
        """Report the end of the run, after all queued messages.

        Parameters
        ----------
        state : {"complete", "interrupted", "failed"}
        message : str
        converged : bool, default False
        """
        while not self._messages.empty():
            # The run ends already, so errors of callbacks are ignored.
            with contextlib.suppress(Exception):
                self.drain()
        event = RunEnds(self.run, time.time(), state, message, converged)
        for callback in self._callbacks:
            try:
                callback.on_event(event)
            except Exception as error:  # noqa: BLE001 (the other callbacks must be called)
                warnings.warn(f"{type(callback).__name__}.on_end: {error!r}", stacklevel=2)

    def _notify(self, event: Event) -> None:
        for callback in self._callbacks:
            callback.on_event(event)

    def _begin(self, message: Message) -> None:
        self._notify(RunBegins(**message))

    def _plan(self, message: Message) -> None:
        self._notify(Planned(**message))

    def _graph(self, message: Message) -> None:
        """Store the stages that run next and begin the first one."""
        self._ahead = [dict(stage) for stage in message["stages"]]
        for stage in self._ahead:
            # A stage that runs again because its arrays are gone is reported again.
            self._committed.discard(stage["stage"])
            self._solved = {seen for seen in self._solved if seen[0] != stage["stage"]}
        self._begin_next(message["time"])

    def _begin_next(self, now: float) -> None:
        while self._ahead:
            stage = self._ahead[0]
            record = stage.pop("record", None)
            event = StageBegins(self.run, now, **stage)
            self._begun = event.stage
            self._notify(event)
            if record is None:
                return
            self._commit(event.stage, record, now, resumed=True)

    def _reach(self, stage: str, now: float) -> None:
        """Begin the stage of a message, skipping stages whose commit messages were lost.

        These commits are reported when their graph is done.
        """
        if stage in [one["stage"] for one in self._ahead[1:]]:
            while self._ahead[0]["stage"] != stage:
                del self._ahead[0]
            self._begin_next(now)

    def _blocks(self, message: Message) -> None:
        self._reach(message["stage"], message["time"])
        self._notify(BlocksBegin(**message))

    def _solve(self, message: Message) -> None:
        self._reach(message["stage"], message["time"])
        for solved in message.pop("solved"):
            # The record is copied: the sender may still use the message.
            record = {key: value for key, value in solved.items() if key != "block"}
            block = solved["block"]
            if (message["stage"], block) in self._solved:
                continue
            self._solved.add((message["stage"], block))
            self._notify(BlockSolved(**message, block=block, record=record))

    def _set(self, message: Message) -> None:
        self._reach(message["stage"], message["time"])
        self._notify(SetSolved(**message))

    def _advance(self, message: Message) -> None:
        self._reach(message["stage"], message["time"])
        self._notify(Advanced(**message))

    def _task(self, message: Message) -> None:
        self._reach(message["stage"], message["time"])
        event = TaskDone(**message)
        each = event.record.get("each")
        if each:
            solved = [
                {"block": block, **{key: values[i] for key, values in each.items()}}
                for i, block in enumerate(event.record["members"])
            ]
            about = {key: message[key] for key in ("run", "time", "stage", "node", "worker")}
            self._solve({**about, "solved": solved})
        self._notify(event)
        if event.node == COMMIT:
            self._commit(event.stage, event.record, event.time, resumed=False)

    def _graph_done(self, message: Message) -> None:
        """Report the commits of a finished graph that have not been reported."""
        for stage, record in message["commits"].items():
            self._commit(stage, record, message["time"], resumed=False)

    def _commit(self, stage: str, record: Record, now: float, *, resumed: bool) -> None:
        if stage in self._committed:
            return
        self._committed.add(stage)
        self._notify(StageDone(self.run, now, stage, record, resumed))
        if self._ahead and self._ahead[0]["stage"] == stage:
            del self._ahead[0]
            if not resumed:
                self._begin_next(now)

    def _failed(self, message: Message) -> None:
        self._notify(TaskFailed(**message))

    def _refused(self, message: Message) -> None:
        self.refused = message["error"]

    def _lost(self, message: Message) -> None:
        self._notify(WorkerLost(**message))

    def _silent(self, message: Message) -> None:
        self._notify(WorkerSilent(**message))

    def _no_workers(self, message: Message) -> None:
        self._notify(NoWorkers(**message))

    def _versions(self, message: Message) -> None:
        """Report each set of versions once: the workers of a cluster mostly have the same."""
        found = {name: list(both) for name, both in message.pop("differing").items()}
        event = OtherVersions(**message, differing=found)
        which = event.refused, repr(sorted(event.differing.items()))
        if which not in self._versions_reported:
            self._versions_reported.add(which)
            self._notify(event)

    def _notice(self, message: Message) -> None:
        message.pop("worker", None)  # the text names the worker where it matters
        self._notify(Notice(**message))

    def _end(self, message: Message) -> None:
        self._notify(RunEnds(**message))


def loss_message(worker: str, event: Any) -> Message | None:
    """Return the message for a worker that was lost unexpectedly.

    Parameters
    ----------
    worker : str
    event : object
        An event of Dask's topic of that worker, or of its topic "all".

    Returns
    -------
    dict or None
        None for all other events.
    """
    lost = isinstance(event, dict) and event.get("action") == "remove-worker"
    if not lost or event.get("expected", False):
        return None
    tasks = sorted(map(named, event["processing-tasks"]))
    return {"kind": "lost", "worker": worker, "tasks": tasks}


def graph_message(
    graph: Graph, committed: dict[str, Record], done: dict[str, list[str]]
) -> Message:
    """Return the message that announces stages.

    Parameters
    ----------
    graph : Graph
    committed : dict
        Records of the stages that need not run.
    done : dict
        Committed nodes of the other stages, by stage.

    Returns
    -------
    dict
    """
    stages = [
        {
            "stage": stage.name,
            "label": stage.label,
            "layers": {layer.name: len(layer.nodes) for layer in stage.layers},
            "done": _done(stage, done.get(stage.name, [])),
            **({"record": committed[stage.name]} if stage.name in committed else {}),
        }
        for stage in graph
    ]
    return {"kind": "graph", "stages": stages}


def _done(stage: Stage, nodes: list[str]) -> dict[str, int]:
    there = set(nodes)
    counts = {layer.name: sum(node.name in there for node in layer.nodes) for layer in stage.layers}
    return {name: count for name, count in counts.items() if count}
