"""Checks of the user's Dask clients."""

from __future__ import annotations

from typing import Any

from dcsvm_dask.errors import InputError


def check_client(client: Any) -> None:
    """Raise an error if a client cannot be used by this thread.

    An asynchronous client answers in its event loop; other threads can wait for it.

    Raises
    ------
    InputError
        If it is no `distributed.Client`, is not connected, or its event loop is this thread's or
        does not run.
    """
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
    from distributed import default_client

    try:
        return default_client()
    except ValueError:
        return None
