"""Ownership of a folder by one process at a time: claims, heartbeats, and detecting a loss.

The lock of a folder are the *claims* in its sub-folder ``lock``: one small object for each process
that asked for the folder, ``NUMBER-TOKEN.json``, with the identity of the process and a heartbeat:

1. A claim is written by one process only, under a unique name. So no process can overwrite the
   claim of another, whatever the file system or object store.
2. A process owns the folder when it has written its claim, read all claims afterwards, and
   found no other one that is alive or has its own number or a higher one. Otherwise it withdraws
   its claim. Of two that ask at the same time at least one sees the other, however long either
   pauses between any two operations: both wrote before they read. This needs a store whose
   listings show all earlier writes; it needs no file locks, no links and no conditional writes.
3. Numbers only grow, because the claim of an owner that ended stays, marked as released. A process
   that slept while another owned the folder finds a higher number and knows that it has lost it.
4. An owner that has lost the folder writes nothing more: it checks before each commit and each
   deletion (`check_claim`), and its heartbeat sets `FolderLock.lost` after two failed checks in a
   row, ten seconds apart. Its journal and its state are stored under the name of its own claim, so
   that it can change nothing of a later owner.

A claim is alive unless it was released, its process has ended, or its heartbeat has stopped.
A process is looked up by number only where boot, namespace and start time identify it as the writer
of the claim. All others are judged by their heartbeat: one that seems older than a minute by this
host's clock, or newer than its clock, is watched, because clocks of two hosts differ.
"""

from __future__ import annotations

import contextlib
import getpass
import json
import math
import os
import random
import re
import socket
import threading
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from dcsvm_dask.errors import InputError, OwnershipLostError
from dcsvm_dask.storage.file_systems import is_shared
from dcsvm_dask.storage.files import make_folder
from dcsvm_dask.storage.location import Location
from dcsvm_dask.storage.processes import is_running, this_process

LOCK = "lock"
NAMED_BY_CLAIM = ("state", "journal", "superseded")
"""Folders in which each owner has an object under the name of its claim; the latest one counts."""
HEARTBEAT_SECONDS = 10.0
STALE_SECONDS = 60.0
WATCH_SECONDS = 2 * HEARTBEAT_SECONDS
"""Seconds without a change after which a heartbeat has stopped."""
SETTLE_SECONDS = 2.0
"""Seconds between writing a claim and reading the others, where listings may be delayed."""
LOOK_AGAIN_SECONDS = 0.2
DECIDE_SECONDS = SETTLE_SECONDS + 5.0
"""Largest number of seconds in which a process gets a folder or withdraws its claim."""
TRIES = 8
"""Number of times a process asks again after meeting another one."""
PAUSE_SECONDS = (0.05, 0.5)
"""Least and greatest pause before asking again; it is random, so that one process is first."""

_NAME = re.compile(r"(\d{6,18})-([0-9a-f]{12})\.json")


@dataclass(frozen=True, slots=True)
class Claim:
    """The claim of a process in a folder's lock.

    Attributes
    ----------
    number : int
        Higher than that of every earlier claim.
    token : str
        12 unique hexadecimal digits.
    owner : dict
        ``user``, ``host``, the result of `this_process`, ``since`` and ``heartbeat`` (Unix times),
        ``beat`` (number of heartbeats) and ``released``.
    """

    number: int
    token: str
    owner: dict[str, Any]

    @property
    def name(self) -> str:
        """Unique name of the claim in its folder; names sort by number."""
        return f"{self.number:06d}-{self.token}"

    def runs(self) -> bool | None:
        """Return whether the claim's process runs; None if only its heartbeat can tell."""
        return False if self.owner["released"] else is_running(self.owner)

    def is_fresh(self) -> bool:
        """Return whether the heartbeat is recent by this host's clock."""
        return abs(time.time() - self.owner["heartbeat"]) < STALE_SECONDS

    def __str__(self) -> str:
        owner = self.owner
        since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(owner["since"]))
        return f"{owner['user']}@{owner['host']} (process {owner['pid']}, since {since})"


