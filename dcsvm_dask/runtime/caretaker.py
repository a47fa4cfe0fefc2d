"""Removing worker plugins of runs from a scheduler when their clients are gone."""

from __future__ import annotations

import uuid
from typing import Any

from distributed import SchedulerPlugin

PREPARES = "dcsvm-prepare-"
"""Prefix of the names of worker plugins; the client that carries the run follows."""


def plugin_name(client: str) -> str:
    """Return a new name for the worker plugin of a client's run."""
    return f"{PREPARES}{client}-{uuid.uuid4().hex[:12]}"


def carriers(scheduler: Any) -> set[str]:
    """Return the clients of a scheduler that carry runs."""
    return {_client(name) for name in _plugins(scheduler)} & set(scheduler.clients)


def _plugins(scheduler: Any) -> list[str]:
    return [name for name in scheduler.worker_plugins if name.startswith(PREPARES)]


def _client(plugin: str) -> str:
    return plugin.removeprefix(PREPARES).rpartition("-")[0]


class Caretaker(SchedulerPlugin):  # type: ignore[misc]
    """A scheduler plugin that removes the worker plugins of clients that are gone.

    It removes itself after the last client that carries a run.
    """

    name = "dcsvm-caretaker"
    idempotent = True

    def remove_client(self, scheduler: Any, client: str) -> None:
        """Remove the worker plugins of a client."""
        for name in _plugins(scheduler):
            if _client(name) == client:
                scheduler.loop.add_callback(
                    scheduler.unregister_worker_plugin, comm=None, name=name
                )
        if not carriers(scheduler):
            scheduler.remove_plugin(self.name)
