"""Trainings whose worker processes go wrong by a table.

`tests/conftest.py` makes the fixtures known everywhere.
"""

from __future__ import annotations

import importlib.util
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import dask
import numpy as np
import pytest

from dcsvm_dask import api
from dcsvm_dask.methods import node
from dcsvm_dask.runtime import tasks
from dcsvm_dask.storage.node import Attempt
from tests.left import damaged

INJECTION = Path(__file__).with_name("runtime") / "faults" / "injection.py"
PRELOAD = "distributed.worker.preload"


def load() -> Any:
    """Return the module that workers preload."""
    name = INJECTION.stem
    if name not in sys.modules:
        found = importlib.util.spec_from_file_location(name, INJECTION)
        assert found is not None
        assert found.loader is not None
        sys.modules[name] = importlib.util.module_from_spec(found)
        found.loader.exec_module(sys.modules[name])
    return sys.modules[name]


class Faults:
    """The table of a test, and what came of it."""

    def __init__(self, folder: Path, look: Any, undisturbed: api.Run) -> None:
        self._module = load()
        self.folder = folder
        self._table = self._module.FaultTable(folder)
        self._look, self._undisturbed = look, undisturbed
        self._faults: list[Any] = []

    def add(self, stage: str, node: str, how: str, **more: Any) -> None:
        """Let something go wrong; see `injection.Fault`."""
        self._faults.append(self._module.Fault(stage, node, how, **more))
        self._table.write(*self._faults)

    def hold(self, stage: str, node: str = "*", **more: Any) -> None:
        """Hold steps before they do anything, until the table is cleared."""
        self.add(stage, node, "hold", **{"times": 0, **more})

    def clear(self) -> None:
        """Let nothing go wrong any more, and waiting steps go on."""
        self._faults.clear()
        self._table.write()

    @property
    def begun(self) -> int:
        """How many steps have begun."""
        return int(self._table.calls().total())

    def begun_at(self, stage: str, node: str = "*") -> int:
        """Return how many steps of a pattern have begun."""
        found = self._table.calls().items()
        return sum(n for key, n in found if all(map(fnmatch, key, (stage, node))))

    @property
    def in_command(self) -> str:
        """What a command runs first, so that its own process has faults, too."""
        lines = (
            f"import sys; sys.path.insert(0, {str(INJECTION.parent)!r})",
            f"import injection, pathlib; injection.install(pathlib.Path({str(self.folder)!r}))",
        )
        return "; ".join(lines)

    @property
    def fired(self) -> int:
        return int(self._table.fired())

    def redone(self) -> Counter[tuple[str, str]]:
        """Return the steps that began more than once, and how often more."""
        return Counter({step: n - 1 for step, n in self._table.calls().items() if n > 1})

    def check(self, run: api.Run) -> None:
        """Check that a run came to the model that it comes to undisturbed, and is whole."""
        assert run.status()["state"] == "complete"
        found, expected = self._look.alpha(run), self._look.alpha(self._undisturbed)
        np.testing.assert_array_equal(found, expected)
        steps = self._look.attempts(self._undisturbed.folder).keys()
        assert self._look.attempts(run.folder).keys() == steps
        assert set(self._table.calls()) == set(steps)
        assert self._look.orphans(run.folder) == []
        assert damaged(run.folder) == []


@pytest.fixture
def faults(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, look: Any, undisturbed: api.Run
) -> Iterator[Faults]:
    """Give a table of faults for the workers that this test starts."""
    folder = tmp_path / "faults"
    monkeypatch.setenv(load().FOLDER, str(folder))
    # For commands, which read it at their start, and for workers of this process.
    monkeypatch.setenv("DASK_DISTRIBUTED__WORKER__PRELOAD", str([str(INJECTION)]))
    with dask.config.set({PRELOAD: [str(INJECTION)]}):
        yield Faults(folder, look, undisturbed)


@pytest.fixture
def in_this_process(
    faults: Faults, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[[], None]:
    """Return a function that lets steps of this process go wrong, too, until the test ends."""

    def install() -> None:
        # Each is set to what it is, so that it is put back at the end.
        monkeypatch.setattr(tasks, "run_node", node.run_node)
        for name in ("_keys", "commit"):
            monkeypatch.setattr(Attempt, name, getattr(Attempt, name))
        load().install(tmp_path / "faults")

    return install


@pytest.fixture
def train_on(train: Callable[..., api.Run]) -> Callable[..., api.Run]:
    """Return a function that trains on so many local workers."""

    def call(workers: int, **more: Any) -> api.Run:
        limit = more.pop("memory_limit", None)
        execution = api.Execution(workers=workers, memory_limit=limit)
        return train(execution=execution, **more)

    return call