class FolderLock:
    """Own a folder while the context is open.

    Parameters
    ----------
    place : Location
        The folder, which need not exist.
    what : str, default "run"
        The kind of folder, for messages.

    Attributes
    ----------
    lost : threading.Event
        Set, at most two heartbeats later, when another process owns the folder.

    Raises
    ------
    InputError
        On entering, if a running process owns the folder (the message names it), a claim is not
        valid, or the folder cannot be written.
    """

    def __init__(self, place: Location, what: str = "run") -> None:
        self._place, self._what = place, what
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._claim: Claim | None = None
        self.lost = threading.Event()

    @property
    def name(self) -> str:
        """Name of the claim by which this process owns the folder."""
        assert self._claim is not None, "the lock was not entered"
        return self._claim.name

    @property
    def ownership(self) -> Ownership:
        """Object with which other threads and processes check the ownership before they write."""
        return Ownership(self._place, self.name)

    def __enter__(self) -> FolderLock:
        try:
            if self._place.is_local:
                make_folder(Path(self._place.url))
            for _ in range(TRIES):
                if self._ask():
                    break
                time.sleep(random.uniform(*PAUSE_SECONDS))
            else:
                raise InputError(
                    f"{self._place}: other processes ask for the {self._what} at the same time; "
                    "try again"
                )
        except OSError as error:
            raise InputError(
                f"{self._place}: nothing can be written there ({error.strerror or error}); "
                "name another folder"
            ) from error
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
        # If the storage is unreachable, the stopped heartbeat ends the claim.
        with contextlib.suppress(OSError, InputError):
            if self._is_lost() or set(self._place.list()) <= {LOCK}:  # an empty folder
                self._withdraw()
                return
            try:
                self._write(released=True)
            except OSError:  # a full disk
                self._withdraw()

    def check(self) -> None:
        """Check that this process still owns the folder.

        Raises
        ------
        OwnershipLostError
            If another process owns it, or the claim was deleted.
        """
        if self.lost.is_set():
            raise _loss(self._place, self._what, None)
        check_claim(self._place, self.name, self._what)

    def _is_lost(self) -> bool:
        """Return whether another process owns the folder, rather than only asking for it.

        If the claim were withdrawn for a process that only asks, numbers could start again.
        """
        try:
            self.check()
        except OwnershipLostError:
            return True
        return False

    def check_heartbeat(self) -> None:
        """Check that this process owned the folder at its last heartbeat; reads nothing.

        Raises
        ------
        OwnershipLostError
            If it did not.
        """
        if self.lost.is_set():
            raise _loss(self._place, self._what, None)

    def _ask(self) -> bool:
        """Write a claim and return whether it owns the folder; raise an error if a running process
        does.
        """
        before = {claim.name: claim for claim in read_claims(self._place)}
        if (living := self._living(list(before.values()))) is not None:
            raise InputError(
                f"{self._place}: the {self._what} is in use by {living}; stop that process first"
            )
        number = 1 + _last_number(self._place)
        now = time.time()
        owner = {
            "user": _user(),
            "host": socket.gethostname(),
            **this_process(),
            "since": now,
            "heartbeat": now,
            "beat": 0,
            "released": False,
        }
        self._claim = Claim(number, uuid.uuid4().hex[:12], owner)
        try:
            self._write()
            if self._place.is_remote or (self._place.is_local and is_shared(self._place.url)):
                time.sleep(SETTLE_SECONDS)
            others = read_claims(self._place, but=self.name)
            only = all(
                claim.number < number
                and claim.name in before
                and claim.owner["beat"] == before[claim.name].owner["beat"]
                for claim in others
            )
            if only:
                for claim in others:
                    # One that cannot be deleted is harmless: its process is dead.
                    with contextlib.suppress(PermissionError):
                        _object(self._place, claim.name).delete()
                return True
        except BaseException:
            with contextlib.suppress(OSError, InputError):
                self._withdraw()
            raise
        self._withdraw()
        return False

    def _living(self, claims: list[Claim]) -> Claim | None:
        """Return the claim of a running process, after watching claims with old heartbeats."""
        seen = {claim.name: claim.runs() for claim in claims}
        for claim in claims:
            if seen[claim.name] or (seen[claim.name] is None and claim.is_fresh()):
                return claim
        still = {claim.name: claim for claim in claims if seen[claim.name] is None}
        if not still:
            return None
        time.sleep(WATCH_SECONDS)
        for claim in read_claims(self._place):
            if claim.name not in seen or (
                claim.name in still and claim.owner["beat"] != still[claim.name].owner["beat"]
            ):
                return claim
        return None

    def _write(self, *, released: bool = False) -> None:
        assert self._claim is not None
        owner = self._claim.owner
        owner.update(heartbeat=time.time(), beat=owner["beat"] + 1, released=released)
        _object(self._place, self.name).write_json(owner)

    def _withdraw(self) -> None:
        _object(self._place, self.name).delete()
        (self._place / LOCK).delete_if_empty()

    def _beat(self) -> None:
        doubtful = False
        while not self._stop.wait(HEARTBEAT_SECONDS):
            try:
                if _owns(claim_names(self._place), self.name):
                    doubtful = False
                    self._write()
                elif doubtful:
                    self.lost.set()
                    return
                else:  # a claim that is being withdrawn, or a truncated listing
                    doubtful = True
            except Exception:  # noqa: BLE001
                # The storage may be unreachable for a moment, with any error of its client. A
                # stopped heartbeat would end the ownership; the next one may succeed.
                continue


