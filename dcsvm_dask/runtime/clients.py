"""Clients that a user has opened: which can be used here, and which one Dask would take."""

from __future__ import annotations

from typing import Any

from dcsvm_dask.errors import InputError


def check_client(client: Any) -> None:
    """Refuse what is no client, or one on which this thread cannot wait.

    An asynchronous client answers in its event loop; a thread that is not the loop's waits for it
    as for any other.

    Raises
    ------
    InputError
        If it is no `distributed.Client`, is not connected, or its event loop is this thread's or
        does not run.
    """
    if not all(hasattr(client, name) for name in ("scheduler", "asynchronous", "status")):
        raise InputError(f"client is {client!r:.80}; give a distributed.Client.")
    if client.asynchronous:
        if client.loop.asyncio_loop.is_running():
            raise InputError(
                "client: its event loop is the one that this call would block; call in a thread: "
                "await asyncio.to_thread(dcsvm_dask.train, ...)"
            )
        raise InputError("client: its event loop does not run any more; open another client")
    if client.status != "running":
        raise InputError(f"client: is {client.status}, not connected; open or await it first")


def default_client() -> Any:
    """Return the client that Dask takes where none is named; None: it takes this process."""
    from distributed import default_client

    try:
        return default_client()
    except ValueError:
        return None
