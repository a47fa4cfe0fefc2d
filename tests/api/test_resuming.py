"""What a run does when it is gone on with: other goals, no goals left, and what is refused."""

from __future__ import annotations

import math
import shutil
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from dcsvm_dask import api
from dcsvm_dask.errors import DcsvmWarning, InputError
from dcsvm_dask.methods.run_data import data_of
from dcsvm_dask.runtime import session
from dcsvm_dask.runtime.execution import Execution
from dcsvm_dask.storage.claims import read_owner
from dcsvm_dask.storage.location import Location, seal
from dcsvm_dask.storage.node import Attempt
from dcsvm_dask.storage.processes import this_process
from dcsvm_dask.storage.run import RunFolder
from tests.left import damaged, rewrite_state
from tests.marks import long
from tests.rounding import at_most

pytestmark = pytest.mark.usefixtures("few_rows_a_task")

IN_PROCESS = Execution(workers=0)


@pytest.fixture
def copied(undisturbed: api.Run, tmp_path: Path) -> Path:
    """Give a copy of the undisturbed run that may be changed."""
    return Path(shutil.copytree(undisturbed.url, tmp_path / "copied"))


def resume(place: Path, **how: Any) -> api.Run:
    return api.resume(place, **{"execution": IN_PROCESS, "quiet": True, **how})


def forget_the_end(place: Path) -> None:
    """Let a complete run look like one that was killed just before it said so."""
    rewrite_state(place, state="running")


def test_an_early_model_goes_on_to_the_exact_one(
    train: Callable[..., api.Run], undisturbed: api.Run, look: Any
) -> None:
    run = train(stop_at=1)
    early = run.status()
    assert (early["state"], early["stage"], early["model"]) == ("complete", "level-1", "level-1")
    assert early["level"] == 1
    assert not early["converged"]
    before = look.attempts(run.folder)
    run = resume(Path(run.url), stop_at=0)
    exact = run.status()
    assert exact["converged"]
    assert exact["level"] == 0
    np.testing.assert_array_equal(look.alpha(run), look.alpha(undisturbed))
    after = look.attempts(run.folder)
    # Where rows were put in order they are again; nothing else is done a second time.
    again = {name for name in before if after[name] != before[name]}
    assert all(stage == "arrange" for stage, _ in again)