@dataclass(frozen=True, slots=True)
class Ownership:
    """A folder and the name of the claim by which a process owns it; sent with tasks."""

    place: Location
    name: str
    turn: int = 0
    """Number of times its process has deleted commits, so that caches of earlier commits are
    invalid."""

    def check(self, seen: float = 0.0) -> None:
        """Check that the claim still owns the folder; see `check_claim`.

        Parameters
        ----------
        seen : float, default 0
            Seconds for which an earlier check of this process is valid.
        """
        key = self.place.url, self.name
        if seen and time.monotonic() - _seen.get(key, -math.inf) < seen:
            return
        check_claim(self.place, self.name)
        _seen[key] = time.monotonic()


_seen: dict[tuple[str, str], float] = {}
"""Time of this process's last successful check of each claim."""


def check_claim(place: Location, name: str, what: str = "run") -> None:
    """Check that a claim still owns its folder; any process on any host may call this.

    While another process asks for the folder this waits: that process withdraws its claim, or
    deletes this one.

    Parameters
    ----------
    place : Location
    name : str
        Name of the claim.
    what : str, default "run"
        The kind of folder, for messages.

    Raises
    ------
    OwnershipLostError
        If another process owns the folder, or the claim was deleted.
    """
    end, missing = time.monotonic() + DECIDE_SECONDS, 0
    while not _owns(names := claim_names(place), name):
        missing += name not in names
        # One listing may be truncated.
        if missing > 1 or time.monotonic() > end:
            raise _loss(place, what, _successor(place, name))
        time.sleep(LOOK_AGAIN_SECONDS)


def claim_names(place: Location) -> list[str]:
    """Return the names of a folder's claims, by number."""
    names = (place / LOCK).list()
    return sorted(name.removesuffix(".json") for name in names if _NAME.fullmatch(name))


def read_claims(place: Location, *, but: str = "") -> list[Claim]:
    """Return the claims of a folder, by number, except the one named `but`.

    Raises
    ------
    InputError
        If a claim is not valid.
    """
    found = []
    for name in claim_names(place):
        if name == but:
            continue
        try:
            owner = _read_owner(place, name)
        except FileNotFoundError:  # withdrawn in the meantime
            continue
        number, token = name.split("-")
        found.append(Claim(int(number), token, owner))
    return found


def read_owner(place: Location) -> dict[str, Any] | None:
    """Return the running owner of a folder; None if there is none. Old heartbeats are not
    watched.
    """
    with contextlib.suppress(InputError, NotADirectoryError):
        for claim in reversed(read_claims(place)):
            runs = claim.runs()
            if runs or (runs is None and claim.is_fresh()):
                return claim.owner
    return None


def _read_owner(place: Location, name: str) -> dict[str, Any]:
    for _ in range(3):  # one read may be truncated
        try:
            return _parse_owner(_object(place, name).read_bytes())
        except (KeyError, TypeError, ValueError, OverflowError, RecursionError):
            time.sleep(LOOK_AGAIN_SECONDS)
    raise InputError(
        f"{_object(place, name)}: is not a lock written by dcsvm; delete it, or name another folder"
    )


def _parse_owner(content: bytes) -> dict[str, Any]:
    owner = json.loads(content)
    return {
        "user": str(owner["user"]),
        "host": str(owner["host"]),
        "pid": int(owner["pid"]),
        "boot": owner["boot"],
        "pid_namespace": owner["pid_namespace"],
        "ticks": owner["ticks"],
        "since": _time(owner["since"]),
        "heartbeat": _time(owner["heartbeat"]),
        "beat": int(owner["beat"]),
        "released": bool(owner["released"]),
    }


def _time(value: Any) -> float:
    """Return a time in seconds; raise an error if it is not a valid date."""
    seconds = float(value)
    try:
        time.localtime(seconds)
    except OSError as error:
        raise ValueError(value) from error
    return seconds


def _object(place: Location, name: str) -> Location:
    return place / LOCK / f"{name}.json"


def _owns(names: list[str], name: str) -> bool:
    return name in names and not _higher(names, name)


def _last_number(place: Location) -> int:
    """Return the highest number of a claim, including claims in names of other objects."""
    names = [name for folder in (LOCK, *NAMED_BY_CLAIM) for name in (place / folder).list()]
    return max((int(found[1]) for name in names if (found := _NAME.fullmatch(name))), default=0)


def _higher(names: list[str], name: str) -> list[str]:
    """Return the other claims whose number is that of a claim or higher."""
    number = int(name.split("-")[0])
    return [other for other in names if other != name and int(other.split("-")[0]) >= number]


def _successor(place: Location, name: str) -> Claim | None:
    higher = _higher(claim_names(place), name)
    with contextlib.suppress(InputError):
        return next((c for c in reversed(read_claims(place)) if c.name in higher), None)
    return None


def _loss(place: Location, what: str, owner: Claim | None) -> OwnershipLostError:
    why = f"it was taken over by {owner}" if owner else "its claim was taken over or deleted"
    return OwnershipLostError(
        f"{place}: this process has lost the {what}: {why}; nothing more is written here"
    )


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())
