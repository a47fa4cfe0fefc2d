"""The workers that a plan is for: running ones, or those that would be started."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dcsvm_dask.runtime.capacity import memory_of_slots
from dcsvm_dask.runtime.cluster.file import SSH
from dcsvm_dask.runtime.execution import Execution


@dataclass(frozen=True, slots=True)
class Workers:
    """The number of parallel tasks and the resources of each.

    Parameters
    ----------
    count : int
        Tasks that run at a time.
    threads : int
        Threads of a task that runs while no other does.
    memory : int or None
        Bytes of a task and the process around it; None: no limit.
    """

    count: int
    threads: int
    memory: int | None


def planned_workers(execution: Execution, say: Callable[[str], None] = lambda _: None) -> Workers:
    """Return the workers that an execution has or would start; nothing is started.

    Parameters
    ----------
    execution : Execution
    say : callable, optional
        Called with a sentence if the first worker of a scheduler is waited for.

    Returns
    -------
    Workers

    Raises
    ------
    InputError
        If no scheduler with workers answers, or Dask does not know a setting of a cluster file.
    """
    # Dask is imported where there are workers: that takes a second.
    if execution.remote is not None:
        from dcsvm_dask.runtime.cluster.connect import connected

        with connected(execution.remote, execution.patience, say) as (_, found):
            pass
        threads = [int(worker["nthreads"]) for worker in found.values()]
        return Workers(sum(threads), min(threads), memory_of_slots(found))
    file = execution.file
    if file is not None:
        from dcsvm_dask.runtime.cluster.kinds import settings

        settings(file)
    if file is None or execution.is_local:
        count = max(1, execution.n_workers())
        return Workers(count, count, execution.memory())
    # The first host of SSH has the scheduler.
    most = file.together * (len(file.hosts) - 1) if file.kind == SSH else file.workers
    return Workers(file.adapt[1] if file.adapt else most or 1, 1, file.memory)