def test_a_complete_run_is_left_as_it_is(
    copied: Path, look: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("something was committed")

    before = look.attempts(RunFolder.open(Location.of(copied)))
    monkeypatch.setattr(Attempt, "commit", refuse)
    run = resume(copied)
    assert run.status()["state"] == "complete"
    assert look.attempts(run.folder) == before


def test_a_complete_run_goes_on_to_a_tighter_tolerance_and_back(
    copied: Path, undisturbed: api.Run, look: Any
) -> None:
    loose = undisturbed.status()
    run = resume(copied, tol=1e-6)
    tight = run.status()
    assert tight["converged"]
    assert tight["violation"] <= 1e-6
    assert at_most(tight["objective"], loose["objective"])
    assert tight["gap"] < loose["gap"]
    assert tight["stages"][tight["model"]]["source"] == tight["model"].removeprefix("model-")
    assert tight["stages"][tight["model"].removeprefix("model-")]["from_scratch"]
    # A resume of the resumed has nothing to do; a looser goal leaves the tighter model.
    attempts = look.attempts(run.folder)
    assert look.attempts(resume(copied).folder) == attempts
    back = resume(copied, tol=1e-4).status()
    assert (back["state"], back["converged"]) == ("complete", True)
    assert back["model"] == tight["model"]
    assert look.attempts(run.folder) == attempts


def test_a_goal_back_at_a_level_is_reached_at_once(copied: Path) -> None:
    found = resume(copied, stop_at=2).status()
    assert (found["state"], found["model"]) == ("complete", "level-2")


@pytest.mark.long
def test_rounds_that_end_without_convergence_say_so_and_go_on(
    train: Callable[..., api.Run], small: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.warns(DcsvmWarning, match="ended before its violation"):
        run = train(max_rounds=1)
    found = run.status()
    assert (found["state"], found["converged"]) == ("complete", False)
    assert found["violation"] > 1e-4
    run.evaluate(small, quiet=False)
    assert "NOT converged: violation" in capsys.readouterr().err
    found = resume(Path(run.url), max_rounds=1000).status()
    assert found["converged"]
    assert found["violation"] <= 1e-4


def test_fewer_rounds_than_were_done_are_refused(copied: Path) -> None:
    before = (copied / "run.json").read_bytes()
    with pytest.raises(
        InputError, match=r"max-rounds must be at least \d+, which this run has done, got 2"
    ):
        resume(copied, max_rounds=2)
    assert (copied / "run.json").read_bytes() == before
    assert api.open_run(copied).status()["state"] == "complete"


def test_a_check_for_a_looser_tolerance_claims_nothing_tighter(
    train: Callable[..., api.Run],
) -> None:
    run = train(tol=1e-2)
    loose = run.status()
    tol = 1.01 * loose["violation"]  # the point that was reached holds it already
    tight = resume(Path(run.url), tol=tol).status()
    assert tight["converged"]
    source = tight["stages"][tight["model"]]["source"]
    assert tight["stages"][source]["tol"] == tol
    assert source != loose["stages"][loose["model"]]["source"]


@pytest.mark.long
def test_a_looser_goal_after_a_kill_in_the_middle_of_a_round(
    train: Callable[..., api.Run], undisturbed: api.Run
) -> None:
    run = train()
    place = Path(run.url)
    last = max(path.name for path in place.glob("stages/conquer-*"))
    forget_the_end(place)
    for stage in (last, f"model-{last}"):
        (place / "stages" / stage / "commit.json").unlink()
    found = resume(place, tol=1e-2).status()
    assert (found["state"], found["converged"]) == ("complete", True)
    assert found["objective"] == pytest.approx(undisturbed.status()["objective"], rel=1e-3)


def test_data_that_change_while_a_run_is_under_way_end_it(
    demo_rows: Callable[..., Path], train: Callable[..., api.Run], tmp_path: Path
) -> None:
    data = Path(shutil.copytree(demo_rows(600), tmp_path / "data.zarr"))
    run = train(data=data, stop_at=1)
    shutil.rmtree(data)
    shutil.copytree(demo_rows(500), data)
    with pytest.raises(InputError, match="the fingerprints differ"):
        data_of(run.folder)


class Clock:
    """Time that stands still until something has held once, and is over then."""

    def __init__(self, holds: Callable[[], bool]) -> None:
        self._holds, self._held = holds, False

    def time(self) -> float:
        self._held = self._held or self._holds()
        return 1e9 if self._held else 0.0


def test_the_time_budget_leaves_the_best_level_as_the_model(
    train: Callable[..., api.Run],
    tmp_path: Path,
    undisturbed: api.Run,
    look: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Clock((tmp_path / "run/stages/conquer-000/commit.json").exists)
    monkeypatch.setattr(session, "time", clock)
    run = train(execution=Execution(workers=0, time_budget=60))
    found = run.status()
    assert found["state"] == "interrupted"
    assert found["message"] == "the time budget was used up; level-1 is the model"
    assert found["model"] == "level-1"
    assert run.predict(np.zeros((1, 54), np.float32)).shape == (1,)
    run = resume(Path(run.url))
    np.testing.assert_array_equal(look.alpha(run), look.alpha(undisturbed))


def test_a_time_budget_that_ends_before_the_first_level_says_so(
    train: Callable[..., api.Run],
) -> None:
    found = train(execution=Execution(workers=0, time_budget=1e-9)).status()
    assert found["state"] == "interrupted"
    assert found["message"] == "the time budget was used up; no level is committed yet"
    assert found["model"] is None


@pytest.mark.parametrize(
    ("goals", "message"),
    [
        ({"tol": 0.0}, "tol must be .*, got 0.0"),
        ({"tol": -1e-3}, "tol must be .*, got -0.001"),
        ({"tol": math.nan}, "tol must be .*, got nan"),
        ({"stop_at": -1}, "stop-at must be .*, got -1"),
        ({"stop_at": 3}, "there is no level 3: this run has 2 level"),
        ({"max_rounds": 0}, "max-rounds must be .*, got 0"),
    ],
)
def test_impossible_goals_are_refused_and_not_kept(
    goals: dict[str, Any], message: str, copied: Path
) -> None:
    before = (copied / "run.json").read_bytes()
    with pytest.raises(InputError, match=message):
        resume(copied, **goals)
    assert (copied / "run.json").read_bytes() == before


def test_a_second_training_in_the_same_folder_is_refused_naming_resume(
    train: Callable[..., api.Run], copied: Path, look: Any
) -> None:
    before = look.attempts(RunFolder.open(Location.of(copied)))
    with pytest.raises(InputError, match=f"continue it with `dcsvm resume {copied}`"):
        train(run=copied)
    assert look.attempts(RunFolder.open(Location.of(copied))) == before
    assert read_owner(Location.of(copied)) is None


def test_a_foreign_folder_is_refused_and_left_alone(
    train: Callable[..., api.Run], tmp_path: Path
) -> None:
    (tmp_path / "thesis.tex").write_text("important")
    with pytest.raises(InputError, match="is neither empty nor a run"):
        train(run=tmp_path)
    with pytest.raises(InputError, match="there is no run"):
        resume(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_run_in_use_is_refused_with_who_uses_it(
    train: Callable[..., api.Run], copied: Path
) -> None:
    other = psutil.Process().parent()
    assert other is not None
    owner = {
        "user": "ada",
        "host": socket.gethostname(),
        **this_process(),
        "pid": other.pid,
        "ticks": int(Path(f"/proc/{other.pid}/stat").read_text().rsplit(")", 1)[1].split()[19]),
        "since": 0.0,
        "heartbeat": 0.0,
        "beat": 0,
        "released": False,
    }
    claim = Location.of(copied / "lock" / "000009-0123456789ab.json")
    claim.write_json(owner)
    for act in (lambda: resume(copied, tol=1e-5), lambda: train(run=copied)):
        with pytest.raises(InputError, match=rf"in use by ada@.*process {other.pid}"):
            act()
    assert claim.exists()
    # Looking is allowed.
    assert api.open_run(copied).status()["stage"] is not None


def test_other_data_under_the_same_name_is_refused(
    demo_rows: Callable[..., Path], train: Callable[..., api.Run], tmp_path: Path
) -> None:
    data = Path(shutil.copytree(demo_rows(600), tmp_path / "data.zarr"))
    run = train(data=data, stop_at=1)
    shutil.rmtree(data)
    shutil.copytree(demo_rows(500), data)
    with pytest.raises(InputError, match="the fingerprints differ"):
        resume(Path(run.url), stop_at=0)
    shutil.rmtree(data)
    with pytest.raises(InputError, match=r"no data set there.*--data DATA"):
        resume(Path(run.url), stop_at=0)


def test_data_that_were_moved_are_named(
    demo_rows: Callable[..., Path], train: Callable[..., api.Run], tmp_path: Path
) -> None:
    data = Path(shutil.copytree(demo_rows(600), tmp_path / "data.zarr"))
    run = train(data=data, stop_at=1)
    moved = data.rename(tmp_path / "moved.zarr")
    with pytest.raises(InputError, match="the fingerprints differ"):
        resume(Path(run.url), stop_at=0, data=demo_rows(500))
    assert resume(Path(run.url), stop_at=0, data=moved).status()["converged"]
    assert api.open_run(run.url).folder.header["data"]["url"] == f"{moved}/train"
    assert resume(Path(run.url), tol=1e-5).status()["converged"]


def test_other_parameters_in_the_header_are_refused(copied: Path) -> None:
    header = Location.of(copied / "run.json")
    value = header.read_json()
    header.write_json(seal({**value, "settings": {**value["settings"], "C": 9.0}}))
    with pytest.raises(InputError, match="other parameters or other data"):
        resume(copied, tol=1e-5)


@pytest.mark.parametrize("key", ["settings", "goals", "shape", "data", "versions"])
def test_a_header_that_lacks_something_is_refused(copied: Path, key: str) -> None:
    header = Location.of(copied / "run.json")
    header.write_json(seal({k: v for k, v in header.read_json().items() if k != key}))
    with pytest.raises(InputError, match="is damaged"):
        resume(copied)


@pytest.mark.one_quick
@pytest.mark.parametrize(
    "stage",
    ["level-1", "conquer-last", "model", *map(long, ("arrange", "level-2", "conquer-000"))],
)
def test_a_damaged_stage_is_named_and_made_again(
    stage: str, copied: Path, undisturbed: api.Run, look: Any
) -> None:
    model = undisturbed.status()["model"]
    stage = {"conquer-last": model.removeprefix("model-"), "model": model}.get(stage, stage)
    forget_the_end(copied)
    files = sorted(path for path in (copied / "stages" / stage).rglob("*") if path.is_file())
    chunk = next(path for path in files if "/c/" in path.as_posix() or path.name == "small")
    content = bytearray(chunk.read_bytes())
    content[len(content) // 2] ^= 1
    chunk.write_bytes(content)
    with pytest.raises(InputError, match=f"is damaged.*delete {copied}/stages/{stage} and resume"):
        resume(copied)
    shutil.rmtree(copied / "stages" / stage)
    run = resume(copied)
    assert run.status()["state"] == "complete"
    np.testing.assert_array_equal(look.alpha(run), look.alpha(undisturbed))
    assert damaged(run.folder) == []
    assert look.orphans(run.folder) == []
