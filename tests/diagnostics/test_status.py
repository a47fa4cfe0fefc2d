"""What is shown of a run: status, summary, progress lines."""

from __future__ import annotations

import io
import json
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from dcsvm_dask.diagnostics.history import history
from dcsvm_dask.diagnostics.lines import Lines
from dcsvm_dask.diagnostics.status import status
from dcsvm_dask.diagnostics.summary import exact_line
from dcsvm_dask.errors import InputError
from dcsvm_dask.runtime.announcer import Announcer
from dcsvm_dask.storage.location import Location, seal
from dcsvm_dask.storage.lock import FolderLock
from dcsvm_dask.storage.run import RunFolder
from dcsvm_dask.storage.state import write_state
from tests.summary import summary

HEADER: dict[str, Any] = {
    "settings": {},
    "goals": {},
    "shape": {},
    "data": {"url": "d", "fingerprint": "f"},
    "versions": {},
}
POINT = {
    "objective": -50.0,
    "gap": 0.25,
    "violation": 5e-4,
    "support": 40,
    "blocks": 0,
    "active": 0,
}


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    return RunFolder.create(Location.of(tmp_path / "run"), HEADER)


def commit(run: RunFolder, stage: str, node: str, began: float, **record: Any) -> None:
    about = {"seconds": 2.0, "cpu_seconds": 1.0, "began": began, "host": "h:1", "peak_bytes": 9}
    run.attempt(stage, node).commit({**about, **record})


def leave(run: RunFolder, state: str, **more: Any) -> None:
    write_state(run, state, **more)


def whole_run(run: RunFolder) -> None:
    """Commit the stages of a small run, with a second worker and rows held out."""
    commit(run, "arrange", "commit", 10.0, variables=100, rows=110)
    commit(run, "level-1", "solve-0000", 20.0, kernel_values=6_000, host="h:2")
    commit(run, "level-1", "solve-0001", 20.0, kernel_values=4_000)
    level = {"objective": -60.0, "objective_estimate": -45.0, "gap_estimate": 8.0}
    level |= {"objective_error": 0.5, "gap_error": 0.25}
    commit(
        run, "level-1", "commit", 22.0, **level, violation=0.01, support=45, kernel_values=10_000
    )
    commit(run, "score-level-1", "commit", 24.0, accuracy=0.75, rows=10, source="level-1")
    commit(run, "conquer-000", "solve-0000", 29.0, kernel_values=4_000)
    commit(run, "conquer-000", "close-0000", 30.0, kernel_values=2_000)
    commit(run, "conquer-000", "commit", 32.0, **POINT)
    commit(run, "model-conquer-000", "commit", 34.0, **POINT, source="conquer-000")
    commit(run, "score-model-conquer-000", "commit", 36.0, accuracy=0.8, rows=10, source="m")


def test_a_run_that_has_just_begun(run: RunFolder) -> None:
    found = status(run)
    assert (found["state"], found["stage"], found["model"]) == ("interrupted", None, None)
    assert found["objective"] is None
    json.dumps(found, allow_nan=False)
    assert "interrupted" in summary(found)


def test_a_complete_run(run: RunFolder) -> None:
    whole_run(run)
    leave(run, "complete", converged=True, stage="model-conquer-000")
    found = status(run)
    assert (found["state"], found["converged"], found["level"]) == ("complete", True, 0)
    assert found["stage"] == found["model"] == "model-conquer-000"
    assert (found["objective"], found["gap"], found["n_support"]) == (-50.0, 0.25, 40)
    # What a level's commit counted is what its slots counted already.
    assert found["kernel_values"] == 16_000
    assert found["check_kernel_values"] == 2_000
    assert found["floor_ratio"] == 14_000 / (100 * 40)
    assert found["seconds"]["level-1"] == 4.0
    assert found["peak_bytes"] == {"h:1": 9, "h:2": 9}
    assert found["tasks"]["level-1"] == {"h:1": 2, "h:2": 1}
    assert exact_line(found) == (
        "exact: accuracy 0.8000 objective -50.000000 gap 0.25 violation 5.00e-04 support vectors 40"
    )
    text = summary(found)
    assert "state      complete, converged" in text
    assert "support    40 support vectors" in text


