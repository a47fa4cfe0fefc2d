"""The events of a run from its folder, after its end and while another process carries it."""

from __future__ import annotations

import itertools
import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.estimates import STEPS, estimates
from dcsvm_dask import api
from dcsvm_dask.diagnostics.progress.progress import DONE, Progress
from dcsvm_dask.diagnostics.progress.replay import Replay
from dcsvm_dask.diagnostics.watch import seen, watch
from dcsvm_dask.errors import InputError
from dcsvm_dask.runtime.events import (
    BlocksBegin,
    BlockSolved,
    Event,
    Planned,
    RunBegins,
    RunEnds,
    StageBegins,
    StageDone,
    TaskDone,
)
from dcsvm_dask.runtime.execution import Execution
from dcsvm_dask.storage.location import Location
from dcsvm_dask.storage.lock import FolderLock
from dcsvm_dask.storage.run import RunFolder
from tests.callbacks import StopAt
from tests.command_line import COMMAND
from tests.diagnostics.conftest import HOW, Recorder, Trained
from tests.left import latest


def words(recorder: Recorder, *kinds: type[Event]) -> list[tuple[Any, ...]]:
    """Return the events of some kinds, without times."""
    keys = ("stage", "node", "layer", "block", "layers", "resumed")
    return [
        (type(event), *(getattr(event, key) for key in keys if hasattr(event, key)))
        for event in recorder.reported
        if isinstance(event, kinds)
    ]


def in_order(reported: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Sort tasks that followed upon each other: those of a layer may end in any order."""
    runs = itertools.groupby(reported, key=lambda one: (one[0] is TaskDone, one[1:2], one[3:4]))
    return [one for (tasks, *_), some in runs for one in (sorted(some, key=str) if tasks else some)]


def test_a_folder_gives_the_events_of_the_live_run(trained: Trained) -> None:
    again = Recorder()
    Replay(trained.run.folder, [again]).look()
    kinds = (RunBegins, StageBegins, TaskDone, StageDone, RunEnds)
    assert in_order(words(again, *kinds)) == in_order(words(trained.events, *kinds))
    for kind in (BlocksBegin, BlockSolved):
        assert sorted(words(again, kind)) == sorted(words(trained.events, kind))
    assert [type(event) for event in again.reported].count(Planned) == 1
    # Records are the same, too.
    commits = {
        event.stage: event.record
        for event in trained.events.reported
        if isinstance(event, StageDone)
    }
    for event in again.reported:
        if isinstance(event, StageDone):
            assert event.record == commits[event.stage]
            assert not event.resumed


def test_a_second_look_tells_nothing_twice(trained: Trained) -> None:
    again = Recorder()
    replay = Replay(trained.run.folder, [again])
    replay.look()
    reported = len(again.reported)
    replay.look()
    replay.end("interrupted", "it has ended already")
    assert len(again.reported) == reported
    assert replay.ended


def test_where_a_run_stands_is_seen_from_commits_alone(trained: Trained) -> None:
    live, now = Progress(), seen(trained.run.folder)
    trained.events.tell(live)
    assert list(now.stages) == list(live.stages)
    assert {stage.state for stage in now.stages.values()} == {DONE}
    assert now.ending is not None
    assert now.ending.state == "complete"
    assert live.whole
    assert not now.whole
    few, many = Recorder(), Recorder()
    Replay(trained.run.folder, [few], tasks=False).look()
    Replay(trained.run.folder, [many]).look()
    assert {word[2] for word in words(few, TaskDone)} == {"commit"}
    assert len(words(few, TaskDone)) < len(words(many, TaskDone))
    assert words(few, StageDone) == words(many, StageDone)


def test_a_resumed_run_is_replayed_as_its_last_process_was(rows: Path, tmp_path: Path) -> None:
    execution, live, again = Execution(workers=0), Recorder(), Recorder()
    place = tmp_path / "run"
    how: dict[str, Any] = {"execution": execution, "quiet": True}
    run = api.train(rows, place, callbacks=[StopAt("level-2")], **how, **HOW)
    assert seen(run.folder).ending is not None
    api.resume(place, stop_at=1, callbacks=[live], **how)
    Replay(run.folder, [again]).look()
    kinds = (StageBegins, TaskDone, StageDone)
    assert words(again, *kinds) == words(live, *kinds)
    resumed = [word[1] for word in words(again, StageDone) if word[-1]]
    assert resumed == ["probe", "arrange", "level-2"]


def test_a_damaged_journal_is_named(trained: Trained, tmp_path: Path) -> None:
    import shutil

    place = tmp_path / "run"
    shutil.copytree(trained.run.url, place)
    latest(place, "journal").write_bytes(b"{")
    folder = api.open_run(place).folder
    with pytest.raises(InputError, match=r"journal/.*json: damaged.*delete it"):
        Replay(folder, []).look()
    assert seen(folder).stages == {}


def test_what_a_run_said_of_its_end_can_be_asked_afterwards(trained: Trained) -> None:
    taken, said = estimates(trained.run.folder)
    assert taken > 0.0
    assert len(said) == STEPS
    late = [one for one in said[STEPS // 2 :] if one is not None]
    assert len(late) == STEPS - STEPS // 2
    assert abs(late[-1] - taken) < 0.5 * taken


@pytest.fixture
def other(rows: Path, tmp_path: Path) -> Iterator[Path]:
    """Give a run that another process carries."""
    place = tmp_path / "run"
    words = ["--run", str(place), "--gamma", "8", "-C", "8", "--clusters", "4,2"]
    words += ["--stop-at", "1", "--workers", "0", "--quiet", "--holdout", f"{rows}/test"]
    process = subprocess.Popen([*COMMAND, "train", str(rows), *words])
    try:
        while not (place / "run.json").exists():
            assert process.poll() is None
        yield place
    finally:
        process.kill()
        process.wait()


@pytest.mark.long
def test_a_run_elsewhere_is_watched_to_its_end(
    other: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    watch(api.open_run(other).folder, 0.05, as_json=True)
    said = [json.loads(text) for text in capsys.readouterr().out.splitlines()]
    status = api.open_run(other).status()
    assert status["state"] == "complete"
    assert [one["stage"] for one in said if one["event"] == "StageDone"] == list(status["stages"])
    assert said[-1]["event"] == "RunEnds"
    assert said[-1]["state"] == "complete"
    assert [one["event"] for one in said].count("Planned") == 1


def test_a_run_without_workers_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def pressed(_: float) -> None:
        raise KeyboardInterrupt

    header = {"settings": {}, "goals": {}, "data": {"url": "d"}, "versions": {}}
    run = RunFolder.create(Location.of(tmp_path / "run"), header)
    monkeypatch.setattr("dcsvm_dask.diagnostics.watch.time.sleep", pressed)
    with FolderLock(run.place), pytest.raises(KeyboardInterrupt):
        watch(run, 1.0)
    assert "waiting for the run's workers" in capsys.readouterr().out


@pytest.mark.long
def test_a_run_in_an_object_store_is_followed(trained: Trained, s3: Callable[[str], str]) -> None:
    how: dict[str, Any] = {"execution": Execution(workers=0), "quiet": True, "stop_at": 1}
    live, again = Recorder(), Recorder()
    run = api.train(trained.data, f"{s3('watched')}/run", callbacks=[live], **how, **HOW)
    Replay(api.open_run(run.url).folder, [again]).look()
    kinds = (StageBegins, TaskDone, StageDone, RunEnds)
    assert words(again, *kinds) == words(live, *kinds)
