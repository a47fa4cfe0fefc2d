"""A small real training that much is tried on, and ways to look into its folder.

`tests/conftest.py` makes the fixtures known everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dcsvm_dask import api
from dcsvm_dask.methods import sizes
from dcsvm_dask.runtime.execution import Execution
from dcsvm_dask.storage.node import Committed
from dcsvm_dask.storage.run import RunFolder
from dcsvm_dask.storage.state import read_state

IN_PROCESS = Execution(workers=0)
SETTINGS = {"gamma": 8.0, "C": 8.0, "clusters": (4, 2), "block_cap": 128, "tol": 1e-4}
"""Two levels, refinement and several conquer rounds of several blocks on 600 rows."""
WORDS = ["--gamma", "8", "-C", "8", "--clusters", "4,2", "--block-cap", "128", "--tol", "1e-4"]
"""The same for the command."""


@contextmanager
def few_rows_a_task() -> Iterator[None]:
    """Let the levels of few rows have several tasks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sizes, "SLOT_ROWS", 128)
        yield


@pytest.fixture(name="few_rows_a_task", scope="module")
def _few_rows_a_task() -> Iterator[None]:
    """Let the levels of few rows have several tasks, for the tests of a module."""
    with few_rows_a_task():
        yield


class Look:
    """What lies in a run's folder."""

    def alpha(self, run: api.Run) -> np.ndarray:
        """Return alpha of the model that the run ended with, of a level with signs."""
        node = run.folder.node(read_state(run.folder)["stage"], "commit")
        return node.read("alpha" if node.has("alpha") else "beta")

    def nodes(self, folder: RunFolder) -> dict[tuple[str, str], Committed]:
        """Return every committed node by stage and name."""
        found = {}
        for stage in folder.stages():
            for node in folder.nodes(stage):
                committed = folder.find(stage, node)
                assert committed is not None
                found[stage, node] = committed
        return found

    def attempts(self, folder: RunFolder) -> dict[tuple[str, str], str]:
        """Return the name of the attempt of every committed node."""
        return {name: node.attempt for name, node in self.nodes(folder).items()}

    def orphans(self, folder: RunFolder) -> list[str]:
        """Return arrays that lie there though no commit object holds them."""
        held = {node.place.url for node in self.nodes(folder).values() if not node.released}
        return [
            place.url
            for stage in folder.stages()
            for name in folder.stage(stage).list()
            if not name.endswith(".json") and (place := folder.stage(stage) / name).url not in held
        ]


@pytest.fixture(scope="session")
def look() -> Look:
    return Look()


@pytest.fixture(scope="session")
def small(demo_rows: Callable[..., Path]) -> Path:
    """Give the data set that `SETTINGS` are for."""
    return demo_rows(600)


@pytest.fixture(scope="session")
def settings() -> dict[str, Any]:
    return dict(SETTINGS)


@pytest.fixture(scope="session")
def undisturbed(small: Path, tmp_path_factory: pytest.TempPathFactory) -> api.Run:
    """Give a run of `SETTINGS` on `small` that nothing disturbed; do not change it."""
    place = tmp_path_factory.mktemp("undisturbed") / "run"
    with few_rows_a_task():
        return api.train(small, place, execution=IN_PROCESS, quiet=True, **SETTINGS)


@pytest.fixture
def train(small: Path, tmp_path: Path) -> Callable[..., api.Run]:
    """Return a function that trains on `small` in a folder of this test."""

    def call(**changes: Any) -> api.Run:
        arguments: dict[str, Any] = {"execution": IN_PROCESS, "quiet": True, **SETTINGS, **changes}
        data = arguments.pop("data", small)
        place = arguments.pop("run", tmp_path / "run")
        return api.train(data, place, **arguments)

    return call
