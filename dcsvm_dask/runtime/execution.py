"""The user's choice of workers and limits for a run."""

from __future__ import annotations

import numbers
import os
from dataclasses import dataclass, replace
from typing import Any

from dcsvm_dask.checks import check, is_a
from dcsvm_dask.errors import InputError
from dcsvm_dask.methods import resources
from dcsvm_dask.runtime.arrival import WAIT_SECONDS
from dcsvm_dask.runtime.capacity import memory_of_workers
from dcsvm_dask.runtime.cluster.address import address_in
from dcsvm_dask.runtime.cluster.file import LOCAL, ClusterFile, read_cluster


@dataclass(frozen=True, slots=True)
class Execution:
    """Where and how long to run; it does not change the model.

    That holds on one kind of processor with one set of versions, and where the workers have memory
    for the run's sizes; see `block_cap` and `set_cap` of `dcsvm_dask.train`.
    """

    workers: int | None = None
    """Processes of a local cluster; 0: this process only; None: one for each core, and this process
    only for runs of a few seconds."""
    scheduler: str | None = None
    """Address of a running Dask scheduler to use instead."""
    memory_limit: str | int | None = None
    """Memory of each local worker, in bytes or as text; None: an equal share."""
    time_budget: float | None = None
    """Seconds after which the best committed level is the model."""
    scheduler_file: str | None = None
    """File with the address of a scheduler (``dask scheduler --scheduler-file``)."""
    cluster: str | os.PathLike[str] | ClusterFile | None = None
    """A cluster file (see ``cluster/``) from which to start workers instead."""
    priority: float | None = None
    """Dask's priority of the tasks; None: that of `dask.annotate`, else 0, Dask's default."""
    wait: float | None = None
    """Seconds to wait for a first worker; None: 600 at a scheduler; for jobs of a queue without
    limit, or up to `time_budget`."""
    client: Any = None
    """A `distributed.Client` whose workers are used instead; it stays open.

    With an asynchronous client call in a thread:
    ``await asyncio.to_thread(dcsvm_dask.train, ...)``."""

    def __post_init__(self) -> None:
        if self.client is not None:
            if not hasattr(self.client, "scheduler"):
                raise InputError(f"client must be a distributed.Client, got {self.client!r:.80}")
            for name in ("workers", "scheduler", "scheduler_file", "memory_limit", "cluster"):
                if getattr(self, name) is not None:
                    raise InputError(f"give either a client or {name}, not both")
        if self.cluster is not None:
            for name in ("workers", "scheduler", "scheduler_file", "memory_limit"):
                if getattr(self, name) is not None:
                    raise InputError(f"give either a cluster file or {name}, not both")
            if not isinstance(self.cluster, ClusterFile):
                object.__setattr__(self, "cluster", read_cluster(self.cluster))
        if self.scheduler_file is not None:
            if self.scheduler is not None:
                raise InputError("give either a scheduler's address or its file, not both")
            object.__setattr__(self, "scheduler", address_in(self.scheduler_file))
        if self.workers is not None and self.workers < 0:
            raise InputError(f"workers must be 0 or more, got {self.workers}")
        if self.workers is not None and self.scheduler is not None:
            raise InputError("give either workers or a scheduler's address, not both")
        if self.memory_limit is not None and self.scheduler is not None:
            raise InputError(
                "memory-limit is for local workers; workers of a scheduler have their own"
            )
        for name in ("time_budget", "wait"):
            seconds = getattr(self, name)
            possible = seconds is None or (is_a(seconds, numbers.Real) and seconds > 0)
            check(possible, name, seconds, "a positive number of seconds")

    @property
    def patience(self) -> float:
        """Seconds to wait for a scheduler's first worker."""
        return WAIT_SECONDS if self.wait is None else self.wait

    @property
    def remote(self) -> Any:
        """The client or the address of a running scheduler; None without one."""
        return self.scheduler if self.client is None else self.client

    @property
    def shares_machine(self) -> bool:
        """Whether workers have equal shares of this machine's memory."""
        has_memory = self.file is not None and self.file.memory is not None
        return self.is_local and self.memory_limit is None and not has_memory

    @property
    def file(self) -> ClusterFile | None:
        """The cluster file; None without one."""
        return self.cluster if isinstance(self.cluster, ClusterFile) else None

    @property
    def is_local(self) -> bool:
        """Whether the tasks run on this machine, in this process or in workers that it starts."""
        return self.remote is None and (self.file is None or self.file.kind == LOCAL)

    def n_workers(self) -> int:
        """Return the number of local workers."""
        given = self.workers if self.file is None else self.file.workers
        return (os.cpu_count() or 1) if given is None else given

    def side_by_side(self) -> int:
        """Return the number of tasks that a process runs at a time: one in a worker."""
        return resources.side_by_side() if self.is_local and not self.n_workers() else 1

    def memory(self) -> int:
        """Return the memory of each worker that this process starts, in bytes."""
        if self.file is not None and self.file.memory is not None:
            return self.file.memory
        return memory_of_workers(self.memory_limit, self.n_workers())


def on_client(execution: Execution | None, client: Any) -> Execution:
    """Return an execution that uses the workers of a client, if one is given.

    Raises
    ------
    InputError
        If the execution names other workers, too.
    """
    execution = execution or Execution()
    return execution if client is None else replace(execution, client=client)
