"""The stages of a run as the tasks of a fit."""

from __future__ import annotations

from typing import Any

from dcsvm_dask.estimators.fit_tasks import FitTasks
from dcsvm_dask.runtime.callbacks import Callback, StopRun
from dcsvm_dask.runtime.events import StageBegins, StageDone


class StageTasks(Callback):
    """Report a run's stages as the tasks of a fit; who wants to stop gets the model so far."""

    def __init__(self, tasks: FitTasks) -> None:
        self._tasks, self._begun = tasks, dict[str, Any]()

    def on_stage(self, event: StageBegins) -> None:
        """A stage begins."""
        self._begun[event.stage] = self._tasks.begin(event.stage)

    def on_commit(self, event: StageDone) -> None:
        """A stage is committed."""
        if event.stage not in self._begun:  # it was already, before a resume
            self._begun[event.stage] = self._tasks.begin(event.stage)
        if self._tasks.end(self._begun.pop(event.stage)):
            raise StopRun("a callback of the estimator asked for it")
