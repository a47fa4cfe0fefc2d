"""Workers that are silent or gone, and why, as far as it is known."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any

from dcsvm_dask.runtime.announcer import Announcer, Message, loss_message
from dcsvm_dask.runtime.exits import TOPIC, described

MEMORY_TOPIC = "worker-restart-memory"
"""In which Dask's nannies say that they end a process for its memory."""
TOPICS = ("all", MEMORY_TOPIC, TOPIC)
SILENT_SECONDS = 30.0
BEATS = 3
"""Heartbeats that a silent worker has missed at least, in a cluster so large that they are rare."""
REASON_SECONDS = 1.5
"""How long the reason of a loss is waited for: it comes by another way than the loss."""


class WorkerWatch:
    """Tells of workers that are gone, with the reason, and finds those that are silent."""

    def __init__(self, announcer: Announcer) -> None:
        self._announcer = announcer
        self._reasons: dict[str, str] = {}
        self._limits: dict[str, int] = {}
        self._beats: dict[str, tuple[float, float]] = {}
        self._silent: set[str] = set()
        self._held: list[Message] = []

    def take(self, topic: str, event: Any) -> None:
        """Take what is logged on the scheduler under one of `TOPICS`; in the client's loop."""
        if topic != "all":
            self._learn(topic, event)
            return
        message = loss_message(event)
        if message is not None:
            from tornado.ioloop import IOLoop

            self._held.append(message)
            IOLoop.current().call_later(REASON_SECONDS, self.flush)

    def _learn(self, topic: str, event: Mapping[str, Any]) -> None:
        """Keep why a worker ends; that its memory did it comes first and says most."""
        worker = str(event["worker"])
        if topic == MEMORY_TOPIC:
            limit = self._limits.get(worker)
            of = f" of {limit / 2**20:,.0f} MiB" if limit else ""
            self._reasons[worker] = (
                f"it was ended for its memory, {event['rss'] / 2**20:,.0f} MiB{of}"
            )
        else:
            why = described(event["status"], event["limit"])
            self._reasons.setdefault(worker, why)

    def flush(self) -> None:
        """Tell of the losses so far."""
        held, self._held = self._held, []
        for message in held:
            self._announcer.send({**message, "why": self.why(message["worker"])})

    def why(self, worker: str) -> str:
        """Return why a worker is gone; empty where nobody knows."""
        reason = self._reasons.get(worker, "")
        if worker in self._silent:
            return "; ".join(["it had been silent", *([reason] if reason else [])])
        return reason

    def look(self, workers: Mapping[str, dict[str, Any]]) -> Iterator[Message]:
        """Yield a message for each worker that has become silent.

        Parameters
        ----------
        workers : mapping
            What the scheduler says of each. The same heartbeat for a long time, by the clock here,
            is silence: clocks of two hosts differ.
        """
        now = time.monotonic()
        patience = max(SILENT_SECONDS, BEATS * (len(workers) / 200 + 1))
        for worker, about in workers.items():
            self._limits[worker] = int(about["memory_limit"] or 0)
            last, since = self._beats.get(worker, (None, now))
            if last != about["last_seen"]:
                self._beats[worker] = about["last_seen"], now
                self._silent.discard(worker)
            elif now - since >= patience and worker not in self._silent:
                self._silent.add(worker)
                yield {"kind": "silent", "worker": worker, "seconds": now - since}
