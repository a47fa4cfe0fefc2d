"""Messages that come twice, late or not at all: callbacks receive events once and in order."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dcsvm_dask import api
from dcsvm_dask.runtime.announcer import Announcer
from dcsvm_dask.runtime.callbacks import Callback, StopRun
from dcsvm_dask.runtime.events import BlockSolved, StageBegins, StageDone, TaskDone
from dcsvm_dask.runtime.execution import Execution
from tests.callbacks import StopAt
from tests.marks import long

LEVEL: dict[str, Any] = {
    "stage": "level-1",
    "label": "l1",
    "layers": {"solve": 2, "commit": 1},
    "done": {},
}
SCORE: dict[str, Any] = {
    "stage": "score-level-1",
    "label": "score",
    "layers": {"commit": 1},
    "done": {},
}


class Recorder(Callback):
    """Keeps the events that it receives, in a word or two each."""

    def __init__(self) -> None:
        self.words: list[str] = []
        self.events: list[Any] = []

    def on_stage(self, event: StageBegins) -> None:
        self._keep(f"begin {event.stage}", event)

    def on_block(self, event: BlockSolved) -> None:
        self._keep(f"block {event.block}", event)

    def on_task(self, event: TaskDone) -> None:
        self._keep(f"task {event.node}", event)

    def on_commit(self, event: StageDone) -> None:
        self._keep(f"commit {event.stage}", event)

    def on_score(self, event: StageDone) -> None:
        self._keep("score", event)

    def _keep(self, word: str, event: Any) -> None:
        self.words.append(word)
        self.events.append(event)


@pytest.fixture
def reported() -> Recorder:
    return Recorder()


@pytest.fixture
def announcer(reported: Recorder) -> Announcer:
    return Announcer("run", [reported])


def graph(*stages: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "graph", "stages": list(stages)}


def task(stage: str, node: str, **record: Any) -> dict[str, Any]:
    layer = node.split("-")[0]
    about = {"stage": stage, "layer": layer, "node": node, "worker": "w"}
    return {"kind": "task", **about, "record": record}


def tell(announcer: Announcer, *messages: dict[str, Any]) -> None:
    for message in messages:
        announcer.send(dict(message))
    announcer.drain()


SLOT = task("level-1", "solve-0000", members=[0, 2], each={"rows": [9, 8], "seconds": [1.0, 2.0]})
COMMIT = task("level-1", "commit", support=3)
SCORED = task("score-level-1", "commit", accuracy=0.5)


def test_stages_begin_one_after_the_other(announcer: Announcer, reported: Recorder) -> None:
    tell(announcer, graph(LEVEL, SCORE), SLOT, COMMIT, SCORED)
    assert reported.words == [
        "begin level-1",
        "block 0",
        "block 2",
        "task solve-0000",
        "task commit",
        "commit level-1",
        "begin score-level-1",
        "task commit",
        "commit score-level-1",
        "score",
    ]
    assert reported.events[2].record == {"rows": 8, "seconds": 2.0}


def test_a_message_that_comes_twice_is_passed_on_once(
    announcer: Announcer, reported: Recorder
) -> None:
    solved = {"kind": "solve", "stage": "level-1", "node": "solve-0000", "worker": "w"}
    first = {**solved, "solved": [{"block": 0, "rows": 9, "seconds": 1.0}]}
    again = {**solved, "solved": [{"block": 0, "rows": 9, "seconds": 1.0}]}
    commits = {"kind": "graph_done", "commits": {"level-1": {"support": 3}}}
    tell(announcer, graph(LEVEL), first, again, SLOT, COMMIT, commits, commits)
    assert reported.words.count("block 0") == reported.words.count("block 2") == 1
    assert reported.words.count("commit level-1") == 1


def test_a_commit_without_a_message_is_reported_from_storage(
    announcer: Announcer, reported: Recorder
) -> None:
    commits = {"level-1": {"support": 3}, "score-level-1": {"accuracy": 0.5}}
    tell(announcer, graph(LEVEL, SCORE), SLOT, {"kind": "graph_done", "commits": commits})
    assert reported.words[-4:] == [
        "commit level-1",
        "begin score-level-1",
        "commit score-level-1",
        "score",
    ]
    # A message of it that comes late is passed on, but not as another commit.
    tell(announcer, SCORED)
    assert reported.words.count("commit score-level-1") == 1


def test_a_stage_has_begun_when_a_task_of_it_is_reported(
    announcer: Announcer, reported: Recorder
) -> None:
    """The message of the commit before it was lost with its worker."""
    tell(announcer, graph(LEVEL, SCORE), SLOT, SCORED)
    assert reported.words.index("begin score-level-1") < reported.words.index(
        "commit score-level-1"
    )
    tell(announcer, {"kind": "graph_done", "commits": {"level-1": {}, "score-level-1": {}}})
    assert reported.words[-1] == "commit level-1"
    assert reported.words.count("commit score-level-1") == 1


def test_stages_that_were_committed_before_are_reported_as_resumed(
    announcer: Announcer, reported: Recorder
) -> None:
    tell(announcer, graph({**LEVEL, "record": {"support": 3}}, SCORE))
    assert reported.words == ["begin level-1", "commit level-1", "begin score-level-1"]
    assert reported.events[1].resumed
    tell(announcer, SCORED)
    assert not reported.events[-1].resumed


def test_a_stage_that_is_done_again_is_reported_again(
    announcer: Announcer, reported: Recorder
) -> None:
    tell(announcer, graph(LEVEL), SLOT, COMMIT, graph(LEVEL), SLOT, COMMIT)
    assert reported.words.count("commit level-1") == reported.words.count("block 0") == 2


def test_other_runs_of_the_same_scheduler_are_left_out(
    announcer: Announcer, reported: Recorder
) -> None:
    tell(announcer, {**graph(LEVEL), "run": "other"}, {**COMMIT, "run": "other"})
    assert reported.words == []


@pytest.mark.parametrize("shared", [False, long(True)], ids=["in process", "cluster"])
def test_a_callback_ends_a_run_and_the_best_level_is_the_model(
    shared: bool, train: Callable[..., api.Run], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    reported = Recorder()
    execution = request.getfixturevalue("two_workers") if shared else Execution(workers=0)
    run = train(
        callbacks=[reported, StopAt("level-2", StopRun("that is enough"))], execution=execution
    )
    status = run.status()
    assert status["state"] == "interrupted"
    assert status["message"] == "stopped: that is enough; level-2 is the model"
    assert (status["model"], reported.words[-1]) == ("level-2", "commit level-2")
    done = api.resume(tmp_path / "run", execution=Execution(workers=0), quiet=True)
    assert done.status()["converged"]
