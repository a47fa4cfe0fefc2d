"""Preparing worker processes before their first task, and excluding workers with other versions."""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Sequence
from functools import partial
from typing import Any

from distributed import WorkerPlugin

from dcsvm_dask import __version__
from dcsvm_dask.errors import RunError
from dcsvm_dask.methods import helping, resources
from dcsvm_dask.runtime.begun_by import BegunBy
from dcsvm_dask.runtime.caretaker import plugin_name
from dcsvm_dask.runtime.cluster.forking import keep_at_most
from dcsvm_dask.runtime.compilation import DENSE, warm_up
from dcsvm_dask.runtime.compile_once import compile_once
from dcsvm_dask.runtime.idle_workers import helped
from dcsvm_dask.runtime.placement import Placement
from dcsvm_dask.runtime.preload import free_memory
from dcsvm_dask.runtime.topic import log_event
from dcsvm_dask.versions import RESULT_VERSION, differing, versions

LEAVE_SECONDS = 0.5


def installed() -> tuple[str, int]:
    """Return the version of the package in this process, and that of its results."""
    return __version__, RESULT_VERSION


def refusal(wanted: tuple[str, int]) -> dict[str, list[str]]:
    """Return which of the two versions differs in this process, in the form of `OtherVersions`."""
    names = ("dcsvm_dask", "result_version")
    return {
        name: [str(one), str(mine)]
        for name, one, mine in zip(names, wanted, installed(), strict=True)
        if one != mine
    }


def send_away(worker: Any) -> None:
    """Close a worker and its nanny before it begins a task."""
    from distributed.core import Status

    worker.status = Status.closing_gracefully  # it may have tasks already
    # A worker that is about to join cannot be closed before it has joined.
    worker.loop.call_later(LEAVE_SECONDS, lambda: worker.close(reason="dcsvm-other-results"))


class PrepareWorker(WorkerPlugin):  # type: ignore[misc]
    """Worker plugin that sets one BLAS thread and compiles the numerics.

    Local workers also ignore Ctrl-C.

    Only workers that the run's tasks may use are prepared; see `Placement`.

    Parameters
    ----------
    shield : bool
        Whether the workers belong to a local cluster: these share the terminal of the client, so
        they ignore SIGINT, and its Numba cache, which the client has filled before.
    threads : int, default 0
        Threads of a task that runs while no other does; 0: those of the worker.
    run : BegunBy, optional
        The run that the workers are for; differing versions are reported to it.
    parts : sequence of str, optional
        What is compiled or loaded, as for `warm_up`; by default what dense rows need.
    """

    def __init__(
        self,
        *,
        shield: bool,
        threads: int = 0,
        run: BegunBy | None = None,
        parts: Sequence[str] = DENSE,
    ) -> None:
        self._placement = Placement.here()
        # Each run on a scheduler has its own plugin; see `Caretaker`.
        self.name = plugin_name("")
        self._shield = shield
        self._threads = threads
        self._run = run
        self._parts = tuple(parts)
        self._package = installed()
        self._prepared: set[str] = set()  # workers that this plugin prepared

    async def setup(self, worker: Any) -> None:
        """Prepare a process that has just started, or exclude it before its first task."""
        if not self._placement.allows(worker.address, worker.name, worker.state.total_resources):
            return
        if self._package != installed():
            self._report(worker, refusal(self._package), refused=True)
            send_away(worker)
            return
        if self._run is not None:
            self._report(worker, differing(self._run.versions, versions()))
        _process.take(
            worker.memory_manager.memory_limit or None, self._threads or worker.state.nthreads
        )
        self._prepared.add(worker.address)
        if self._shield:
            if worker.memory_manager.memory_limit:
                keep_at_most(free_memory(worker.memory_manager.memory_limit))
            with contextlib.suppress(ValueError):  # not the main thread: nothing to shield
                signal.signal(signal.SIGINT, signal.SIG_IGN)
            warm_up(self._parts)
            return
        try:
            say = partial(self._say, worker)
            await compile_once(self._parts, say, partial(_beat, worker))
        except RunError as error:  # Dask raises it at the run's begin, and logs it later
            self._say(worker, f"warning: {error}")
            raise

    def _say(self, worker: Any, text: str) -> None:
        if self._run is not None:
            about = {"kind": "notice", "run": self._run.url, "worker": worker.address}
            log_event(worker, {**about, "time": time.time(), "text": text, "doing": False})

    def _report(self, worker: Any, found: dict[str, list[str]], *, refused: bool = False) -> None:
        if found and self._run is not None:
            message = {
                "kind": "versions",
                "run": self._run.url,
                "time": time.time(),
                "worker": worker.address,
                "differing": found,
                "refused": refused,
            }
            log_event(worker, message)

    def teardown(self, worker: Any) -> None:
        """Restore the process of a worker."""
        if worker.address in self._prepared:
            self._prepared.discard(worker.address)
            _process.give_back()


async def _beat(worker: Any) -> None:
    """Send a heartbeat of a worker that has not joined yet; its own heartbeats begin later."""
    if not worker.periodic_callbacks["heartbeat"].is_running():
        await worker.heartbeat()


class _Process:
    """What is set in this process, which may be the client's, for as long as it has workers."""

    def __init__(self) -> None:
        self._workers = 0
        self._before = contextlib.ExitStack()

    def take(self, memory: int | None, threads: int) -> None:
        """Set one BLAS thread, and the memory and the threads of tasks, for one more worker."""
        from threadpoolctl import threadpool_limits

        restore = resources.use(memory, threads)
        self._workers += 1
        if self._workers == 1:
            self._before.callback(restore)
            helping.use(helped)
            self._before.callback(helping.use, None)
            self._before.callback(threadpool_limits(1).restore_original_limits)

    def give_back(self) -> None:
        """Restore what was there before, if this was the last worker."""
        self._workers -= 1
        if self._workers == 0:
            self._before.close()


_process = _Process()
