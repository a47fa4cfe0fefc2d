"""The runs that a scheduler knows, each with its progress."""

from __future__ import annotations

import time
from typing import Any

from dcsvm_dask.diagnostics.dashboard.rates import Rates
from dcsvm_dask.diagnostics.progress.progress import Progress
from dcsvm_dask.runtime.announcer import Announcer, loss_message
from dcsvm_dask.runtime.topic import TOPIC

CARRIER = "carrier"
"""Kind of the message that names the client of the scheduler that carries a run."""
MOST_RUNS = 10
LEFT = "left"
"""State of a run whose process left without reporting its end."""


class FollowedRun:
    """A run of one process, as known from messages on the scheduler."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.progress, self.rates = Progress(), Rates()
        self.announcer = Announcer(url, [self.progress, self.rates])
        self.client: str | None = None
        self.n_messages = 0
        """Number of messages; while it stays the same, there is nothing new to draw."""

    @property
    def is_on(self) -> bool:
        """Whether the process still runs it."""
        return self.progress.beginning is not None and self.progress.ending is None

    def take(self, message: dict[str, Any]) -> None:
        """Process a message."""
        self.n_messages += 1
        self.announcer.send(message)
        self.announcer.drain()
        self.progress.tasks.clear()  # the page needs none of them, and there may be very many


class Runs:
    """Follows all runs of a scheduler by their logged messages; the newest one is the last."""

    def __init__(self) -> None:
        self.followed: dict[str, FollowedRun] = {}

    def newest(self) -> FollowedRun | None:
        """Return the run that began last; None if there is none."""
        return next(reversed(self.followed.values()), None)

    def take(self, topic: str, message: Any) -> None:
        """Process a message that was logged under one of Dask's topics."""
        if topic == TOPIC and isinstance(message, dict) and "kind" in message:
            self._take(message)
        elif topic == "all" and isinstance(message, dict):
            self._take_of_dask(message)

    def _take(self, message: dict[str, Any]) -> None:
        url = message.get("run", "")
        if message["kind"] == "begin":  # a resumed run begins again
            self.followed.pop(url, None)
            self.followed[url] = FollowedRun(url)
            ended = [run.url for run in self.followed.values() if not run.is_on and run.n_messages]
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
        loss = loss_message(str(event.get("worker", "")), event)
        left = event.get("client") if event.get("action") == "remove-client" else None
        for run in self.followed.values():
            if not run.is_on:
                continue
            if loss is not None:
                run.take({**loss, "time": time.time()})
            if left is not None and run.client == left:
                text = f"see dcsvm status {run.url}"
                run.take({"kind": "end", "state": LEFT, "message": text, "converged": False})
