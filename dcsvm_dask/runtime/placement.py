"""The workers that a run's tasks may use, by `dask.annotate` or by options."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast


@dataclass(frozen=True, slots=True)
class Placement:
    """A restriction of tasks to some workers; by default there is none.

    Dask applies it to the tasks; here it selects the workers whose memory, versions and folders are
    checked.
    """

    workers: tuple[str, ...] = ()
    """Names, addresses or hosts of workers; empty for all."""
    resources: Mapping[str, float] = field(default_factory=dict)
    """Amount of each of Dask's resources that a worker must have."""

    @classmethod
    def here(cls) -> Placement:
        """Return the restriction of Dask's present annotations."""
        import dask

        found = dask.get_annotations()
        workers, resources = found.get("workers", ()), found.get("resources", {})
        # A function decides for each task, and allow_other_workers makes it a preference only.
        if callable(workers) or found.get("allow_other_workers"):
            workers = ()
        return cls(tuple(map(str, workers)), {} if callable(resources) else dict(resources))

    def allows(self, address: str, name: Any, resources: Mapping[str, float]) -> bool:
        """Return whether tasks may run on a worker.

        Parameters
        ----------
        address : str
        name : str or int
        resources : mapping of str to float
            The worker's resources.

        Returns
        -------
        bool
        """
        enough = all(resources.get(what, 0) >= n for what, n in self.resources.items())
        if not self.workers or not enough:
            return enough
        host = address.partition("://")[2].rpartition(":")[0].strip("[]")
        known = {address, address.partition("://")[2], str(name), host}
        return any(one in known or _address_of(one) == host for one in self.workers)

    def among(self, workers: Mapping[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
        """Return the workers that tasks may use, given the scheduler's description of all."""
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
    """Return the scheduler's description of the workers that tasks submitted here may use."""
    return Placement.here().among(known_workers(client))


def known_workers(client: Any) -> dict[str, dict[str, Any]]:
    """Return the scheduler's description of all its workers, by address.

    The scheduler is asked itself: `Client.scheduler_info` returns what the client holds, and a
    call of its own that asks for no workers may have come in between.
    """
    try:
        found = client.sync(client.scheduler.identity, n_workers=-1)
    except OSError:  # it is gone
        found = client.scheduler_info(n_workers=-1)
    return cast("dict[str, dict[str, Any]]", found["workers"])
