"""The runs that a scheduler hears of, each with how far it is."""

from __future__ import annotations

import time
from typing import Any

from dcsvm_dask.diagnostics.dashboard.rates import Rates
from dcsvm_dask.diagnostics.progress.progress import Progress
from dcsvm_dask.runtime.announcer import Announcer, loss_message
from dcsvm_dask.runtime.topic import TOPIC

CARRIER = "carrier"
"""The kind of message that says which client of the scheduler carries a run."""
MOST_RUNS = 10
LEFT = "left"
"""The state of a run whose process went without a word."""


class FollowedRun:
    """One process that carries a run, as far as its scheduler has heard."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.progress, self.rates = Progress(), Rates()
        self.announcer = Announcer(url, [self.progress, self.rates])
        self.client: str | None = None
        self.told = 0
        """Messages so far: while it stays, there is nothing new to draw."""

    @property
    def is_on(self) -> bool:
        """Whether the process carries it still."""
        return self.progress.beginning is not None and self.progress.ending is None

    def take(self, message: dict[str, Any]) -> None:
        """Take a message."""
        self.told += 1
        self.announcer.send(message)
        self.announcer.drain()
        self.progress.tasks.clear()  # of which there may be very many, and the page needs none


class Runs:
    """Follows all runs of a scheduler by what is logged there; the newest one is the last."""

    def __init__(self) -> None:
        self.followed: dict[str, FollowedRun] = {}

    def newest(self) -> FollowedRun | None:
        """Return the run that began last, if there was one."""
        return next(reversed(self.followed.values()), None)

    def take(self, topic: str, message: Any) -> None:
        """Take what was logged under one of Dask's topics."""
        if topic == TOPIC and isinstance(message, dict) and "kind" in message:
            self._take(message)
        elif topic == "all" and isinstance(message, dict):
            self._take_of_dask(message)

    def _take(self, message: dict[str, Any]) -> None:
        url = message.get("run", "")
        if message["kind"] == "begin":  # anew, where the run is resumed
            self.followed.pop(url, None)
            self.followed[url] = FollowedRun(url)
            ended = [run.url for run in self.followed.values() if not run.is_on and run.told]
            for old in ended[: max(0, len(self.followed) - MOST_RUNS)]:
                del self.followed[old]
        run = self.followed.get(url)
        if run is None:
            return
        if message["kind"] == CARRIER:
            run.client = message["client"]
        else:
            run.take(message)

    def _take_of_dask(self, event: dict[str, Any]) -> None:
        loss = loss_message(event)
        left = event.get("client") if event.get("action") == "remove-client" else None
        for run in self.followed.values():
            if not run.is_on:
                continue
            if loss is not None:
                run.take({**loss, "time": time.time()})
            if left is not None and run.client == left:
                said = f"dcsvm status {run.url} says how it stands"
                run.take({"kind": "end", "state": LEFT, "message": said, "converged": False})
