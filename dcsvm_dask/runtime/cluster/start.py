"""Starting a cluster from a cluster file for the duration of a run."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from dcsvm_dask.errors import DcsvmError, RunError
from dcsvm_dask.runtime.announcer import Announcer
from dcsvm_dask.runtime.arrival import first_workers
from dcsvm_dask.runtime.begun_by import BegunBy
from dcsvm_dask.runtime.capacity import memory_of_slots
from dcsvm_dask.runtime.cluster.connect import check_versions, prepared, uninterrupted
from dcsvm_dask.runtime.cluster.file import SSH, ClusterFile
from dcsvm_dask.runtime.cluster.kinds import ask_for_workers, check, create, dashboard, settings
from dcsvm_dask.runtime.compilation import DENSE
from dcsvm_dask.runtime.execution import Execution
from dcsvm_dask.runtime.executors import Executor
from dcsvm_dask.runtime.on_cluster import OnCluster
from dcsvm_dask.runtime.worker import PrepareWorker

LONG_SECONDS = 60.0


@contextmanager
def started_cluster(
    file: ClusterFile,
    announcer: Announcer,
    execution: Execution,
    run: BegunBy | None = None,
    parts: Sequence[str] = DENSE,
) -> Iterator[Executor]:
    """Start a cluster on other hosts; its jobs end with the block in any case.

    Parameters
    ----------
    file : ClusterFile
    announcer : Announcer
    execution : Execution
        Has the time to wait for the first worker; by default a queue's jobs may wait for days.
    run : BegunBy, optional
        The run that the workers are for.
    parts : sequence of str, optional
        As for `PrepareWorker`.

    Yields
    ------
    Executor

    Raises
    ------
    InputError
        If a worker lacks the package, or has another version of it.
    RunError
        If the cluster does not start, or no worker comes in time.
    """
    import dask

    # It logs a lost connection with a traceback; the error of the run is enough.
    logging.getLogger("distributed.client").setLevel(logging.CRITICAL)
    check(file)
    with contextlib.ExitStack() as stack:
        stack.enter_context(dask.config.set(settings(file)))
        try:
            with uninterrupted():  # a half-started cluster cannot be closed
                cluster, client = _start(file, stack)
            page = dashboard(file, client.dashboard_link)
            where = f"scheduler {cluster.scheduler_address}, dashboard {page}"
            announcer.say(f"waiting for the first worker of {file.name}; {where}", doing=True)
            workers = _wait(client, file, announcer, execution)
            check_versions(client, cluster.scheduler_address)
            announcer.say("preparing the workers, which compile at their first run", doing=True)
            memory = memory_of_slots(workers)
            plugin = PrepareWorker(shield=False, run=run, parts=parts)
            with prepared(client, announcer, plugin) as watch:
                yield OnCluster(client, announcer, where, memory, watch)
        finally:
            with uninterrupted():
                stack.close()


def _start(file: ClusterFile, stack: contextlib.ExitStack) -> tuple[Any, Any]:
    """Start a cluster and its client; the stack closes both."""
    from distributed import Client

    try:
        cluster = create(file)
        stack.callback(_close, cluster)
        client = stack.enter_context(Client(cluster, set_as_default=False))
        if file.kind != SSH:
            ask_for_workers(cluster, file)
    except DcsvmError:
        raise
    except Exception as error:  # of a queue's commands, SSH or the system
        text = " ".join(str(error).split()) or type(error).__name__
        raise RunError(f"{file.name}: the cluster did not start: {text}") from error
    return cluster, client


def _close(cluster: Any) -> None:
    """Close a cluster.

    Jobs that a queue refused are marked as failed, since Dask would wait for them.
    """
    from distributed.core import Status

    for name in [name for name, job in cluster.workers.items() if job.status is Status.created]:
        cluster.workers[name].status = Status.failed
    cluster.close()


def _wait(
    client: Any, file: ClusterFile, announcer: Announcer, execution: Execution
) -> dict[str, dict[str, Any]]:
    """Wait for the first worker, with a report if it takes long, since failed jobs send none."""
    logs = file.options.get("log_directory")
    left = f", and the logs of ended jobs in {logs}" if logs else ""
    limits = [execution.wait, execution.time_budget]
    workers = first_workers(
        client,
        min((limit for limit in limits if limit is not None), default=None),
        lambda: announcer.say(f"no worker yet; see the queue's status{left}"),
        LONG_SECONDS,
    )
    if not workers:
        raise RunError(
            f"{file.name}: no worker came within the time to wait (--wait) or the time budget; "
            "resume the run"
        )
    return workers
