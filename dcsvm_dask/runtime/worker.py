"""What a worker process needs before its first task."""

from __future__ import annotations

import contextlib
import signal
from typing import Any

from distributed import WorkerPlugin

from dcsvm_dask.runtime.compilation import warm_up
from dcsvm_dask.steps import resources


class PrepareWorker(WorkerPlugin):  # type: ignore[misc]
    """One BLAS thread, compiled numerics, and no death by the Ctrl-C meant for the client.

    Parameters
    ----------
    shield : bool
        Whether workers ignore SIGINT: those of a local cluster share the terminal of the client.
    threads : int, default 0
        Threads of a task that runs while no other does; 0: those of the worker.
    """

    name = "dcsvm-prepare"

    def __init__(self, *, shield: bool, threads: int = 0) -> None:
        self._shield = shield
        self._threads = threads
        self._limits: Any = None

    def setup(self, worker: Any) -> None:
        """Prepare the process that has just started."""
        from threadpoolctl import threadpool_limits

        warm_up()
        resources.use(
            worker.memory_manager.memory_limit or None, self._threads or worker.state.nthreads
        )
        self._limits = threadpool_limits(1)
        if self._shield:
            with contextlib.suppress(ValueError):  # not the main thread: nothing to shield
                signal.signal(signal.SIGINT, signal.SIG_IGN)

    def teardown(self, worker: Any) -> None:
        """Give a worker of somebody's cluster back as it was."""
        del worker
        if self._limits is not None:
            self._limits.restore_original_limits()
