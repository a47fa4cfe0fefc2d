"""Objects behind fsspec URLs, with retries while a store is unreachable."""

from __future__ import annotations

import asyncio
import errno
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import fsspec
from zarr.storage import FsspecStore, WrapperStore

from dcsvm_dask.errors import AccessError, InputError, UnreachableError
from dcsvm_dask.readers.files import is_out_of_reach, is_refused, refused
from dcsvm_dask.readers.urls import check_place

PAUSES = (0.2, 1.0, 3.0)
"""Seconds before each retry; clients have retries of their own besides."""

_PASSING = (errno.EIO, errno.EAGAIN, errno.EBUSY, errno.ETIMEDOUT, errno.ESTALE)
T = TypeVar("T")

_SETTINGS = {"s3": {"max_concurrency": 1}}
"""Settings of clients by protocol. s3fs asks for the size of an object that it may read in several
requests; the objects of this program are small."""


def client_settings(url: str) -> dict[str, Any]:
    """Return the settings of the client of a URL's protocol."""
    return _SETTINGS.get(url.partition("://")[0], {})


def on_store(url: str, do: Callable[[Any, str], T]) -> T:
    """Call a function with the file system and the path of a URL, with retries.

    A retried function may find that its first call succeeded and only the answer was lost.

    Raises
    ------
    InputError
        If the protocol is not supported or its package is not installed; an
        `UnreachableError` if the store stays unreachable, an `AccessError` if access is denied.
    """
    check_place(url)
    try:
        fs, path = fsspec.core.url_to_fs(url, **client_settings(url))
    except (ValueError, ImportError) as error:
        raise InputError(f"{url}: cannot be opened: {error}") from error
    pauses = iter(PAUSES)
    while True:
        try:
            return do(fs, path)
        except Exception as error:
            pause = next(pauses, None) if may_pass(error) else None
            if pause is None:
                if is_refused(error):
                    raise refused(url) from error
                if may_pass(error) or is_out_of_reach(error):
                    raise UnreachableError(f"{url}: cannot be reached: {error}") from error
                raise
        time.sleep(pause)


def read_intact(read: Callable[[], T]) -> T:
    """Read objects, with retries if they look damaged, since a transfer may have been truncated.

    Raises
    ------
    InputError
        If they look damaged in all tries.
    """
    for pause in PAUSES:
        try:
            return read()
        except AccessError:
            raise
        except InputError:
            time.sleep(pause)
    return read()


def may_pass(error: Exception) -> bool:
    """Return whether an error of a store is likely to be temporary."""
    if is_refused(error) or "Credentials" in type(error).__name__:
        return False
    return is_out_of_reach(error) or (isinstance(error, OSError) and error.errno in _PASSING)


class PatientStore(WrapperStore[FsspecStore]):
    """A Zarr store with the retries of `on_store`."""

    async def get(self, *args: Any, **words: Any) -> Any:
        """Return an object, or a range of its bytes."""
        return await _patiently(lambda: self._store.get(*args, **words))

    async def set(self, *args: Any, **words: Any) -> None:
        """Write an object."""
        await _patiently(lambda: self._store.set(*args, **words))

    async def exists(self, *args: Any, **words: Any) -> bool:
        """Return whether there is an object."""
        return bool(await _patiently(lambda: self._store.exists(*args, **words)))

    async def delete(self, *args: Any, **words: Any) -> None:
        """Delete an object."""
        await _patiently(lambda: self._store.delete(*args, **words))


async def _patiently(do: Callable[[], Awaitable[T]]) -> T:
    for pause in PAUSES:
        try:
            return await do()
        except Exception as error:
            if not may_pass(error):
                raise
        await asyncio.sleep(pause)
    return await do()
