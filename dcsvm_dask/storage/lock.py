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
from pathlib import Path
from types import TracebackType
from typing import Any

import psutil

from dcsvm_dask.errors import InputError, RunError
from dcsvm_dask.storage.location import Location

HEARTBEAT_SECONDS = 10.0
STALE_SECONDS = 60.0
SETTLE_SECONDS = 2.0
WATCH_SECONDS = 2 * HEARTBEAT_SECONDS
"""How long a heartbeat of another host has to stand still."""
IDENTITY = ("host", "pid", "started", "since")


class FolderLock:
    """Hold the lock of a run or a data set while the context is open.

    A lock is stale when its process is gone (same host), or when its heartbeat stopped for a
    minute (other host). Who waits for a stale lock of another host sees its heartbeat stand still
    first, because clocks of two hosts may differ.

    Raises
    ------
    InputError
        On entering, if a living process holds the lock (the message names it), a foreign
        ``lock.json`` lies there, or nothing can be written there.
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
            if self._place.is_local:
                Path(self._place.url).mkdir(parents=True, exist_ok=True)
            with _alone_in(self._place):
                taken = self._create()
            taken = taken or self._take_over()
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

    def check(self) -> None:
        """Make sure that the lock is still held.

        Raises
        ------
        RunError
            If another process has taken it over, or it was deleted.
        """
        if self._is_mine():
            return
        raise RunError(
            f"{self._place}: this process has lost the {self._what}: "
            + (_describe(owner) if (owner := read_owner(self._place)) else "its lock was deleted")
            + "; nothing more is written here"
        )

    def _create(self) -> bool:
        # A client that tries again after an answer was lost finds what it wrote itself.
        return self._object.write_new(self._content()) or self._is_mine()

    def _take_over(self) -> bool:
        """Replace a stale lock, and nothing else."""
        try:
            stale = self._object.read_bytes()
        except FileNotFoundError:  # given back in between
            return False
        owner = _parse_owner(stale)
        if not owner:
            raise InputError(
                f"{self._object}: is no lock that dcsvm wrote; delete it, or name another folder"
            )
        if _is_alive(owner) or self._still_beats(owner):
            raise self._in_use(owner)
        with _alone_in(self._place):
            now = read_owner(self._place)
            if now != owner:
                if identity(now) == identity(owner):  # its heart has beaten after all
                    raise self._in_use(owner)
                return False
            self._object.delete()
            if not self._create():
                return False
        if not self._place.is_local:
            # Another process may have found it stale, too, and deleted what was just written.
            time.sleep(SETTLE_SECONDS)
        return self._is_mine()

    def _in_use(self, owner: dict[str, Any]) -> InputError:
        return InputError(
            f"{self._place}: the {self._what} is in use by {_describe(owner)}; "
            "stop that process first"
        )

    def _still_beats(self, owner: dict[str, Any]) -> bool:
        """Whether a heartbeat that looks old by this host's clock goes on."""
        if owner["host"] == socket.gethostname():
            return False
        time.sleep(WATCH_SECONDS)
        now = read_owner(self._place)
        return identity(now) == identity(owner) and now["heartbeat"] != owner["heartbeat"]

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
            except Exception:  # noqa: BLE001
                # Storage is away for a moment, whatever its client calls that; a heart that
                # stops would give the folder away. The next beat may reach it.
                continue


def read_owner(place: Location) -> dict[str, Any]:
    """Return what a folder's lock says, living or not; empty if there is none or it is damaged."""
    try:
        return _parse_owner((place / "lock.json").read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return {}


def read_holder(place: Location) -> dict[str, Any] | None:
    """Return the living owner of a folder's lock, or None if it is free or stale."""
    owner = read_owner(place)
    return owner if owner and _is_alive(owner) else None


def _parse_owner(content: bytes) -> dict[str, Any]:
    try:
        owner = json.loads(content)
        return {
            "user": str(owner["user"]),
            "host": str(owner["host"]),
            "pid": int(owner["pid"]),
            "started": _time(owner["started"]),
            "since": _time(owner["since"]),
            "heartbeat": _time(owner["heartbeat"]),
        }
    except (KeyError, TypeError, ValueError, OverflowError, OSError, RecursionError):
        return {}


def _time(value: Any) -> float:
    """Return a time in seconds, or raise for one that no calendar has."""
    seconds = float(value)
    time.localtime(seconds)
    return seconds


def _is_alive(owner: dict[str, Any]) -> bool:
    if owner["host"] != socket.gethostname():
        return bool(time.time() - owner["heartbeat"] < STALE_SECONDS)
    try:
        process = psutil.Process(owner["pid"])
        same = abs(process.create_time() - owner["started"]) < 2.0
        return same and process.status() != psutil.STATUS_ZOMBIE
    except (psutil.Error, ValueError, OverflowError):
        return False


def _describe(owner: dict[str, Any]) -> str:
    since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(owner["since"]))
    return f"{owner['user']}@{owner['host']} (process {owner['pid']}, since {since})"


def identity(owner: dict[str, Any]) -> list[Any]:
    """Return what tells one owner of a lock from another."""
    return [owner.get(key) for key in IDENTITY]


@contextmanager
def _alone_in(place: Location) -> Iterator[None]:
    """Let one process at a time create or replace the lock of a folder.

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
