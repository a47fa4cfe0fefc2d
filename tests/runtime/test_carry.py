"""A run folder holds few files, however many rounds there are, and asks a store for little."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.requests import BUCKET, counting_server
from dcsvm_dask import api
from dcsvm_dask.diagnostics.progress.replay import Replay
from dcsvm_dask.diagnostics.report.tables.every import tables
from dcsvm_dask.methods.graph import COMMIT, Keep, Outcome, Stage, Stages, many, single
from dcsvm_dask.runtime import carry
from dcsvm_dask.runtime.announcer import Announcer
from dcsvm_dask.runtime.events import Event, StageDone, TaskDone
from dcsvm_dask.runtime.executors import in_process
from dcsvm_dask.storage.location import Location
from dcsvm_dask.storage.node import Attempt, Record
from dcsvm_dask.storage.run import RunFolder
from tests.marks import long, soak
from tests.run_folder import HEADER, VALUES
from tests.runtime.test_s3 import copy


def write(run: RunFolder, attempt: Attempt, **_: Any) -> Record:
    """Do nothing but write an array."""
    del run
    attempt.write("values", VALUES)
    return {}


def rounds(count: int, kept: Keep) -> Stages:
    """Yield rounds, of which the first one keeps for so long what its nodes have written."""
    previous = None
    for number in range(count):
        layers = (
            many("improve", write, 2, "block", keep=kept if number == 0 else Keep.STAGE),
            single(COMMIT, write),
        )
        stage = Stage(f"conquer-{number:03d}", layers, "conquer", supersedes=previous)
        yield [stage]
        previous = stage.name
    assert previous is not None
    return Outcome(previous, converged=True)


def files(run: RunFolder) -> int:
    return len(run.place.keys())


@pytest.mark.one_quick
@pytest.mark.parametrize(
    ("most", "count", "kept"), [*((4, 20, kept) for kept in Keep), long(16, 100, Keep.STAGE)]
)
def test_files_do_not_grow_with_rounds(
    most: int, count: int, kept: Keep, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(carry, "MOST_SUPERSEDED", most)
    run = RunFolder.create(Location.of(tmp_path / "run"), HEADER)
    found = []

    def look(records: dict[str, Record]) -> None:
        del records
        found.append(files(run))

    with in_process(Announcer("", [])) as executor:
        outcome = carry.carry(run, lambda: rounds(count, kept), executor, learn=look)
        assert outcome is not None
        assert outcome.stage == f"conquer-{count - 1:03d}"
        assert len(found) == count
        half = count // 2
        assert max(found[half:]) == max(found[:half]) <= most + 10
        # run.json, superseded, and of the last round: commit, its arrays, released
        assert files(run) == 5 + (5 if kept is Keep.ALWAYS else 0)
        # Nothing is lost, and nothing is done again.
        before = {name: len(nodes) for name, nodes in run.read_all().items()}
        assert before == {f"conquer-{number:03d}": 3 for number in range(count)}
        attempts = {name: nodes[COMMIT].attempt for name, nodes in run.read_all().items()}
        assert carry.carry(run, lambda: rounds(count, kept), executor) == outcome
    assert {name: nodes[COMMIT].attempt for name, nodes in run.read_all().items()} == attempts


class Recorder(api.Callback):
    """Keeps the events that it receives."""

    def __init__(self) -> None:
        self.reported: list[Event] = []

    def on_event(self, event: Event) -> None:
        self.reported.append(event)

    def of(self, kind: type[StageDone | TaskDone]) -> list[tuple[str, str]]:
        """Return stage and node of all events of a kind."""
        reported = [event for event in self.reported if isinstance(event, kind)]
        return [(event.stage, getattr(event, "node", "")) for event in reported]


def test_all_rounds_are_shown_wherever_their_records_lie(
    train: Callable[..., api.Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(carry, "MOST_SUPERSEDED", 2)
    live, again = Recorder(), Recorder()
    run = train(callbacks=[live], report=False)
    (moved,) = (Path(run.url) / "superseded").glob("*.json")
    assert moved.stat().st_size > 500
    done = [stage for stage, _ in live.of(StageDone)]
    gone = [stage for stage in done if not (Path(run.url) / "stages" / stage).exists()]
    assert len(gone) >= 2
    status = run.status()
    assert set(status["stages"]) == set(done)
    points = [point["stage"] for point in run.history()]
    assert [stage for stage in gone if stage not in points] == []
    Replay(run.folder, [again]).look()
    assert again.of(StageDone) == live.of(StageDone)
    assert sorted(again.of(TaskDone)) == sorted(live.of(TaskDone))
    shown = tables(run.folder)["tasks"]
    assert sorted(zip(shown["stage"], shown["task"], strict=True)) == sorted(live.of(TaskDone))


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("workers", [soak(0), 1])
def test_a_store_is_asked_for_little(
    workers: int, small: Path, train: Callable[..., api.Run], undisturbed: api.Run, look: Any
) -> None:
    with counting_server() as server:
        data, place = (
            copy(small, f"s3://{BUCKET}/data{workers}.zarr"),
            f"s3://{BUCKET}/run{workers}",
        )
        server.counts.clear()
        run = train(data=data, run=place, report=False, execution=api.Execution(workers=workers))
        asked = {
            kind: sum(count for (_, one), count in server.counts.items() if one == kind)
            for _, kind in server.counts
        }
        np.testing.assert_array_equal(look.alpha(run), look.alpha(undisturbed))
        nodes = len(look.nodes(run.folder))
        stored = run.folder.place.keys()
    # A node puts its arrays and its commit object, before which it lists the claims once.
    assert asked["put"] <= 3 * nodes + 80
    assert asked["list"] <= nodes + 100
    assert sum(asked.values()) <= 10 * nodes + 350
    assert len(stored) <= 100
