"""The command as a process of its own: ``dcsvm`` in a shell."""

from __future__ import annotations

import atexit
import os
import sys

from dcsvm_dask.cli import main


def run() -> None:
    """Run the command and end the process without taking its memory apart.

    Python would free one by one all objects of what was imported and compiled, which takes half a
    second after a training in this process and more than one after a training by workers.
    """
    ended: list[int] = []
    # Registered first, called last: threads are over by then, and all that others do at the exit.
    atexit.register(_leave, ended)
    try:
        main()
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            ended.append(end.code or 0)
            _leave_zarr()
        raise


def _leave_zarr() -> None:
    """Leave out what Zarr does at the exit.

    It waits .2 s for the thread that reads and writes, which is idle by now; on a busy machine the
    thread takes longer, and the command would end with a traceback.
    """
    cleanup = getattr(sys.modules.get("zarr.core.sync"), "cleanup_resources", None)
    if cleanup is not None:
        atexit.unregister(cleanup)


def _leave(ended: list[int]) -> None:
    """End the process with the status of the command, if it has one and all is written."""
    if not ended:
        return
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError, AttributeError):  # Python says what is wrong
        return
    os._exit(ended[0])
