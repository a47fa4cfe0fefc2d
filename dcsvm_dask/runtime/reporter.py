"""Who is told of a run's progress; the rooms below make one, the runtime only calls it."""

from __future__ import annotations

from typing import Protocol

from dcsvm_dask.runtime.tasks import Event


class Reporter(Protocol):
    """Takes the events of nodes and what the runtime has to say in between."""

    def __call__(self, event: Event) -> None:
        """Take the event of a node that has been committed."""

    def say(self, text: str) -> None:
        """Take a line of text."""
