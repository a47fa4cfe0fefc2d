"""Callbacks that end a run or keep what it says."""

from __future__ import annotations

from dcsvm_dask.runtime.callbacks import Callback, StopRun
from dcsvm_dask.runtime.events import Notice, StageDone


class StopAt(Callback):
    """Ends a run when a stage is committed."""

    def __init__(self, stage: str, error: BaseException | None = None) -> None:
        self._stage, self._error = stage, error or StopRun("enough")

    def on_commit(self, event: StageDone) -> None:
        if event.stage == self._stage:
            raise self._error


class Heard(Callback):
    """Keeps what the runtime says."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def on_notice(self, event: Notice) -> None:
        self.said.append(event.text)
