"""A cluster from a cluster file, for as long as a run goes on."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dcsvm_dask.errors import DcsvmError, RunError
from dcsvm_dask.runtime.cluster_file import SSH, ClusterFile
from dcsvm_dask.runtime.cluster_kinds import ask_for_workers, check, create, settings
from dcsvm_dask.runtime.clusters import check_versions, memory_of_slots, prepared, uninterrupted
from dcsvm_dask.runtime.executors import Executor, OnCluster
from dcsvm_dask.runtime.reporter import Reporter
from dcsvm_dask.runtime.tasks import Send
from dcsvm_dask.runtime.worker import PrepareWorker


@contextmanager
def started_cluster(
    file: ClusterFile, send: Send, report: Reporter | None, patience: float | None
) -> Iterator[Executor]:
    """Start a cluster on other hosts; its jobs end with the block, however it ends.

    Parameters
    ----------
    patience : float or None
        Seconds to wait for the first worker; None: a queue's jobs may wait for days.

    Raises
    ------
    InputError
        If a worker lacks the package, or has another version of it.
    RunError
        If the cluster does not start, or no worker comes in time.
    """
    import dask

    # Its own reports of a lost connection are tracebacks; that it is lost ends the run anyway.
    logging.getLogger("distributed.client").setLevel(logging.CRITICAL)
    check(file)
    with contextlib.ExitStack() as stack:
        stack.enter_context(dask.config.set(settings(file)))
        try:
            with uninterrupted():  # half a cluster cannot be closed, nor a job half submitted
                cluster, client = _start(file, stack)
            where = f"scheduler {cluster.scheduler_address}, dashboard {client.dashboard_link}"
            if report is not None:
                report.say(f"waiting for the first worker of {file.name}; {where}")
            try:
                client.wait_for_workers(1, timeout=patience)
            except TimeoutError as error:
                raise RunError(
                    f"{file.name}: no worker came within the time budget; resume the run"
                ) from error
            check_versions(client, cluster.scheduler_address)
            memory = memory_of_slots(client.scheduler_info(n_workers=-1)["workers"])
            with prepared(client, send, PrepareWorker(shield=False)):
                yield OnCluster(client, send, where, memory)
        finally:
            with uninterrupted():
                stack.close()


def _start(file: ClusterFile, stack: contextlib.ExitStack) -> tuple[Any, Any]:
    """Start a cluster that the stack closes, its client with it."""
    from distributed import Client

    try:
        cluster = stack.enter_context(create(file))
        client = stack.enter_context(Client(cluster))
        if file.kind != SSH:
            ask_for_workers(cluster, file)
    except DcsvmError:
        raise
    except Exception as error:  # those of a queue's commands, of SSH, of the system
        said = " ".join(str(error).split()) or type(error).__name__
        raise RunError(f"{file.name}: the cluster did not start: {said}") from error
    return cluster, client
