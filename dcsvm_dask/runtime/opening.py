"""Opening an executor: this process, local workers, a scheduler that runs, or a cluster."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from dcsvm_dask.errors import InputError
from dcsvm_dask.runtime.announcer import Announcer
from dcsvm_dask.runtime.begun_by import BegunBy
from dcsvm_dask.runtime.cluster.file import LOCAL, ClusterFile
from dcsvm_dask.runtime.compilation import ANY_ROWS, DENSE, announced, is_compiled, warm_up
from dcsvm_dask.runtime.execution import Execution
from dcsvm_dask.runtime.executors import Executor, in_process
from dcsvm_dask.storage.location import Location


@contextmanager
def open_executor(
    execution: Execution,
    announcer: Announcer,
    *,
    compiles: Sequence[str] | None = None,
    run: BegunBy | None = None,
) -> Iterator[Executor]:
    """Open the executor of an execution; functions that its tasks need are compiled first.

    Parameters
    ----------
    execution : Execution
    announcer : Announcer
    compiles : sequence of str, optional
        What is compiled, as for `warm_up`; by default what dense rows need, or on other hosts any.
    run : BegunBy, optional
        The run to carry, whose versions are compared with those of workers.

    Yields
    ------
    Executor
    """
    if compiles is None:
        compiles = DENSE if execution.is_local else ANY_ROWS
    with contextlib.ExitStack() as stack:
        if execution.priority is not None:
            import dask

            stack.enter_context(dask.annotate(priority=execution.priority))
        yield stack.enter_context(_opened(execution, announcer, compiles, run))


@contextmanager
def _opened(
    execution: Execution, announcer: Announcer, compiles: Sequence[str], run: BegunBy | None
) -> Iterator[Executor]:
    """Open an executor; see `open_executor`."""
    if execution.remote is not None:
        from dcsvm_dask.runtime.cluster.connect import remote_cluster

        patience = min(execution.patience, execution.time_budget or math.inf)
        with remote_cluster(execution.remote, announcer, patience, run, compiles) as executor:
            yield executor
        return
    if execution.file is not None and not execution.is_local:
        from dcsvm_dask.runtime.cluster.start import started_cluster

        with started_cluster(execution.file, announcer, execution, run, compiles) as executor:
            yield executor
        return
    workers = execution.n_workers()

    def load() -> None:
        announcer.say("loading compiled code", doing=True)
        with announced(announcer, doing=True):
            warm_up(compiles)

    if not workers:
        load()
        # Rows of other types, or of large units, need more than was compiled before.
        with in_process(announcer) as executor, announced(announcer):
            yield executor
        return
    if not is_compiled(compiles):  # workers load what is there when they start
        load()
    announcer.say(f"starting {workers} local worker(s)", doing=True)
    from dcsvm_dask.runtime.cluster.connect import local_cluster
    from dcsvm_dask.runtime.cluster.kinds import settings

    how = settings(execution.file or ClusterFile("", LOCAL))
    memory = execution.memory()
    with local_cluster(workers, memory, announcer, how, run, load, compiles) as executor:
        yield executor


def check_reach(execution: Execution, *places: str) -> None:
    """Raise an error for places that workers cannot see.

    Raises
    ------
    InputError
        If a place is in this process's memory and other processes would use it.
    """
    if execution.is_local and execution.n_workers() == 0:
        return
    for place in places:
        if Location(place).is_process_local:
            raise InputError(
                f"{place}: only this process sees memory://; use workers=0 (--workers 0), "
                "or a folder or an object store"
            )
