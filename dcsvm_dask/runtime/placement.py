"""Which workers a run's tasks may use: what `dask.annotate` around it, or a command, says."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Placement:
    """A restriction of tasks to some workers; by default there is none.

    Dask applies it to the tasks themselves; this is for what is looked at beside them: memory,
    versions and folders are those of the workers that the tasks may use.
    """

    workers: tuple[str, ...] = ()
    """Names, addresses or hosts of workers; empty: all."""
    resources: Mapping[str, float] = field(default_factory=dict)
    """What a worker must have of each of Dask's resources."""

    @classmethod
    def here(cls) -> Placement:
        """Return the restriction that Dask's annotations make at this moment."""
        import dask

        found = dask.get_annotations()
        workers, resources = found.get("workers", ()), found.get("resources", {})
        # A function says it task by task, and such a wish binds no task.
        if callable(workers) or found.get("allow_other_workers"):
            workers = ()
        return cls(tuple(map(str, workers)), {} if callable(resources) else dict(resources))

    def allows(self, address: str, name: Any, resources: Mapping[str, float]) -> bool:
        """Whether tasks may run on a worker."""
        enough = all(resources.get(what, 0) >= n for what, n in self.resources.items())
        if not self.workers or not enough:
            return enough
        host = address.partition("://")[2].rpartition(":")[0].strip("[]")
        known = {address, address.partition("://")[2], str(name), host}
        return any(one in known or _address_of(one) == host for one in self.workers)

    def among(self, workers: Mapping[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
        """Return those workers, of what a scheduler says of its own, that tasks may use."""
        return {
            address: about
            for address, about in workers.items()
            if self.allows(address, about.get("name"), about.get("resources") or {})
        }


def _address_of(host: str) -> str | None:
    with contextlib.suppress(OSError):
        return socket.gethostbyname(host)
    return None


def workers_of(client: Any) -> dict[str, dict[str, Any]]:
    """Return what the scheduler says of the workers that tasks submitted here may use."""
    return Placement.here().among(client.scheduler_info(n_workers=-1)["workers"])
