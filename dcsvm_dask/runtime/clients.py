"""What users have of Dask: clients and collections. Dask is not imported to find none."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from dcsvm_dask.errors import InputError
from dcsvm_dask.readers.source import check_unmasked


def check_client(client: Any) -> None:
    """Raise an error if a client cannot be used by this thread.

    An asynchronous client answers in its event loop; other threads can wait for it.

    Raises
    ------
    InputError
        If it is no `distributed.Client`, is not connected, or its event loop is this thread's or
        does not run.
    """
    if hasattr(client, "scheduler_address") and not hasattr(client, "submit"):
        raise InputError(
            "client must be a distributed.Client, got a cluster; give distributed.Client(cluster)"
        )
    if not all(hasattr(client, name) for name in ("scheduler", "asynchronous", "status")):
        raise InputError(f"client must be a distributed.Client, got {client!r:.80}")
    if client.asynchronous:
        if client.loop.asyncio_loop.is_running():
            raise InputError(
                "client belongs to the event loop that this call would block; call in a thread: "
                "await asyncio.to_thread(dcsvm_dask.train, ...)"
            )
        raise InputError("client belongs to an event loop that has ended; open another client")
    if client.status != "running":
        raise InputError(
            f"client must be connected, but is {client.status}; open or await it first"
        )


def default_client() -> Any:
    """Return Dask's default client; None if there is none."""
    if "distributed" not in sys.modules:
        return None
    from distributed import default_client

    try:
        return default_client()
    except ValueError:
        return None


def is_collection(given: Any) -> bool:
    """Return whether rows, or one of rows and labels in a tuple, are a Dask collection."""
    if "dask" not in sys.modules:
        return False
    import dask

    parts = given if isinstance(given, tuple) else (given,)
    return any(dask.is_dask_collection(part) for part in parts)


def gathered(given: Any, name: str = "X") -> Any:
    """Return a collection of Dask in memory where NumPy makes no rows of it; others as they are.

    Such are data frames, whose columns have names, and arrays of sparse or masked chunks.

    Parameters
    ----------
    given : Any
        Rows or labels.
    name : str, default "X"
        For messages.

    Raises
    ------
    InputError
        If cells are masked.
    """
    if is_collection(given):
        meta = getattr(given, "_meta", None)
        if not isinstance(meta, np.ndarray) or isinstance(meta, np.ma.MaskedArray):
            given = given.compute()
    check_unmasked(given, name)
    return given
