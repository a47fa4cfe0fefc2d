"""Workers that die: what they were doing is done again, nothing else, to the same model."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from dcsvm_dask import api
from dcsvm_dask.methods import sizes
from dcsvm_dask.runtime.callbacks import Callback
from dcsvm_dask.runtime.events import TaskDone
from tests.marks import soak
from tests.runtime.faults.losses import Losses

TrainOn = Callable[..., api.Run]


@pytest.mark.long
@pytest.mark.parametrize(
    ("stage", "node", "when"),
    [
        soak("level-2", "solve-*", "after"),
        soak("arrange", "part-*", "before"),  # as all workers below
        soak("arrange", "cluster", "commit"),
        ("level-1", "commit", "commit"),
        soak("level-1", "commit", "committed"),
        soak("conquer-001", "improve-*", "commit"),
        ("conquer-001", "product-*", "committed"),
    ],
)
def test_a_worker_that_is_killed(
    stage: str, node: str, when: str, faults: Any, train_on: TrainOn
) -> None:
    faults.add(stage, node, "kill", when=when)
    losses = Losses()
    run = train_on(2, callbacks=[losses])
    assert len(losses.why) == 1
    assert losses.why[0].startswith("its process was ended by SIGKILL, as the system does where")
    faults.check(run)
    assert faults.fired == 1
    again = faults.redone()
    # What was committed is not done again, though no message came of it.
    assert again.total() == (0 if when == "committed" else 1)
    assert all(step[0] == stage for step in again)


@pytest.mark.long
@pytest.mark.soak
def test_half_of_the_workers_that_vanish_at_once(faults: Any, train_on: TrainOn) -> None:
    faults.add("level-2", "solve-*", "kill", times=2)
    run = train_on(4)
    faults.check(run)
    assert faults.fired == 2
    assert faults.redone().total() <= 2


@pytest.mark.long
def test_all_workers_that_vanish_at_once(faults: Any, train_on: TrainOn) -> None:
    faults.add("level-2", "solve-*", "kill", times=2)
    run = train_on(2)
    faults.check(run)
    assert faults.redone().total() <= 2


@pytest.mark.long
def test_a_worker_that_is_killed_for_its_memory(faults: Any, train_on: TrainOn) -> None:
    faults.add("level-2", "solve-0001", "memory")
    losses = Losses()
    run = train_on(2, memory_limit="1GiB", callbacks=[losses])
    assert len(losses.why) == 1
    assert re.fullmatch(r"it was ended for its memory, [\d,]+ MiB( of 1,024 MiB)?", losses.why[0])
    faults.check(run)
    assert faults.fired == 1
    assert faults.redone() == {("level-2", "solve-0001"): 1}


@pytest.mark.long
def test_a_slow_worker_does_not_hold_a_level_for_long(
    faults: Any, train_on: TrainOn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sizes, "SLOT_ROWS", 32)
    faults.hold("level-2", "solve-*", when="after", times=1)

    class Releases(Callback):
        """Lets the slow one go on once the others have done all but what it may hold."""

        def __init__(self) -> None:
            self.left = 16 - 2

        def on_task(self, event: TaskDone) -> None:
            self.left -= event.stage == "level-2" and event.node.startswith("solve-")
            if self.left == 0:
                faults.clear()

    # Without the others' work it would be held until its step fails, and be done again.
    run = train_on(2, clusters=(16, 4), stop_at=2, callbacks=[Releases()])
    assert faults.redone().total() == 0
    tasks = run.status()["tasks"]["level-2"]
    assert sum(tasks.values()) == 17
    assert min(tasks.values()) <= 3  # of two workers, it would have had a half