def test_the_plan_stands_beside_what_it_came_to(run: RunFolder) -> None:
    whole_run(run)
    leave(run, "complete", run_seconds=26.0, stage="model-conquer-000")
    assert status(run)["plan"] is None
    planned = {"worker_bytes": 3 << 20, "seconds": 20.0, "kernel_values": 1.5e4}
    stages = {name: {"written_bytes": 7} for name in ("level-1", "conquer-001")}
    place = run.place / "plan.json"
    place.write_json(seal({**planned, "stages": stages}))
    found = status(run)
    assert found["plan"] == {
        "worker_bytes": {"planned": 3 << 20, "actual": 9},
        "seconds": {"planned": 20.0, "actual": 26.0},
        "kernel_values": {"planned": 1.5e4, "actual": 16_000},
        "written_bytes": {"level-1": {"planned": 7, "actual": 0}},
    }
    assert "planned    3 MiB a worker, 20 s" in summary(found)
    place.write_bytes(place.read_bytes().replace(b"20.0", b"30.0"))
    with pytest.raises(InputError, match=r"plan.json: damaged.*delete it"):
        status(run)


def test_the_time_between_a_kill_and_a_resume_is_no_work(run: RunFolder) -> None:
    commit(run, "level-1", "solve-0000", 10.0)
    commit(run, "level-1", "solve-0001", 11.0)
    commit(run, "level-1", "solve-0002", 14.0)  # the scheduler took a second
    commit(run, "level-1", "commit", 90_000.0)
    assert status(run)["seconds"] == {"level-1": 8.0}


def test_the_history_lists_levels_and_rounds_once(run: RunFolder) -> None:
    whole_run(run)
    found = history(status(run))
    assert [entry["stage"] for entry in found] == ["level-1", "conquer-000"]
    assert [entry["objective"] for entry in found] == [-45.0, -50.0]
    assert [entry["gap"] for entry in found] == [8.0, 0.25]
    assert [entry["n_support"] for entry in found] == [45, 40]
    assert [entry["accuracy"] for entry in found] == [0.75, 0.8]
    assert found[0]["time"] == 24.0


def test_the_history_has_the_scores_of_the_task(run: RunFolder) -> None:
    whole_run(run)
    found = status(run)
    for record in found["stages"].values():
        if record.pop("accuracy", None):
            record |= {"r2": 0.5, "mae": 2.0}
    measured = history(found)
    assert [(entry["r2"], entry["mae"]) for entry in measured] == [(0.5, 2.0)] * 2
    assert not any("accuracy" in entry for entry in measured)


def test_a_level_without_a_number_is_no_stage(run: RunFolder) -> None:
    whole_run(run)
    reported = history(status(run))
    for stage in ("level-x", "level-", "conquer-x"):
        commit(run, stage, "commit", 12.0, **POINT)
    assert history(status(run)) == reported


def test_a_level_tells_of_the_whole_problem_by_its_estimates(run: RunFolder) -> None:
    whole_run(run)
    leave(run, "complete", stage="level-1")
    found = status(run)
    assert (found["objective"], found["gap"], found["n_support"]) == (-45.0, 8.0, 45)
    assert "state      complete\n" in summary(found)
    # Estimates are marked as such, and a violation inside of blocks is none of the whole problem.
    assert "objective  about -45 +- 0.5\ngap        about 8 +- 0.25\nsupport" in summary(found)
    assert exact_line(found) == "exact: not reached"


