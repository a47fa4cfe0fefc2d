"""What runs leave on a scheduler, taken away when their clients are gone, however they went."""

from __future__ import annotations

import uuid
from typing import Any

from distributed import SchedulerPlugin

PREPARES = "dcsvm-prepare-"
"""Begins the names of worker plugins; then comes the client whose run it is for."""


def plugin_name(client: str) -> str:
    """Return a name for the worker plugin of a run that a client of the scheduler carries."""
    return f"{PREPARES}{client}-{uuid.uuid4().hex[:12]}"


def carriers(scheduler: Any) -> set[str]:
    """Return the clients of a scheduler that carry runs."""
    return {_client(name) for name in _plugins(scheduler)} & set(scheduler.clients)


def _plugins(scheduler: Any) -> list[str]:
    return [name for name in scheduler.worker_plugins if name.startswith(PREPARES)]


def _client(plugin: str) -> str:
    return plugin.removeprefix(PREPARES).rpartition("-")[0]


class Caretaker(SchedulerPlugin):  # type: ignore[misc]
    """Takes the worker plugins of a client away that was killed, and goes after the last client."""

    name = "dcsvm-caretaker"
    idempotent = True

    def remove_client(self, scheduler: Any, client: str) -> None:
        """Take away what a client has left."""
        for name in _plugins(scheduler):
            if _client(name) == client:
                scheduler.loop.add_callback(
                    scheduler.unregister_worker_plugin, comm=None, name=name
                )
        if not carriers(scheduler):
            scheduler.remove_plugin(self.name)
