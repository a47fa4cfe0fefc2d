"""Commands that are killed, interrupted or lose a process, each in processes of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from dcsvm_dask import api
from dcsvm_dask.runtime.session import Execution
from dcsvm_dask.storage.location import Location
from dcsvm_dask.storage.run import RunFolder

# Where the tests run in the background, they and their children were started deaf to SIGINT.
MAIN = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "from dcsvm_dask.cli import main; main()"
)
SECONDS = 300.0
SMALL = ["--gamma", "8", "-C", "8", "--clusters", "4,2", "--block-cap", "128", "--tol", "1e-4"]
LARGER = ["--gamma", "4", "-C", "32", "--clusters", "16,4", "--block-cap", "2048"]


class Command:
    """A dcsvm command in a process group of its own."""

    def __init__(self, *arguments: object, log: Path) -> None:
        self._log = log
        with log.open("wb") as file:
            self.process = subprocess.Popen(
                [sys.executable, "-c", MAIN, *map(str, arguments)],
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def said(self) -> str:
        return self._log.read_text()

    def wait(self) -> int:
        return self.process.wait(SECONDS)

    def wait_for(self, holds: Callable[[], bool]) -> None:
        """Wait until something holds; fail if the command ends before."""
        end = time.monotonic() + SECONDS
        while not holds():
            assert self.process.poll() is None, f"ended before the moment:\n{self.said}"
            assert time.monotonic() < end, f"waited in vain:\n{self.said}"
            time.sleep(0.002)

    def kill_group(self) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(SECONDS)

    def interrupt_group(self) -> None:
        """Do what a terminal does at Ctrl-C: every process of the group gets the signal."""
        os.killpg(self.process.pid, signal.SIGINT)

    def workers(self) -> list[psutil.Process]:
        """Return the worker processes."""
        return [
            child
            for child in psutil.Process(self.process.pid).children(recursive=True)
            if "spawn_main" in " ".join(child.cmdline())
        ]


@pytest.fixture
def command(tmp_path: Path) -> Iterator[Callable[..., Command]]:
    """Return a starter of commands; none of their processes outlives the test."""
    started: list[Command] = []

    def start(*arguments: object) -> Command:
        started.append(Command(*arguments, log=tmp_path / f"log{len(started)}"))
        return started[-1]

    yield start
    for one in started:
        if one.process.poll() is None:
            one.kill_group()


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


def is_there(place: Path, pattern: str) -> Callable[[], bool]:
    """Return whether a commit object with such a name exists."""
    return lambda: any(place.glob(f"stages/{pattern}.json"))


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
    assert run.folder.damaged() == []


def test_a_killed_training_with_two_workers_goes_on_to_the_same_model(
    command: Callable[..., Command], small: Path, tmp_path: Path, undisturbed: api.Run, look: Any
) -> None:
    place = tmp_path / "run"
    train = command("train", small, "--run", place, "--workers", 2, *SMALL)
    train.wait_for(is_there(place, "level-1/solve-*"))
    train.kill_group()
    assert status(place)["state"] == "interrupted"
    before = look.attempts(RunFolder.open(Location.of(place)))
    resume = command("resume", place, "--workers", 2)
    assert resume.wait() == 0, resume.said
    check_gone_on(place, before, look.alpha(undisturbed), look)


def test_ctrl_c_leaves_a_run_that_goes_on(
    command: Callable[..., Command], small: Path, tmp_path: Path, undisturbed: api.Run, look: Any
) -> None:
    place = tmp_path / "run"
    train = command("train", small, "--run", place, "--workers", 0, *SMALL)
    train.wait_for(is_there(place, "level-2/solve-*"))
    train.interrupt_group()
    assert train.wait() == 130, train.said
    assert train.said.splitlines()[-1].endswith(f"go on by `dcsvm resume {place}`")
    assert "Traceback" not in train.said
    found = status(place)
    assert (found["state"], found["message"]) == ("interrupted", "stopped from the keyboard")
    assert not (place / "lock.json").exists()
    before = look.attempts(RunFolder.open(Location.of(place)))
    run = api.resume(place, execution=Execution(workers=0), quiet=True)
    check_gone_on(Path(run.url), before, look.alpha(undisturbed), look)


def test_ctrl_c_while_the_workers_start_is_one_sentence(
    command: Callable[..., Command], small: Path, tmp_path: Path
) -> None:
    place = tmp_path / "run"
    train = command("train", small, "--run", place, "--workers", 2, *SMALL)
    train.wait_for(lambda: bool(train.workers()))
    train.interrupt_group()
    assert train.wait() == 130, train.said
    assert train.said.splitlines()[-1].endswith(f"go on by `dcsvm resume {place}`")
    assert "Traceback" not in train.said
    assert "Exception" not in train.said
    assert status(place)["state"] == "interrupted"


@pytest.mark.long
def test_ctrl_c_with_workers_leaves_a_run_that_goes_on(
    command: Callable[..., Command],
    larger: Path,
    tmp_path: Path,
    larger_alpha: np.ndarray,
    look: Any,
) -> None:
    place = tmp_path / "run"
    train = command("train", larger, "--run", place, "--workers", 2, *LARGER)
    train.wait_for(is_there(place, "level-2/solve-*"))
    train.interrupt_group()
    assert train.wait() == 130, train.said
    assert train.said.splitlines()[-1].endswith(f"go on by `dcsvm resume {place}`")
    assert "Traceback" not in train.said
    assert status(place)["state"] == "interrupted"
    before = look.attempts(RunFolder.open(Location.of(place)))
    resume = command("resume", place, "--workers", 2, "--quiet")
    assert resume.wait() == 0, resume.said
    assert resume.said == ""
    check_gone_on(place, before, larger_alpha, look)


@pytest.mark.long
@pytest.mark.parametrize(
    "moment",
    ["arrange/cluster", "arrange/part-*", "level-2/solve-*", "level-1/order", "conquer-001/commit"],
)
def test_kill_at_a_moment(
    moment: str,
    command: Callable[..., Command],
    larger: Path,
    tmp_path: Path,
    larger_alpha: np.ndarray,
    look: Any,
) -> None:
    place = tmp_path / "run"
    train = command("train", larger, "--run", place, "--workers", 2, *LARGER)
    train.wait_for(is_there(place, moment))
    train.kill_group()
    before = look.attempts(RunFolder.open(Location.of(place)))
    resume = command("resume", place, "--workers", 2)
    assert resume.wait() == 0, resume.said
    check_gone_on(place, before, larger_alpha, look)


@pytest.mark.long
@pytest.mark.parametrize("seed", [1, 2])
def test_kills_at_random_moments_until_it_is_done(
    seed: int,
    command: Callable[..., Command],
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
    command: Callable[..., Command],
    larger: Path,
    tmp_path: Path,
    larger_alpha: np.ndarray,
    look: Any,
) -> None:
    place = tmp_path / "run"
    train = command("train", larger, "--run", place, "--workers", 2, *LARGER)
    for moment in ("level-2/solve-*", "level-1/solve-*"):
        train.wait_for(is_there(place, moment))
        train.workers()[0].kill()
    assert train.wait() == 0, train.said
    check_gone_on(place, {}, larger_alpha, look)
    assert "Traceback" not in train.said


@pytest.mark.long
def test_workers_of_a_killed_client_do_not_outlive_it(
    command: Callable[..., Command], larger: Path, tmp_path: Path
) -> None:
    place = tmp_path / "run"
    train = command("train", larger, "--run", place, "--workers", 2, *LARGER)
    train.wait_for(is_there(place, "arrange/commit"))
    workers = train.workers()
    assert len(workers) == 2
    train.process.kill()
    train.process.wait(SECONDS)
    _, alive = psutil.wait_procs(workers, timeout=30)
    assert alive == []


@pytest.mark.long
def test_a_scheduler_that_dies_ends_the_command_with_a_sentence(
    command: Callable[..., Command],
    larger: Path,
    tmp_path: Path,
    larger_alpha: np.ndarray,
    look: Any,
) -> None:
    place = tmp_path / "run"
    with dask_cluster(tmp_path) as (address, scheduler):
        train = command("train", larger, "--run", place, "--scheduler", address, *LARGER)
        train.wait_for(is_there(place, "level-2/solve-*"))
        scheduler.kill()
        assert train.wait() == 1, train.said
    assert "Traceback" not in train.said
    found = status(place)
    assert found["state"] == "failed"
    assert "scheduler" in found["message"]
    before = look.attempts(RunFolder.open(Location.of(place)))
    resume = command("resume", place, "--workers", 2)
    assert resume.wait() == 0, resume.said
    check_gone_on(place, before, larger_alpha, look)


@pytest.mark.long
def test_a_script_without_a_main_guard_is_told_so(small: Path, tmp_path: Path) -> None:
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


class dask_cluster:  # noqa: N801
    """A scheduler and two workers as processes of the dask command."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._processes: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> tuple[str, subprocess.Popen[bytes]]:
        file = self._folder / "scheduler.json"
        self._start("scheduler", "--port", "0", "--no-dashboard", "--scheduler-file", str(file))
        end = time.monotonic() + SECONDS
        while not file.exists():
            assert time.monotonic() < end
            time.sleep(0.05)
        time.sleep(0.2)
        address = json.loads(file.read_text())["address"]
        for _ in range(2):
            self._start("worker", address, "--nthreads", "1", "--no-dashboard")
        return address, self._processes[0]

    def __exit__(self, *_: object) -> None:
        for process in self._processes:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait(SECONDS)

    def _start(self, *arguments: str) -> None:
        with (self._folder / f"dask{len(self._processes)}").open("wb") as log:
            self._processes.append(
                subprocess.Popen(
                    [sys.executable, "-m", "dask", *arguments],
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            )
