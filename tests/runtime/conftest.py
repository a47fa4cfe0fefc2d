"""Commands, Dask clusters and queues as processes of this machine."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import psutil
import pytest


@pytest.fixture(scope="module", autouse=True)
def _few_rows_a_task(few_rows_a_task: None) -> None:
    """Let every run here have several tasks for a level."""


# Where the tests run in the background, they and their children were started deaf to SIGINT.
MAIN = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "from dcsvm_dask.methods import sizes; sizes.SLOT_ROWS = 128; "  # see `few_rows_a_task`
    "from dcsvm_dask.cli import main; main()"
)
SECONDS = 300.0


@pytest.fixture(scope="session")
def main() -> str:
    """Give the program that `Command` runs."""
    return MAIN


class Command:
    """A dcsvm command in a process group of its own, which may run something else first."""

    def __init__(self, *arguments: object, log: Path, before: str = "") -> None:
        self._log = log
        with log.open("wb") as file:
            self.process = subprocess.Popen(
                [sys.executable, "-c", f"{before}\n{MAIN}", *map(str, arguments)],
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

    def wait_for_node(self, place: Path, pattern: str) -> None:
        """Wait until a commit object with such a name exists."""
        self.wait_for(lambda: any(place.glob(f"stages/{pattern}.json")))

    def kill_group(self) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(SECONDS)

    def interrupt_group(self) -> None:
        """Do what a terminal does at Ctrl-C: every process of the group gets the signal."""
        os.killpg(self.process.pid, signal.SIGINT)

    def terminate(self) -> None:
        """Do what a queue does, or Docker: the command alone gets the signal."""
        self.process.send_signal(signal.SIGTERM)

    def workers(self) -> list[psutil.Process]:
        """Return the worker processes."""
        found = []
        for child in psutil.Process(self.process.pid).children(recursive=True):
            with contextlib.suppress(psutil.Error):  # it has just ended
                # Python's fork server has the same command line as the workers that it forks.
                parent = child.parent()
                forked = parent is not None and is_fork_server(parent) and is_fork_server(child)
                if forked or "spawn_main" in " ".join(child.cmdline()):
                    found.append(child)
        return found


@pytest.fixture
def command(tmp_path: Path) -> Iterator[Callable[..., Command]]:
    """Return a starter of commands; none of their processes outlives the test."""
    started: list[Command] = []

    def start(*arguments: object, **how: str) -> Command:
        started.append(Command(*arguments, log=tmp_path / f"log{len(started)}", **how))
        return started[-1]

    yield start
    for one in started:
        if one.process.poll() is None:
            one.kill_group()


def is_fork_server(process: psutil.Process) -> bool:
    """Whether a process is Python's fork server or one that it has forked."""
    return "multiprocessing.forkserver" in " ".join(process.cmdline())


class DaskCluster:
    """A scheduler and workers as processes of the dask command."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._words: tuple[str, ...] = ()
        self.file = folder / "scheduler.json"
        self.address = ""
        self.processes: list[subprocess.Popen[bytes]] = []

    def start(
        self, workers: int, scheduler: Sequence[str] = (), worker: Sequence[str] = ()
    ) -> tuple[str, subprocess.Popen[bytes]]:
        """Start a scheduler with workers; return its address and its process."""
        file, self._words = self.file, tuple(worker)
        words = ("--port", "0", "--no-dashboard", "--scheduler-file", str(file), *scheduler)
        self._run("scheduler", *words)
        end = time.monotonic() + SECONDS
        while not file.exists():
            assert time.monotonic() < end
            time.sleep(0.05)
        time.sleep(0.2)
        self.address = json.loads(file.read_text())["address"]
        for _ in range(workers):
            self.add_worker()
        return self.address, self.processes[0]

    def add_worker(self, *words: str) -> subprocess.Popen[bytes]:
        """Start one more worker, which joins as soon as it is ready."""
        words = (self.address, "--nthreads", "1", "--no-dashboard", *self._words, *words)
        return self._run("worker", *words)

    def stop(self, process: subprocess.Popen[bytes]) -> None:
        """Kill a process with those that it has started."""
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(SECONDS)

    def _run(self, *arguments: str) -> subprocess.Popen[bytes]:
        with (self._folder / f"dask{len(self.processes)}").open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "dask", *arguments],
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.processes.append(process)
        return process


@pytest.fixture
def dask_cluster(tmp_path: Path) -> Iterator[DaskCluster]:
    """Give a cluster that is yet to be started; nothing of it outlives the test."""
    cluster = DaskCluster(tmp_path)
    yield cluster
    for process in cluster.processes:
        cluster.stop(process)


SBATCH = """#!/bin/bash
test -z "$SBATCH_REFUSES" || { echo "sbatch: error: $SBATCH_REFUSES" >&2; exit 1; }
cp "$1" "$0.$$.job"
setsid bash "$0.$$.job" > "$0.$$.log" 2>&1 &
until kill -0 -- "-$!" 2> /dev/null; do :; done
echo $! >> "$0.jobs"
echo "Submitted batch job $!"
"""
SCANCEL = """#!/bin/bash
grep -qx "$1" "$(dirname "$0")/sbatch.jobs" && kill -TERM -- "-$1"
"""
"""Ends what this queue has started, and nothing else."""
SLURM = """kind: slurm
{0}
memory: 1GiB
environment: {{NUMBA_CACHE_DIR: {1}}}
options: {{local_directory: {2}, security: true, shared_temp_directory: {2}}}
"""


class Queue:
    """A queue like SLURM whose jobs are processes of this machine."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        for name, text in (("sbatch", SBATCH), ("scancel", SCANCEL)):
            (folder / name).write_text(text)
            (folder / name).chmod(0o755)

    def write(self, workers: str, cache: object) -> Path:
        file = self._folder / "slurm.yaml"
        file.write_text(SLURM.format(workers, cache, self._folder))
        return file

    @property
    def jobs(self) -> list[int]:
        """Return all jobs that were submitted."""
        file = self._folder / "sbatch.jobs"
        return [int(line) for line in file.read_text().split()] if file.exists() else []

    def variables(self, name: str) -> set[str]:
        """Return a variable of all processes of all jobs."""
        return {
            child.environ().get(name, "")
            for job in self.jobs
            for child in psutil.Process(job).children(recursive=True)
        }

    def certificates(self) -> list[Path]:
        """Return what is left of certificates."""
        return list(self._folder.glob(".dask-jobqueue*"))

    def left(self) -> list[psutil.Process]:
        """Return the processes of jobs that are left after what they take to end."""
        end = time.monotonic() + 120.0
        while True:
            found = []
            for process in psutil.process_iter():
                try:
                    alive = process.status() != psutil.STATUS_ZOMBIE
                    if alive and any(str(self._folder) in word for word in process.cmdline()):
                        found.append(process)
                except psutil.Error:
                    continue
            if not found or time.monotonic() > end:
                return found
            time.sleep(0.2)


@pytest.fixture
def queue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    folder = tmp_path / "queue"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return Queue(folder)


@pytest.fixture(scope="session")
def cache() -> str:
    """Give the folder of compiled code that the tests share."""
    return os.environ["NUMBA_CACHE_DIR"]
