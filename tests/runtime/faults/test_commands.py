"""Commands that lose everything at once, run out of disk, or lose all workers, and go on."""

from __future__ import annotations

import contextlib
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dcsvm_dask import api
from dcsvm_dask.runtime.execution import Execution
from tests.marks import soak
from tests.small_run import WORDS

pytestmark = pytest.mark.long
Start = Callable[..., Any]
HERE = Execution(workers=0)
"""Goes on with what a command left, without workers that would have to start."""


@pytest.mark.parametrize("kills", [6, soak(30)])
def test_kills_at_random_moments(
    kills: int,
    command: Start,
    small: Path,
    tmp_path: Path,
    faults: Any,
    undisturbed: api.Run,
    in_this_process: Any,
) -> None:
    faults.add("*", "*", "wait", seconds=0.5, times=0)
    faults.hold(undisturbed.status()["stage"])  # no run ends before it is killed
    place, rng = tmp_path / "run", np.random.default_rng(0)
    for number in range(kills):
        known = (place / "run.json").exists()
        words = ["resume", place] if known else ["train", small, "--run", place, *WORDS]
        begun = faults.begun
        now = command(*words, "--workers", 2)
        if number % 2:  # the others may come while it starts
            now.wait_for(lambda begun=begun: faults.begun > begun)
            time.sleep(rng.uniform(0.0, 1.0))
        else:
            time.sleep(rng.uniform(0.0, 4.0))
        assert now.process.poll() is None, now.said
        now.kill_group()
    assert faults.begun >= kills // 2
    faults.clear()
    in_this_process()
    faults.check(api.resume(place, execution=HERE, quiet=True))
    # At most what two workers were doing was lost each time.
    assert faults.redone().total() <= 2 * kills


@pytest.fixture
def little_disk(tmp_path: Path) -> Iterator[Path]:
    """Give a file system of 64 MB."""
    place = tmp_path / "disk"
    place.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", str(place)]
    if subprocess.run(words, capture_output=True, check=False).returncode:
        pytest.skip("needs the right to mount a file system")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_disk_that_fills(
    command: Start, small: Path, little_disk: Path, faults: Any, in_this_process: Any
) -> None:
    faults.hold("level-1")
    place, ballast = little_disk / "run", little_disk / "ballast"
    train = command("train", small, "--run", place, "--workers", 2, *WORDS)
    train.wait_for_node(place, "level-2/commit")
    with ballast.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(b"x" * (1 << 16))
    faults.clear()
    assert train.wait() == 1, train.said
    assert f"{place}: no space is left" in train.said
    assert f"continue with `dcsvm resume {place}`" in train.said
    assert "Traceback" not in train.said
    ballast.unlink()
    in_this_process()
    faults.check(api.resume(place, execution=HERE, quiet=True))
    assert faults.redone().total() <= 6  # what two workers tried three times each


def test_ctrl_c_twice_stops_at_once(
    command: Start, small: Path, tmp_path: Path, faults: Any, in_this_process: Any
) -> None:
    faults.hold("level-1")
    place = tmp_path / "run"
    train = command("train", small, "--run", place, "--workers", 2, *WORDS)
    train.wait_for(lambda: faults.begun_at("level-1") > 0)
    train.interrupt_group()
    time.sleep(0.2)
    train.interrupt_group()
    # It does not wait for the step, which is held for longer than this waits.
    assert train.wait() == 130, train.said
    assert "Traceback" not in train.said
    faults.clear()
    in_this_process()
    faults.check(api.resume(place, execution=HERE, quiet=True))


@pytest.fixture
def on_one_worker(command: Start, dask_cluster: Any) -> Start:
    """Return a starter of commands on a cluster of one worker."""

    def start(*words: object) -> Any:
        address, _ = dask_cluster.start(1)
        return command(*words, "--scheduler", address)

    return start


def test_a_worker_that_joins_in_the_middle_gets_work(
    on_one_worker: Start, small: Path, tmp_path: Path, faults: Any, dask_cluster: Any
) -> None:
    faults.hold("level-2", "solve-*")
    place = tmp_path / "run"
    train = on_one_worker("train", small, "--run", place, *WORDS)
    train.wait_for(lambda: faults.begun_at("level-2") == 1)
    dask_cluster.add_worker()
    # The first worker has one thread, which is held: the second step is the new one's.
    train.wait_for(lambda: faults.begun_at("level-2") == 2)
    faults.clear()
    assert train.wait() == 0, train.said
    run = api.open_run(place)
    faults.check(run)
    assert faults.redone().total() == 0
    assert len(run.status()["peak_bytes"]) == 2


def test_a_cluster_whose_only_worker_is_lost_goes_on_with_the_next(
    on_one_worker: Start, small: Path, tmp_path: Path, faults: Any, dask_cluster: Any
) -> None:
    faults.hold("level-1", "solve-*")
    place = tmp_path / "run"
    train = on_one_worker("train", small, "--run", place, *WORDS)
    train.wait_for(lambda: faults.begun_at("level-1", "solve-*") == 1)
    dask_cluster.stop(dask_cluster.processes[1])
    train.wait_for(lambda: "no workers are left" in train.said)
    faults.clear()
    dask_cluster.add_worker()
    assert train.wait() == 0, train.said
    faults.check(api.open_run(place))
    assert faults.redone().total() == 1  # what it was doing
