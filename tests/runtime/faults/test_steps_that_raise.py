"""Steps that fail: tried again, and named when they fail for good."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dcsvm_dask import api
from dcsvm_dask.errors import RunError
from tests.marks import soak

TrainOn = Callable[..., api.Run]
HERE = api.Execution(workers=0)


@pytest.mark.long
@pytest.mark.parametrize("times", [soak(1), 2])
def test_a_step_that_fails_once_or_twice_is_done_again(
    times: int, faults: Any, train_on: TrainOn
) -> None:
    faults.add("level-2", "solve-0000", "raise", when="after", times=times)
    run = train_on(1)
    faults.check(run)
    assert faults.fired == times
    assert faults.redone() == {("level-2", "solve-0000"): times}


@pytest.mark.parametrize("where", [0, 2])
@pytest.mark.long
def test_a_step_that_always_fails_is_named_and_the_run_goes_on_once_it_is_mended(
    where: int, faults: Any, train_on: TrainOn, tmp_path: Path, in_this_process: Any
) -> None:
    in_this_process()
    faults.add("level-1", "solve-0000", "raise", times=99)
    cause = r"level-1.*solve-0000 failed: ArithmeticError: injected.*dcsvm resume"
    with pytest.raises(RunError, match=cause):
        train_on(where)
    status = api.open_run(tmp_path / "run").status()
    assert status["state"] == "failed"
    assert "solve-0000" in status["message"]
    tried = faults.fired
    faults.clear()
    run = api.resume(tmp_path / "run", execution=HERE, quiet=True)
    faults.check(run)
    assert faults.redone() == {("level-1", "solve-0000"): tried}


@pytest.mark.long
def test_a_full_disk_is_reported_as_one_and_the_run_resumes_when_there_is_room(
    faults: Any, train_on: TrainOn, tmp_path: Path, in_this_process: Any
) -> None:
    in_this_process()
    faults.add("level-1", "commit", "full", times=99)
    with pytest.raises(RunError, match=r"no space is left .*level-1.*free some.*dcsvm resume"):
        train_on(1)
    faults.clear()
    run = api.resume(tmp_path / "run", execution=HERE, quiet=True)
    faults.check(run)
    assert set(faults.redone()) == {("level-1", "commit")}
