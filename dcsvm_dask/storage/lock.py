"""One process writes a folder at a time: a lock with its owner's name and a heartbeat."""

from __future__ import annotations

import contextlib
import fcntl
import getpass
import json
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any

import psutil

from dcsvm_dask.errors import InputError
from dcsvm_dask.storage.location import Location

HEARTBEAT_SECONDS = 10.0
STALE_SECONDS = 60.0
SETTLE_SECONDS = 2.0
IDENTITY = ("host", "pid", "started", "since")


class FolderLock:
    """Hold the lock of a run or a data set while the context is open.

    A lock is stale when its process is gone (same host), or when its heartbeat stopped for a
    minute (other host).

    Raises
    ------
    InputError
        On entering, if a living process holds the lock (the message names it), or nothing can be
        written there.
    """

    def __init__(self, place: Location, what: str = "run") -> None:
        self._place = place
        self._what = what
        self._object = place / "lock.json"
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        process = psutil.Process()
        self._owner: dict[str, Any] = {
            "user": _user(),
            "host": socket.gethostname(),
            "pid": process.pid,
            "started": process.create_time(),
            "since": time.time(),
        }

    def __enter__(self) -> FolderLock:
        try:
            taken = self._create() or self._take_over()
        except OSError as error:
            raise InputError(
                f"{self._place}: nothing can be written there ({error.strerror or error}); "
                "name another folder"
            ) from error
        if not taken:
            raise InputError(f"{self._place}: another process has just taken the {self._what}")
        self._thread = threading.Thread(target=self._beat, name="folder-lock", daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        if self._is_mine():
            self._object.delete()

    def _create(self) -> bool:
        return self._object.write_new(self._content())

    def _take_over(self) -> bool:
        """Replace a stale lock."""
        with _alone_in(self._place):
            holder = read_holder(self._place)
            if holder is not None:
                raise InputError(
                    f"{self._place}: the {self._what} is in use by "
                    f"{holder['user']}@{holder['host']} (process {holder['pid']}, since "
                    f"{time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(holder['since']))}); "
                    "stop that process first"
                )
            self._object.delete()
            if not self._create():
                return False
        if not self._place.is_local:
            # Another process may have found it stale, too, and deleted what was just written.
            time.sleep(SETTLE_SECONDS)
        return self._is_mine()

    def _is_mine(self) -> bool:
        return identity(read_owner(self._place)) == identity(self._owner)

    def _content(self) -> bytes:
        return json.dumps({**self._owner, "heartbeat": time.time()}, indent=1).encode()

    def _beat(self) -> None:
        while not self._stop.wait(HEARTBEAT_SECONDS):
            try:
                if not self._is_mine():  # found stale and taken over while this host slept
                    return
                self._object.write_bytes(self._content())
            except OSError:  # storage is away for a moment: the next beat may reach it
                continue


def read_owner(place: Location) -> dict[str, Any]:
    """Return what a folder's lock says, living or not; empty if there is none or it is damaged."""
    try:
        owner = (place / "lock.json").read_json()
        return {
            "user": str(owner["user"]),
            "host": str(owner["host"]),
            "pid": int(owner["pid"]),
            "started": float(owner["started"]),
            "since": float(owner["since"]),
            "heartbeat": float(owner["heartbeat"]),
        }
    except (FileNotFoundError, NotADirectoryError, InputError, KeyError, TypeError, ValueError):
        return {}


def read_holder(place: Location) -> dict[str, Any] | None:
    """Return the living owner of a folder's lock, or None if it is free or stale."""
    owner = read_owner(place)
    if not owner:
        return None
    if owner["host"] == socket.gethostname():
        try:
            process = psutil.Process(owner["pid"])
            same = abs(process.create_time() - owner["started"]) < 2.0
            alive = same and process.status() != psutil.STATUS_ZOMBIE
        except psutil.Error:
            alive = False
        return owner if alive else None
    return owner if time.time() - owner["heartbeat"] < STALE_SECONDS else None


def identity(owner: dict[str, Any]) -> list[Any]:
    """Return what tells one owner of a lock from another."""
    return [owner.get(key) for key in IDENTITY]


@contextmanager
def _alone_in(place: Location) -> Iterator[None]:
    """Let one process at a time replace the stale lock of a folder.

    Nothing of the kind exists on object stores, nor on some network file systems.
    """
    if not place.is_local:
        yield
        return
    folder = os.open(place.url, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):
            fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())
