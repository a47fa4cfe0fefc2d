"""Detecting silent and lost workers, with the reason where it is known."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from dcsvm_dask.runtime.announcer import Announcer, Message, loss_message
from dcsvm_dask.runtime.exits import TOPIC, described

MEMORY_TOPIC = "worker-restart-memory"
"""Topic in which Dask's nannies report that they end a process for its memory."""
TOPICS = (MEMORY_TOPIC, TOPIC)
"""Topics of the reasons of all workers; what else a worker meets is logged under its address."""
SILENT_SECONDS = 30.0
BEATS = 3
"""Least number of heartbeats that a silent worker has missed; in large clusters they are rare."""
REASON_SECONDS = 1.5
"""Seconds to wait for the reason of a loss, which is sent separately."""


class WorkerWatch:
    """Reports lost workers with the reason, and finds silent ones.

    Losses are read from the topic of each worker, which is its address. They are in the topic
    "all", too, but so are copies of data to several workers, which Dask's scheduler cannot send:
    it closes the connection of every client that subscribes to them.

    Parameters
    ----------
    announcer : Announcer
    subscribe : callable, optional
        Called with the address of each worker that is met: `lost` is to get the events of the
        topic of that name.
    """

    def __init__(
        self, announcer: Announcer, subscribe: Callable[[str], object] = lambda _: None
    ) -> None:
        self._announcer, self._subscribe = announcer, subscribe
        self._followed: set[str] = set()
        self._reasons: dict[str, str] = {}
        self._limits: dict[str, int] = {}
        self._beats: dict[str, tuple[float, float]] = {}
        self._silent: set[str] = set()
        self._pending: list[Message] = []

    def follow(self, workers: Iterable[str]) -> None:
        """Subscribe to the events of workers that have not been met before."""
        for worker in sorted(set(workers) - self._followed):
            self._followed.add(worker)
            self._subscribe(worker)

    def lost(self, worker: str, event: Any) -> None:
        """Process an event of a worker's topic; called in the client's event loop."""
        message = loss_message(worker, event)
        if message is not None:
            self._pend(message)

    def ended(self, topic: str, event: Mapping[str, Any]) -> None:
        """Process an event of one of `TOPICS`; called in the client's event loop.

        It has the reason for the end of a worker; exceeding its memory takes precedence.
        """
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
            if worker not in self._followed:  # it came and went between two looks
                self._followed.add(worker)
                self._pend({"kind": "lost", "worker": worker, "tasks": []})

    def _pend(self, message: Message) -> None:
        """Report a loss once its reason has had time to come."""
        from tornado.ioloop import IOLoop

        self._pending.append(message)
        IOLoop.current().call_later(REASON_SECONDS, self.flush)

    def flush(self) -> None:
        """Report the losses so far."""
        pending, self._pending = self._pending, []
        for message in pending:
            self._announcer.send({**message, "why": self.why(message["worker"])})

    def why(self, worker: str) -> str:
        """Return the reason why a worker is gone; empty where it is unknown."""
        reason = self._reasons.get(worker, "")
        if worker in self._silent:
            return "; ".join(["it had been silent", *([reason] if reason else [])])
        return reason

    def look(self, workers: Mapping[str, dict[str, Any]]) -> Iterator[Message]:
        """Follow new workers, and yield a message for each that has become silent.

        Parameters
        ----------
        workers : mapping
            The scheduler's description of each worker. A worker is silent if its last heartbeat is
            the same for a long time on the clock of this host, since clocks of hosts differ.
        """
        self.follow(workers)
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
