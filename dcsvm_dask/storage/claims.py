"""The claims of a folder: reading them, and checking that one of them still owns the folder.

What claims are, and how a process comes to own a folder by one, `dcsvm_dask.storage.lock` says.
"""

from __future__ import annotations

import contextlib
import json
import math
import re
import time
from dataclasses import dataclass
from typing import Any

from dcsvm_dask.errors import InputError, OwnershipLostError
from dcsvm_dask.storage.location import Location
from dcsvm_dask.storage.processes import is_running

LOCK = "lock"
NAMED_BY_CLAIM = ("state", "journal", "superseded")
"""Folders in which each owner has an object under the name of its claim; the latest one counts."""
STALE_SECONDS = 60.0
SETTLE_SECONDS = 2.0
"""Seconds between writing a claim and reading the others, where listings may be delayed."""
LOOK_AGAIN_SECONDS = 0.2
DECIDE_SECONDS = SETTLE_SECONDS + 5.0
"""Largest number of seconds in which a process gets a folder or withdraws its claim."""

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
    while not owns(names := claim_names(place), name):
        missing += name not in names
        # One listing may be truncated.
        if missing > 1 or time.monotonic() > end:
            raise ownership_loss(place, what, _successor(place, name))
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
    """Return the running owner of a folder; None if there is none.

    Old heartbeats are not watched.
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
            return _parse_owner(claim_object(place, name).read_bytes())
        except (KeyError, TypeError, ValueError, OverflowError, RecursionError):
            time.sleep(LOOK_AGAIN_SECONDS)
    raise InputError(
        f"{claim_object(place, name)}: is not a lock written by dcsvm; delete it, or name another "
        "folder"
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


def claim_object(place: Location, name: str) -> Location:
    """Return the place of a claim in a folder."""
    return place / LOCK / f"{name}.json"


def owns(names: list[str], name: str) -> bool:
    """Return whether one of the claims of a folder is there and has the highest number."""
    return name in names and not _higher(names, name)


def last_number(place: Location) -> int:
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


def ownership_loss(place: Location, what: str, owner: Claim | None) -> OwnershipLostError:
    """Return the error of a process that has lost a folder, to a known owner or to none."""
    why = f"it was taken over by {owner}" if owner else "its claim was taken over or deleted"
    return OwnershipLostError(
        f"{place}: this process has lost the {what}: {why}; nothing more is written here"
    )
