"""Why workers of a run were lost."""

from __future__ import annotations

from dcsvm_dask.runtime.callbacks import Callback
from dcsvm_dask.runtime.events import Fault, WorkerLost


class Losses(Callback):
    """Keeps why workers were lost."""

    def __init__(self) -> None:
        self.why: list[str] = []

    def on_fault(self, event: Fault) -> None:
        if isinstance(event, WorkerLost):
            self.why.append(event.why)
