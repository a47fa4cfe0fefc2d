"""A small real run, and all of its events."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from dcsvm_dask import api
from dcsvm_dask.methods.dcsvm import graph
from dcsvm_dask.runtime.callbacks import Callback
from dcsvm_dask.runtime.events import Event
from dcsvm_dask.runtime.execution import Execution
from tests.browser import chromium
from tests.diagnostics.reader import Reader

HOW: dict[str, Any] = {"gamma": 4.0, "C": 8.0, "clusters": (4, 2), "block_cap": 128, "tol": 1e-4}
"""Two levels, refinement and several conquer rounds of several blocks."""


class Recorder(Callback):
    """Keeps the events that it receives, to pass them on again."""

    def __init__(self) -> None:
        self.reported: list[Event] = []

    def on_event(self, event: Event) -> None:
        self.reported.append(event)

    def tell(self, callback: Callback) -> None:
        """Tell somebody else."""
        for event in self.reported:
            callback.on_event(event)


@dataclass
class Trained:
    """A run that has ended, its data, and its events."""

    run: api.Run
    data: Path
    events: Recorder = field(default_factory=Recorder)


@pytest.fixture(scope="package")
def rows(demo_rows: Callable[..., Path]) -> Path:
    return demo_rows(800, test_fraction=0.25, seed=10)


@pytest.fixture(scope="package")
def trained(rows: Path, tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """Give a run; do not change it."""
    events = Recorder()
    with pytest.MonkeyPatch.context() as patch:
        # Rounds alone: whether working sets would be faster is a matter of rounding here.
        patch.setattr(graph, "SLOW", math.inf)
        run = api.train(
            rows,
            tmp_path_factory.mktemp("trained") / "run",
            holdout=rows / "test",
            execution=Execution(workers=0),
            quiet=True,
            callbacks=[events],
            **HOW,
        )
    return Trained(run, rows, events)


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Reader]:
    """Give a browser; the test skips where there is none, unless one is required."""
    with chromium(tmp_path / "browser", width=1400, height=1400) as driver:
        yield Reader(driver)
