"""The memory of a process for kept kernel columns, which its shares divide among themselves."""

from __future__ import annotations

import threading
from typing import Any
from weakref import WeakKeyDictionary

GROWTH = 1.25
"""A share's part grows by this factor or not at all: its columns begin anew."""


class ColumnRoom:
    """Gives each share of a process an equal part of the memory for columns.

    Shares come (rows are loaded, or sent from another worker) and go. A share's part falls with the
    next product after others came, and theirs begin with what is left until then, so that all parts
    together never exceed the memory.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._parts: WeakKeyDictionary[Any, int] = WeakKeyDictionary()

    def enter(self, share: Any) -> None:
        """Count a share from now on, until it is deleted."""
        with self._lock:
            self._parts[share] = 0

    def of(self, share: Any, n_bytes: int) -> int:
        """Return the bytes that a share may take now.

        Parameters
        ----------
        share : object
            One that has entered.
        n_bytes : int
            Bytes of all shares of the process.
        """
        with self._lock:
            parts = list(self._parts.items())
            mine = self._parts[share]
            others = sum(part for other, part in parts if other is not share)
            part = max(0, min(n_bytes // len(parts), n_bytes - others))
            if mine < part < GROWTH * mine:
                part = mine
            self._parts[share] = part
            return part


ROOM = ColumnRoom()
"""That of this process."""
