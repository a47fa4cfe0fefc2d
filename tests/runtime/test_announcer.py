"""From messages that come twice, late or not at all to events that are told once and in order."""

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


class Told(Callback):
    """Keeps what it is told, in a word or two each."""

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
def told() -> Told:
    return Told()


@pytest.fixture
def announcer(told: Told) -> Announcer:
    return Announcer("run", [told])


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


def test_stages_begin_one_after_the_other(announcer: Announcer, told: Told) -> None:
    tell(announcer, graph(LEVEL, SCORE), SLOT, COMMIT, SCORED)
    assert told.words == [
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
    assert told.events[2].record == {"rows": 8, "seconds": 2.0}


def test_what_comes_twice_is_told_once(announcer: Announcer, told: Told) -> None:
    solved = {"kind": "solve", "stage": "level-1", "node": "solve-0000", "worker": "w"}
    first = {**solved, "solved": [{"block": 0, "rows": 9, "seconds": 1.0}]}
    again = {**solved, "solved": [{"block": 0, "rows": 9, "seconds": 1.0}]}
    commits = {"kind": "graph_done", "commits": {"level-1": {"support": 3}}}
    tell(announcer, graph(LEVEL), first, again, SLOT, COMMIT, commits, commits)
    assert told.words.count("block 0") == told.words.count("block 2") == 1
    assert told.words.count("commit level-1") == 1


def test_a_commit_of_which_no_message_came_is_told_from_storage(
    announcer: Announcer, told: Told
) -> None:
    commits = {"level-1": {"support": 3}, "score-level-1": {"accuracy": 0.5}}
    tell(announcer, graph(LEVEL, SCORE), SLOT, {"kind": "graph_done", "commits": commits})
    assert told.words[-4:] == [
        "commit level-1",
        "begin score-level-1",
        "commit score-level-1",
        "score",
    ]
    # A message of it that comes late is told, but not as another commit.
    tell(announcer, SCORED)
    assert told.words.count("commit score-level-1") == 1


def test_a_stage_has_begun_when_a_task_of_it_is_told(announcer: Announcer, told: Told) -> None:
    """The message of the commit before it was lost with its worker."""
    tell(announcer, graph(LEVEL, SCORE), SLOT, SCORED)
    assert told.words.index("begin score-level-1") < told.words.index("commit score-level-1")
    tell(announcer, {"kind": "graph_done", "commits": {"level-1": {}, "score-level-1": {}}})
    assert told.words[-1] == "commit level-1"
    assert told.words.count("commit score-level-1") == 1


def test_what_was_committed_before_is_told_as_resumed(announcer: Announcer, told: Told) -> None:
    tell(announcer, graph({**LEVEL, "record": {"support": 3}}, SCORE))
    assert told.words == ["begin level-1", "commit level-1", "begin score-level-1"]
    assert told.events[1].resumed
    tell(announcer, SCORED)
    assert not told.events[-1].resumed


def test_a_stage_that_is_done_again_is_told_again(announcer: Announcer, told: Told) -> None:
    tell(announcer, graph(LEVEL), SLOT, COMMIT, graph(LEVEL), SLOT, COMMIT)
    assert told.words.count("commit level-1") == told.words.count("block 0") == 2


def test_other_runs_of_the_same_scheduler_are_left_out(announcer: Announcer, told: Told) -> None:
    tell(announcer, {**graph(LEVEL), "run": "other"}, {**COMMIT, "run": "other"})
    assert told.words == []


@pytest.mark.parametrize("shared", [False, long(True)], ids=["in process", "cluster"])
def test_a_callback_ends_a_run_and_the_best_level_is_the_model(
    shared: bool, train: Callable[..., api.Run], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    told = Told()
    execution = request.getfixturevalue("two_workers") if shared else Execution(workers=0)
    run = train(callbacks=[told, StopAt("level-2", StopRun("that is enough"))], execution=execution)
    status = run.status()
    assert status["state"] == "interrupted"
    assert status["message"] == "stopped: that is enough; level-2 is the model"
    assert (status["model"], told.words[-1]) == ("level-2", "commit level-2")
    done = api.resume(tmp_path / "run", execution=Execution(workers=0), quiet=True)
    assert done.status()["converged"]