def test_a_model_that_was_trained_further_is_the_one_that_is_shown(run: RunFolder) -> None:
    whole_run(run)
    commit(run, "conquer-001", "commit", 50.0, **{**POINT, "objective": -51.0})
    commit(run, "model-conquer-001", "commit", 52.0, **{**POINT, "objective": -51.0})
    # The arrangement was made again for it, after the first model.
    (run.stage("arrange") / "commit.json").delete()
    commit(run, "arrange", "commit", 48.0, variables=100, rows=110)
    leave(run, "complete", converged=True, stage="model-conquer-001")
    found = status(run)
    assert found["model"] == "model-conquer-001"
    assert found["objective"] == -51.0
    assert next(iter(found["stages"])) == "arrange"
    assert "objective -51.000000" in exact_line(found)
    leave(run, "complete", converged=True, stage="model-conquer-000")
    assert status(run)["objective"] == -50.0


def test_a_process_that_is_gone_leaves_an_interrupted_run(run: RunFolder) -> None:
    whole_run(run)
    leave(run, "running")
    with FolderLock(run.place):
        assert status(run)["state"] == "running"
    found = status(run)
    assert (found["state"], found["message"]) == (
        "interrupted",
        "the process that ran it is gone",
    )
    dead = {
        "user": "u",
        "host": psutil.os.uname().nodename,
        "pid": 2**22 - 1,
        "started": 0.0,
        "since": 0.0,
        "heartbeat": time.time(),
    }
    (run.place / "lock.json").write_json(dead)
    assert status(run)["state"] == "interrupted"


@pytest.mark.parametrize("state", ["failed", "interrupted"])
def test_the_message_of_the_last_end_is_kept(run: RunFolder, state: str) -> None:
    leave(run, state, message="the disk is full")
    found = status(run)
    assert (found["state"], found["message"]) == (state, "the disk is full")
    assert f"state      {state} (the disk is full)" in summary(found)


def test_lines_tell_of_commits_and_lost_workers_alone() -> None:
    stream = io.StringIO()
    announcer = Announcer("run", [Lines(stream)])
    arrange = {"variables": 90, "rows": 100, "blocks": 4, "largest_block": 40}
    arrange |= {"parts": 1}
    level = {
        "blocks": 4,
        "support": 30,
        "objective_estimate": -45.0,
        "objective_error": 0.5,
        "gap_estimate": 8.0,
        "why": "levels pay",
    }
    for stage, node, record in (
        ("probe", "commit", {"probed_between": 0.3, "smooth": True}),
        ("arrange", "part-0000", {}),
        ("arrange", "commit", arrange),
        ("level-1", "commit", level),
        (
            "score-level-1",
            "commit",
            {"accuracy": 0.75, "rows": 10, "source": "level-1", "mode": "early"},
        ),
        ("conquer-001", "commit", {**POINT, "blocks": 2, "active": 30, "beta_min": 0.5}),
        ("model-conquer-001", "commit", POINT),
    ):
        about = {"stage": stage, "layer": "x", "node": node, "worker": "w"}
        announcer.send({"kind": "task", **about, "record": record})
    announcer.send({"kind": "lost", "worker": "tcp://1.2.3.4:5", "tasks": []})
    announcer.drain()
    said = stream.getvalue().splitlines()
    assert len(said) == 7
    assert "kernel values between different clusters are 30% of all: working sets" in said.pop(0)
    assert "90 rows in 4 blocks (largest 40), 10 repeats merged" in said[0]
    assert "objective ~ -45 +- 0.5, gap ~ 8" in said[1]
    assert "early prediction: accuracy 0.7500 on 10 held-out rows" in said[2]
    assert "next 30 rows in 2 blocks" in said[3]
    assert "objective -50.000000" in said[4]
    assert "worker tcp://1.2.3.4:5 was lost" in said[5]


def test_sizes_that_memory_lowered_are_said(tmp_path: Path) -> None:
    header = {**HEADER, "lowered": "--block-cap 4096 --set-cap 4096"}
    found = status(RunFolder.create(Location.of(tmp_path / "lowered"), header))
    assert found["lowered"] == "--block-cap 4096 --set-cap 4096"
    assert (
        "sizes      --block-cap 4096 --set-cap 4096: lowered to fit the workers' memory"
        in summary(found)
    )
    usual = status(RunFolder.create(Location.of(tmp_path / "usual"), HEADER))
    assert usual["lowered"] == ""
    assert "to fit the workers' memory" not in summary(usual)
