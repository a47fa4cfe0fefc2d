"""What a worker process needs before its first task."""

from __future__ import annotations

import contextlib
import signal
from typing import Any

from distributed import WorkerPlugin

from dcsvm_dask.runtime.compilation import warm_up


class PrepareWorker(WorkerPlugin):  # type: ignore[misc]
    """One BLAS thread, compiled numerics, and no death by the Ctrl-C meant for the client."""

    name = "dcsvm-prepare"

    def setup(self, worker: Any) -> None:
        """Prepare the process that has just started."""
        del worker
        from threadpoolctl import threadpool_limits

        warm_up()
        threadpool_limits(1)
        with contextlib.suppress(ValueError):  # not the main thread: nothing to shield
            signal.signal(signal.SIGINT, signal.SIG_IGN)
