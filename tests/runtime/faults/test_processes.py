"""Commands that are killed, interrupted or lose a process, each in processes of its own."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from dcsvm_dask import api
from dcsvm_dask.methods.graph import COMMIT
from dcsvm_dask.runtime.execution import Execution
from dcsvm_dask.storage.claims import read_owner
from dcsvm_dask.storage.location import Location
from dcsvm_dask.storage.run import RunFolder
from tests.command_line import invoke
from tests.left import damaged
from tests.marks import soak
from tests.small_run import WORDS

SECONDS = 300.0
HERE = Execution(workers=0)
"""Goes on with what a command left, without workers that would have to start."""
Start = Callable[..., Any]
LARGER = ["--gamma", "4", "-C", "32", "--clusters", "16,4", "--block-cap", "2048"]


@pytest.fixture(scope="module")
def larger(demo_rows: Callable[..., Path]) -> Path:
    return demo_rows(6000)


@pytest.fixture(scope="module")
def larger_alpha(larger: Path, tmp_path_factory: pytest.TempPathFactory, look: Any) -> np.ndarray:
    """Give alpha of the larger training that nothing disturbed."""
    place = tmp_path_factory.mktemp("larger") / "run"
    execution = Execution(workers=0)
    run = api.train(
        larger,
        place,
        gamma=4,
        C=32,
        clusters=(16, 4),
        block_cap=2048,
        execution=execution,
        quiet=True,
    )
    return np.asarray(look.alpha(run))


def status(place: Path) -> dict[str, Any]:
    return api.open_run(place).status()


def check_gone_on(place: Path, before: dict[Any, str], alpha: np.ndarray, look: Any) -> None:
    """Check that a run went on from what it had and ended at the same model."""
    run = api.open_run(place)
    after = look.attempts(run.folder)
    assert run.status()["state"] == "complete"
    assert {name: after[name] for name in before} == before
    np.testing.assert_array_equal(look.alpha(run), alpha)
    assert look.orphans(run.folder) == []
    assert damaged(run.folder) == []


@pytest.mark.long
def test_a_killed_training_with_two_workers_goes_on_to_the_same_model(
    command: Start, small: Path, tmp_path: Path, undisturbed: api.Run, look: Any, faults: Any
) -> None:
    faults.hold("level-1", COMMIT)
    place = tmp_path / "run"
    train = command("train", small, "--run", place, "--workers", 2, *WORDS)
    train.wait_for(lambda: faults.begun_at("level-1", COMMIT) > 0)
    train.kill_group()
    faults.clear()
    assert status(place)["state"] == "interrupted"
    before = look.attempts(RunFolder.open(Location.of(place)))
    resume = command("resume", place, "--workers", 2)
    assert resume.wait() == 0, resume.said
    check_gone_on(place, before, look.alpha(undisturbed), look)


def test_ctrl_c_leaves_a_run_that_goes_on(
    command: Start, small: Path, tmp_path: Path, undisturbed: api.Run, look: Any, faults: Any
) -> None:
    faults.hold("level-1", "solve-*", when="after")
    place = tmp_path / "run"
    words = ("--run", place, "--workers", 0, *WORDS)
    train = command("train", small, *words, before=faults.in_command)
    train.wait_for(lambda: faults.begun_at("level-1", "solve-*") > 0)
    train.interrupt_group()
    assert train.wait() == 130, train.said
    assert train.said.splitlines()[-1].endswith(f"continue with `dcsvm resume {place}`")
    assert "Traceback" not in train.said
    found = status(place)
    assert (found["state"], found["message"]) == ("interrupted", "stopped from the keyboard")
    assert read_owner(Location.of(place)) is None
    before = look.attempts(RunFolder.open(Location.of(place)))
    run = api.resume(place, execution=HERE, quiet=True)
    check_gone_on(Path(run.url), before, look.alpha(undisturbed), look)


@pytest.mark.long
def test_ctrl_c_while_the_workers_start_is_one_sentence(
    command: Start, small: Path, tmp_path: Path
) -> None:
    place = tmp_path / "run"
    train = command("train", small, "--run", place, "--workers", 2, *WORDS)
    train.wait_for(lambda: bool(train.workers()))
    train.interrupt_group()
    assert train.wait() == 130, train.said
    assert train.said.splitlines()[-1].endswith(f"continue with `dcsvm resume {place}`")
    assert "Traceback" not in train.said
    assert "Exception" not in train.said
    assert status(place)["state"] == "interrupted"


@pytest.mark.long
def test_ctrl_c_with_workers_leaves_a_run_that_goes_on(
    command: Start,
    small: Path,
    tmp_path: Path,
    undisturbed: api.Run,
    look: Any,
    faults: Any,
) -> None:
    faults.hold("level-2", COMMIT)
    place = tmp_path / "run"
    train = command("train", small, "--run", place, "--workers", 2, *WORDS)
    train.wait_for(lambda: faults.begun_at("level-2", COMMIT) > 0)
    train.interrupt_group()
    assert train.wait() == 130, train.said
    assert train.said.splitlines()[-1].endswith(f"continue with `dcsvm resume {place}`")
    assert "Traceback" not in train.said
    assert status(place)["state"] == "interrupted"
    before = look.attempts(RunFolder.open(Location.of(place)))
    resume = command("resume", place, "--workers", 0, "--quiet")
    assert resume.wait() == 0, resume.said
    assert resume.said == ""
    check_gone_on(place, before, look.alpha(undisturbed), look)


@pytest.mark.long
@pytest.mark.parametrize(
    ("stage", "node"),
    [
        soak("arrange", "part-*"),
        soak("arrange", COMMIT),
        soak("level-2", COMMIT),
        soak("level-1", "solve-*"),
        soak("conquer-002", "*"),
    ],
)
def test_kill_at_a_moment(
    stage: str,
    node: str,
    command: Start,
    small: Path,
    tmp_path: Path,
    undisturbed: api.Run,
    look: Any,
    faults: Any,
) -> None:
    faults.hold(stage, node)
    place = tmp_path / "run"
    train = command("train", small, "--run", place, "--workers", 2, *WORDS)
    train.wait_for(lambda: faults.begun_at(stage, node) > 0)
    train.kill_group()
    before = look.attempts(RunFolder.open(Location.of(place)))
    assert before
    api.resume(place, execution=HERE, quiet=True)
    check_gone_on(place, before, look.alpha(undisturbed), look)


@pytest.mark.soak
@pytest.mark.long
@pytest.mark.parametrize("seed", [1, 2])
def test_kills_at_random_moments_until_it_is_done(
    seed: int,
    command: Start,
    larger: Path,
    tmp_path: Path,
    larger_alpha: np.ndarray,
    look: Any,
) -> None:
    place, rng = tmp_path / "run", np.random.default_rng(seed)
    now = command("train", larger, "--run", place, "--workers", 2, *LARGER)
    before: dict[Any, str] = {}  # it may be done before the first kill
    for _ in range(20):
        now.wait_for((place / "run.json").exists)
        time.sleep(rng.uniform(4.0, 14.0))
        if now.process.poll() is not None:
            break
        now.kill_group()
        before = look.attempts(RunFolder.open(Location.of(place)))
        now = command("resume", place, "--workers", 2)
    assert now.wait() == 0, now.said
    check_gone_on(place, before, larger_alpha, look)


@pytest.mark.long
def test_a_worker_that_dies_is_replaced_and_the_model_is_the_same(
    command: Start,
    small: Path,
    tmp_path: Path,
    undisturbed: api.Run,
    look: Any,
    faults: Any,
) -> None:
    faults.hold("level-1", "solve-*")
    place = tmp_path / "run"
    train = command("train", small, "--run", place, "--workers", 2, *WORDS)
    train.wait_for(lambda: faults.begun_at("level-1", "solve-*") > 0)
    first = train.workers()
    first[0].kill()
    train.wait_for(lambda: set(train.workers()) - set(first))
    faults.clear()
    assert train.wait() == 0, train.said
    check_gone_on(place, {}, look.alpha(undisturbed), look)
    assert "Traceback" not in train.said


@pytest.mark.long
def test_workers_of_a_killed_client_do_not_outlive_it(
    command: Start, small: Path, tmp_path: Path, faults: Any
) -> None:
    faults.hold("level-2")
    place = tmp_path / "run"
    train = command("train", small, "--run", place, "--workers", 2, *WORDS)
    train.wait_for(lambda: faults.begun_at("level-2") == 2)
    workers = train.workers()
    assert len(workers) == 2
    train.process.kill()
    train.process.wait(SECONDS)
    _, alive = psutil.wait_procs(workers, timeout=SECONDS)
    assert alive == []


@pytest.mark.long
def test_a_scheduler_that_dies_ends_the_command_with_a_sentence(
    command: Start,
    small: Path,
    tmp_path: Path,
    undisturbed: api.Run,
    look: Any,
    faults: Any,
    dask_cluster: Any,
) -> None:
    place = tmp_path / "run"
    faults.hold("level-2", COMMIT)
    address, scheduler = dask_cluster.start(1)
    train = command("train", small, "--run", place, "--scheduler", address, *WORDS)
    train.wait_for(lambda: faults.begun_at("level-2", COMMIT) > 0)
    scheduler.kill()
    assert train.wait() == 1, train.said
    assert "Traceback" not in train.said
    found = status(place)
    assert found["state"] == "failed"
    assert "scheduler" in found["message"]
    before = look.attempts(RunFolder.open(Location.of(place)))
    dask_cluster.stop(dask_cluster.processes[1])
    api.resume(place, execution=HERE, quiet=True)
    check_gone_on(place, before, look.alpha(undisturbed), look)


@pytest.mark.long
def test_a_script_without_a_main_guard_gets_an_error_that_names_it(
    small: Path, tmp_path: Path
) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "from dcsvm_dask import api\n"
        "try:\n"
        f"    api.train({str(small)!r}, {str(tmp_path / 'run')!r}, quiet=True,\n"
        "              execution=api.Execution(workers=1))\n"
        "except Exception as error:\n"
        "    print(type(error).__name__, error)\n"
        "print('went on')\n"
    )
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=SECONDS, check=True
    )
    words = 'in a script train below if __name__ == "__main__":'
    said = done.stdout.splitlines()
    assert said[0].startswith("RunError the local workers did not start")
    assert words in said[0]
    assert said[1:] == ["went on"]  # once: the child that imports the script does not go on
    assert words in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.long
def test_a_scheduler_is_found_by_its_file(
    command: Start, small: Path, tmp_path: Path, undisturbed: api.Run, look: Any, dask_cluster: Any
) -> None:
    place, absent, odd = tmp_path / "run", tmp_path / "absent.json", tmp_path / "odd.json"
    odd.write_text("[]")
    dask_cluster.start(1)
    for file, said in ((absent, "there is no such file"), (odd, "is not a file written by")):
        refused = invoke("train", small, "--run", place, "--scheduler-file", file, *WORDS)
        assert refused.exit_code == 2
        assert f"{file}: {said}" in refused.stderr
    train = command("train", small, "--run", place, "--scheduler-file", dask_cluster.file, *WORDS)
    assert train.wait() == 0, train.said
    np.testing.assert_array_equal(look.alpha(api.open_run(place)), look.alpha(undisturbed))
