"""Ownership of a folder by one process at a time: asking for it, heartbeats, and its end.

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
import os
import random
import socket
import threading
import time
import uuid
from pathlib import Path
from types import TracebackType

from dcsvm_dask.errors import InputError, OwnershipLostError
from dcsvm_dask.storage.claims import (
    LOCK,
    SETTLE_SECONDS,
    Claim,
    Ownership,
    check_claim,
    claim_names,
    claim_object,
    last_number,
    ownership_loss,
    owns,
    read_claims,
)
from dcsvm_dask.storage.file_systems import is_shared
from dcsvm_dask.storage.files import make_folder
from dcsvm_dask.storage.location import Location
from dcsvm_dask.storage.processes import this_process

HEARTBEAT_SECONDS = 10.0
WATCH_SECONDS = 2 * HEARTBEAT_SECONDS
"""Seconds without a change after which a heartbeat has stopped."""
TRIES = 8
"""Number of times a process asks again after meeting another one."""
PAUSE_SECONDS = (0.05, 0.5)
"""Least and greatest pause before asking again; it is random, so that one process is first."""


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
            raise ownership_loss(self._place, self._what, None)
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
            raise ownership_loss(self._place, self._what, None)

    def _ask(self) -> bool:
        """Write a claim and return whether it owns the folder.

        Raise an error if a running process owns it.
        """
        before = {claim.name: claim for claim in read_claims(self._place)}
        if (living := self._living(list(before.values()))) is not None:
            raise InputError(
                f"{self._place}: the {self._what} is in use by {living}; stop that process first"
            )
        number = 1 + last_number(self._place)
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
                        claim_object(self._place, claim.name).delete()
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
        claim_object(self._place, self.name).write_json(owner)

    def _withdraw(self) -> None:
        claim_object(self._place, self.name).delete()
        (self._place / LOCK).delete_if_empty()

    def _beat(self) -> None:
        doubtful = False
        while not self._stop.wait(HEARTBEAT_SECONDS):
            try:
                if owns(claim_names(self._place), self.name):
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


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())
