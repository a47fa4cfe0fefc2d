"""The base class of callbacks that follow a run."""

from __future__ import annotations

from typing import Any

from dcsvm_dask.runtime.events import (
    Advanced,
    BlocksBegin,
    BlockSolved,
    Event,
    Fault,
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
from dcsvm_dask.storage.stage_id import SCORE, StageId


class StopRun(Exception):  # noqa: N818 (the end of a run is no error)
    """Exception that a callback raises to end the run; the best committed level is the model.

    Parameters
    ----------
    why : str
        The reason, a few words for the run's message.
    """


class Callback:
    """Base class for callbacks; override the methods for the events that you need.

    All methods are called in the process that carries the run, in its main thread, one after the
    other. An exception ends the run: `StopRun` as an interruption, any other as a failure;
    committed stages are kept in any case. Methods should return soon: running tasks continue
    meanwhile, but no new stage begins.

    The order is: ``on_client``, ``on_begin``; for each stage ``on_stage``, its ``on_task``,
    ``on_block``, ``on_set`` and ``on_advance``, then ``on_commit``, and after it ``on_round`` or
    ``on_score`` for rounds and scores; ``on_end``. Stages that were committed before a resume are
    reported as well, with ``resumed`` true and without tasks.
    """

    def on_client(self, client: Any) -> str | None:  # noqa: ARG002 (for those who override it)
        """Handle the connection of a client to a Dask scheduler; not called without a scheduler.

        Parameters
        ----------
        client : distributed.Client

        Returns
        -------
        str or None
            A sentence that is reported to all callbacks.
        """
        return None

    def on_event(self, event: Event) -> None:
        """Call the method for an event; override it to handle all events alike."""
        getattr(self, METHODS[type(event)])(event)
        if isinstance(event, StageDone):
            if event.round is not None:
                self.on_round(event)
            if StageId(event.stage).kind == SCORE:
                self.on_score(event)

    def on_begin(self, event: RunBegins) -> None:
        """Handle the begin of the run; workers are ready."""

    def on_plan(self, event: Planned) -> None:
        """Handle the plan of the run: estimated time, memory and work."""

    def on_stage(self, event: StageBegins) -> None:
        """Handle the begin of a stage."""

    def on_blocks(self, event: BlocksBegin) -> None:
        """Handle the begin of a task that solves blocks of a level."""

    def on_block(self, event: BlockSolved) -> None:
        """Handle the solution of a block of a level."""

    def on_set(self, event: SetSolved) -> None:
        """Handle the solution of a working set of the whole problem."""

    def on_advance(self, event: Advanced) -> None:
        """Handle a progress report of a long task."""

    def on_task(self, event: TaskDone) -> None:
        """Handle the commit of a task."""

    def on_commit(self, event: StageDone) -> None:
        """Handle the commit of a stage."""

    def on_round(self, event: StageDone) -> None:
        """Handle the commit of a round: objective, gap, violation."""

    def on_score(self, event: StageDone) -> None:
        """Handle the scores of a model on held-out rows.

        They are ``record["accuracy"]``, or those of the task such as ``record["r2"]``, and
        ``record["source"]``.
        """

    def on_fault(self, event: Fault) -> None:
        """Handle a fault after which the run continues."""

    def on_versions(self, event: OtherVersions) -> None:
        """Handle a process whose versions differ from those the run was begun with."""

    def on_notice(self, event: Notice) -> None:
        """Handle a sentence of the runtime."""

    def on_end(self, event: RunEnds) -> None:
        """Handle the end of this process's work on the run; the run's state is written."""


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
    Notice: "on_notice",
    RunEnds: "on_end",
}
"""Method for each kind of event."""
