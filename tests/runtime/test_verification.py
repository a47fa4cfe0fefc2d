"""Checksums are compared before a run goes on: by its workers, with the progress shown."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dcsvm_dask import api
from dcsvm_dask.errors import InputError
from dcsvm_dask.runtime import verification
from dcsvm_dask.runtime.callbacks import Callback
from dcsvm_dask.runtime.events import Notice
from dcsvm_dask.runtime.execution import Execution
from dcsvm_dask.storage.location import Location
from dcsvm_dask.storage.node import Committed
from dcsvm_dask.storage.run import RunFolder
from tests.left import rewrite_state
from tests.marks import long

HERE = Execution(workers=0)


class Heard(Callback):
    """Keeps what the runtime says."""

    def __init__(self) -> None:
        self.said: list[Notice] = []

    def on_notice(self, event: Notice) -> None:
        self.said.append(event)


@pytest.fixture
def left(undisturbed: api.Run, tmp_path: Path) -> Path:
    """Give a copy of the undisturbed run that looks as if it had been killed at its end."""
    place = Path(shutil.copytree(undisturbed.url, tmp_path / "left"))
    rewrite_state(place, state="running")
    return place


@pytest.mark.long
def test_workers_compare_the_checksums_not_the_client(
    left: Path,
    undisturbed: api.Run,
    look: Any,
    two_workers: Execution,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(_: Committed) -> bool:
        raise AssertionError("the client has read what was committed")

    monkeypatch.setattr(Committed, "verify", refuse)
    run = api.resume(left, execution=two_workers, quiet=True)
    np.testing.assert_array_equal(look.alpha(run), look.alpha(undisturbed))


@pytest.mark.parametrize("shared", [False, long(True)])
def test_the_first_damage_is_named_and_goals_stay(
    shared: bool, left: Path, request: pytest.FixtureRequest
) -> None:
    execution = request.getfixturevalue("two_workers") if shared else HERE
    goals = RunFolder.open(Location.of(left)).header["goals"]
    places = []
    for stage in ("level-1", "level-2", "arrange"):
        objects = sorted((left / "stages" / stage).rglob("commit.*/**/*"))
        chunk = next(p for p in objects if p.name == "small" or p.parent.parent.name == "c")
        content = bytearray(chunk.read_bytes())
        content[-5] ^= 1
        chunk.write_bytes(content)
        places.append(f"{stage}/commit")
    with pytest.raises(InputError, match=rf"{min(places)}\.\w+: is damaged: .*delete {left}/stage"):
        api.resume(left, tol=1e-5, execution=execution, quiet=True)
    assert RunFolder.open(Location.of(left)).header["goals"] == goals
    assert api.Run(RunFolder.open(Location.of(left))).status()["state"] == "failed"


def test_a_damaged_commit_object_is_named(left: Path) -> None:
    (left / "stages" / "level-2" / "commit.json").write_text("{")
    with pytest.raises(InputError, match=r"level-2/commit\.json: damaged.*delete it"):
        api.resume(left, execution=HERE, quiet=True)


def test_progress_is_reported(left: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verification, "REPORT_EVERY", 0.0)
    heard = Heard()
    api.resume(left, execution=HERE, quiet=True, callbacks=[heard])
    run = RunFolder.open(Location.of(left))
    total = sum(len(run.unreleased(stage)) for stage in run.stages())
    assert total > 5
    reported = [said.text for said in heard.said if said.text.startswith("checking")]
    assert len(reported) == total
    assert reported[-1].startswith(f"checking what is committed: {total} of {total} tasks")


@pytest.mark.parametrize("most", [1, 3, 1000])
def test_tasks_are_few_and_take_all_nodes(
    most: int, left: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls, check = list[Any](), verification.check_nodes

    def spy(run_url: str, names: list[tuple[str, str]]) -> tuple[int, str]:
        assert threading.current_thread().name.startswith("dcsvm_check")
        calls.append(names)
        return check(run_url, names)

    monkeypatch.setattr(verification, "MOST_TASKS", most)
    monkeypatch.setattr(verification, "check_nodes", spy)
    run = RunFolder.open(Location.of(left))
    everything = [(stage, node) for stage in run.stages() for node in run.unreleased(stage)]
    assert len(everything) > 5
    api.resume(left, execution=HERE, quiet=True)
    assert [name for names in sorted(calls) for name in names] == everything
    assert len(calls) <= most
