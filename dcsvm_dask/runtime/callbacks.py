"""The protocol of those who follow a run: progress, logs, the journal, a user's own."""

from __future__ import annotations

from typing import Any

from dcsvm_dask.runtime.events import (
    Advanced,
    BlocksBegin,
    BlockSolved,
    Event,
    Fault,
    NoWorkers,
    OtherVersions,
    Planned,
    RunBegins,
    RunEnds,
    Said,
    SetSolved,
    StageBegins,
    StageDone,
    TaskDone,
    TaskFailed,
    WorkerLost,
    WorkerSilent,
)
from dcsvm_dask.storage.stage_id import SCORE, StageId


class StopRun(Exception):  # noqa: N818 (what ends is no error)
    """Raise it in a callback to end the run; the best committed level is the model.

    Parameters
    ----------
    why : str
        A few words for the run's message.
    """


class Callback:
    """Base class for callbacks; override the methods for the events that you need.

    All methods are called in the process that carries the run, in its main thread, one after the
    other. What they raise ends the run: `StopRun` in good order, anything else as a failure; what
    is committed stays in any case. They should return soon: the run's tasks go on meanwhile, but
    nothing new is begun.

    The order is: ``on_client``, ``on_begin``; for each stage ``on_stage``, its ``on_task``,
    ``on_block``, ``on_set`` and ``on_advance``, then ``on_commit``, and after it ``on_round`` or
    ``on_score`` where it is one; ``on_end``. Stages that were committed before a resume are told
    as well, with ``resumed`` true and without tasks.
    """

    def on_client(self, client: Any) -> str | None:  # noqa: ARG002 (for those who override it)
        """A client of a Dask scheduler is connected; not called where there is no scheduler.

        Parameters
        ----------
        client : distributed.Client

        Returns
        -------
        str or None
            A sentence to tell all who follow the run.
        """
        return None

    def on_event(self, event: Event) -> None:
        """Anything happened: calls the method for its kind; override it to be told of all alike."""
        getattr(self, METHODS[type(event)])(event)
        if isinstance(event, StageDone):
            if event.round is not None:
                self.on_round(event)
            if StageId(event.stage).kind == SCORE:
                self.on_score(event)

    def on_begin(self, event: RunBegins) -> None:
        """Workers are ready and the run begins."""

    def on_plan(self, event: Planned) -> None:
        """It is known what the run is likely to take."""

    def on_stage(self, event: StageBegins) -> None:
        """A stage begins."""

    def on_blocks(self, event: BlocksBegin) -> None:
        """A task begins to solve some blocks of a level."""

    def on_block(self, event: BlockSolved) -> None:
        """A block of a level is solved."""

    def on_set(self, event: SetSolved) -> None:
        """A working set of the whole problem is solved."""

    def on_advance(self, event: Advanced) -> None:
        """A task that is long by itself says how far it is."""

    def on_task(self, event: TaskDone) -> None:
        """A task of a stage is committed."""

    def on_commit(self, event: StageDone) -> None:
        """A stage is committed."""

    def on_round(self, event: StageDone) -> None:
        """A round of refinement or conquer is committed: objective, gap, violation."""

    def on_score(self, event: StageDone) -> None:
        """A model was scored on held-out rows: ``record["accuracy"]``, ``record["source"]``."""

    def on_fault(self, event: Fault) -> None:
        """Something went wrong that the run goes on after."""

    def on_versions(self, event: OtherVersions) -> None:
        """A process has other versions of what results depend on than the run was begun with."""

    def on_say(self, event: Said) -> None:
        """The runtime has something to say."""

    def on_end(self, event: RunEnds) -> None:
        """The process leaves the run; its state is written."""


METHODS: dict[type[Event], str] = {
    RunBegins: "on_begin",
    Planned: "on_plan",
    StageBegins: "on_stage",
    BlocksBegin: "on_blocks",
    BlockSolved: "on_block",
    SetSolved: "on_set",
    Advanced: "on_advance",
    TaskDone: "on_task",
    StageDone: "on_commit",
    TaskFailed: "on_fault",
    WorkerLost: "on_fault",
    WorkerSilent: "on_fault",
    NoWorkers: "on_fault",
    OtherVersions: "on_versions",
    Said: "on_say",
    RunEnds: "on_end",
}
"""What is called for which kind of event."""
