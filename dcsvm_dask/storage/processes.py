"""The identity of a process, by which another process can look it up.

A process number is not unique: containers and hosts have processes of the same number, and numbers
are reused. On Linux the identifier of the boot, the namespace of process numbers and the tick at
which the process started identify it; they do not change when a clock is set.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

PLACE = ("boot", "pid_namespace")
"""Values that are equal for processes that can look each other up by number."""


def this_process() -> dict[str, Any]:
    """Return the identity of this process.

    Returns
    -------
    dict
        ``pid``; ``boot``, ``pid_namespace`` and ``ticks`` (of its start, since the boot), None
        where they are unknown.
    """
    pid = os.getpid()
    unknown = {"pid": pid, "boot": None, "pid_namespace": None, "ticks": None}
    try:
        stat = Path("/proc/self/stat").read_text()
        if int(stat.split()[0]) != pid:  # /proc belongs to another namespace
            return unknown
        return {
            "pid": pid,
            "boot": Path("/proc/sys/kernel/random/boot_id").read_text().strip(),
            "pid_namespace": str(Path("/proc/self/ns/pid").readlink()),
            "ticks": _state_and_ticks(stat)[1],
        }
    except (OSError, ValueError):  # not Linux, or no access to /proc
        return unknown


def is_running(process: dict[str, Any]) -> bool | None:
    """Return whether a process runs; None if this process cannot know.

    Parameters
    ----------
    process : dict
        Result of `this_process` in that process.
    """
    here = this_process()
    if any(here[key] is None or here[key] != process[key] for key in PLACE):
        return None
    try:
        state, ticks = _state_and_ticks(Path(f"/proc/{process['pid']}/stat").read_text())
    except (FileNotFoundError, ProcessLookupError):
        return None if _exists(process["pid"]) else False
    except (OSError, ValueError):
        return None
    return ticks == process["ticks"] and state not in "ZX"


def _exists(pid: int) -> bool:
    """Return whether a process exists that /proc may hide from other users."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


def _state_and_ticks(stat: str) -> tuple[str, int]:
    """Return state and start from a line of /proc; the name in it may contain any character."""
    fields = re.sub(r"^.*\)", "", stat, flags=re.DOTALL).split()
    return fields[0], int(fields[19])
