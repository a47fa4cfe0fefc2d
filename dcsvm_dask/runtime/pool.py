"""A pool of workers or threads for calls outside a run's graph."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from threadpoolctl import threadpool_limits

from dcsvm_dask.runtime.announcer import Announcer
from dcsvm_dask.runtime.calls import Pool, ThreadCalls
from dcsvm_dask.runtime.execution import Execution
from dcsvm_dask.runtime.opening import open_executor


@contextmanager
def open_pool(execution: Execution, announcer: Announcer, name: str) -> Iterator[Pool]:
    """Open a pool for an execution.

    With ``workers=None`` it is a thread for each core of this process (compiled numerics release
    Python's lock), with 0 one thread, with a number that many processes.

    Parameters
    ----------
    execution : Execution
    announcer : Announcer
    name : str
        Part of the names of tasks: ``dcsvm_<name>``.

    Yields
    ------
    Pool
    """
    in_threads = execution.remote is None and execution.cluster is None
    if in_threads and not execution.workers:
        threads = (os.cpu_count() or 1) if execution.workers is None else 1
        with threadpool_limits(1), ThreadPoolExecutor(threads, f"dcsvm_{name}") as threads_pool:
            pool = ThreadCalls(threads_pool, threads)
            try:
                yield pool
            finally:
                threads_pool.shutdown(wait=True, cancel_futures=True)
        return
    with open_executor(execution, announcer) as executor, executor.calls(name) as calls:
        yield calls
