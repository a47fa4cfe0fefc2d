"""Local workers as forks of one process that has loaded the package.

A worker that is spawned imports Dask and this package and loads compiled code: three seconds of a
core each. Python's fork server does so once for all workers of a process's lifetime.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Mapping
from multiprocessing import forkserver
from typing import Any

METHOD = "distributed.worker.multiprocessing-method"
LOADED = "dcsvm_dask.runtime.loaded"
# Of glibc's mallopt.
_TRIM_THRESHOLD = -1


def forked() -> dict[str, Any]:
    """Return Dask's settings for forked workers; none where processes are better spawned.

    The fork server exists on every POSIX system, but only on Linux are libraries safe to be forked.
    Whoever has set another method in Dask's configuration gets it.
    """
    import dask

    usual = dask.config.get(METHOD, "spawn") == "spawn"
    return {METHOD: "forkserver"} if sys.platform == "linux" and usual else {}


def load_package(environment: Mapping[str, str]) -> None:
    """Start the fork server, which loads the package while this process goes on.

    Only where Dask's configuration says that workers are forked. One that runs already stays as it
    is: workers then load what it has not.

    Parameters
    ----------
    environment : mapping
        Variables that the libraries of workers read when they are loaded.

    Notes
    -----
    Dask has its own list of what is loaded, all packages that it may use, and would import them
    here, too: most of a second.
    """
    import dask

    if dask.config.get(METHOD) != "forkserver":
        return
    forkserver.set_forkserver_preload(["distributed", LOADED])
    before = dict(os.environ)
    os.environ.update(environment)
    try:
        forkserver.ensure_running()
        from distributed import utils

        utils._forkserver_preload_set = True
    finally:
        for name in environment:
            os.environ.pop(name, None)
        os.environ.update(before)


def keep_at_most(free_bytes: int) -> None:
    """Return free memory beyond so many bytes to the system; glibc's own processes only.

    A fork has the environment in which the fork server started, perhaps for workers of another
    size.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_TRIM_THRESHOLD, min(free_bytes, (1 << 31) - 1))
