"""Faults from a table: at which step, how, how often; every step that begins is counted in a file.

Worker processes load this file by Dask's preload. The table lies in the folder that the
environment names, so that tests write it while processes run, and what happened outlives them.
"""

from __future__ import annotations

import errno
import fnmatch
import json
import os
import signal
import time
import uuid
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from dcsvm_dask.methods import node
from dcsvm_dask.runtime import tasks
from dcsvm_dask.storage.node import Attempt

FOLDER = "DCSVM_FAULTS"
CHUNK = 16 << 20
HELD_SECONDS = 900.0
"""How long a step is held at most: longer than any test waits for a process."""


@dataclass(frozen=True)
class Fault:
    """Something that goes wrong.

    Attributes
    ----------
    stage, node : str
        Patterns of what it happens to.
    how : {"raise", "full", "kill", "memory", "wait", "hold"}
        An exception, a full disk, death by signal, memory that grows until the process is killed,
        `seconds` in which nothing happens, or waiting until the table has this fault no more.
    when : {"before", "after", "commit", "committed"}
        Before the step, after it, between its arrays and its commit object, or after that.
    times : int
        How often, at most; 0: always.
    """

    stage: str
    node: str
    how: str
    when: str = "before"
    times: int = 1
    seconds: float = 0.0

    def is_due(self, when: str, stage: str, node: str) -> bool:
        here = fnmatch.fnmatch(stage, self.stage) and fnmatch.fnmatch(node, self.node)
        return here and when == self.when


class FaultTable:
    """The table and the counts, in a folder that all processes see."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("calls", "fired"):
            (folder / name).mkdir(parents=True, exist_ok=True)

    def write(self, *faults: Fault) -> None:
        """Replace the table; what has happened by the old one is forgotten, the calls are not."""
        for file in (self.folder / "fired").iterdir():
            file.unlink()
        new = self.folder / "new.json"
        new.write_text(json.dumps([asdict(fault) for fault in faults]))
        new.replace(self.folder / "table.json")

    def read(self) -> list[Fault]:
        try:
            return [
                Fault(**fault) for fault in json.loads((self.folder / "table.json").read_text())
            ]
        except FileNotFoundError:
            return []

    def count(self, stage: str, node: str) -> None:
        """Note that a step begins."""
        (self.folder / "calls" / f"{stage} {node} {uuid.uuid4().hex}").touch()

    def calls(self) -> Counter[tuple[str, str]]:
        """Return how often each step has begun."""
        names = (file.name.split() for file in (self.folder / "calls").iterdir())
        return Counter((stage, node) for stage, node, _ in names)

    def fired(self) -> int:
        """Return how often something went wrong."""
        return len(list((self.folder / "fired").iterdir()))

    def fire(self, when: str, stage: str, node: str) -> None:
        """Let go wrong what is due."""
        for number, fault in enumerate(self.read()):
            if fault.is_due(when, stage, node) and self._claim(number, fault):
                if fault.how == "hold":
                    self._hold(fault)
                else:
                    happen(fault, stage, node)

    def _hold(self, fault: Fault) -> None:
        """Wait until the table has a fault no more."""
        end = time.monotonic() + HELD_SECONDS
        while fault in self.read():
            if time.monotonic() > end:
                raise TimeoutError("a step was held, and never let go")
            time.sleep(0.01)

    def _claim(self, number: int, fault: Fault) -> bool:
        """Take one of a fault's times."""
        if not fault.times:
            return True
        for time_ in range(fault.times):
            try:
                (self.folder / "fired" / f"{number}-{time_}").touch(exist_ok=False)
            except FileExistsError:
                continue
            return True
        return False


def happen(fault: Fault, stage: str, node: str) -> None:
    """Go wrong."""
    if fault.how == "raise":
        raise ArithmeticError(f"injected at {stage}/{node}")
    if fault.how == "full":
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), f"{stage}/{node}")
    if fault.how == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if fault.how == "memory":
        held = []
        while True:
            held.append(b"x" * CHUNK)
            time.sleep(0.02)
    time.sleep(fault.seconds)


def install(folder: Path) -> None:
    """Let the steps of this process count themselves and go wrong by the table in a folder."""
    table = FaultTable(folder)
    run_node, keys, commit = node.run_node, Attempt._keys, Attempt.commit

    def watched(
        run_url: str, stage: str, name: str, step: Any, arguments: Any, owner: Any = None
    ) -> Any:
        def watched_step(*places: Any, **words: Any) -> Any:
            table.count(stage, name)
            table.fire("before", stage, name)
            record = step(*places, **words)
            table.fire("after", stage, name)
            return record

        return run_node(run_url, stage, name, watched_step, arguments, owner)

    def keys_then_fire(attempt: Attempt) -> Any:
        found = keys(attempt)
        table.fire("commit", *_of(attempt))
        return found

    def commit_then_fire(attempt: Attempt, record: Any) -> bool:
        found = commit(attempt, record)
        table.fire("committed", *_of(attempt))
        return found

    setattr(tasks, "run_node", watched)  # noqa: B010
    Attempt._keys = keys_then_fire  # type: ignore[assignment,method-assign]
    Attempt.commit = commit_then_fire  # type: ignore[assignment,method-assign]


def _of(attempt: Attempt) -> tuple[str, str]:
    return attempt.place.parent.name, attempt.place.name.split(".")[0]


def dask_setup(worker: Any) -> None:
    """Install in a worker process."""
    del worker
    install(Path(os.environ[FOLDER]))
