"""A run in this process on several threads: nodes of a layer side by side, callbacks in one."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from dcsvm_dask.errors import OutOfTimeError, RunError
from dcsvm_dask.methods import resources
from dcsvm_dask.methods.graph import COMMIT, Stage, many, single
from dcsvm_dask.runtime.announcer import Announcer
from dcsvm_dask.runtime.callbacks import Callback, StopRun
from dcsvm_dask.runtime.executors import in_process
from dcsvm_dask.storage.location import Location
from dcsvm_dask.storage.node import Attempt, Record
from dcsvm_dask.storage.run import RunFolder
from tests.run_folder import HEADER

together = threading.Barrier(2, timeout=120)
began: list[str] = []


@pytest.fixture(autouse=True)
def two_threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    before = resources.threads()
    resources.use(threads=2)
    began.clear()
    together.reset()
    yield
    resources.use(threads=before)


def alone(run: RunFolder, attempt: Attempt, **_: Any) -> Record:
    began.append("alone")
    return {
        "threads": resources.threads(),
        "of_many": resources.threads(alone=False),
        "here": threading.current_thread().name,
    }


def paired(run: RunFolder, attempt: Attempt, *, slot: int) -> Record:
    """Wait until another one is under way, too."""
    together.wait()
    return {"threads": resources.threads(), "here": threading.current_thread().name}


def brief(run: RunFolder, attempt: Attempt, *, slot: int) -> Record:
    time.sleep(0.02)
    return {}


def slow(run: RunFolder, attempt: Attempt, *, slot: int) -> Record:
    began.append(f"slow-{slot}")
    if slot == 0:
        raise ValueError("as it happens")
    time.sleep(0.3)
    return {}


def stage(step: Any, width: int) -> list[Stage]:
    layers = (single("first", alone), many("solve", step, width, "slot"), single(COMMIT, alone))
    return [Stage("level-1", layers, "l1")]


class Threads(Callback):
    def __init__(self, stop_at: str = "") -> None:
        self.seen: set[str] = set()
        self.nodes: list[str] = []
        self.stop_at = stop_at

    def on_task(self, event: Any) -> None:
        self.seen.add(threading.current_thread().name)
        self.nodes.append(event.node)
        if event.node == self.stop_at:
            raise StopRun("enough")


@pytest.fixture
def run(tmp_path: Any) -> RunFolder:
    return RunFolder.create(Location.of(tmp_path / "run"), HEADER)


def carried(
    run: RunFolder, graph: list[Stage], reported: Callback, check: Callable[[], None] = lambda: None
) -> None:
    with in_process(Announcer(run.place.url, [reported])) as executor:
        assert executor.side_by_side() == 2
        executor.run(run, graph, check)


def test_nodes_of_a_layer_run_side_by_side_and_callbacks_here(run: RunFolder) -> None:
    reported = Threads()
    carried(run, stage(paired, 6), reported)
    records = [run.node("level-1", f"solve-{i:04d}").record for i in range(6)]
    main = threading.current_thread().name
    assert main not in {record["here"] for record in records}
    assert {record["threads"] for record in records} == {1}
    first = run.node("level-1", "first").record
    assert (first["threads"], first["here"]) == (2, main)
    assert first["of_many"] == 1  # as on a cluster, where other tasks run in other processes
    assert reported.seen == {main}
    assert reported.nodes[0] == "first"
    assert sorted(reported.nodes[1:7]) == [f"solve-{i:04d}" for i in range(6)]
    assert reported.nodes[7:] == [COMMIT]
    assert resources.threads() == 2


def test_a_node_that_fails_is_tried_again_and_ends_the_layer(run: RunFolder) -> None:
    with pytest.raises(RunError, match="as it happens"):
        carried(run, stage(slow, 50), Threads())
    assert began.count("slow-0") == 3
    assert len(began) < 30
    assert run.find("level-1", COMMIT) is None
    left = len(began)
    time.sleep(0.5)
    assert len(began) == left  # nothing goes on behind


def test_a_callback_stops_a_layer(run: RunFolder) -> None:
    with pytest.raises(StopRun):
        carried(run, stage(brief, 200), Threads(stop_at="solve-0003"))
    assert run.find("level-1", "solve-0003") is not None
    assert run.find("level-1", "solve-0199") is None


def test_time_that_is_up_ends_a_layer(run: RunFolder) -> None:
    def check() -> None:
        raise OutOfTimeError

    with pytest.raises(OutOfTimeError):
        carried(run, stage(alone, 4), Threads(), check)
    assert began == []
