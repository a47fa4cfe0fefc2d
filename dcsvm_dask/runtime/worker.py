"""What a worker process needs before its first task."""

from __future__ import annotations

import contextlib
import signal
import uuid
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

    def __init__(self, *, shield: bool, threads: int = 0) -> None:
        # Runs that share a scheduler come and go, each with its own.
        self.name = f"dcsvm-prepare-{uuid.uuid4().hex[:12]}"
        self._shield = shield
        self._threads = threads

    def setup(self, worker: Any) -> None:
        """Prepare the process that has just started."""
        warm_up()
        resources.use(
            worker.memory_manager.memory_limit or None, self._threads or worker.state.nthreads
        )
        _one_blas_thread.take()
        if self._shield:
            with contextlib.suppress(ValueError):  # not the main thread: nothing to shield
                signal.signal(signal.SIGINT, signal.SIG_IGN)

    def teardown(self, worker: Any) -> None:
        """Give a worker of somebody's cluster back as it was."""
        del worker
        _one_blas_thread.give_back()


class _OneBlasThread:
    """A limit on BLAS threads that holds as long as any run of this process wants it."""

    def __init__(self) -> None:
        self._users = 0
        self._limits: Any = None

    def take(self) -> None:
        from threadpoolctl import threadpool_limits

        self._users += 1
        if self._limits is None:
            self._limits = threadpool_limits(1)

    def give_back(self) -> None:
        self._users -= 1
        if self._users == 0:
            self._limits.restore_original_limits()
            self._limits = None


_one_blas_thread = _OneBlasThread()
