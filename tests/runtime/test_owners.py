"""A process that lost its run to another host writes nothing more, whenever it wakes up."""

from __future__ import annotations

import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from dcsvm_dask import api
from dcsvm_dask.errors import OwnershipLostError
from dcsvm_dask.methods import progress as reports
from dcsvm_dask.methods.graph import COMMIT, Stage, single
from dcsvm_dask.methods.progress import advance_reporter
from dcsvm_dask.runtime.announcer import Announcer
from dcsvm_dask.runtime.execution import Execution
from dcsvm_dask.runtime.opening import open_executor
from dcsvm_dask.storage import claims, lock
from dcsvm_dask.storage.claims import claim_names
from dcsvm_dask.storage.location import Location
from dcsvm_dask.storage.lock import FolderLock
from dcsvm_dask.storage.node import Attempt, Record
from dcsvm_dask.storage.run import RunFolder
from tests.left import take_over
from tests.marks import soak
from tests.namespaces import on_host, require_namespaces
from tests.run_folder import HEADER, nothing
from tests.small_run import WORDS

# Tasks of an owner that has lost its run fail, as they are meant to.
pytestmark = pytest.mark.failing_tasks

QUICK = {"HEARTBEAT_SECONDS": 0.2, "STALE_SECONDS": 1.0, "WATCH_SECONDS": 0.5}
MAIN = """
import sys
from dcsvm_dask.methods import sizes
from dcsvm_dask.storage import claims, lock

sizes.SLOT_ROWS = 128
for module in (claims, lock):
    vars(module).update({0!r})
from dcsvm_dask.cli import main

main()
"""
Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def host() -> Iterator[Start]:
    """Return a starter of dcsvm commands as on hosts of their own; none outlives the test."""
    require_namespaces()
    started: list[subprocess.Popen[str]] = []

    def start(
        name: str, *arguments: object, before: str = "", lock: dict[str, float] = QUICK
    ) -> subprocess.Popen[str]:
        main = f"{before}\n{MAIN.format(lock)}"
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        started.append(on_host(name, main, arguments, start_new_session=True, **pipes))
        return started[-1]

    yield start
    for one in started:
        with one:
            one.kill()


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, seconds in QUICK.items():
        monkeypatch.setattr(claims if hasattr(claims, name) else lock, name, seconds)


def content(place: Path) -> dict[str, bytes]:
    """Return every file below a run but for the lock's claims."""
    files = [path for path in place.rglob("*") if path.is_file() and path.parent.name != "lock"]
    return {str(path.relative_to(place)): path.read_bytes() for path in files}


@pytest.mark.long
@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("workers", [0, soak(2)])
def test_a_former_owner_that_wakes_up_changes_nothing(
    workers: int,
    host: Start,
    small: Path,
    tmp_path: Path,
    undisturbed: api.Run,
    look: Any,
    faults: Any,
) -> None:
    faults.hold("level-2", "solve-0002")
    place = tmp_path / "run"
    words = ("--run", place, "--workers", workers, *WORDS)
    former = host("former", "train", small, *words, before=faults.in_command)
    while not faults.begun_at("level-2", "solve-0002"):
        assert former.poll() is None
        time.sleep(0.002)
    processes = psutil.Process(former.pid).children(recursive=True)
    for process in processes:
        process.send_signal(signal.SIGSTOP)
    time.sleep(1.5)  # its heartbeat is old
    run = api.resume(place, execution=Execution(workers=0), quiet=True)
    assert run.status()["state"] == "complete"
    before = content(place)
    faults.clear()
    for process in processes:
        process.send_signal(signal.SIGCONT)
    said, _ = former.communicate(timeout=300)
    assert former.returncode == 1, said
    assert "this process has lost the run: " in said
    # Zarr complains as it is unloaded where its thread gets no processor for 0.2 s.
    assert "Traceback" not in said.partition("Exception ignored in atexit")[0]
    after = content(place)
    # Arrays of an attempt that it was at may be left; no object that is read has changed.
    left = {name for name in after.keys() - before.keys() if name.count("/") < 3}
    assert not left
    assert {name: after[name] for name in before} == before
    assert api.open_run(place).status()["state"] == "complete"
    np.testing.assert_array_equal(look.alpha(run), look.alpha(undisturbed))
    assert len(claim_names(Location.of(place))) == 1


@pytest.mark.long
@pytest.mark.parametrize("times", [2, soak(10)])
def test_two_hosts_that_resume_one_run_never_both_commit(
    times: int, host: Start, small: Path, tmp_path: Path, undisturbed: api.Run, look: Any
) -> None:
    # Neither may take the other, which is starved of its processor, for one that has ended.
    lock = {**QUICK, "STALE_SECONDS": 300.0}
    for number in range(times):
        place = tmp_path / f"run{number}"
        api.train(
            small,
            place,
            execution=Execution(workers=0),
            quiet=True,
            gamma=8.0,
            C=8.0,
            clusters=(4, 2),
            block_cap=128,
            tol=1e-4,
            stop_at=2,
        )
        words = ("resume", place, "--stop-at", "0", "--workers", "0")
        both = [host("same-name", *words, lock=lock) for _ in range(2)]
        said = [process.communicate(timeout=300)[0] for process in both]
        codes = sorted(process.returncode for process in both)
        # The second one may have come when the first was done: then nothing was left to do.
        assert codes == [0, 2] or any("complete already" in words for words in said), said
        journals = list((place / "journal").iterdir())
        assert len(journals) == 2  # of the training and of one resume
        run = api.open_run(place)
        assert run.status()["converged"]
        np.testing.assert_array_equal(look.alpha(run), look.alpha(undisturbed))


def wait_and_report(run: RunFolder, attempt: Attempt) -> Record:
    """Take ten minutes, and report on them."""
    report, end = advance_reporter(), time.monotonic() + 600
    while time.monotonic() < end:
        time.sleep(0.05)
        report(0, 0, "rows", {})
    return {}


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("workers", [0, pytest.param(1, marks=pytest.mark.long)])
def test_a_loss_ends_what_is_under_way(
    workers: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reports, "EVERY_SECONDS", 0.1)
    place = Location.of(tmp_path / "run")
    stages = [Stage("level-1", (single("solve", wait_and_report), single(COMMIT, nothing)), "l1")]
    announcer = Announcer(place.url, [])
    with (
        FolderLock(place) as held,
        open_executor(Execution(workers=workers), announcer) as executor,
    ):
        run = RunFolder.create(place, HEADER, held.ownership)
        taken = threading.Timer(0.5, take_over, [place])
        taken.start()
        begin = time.monotonic()
        with pytest.raises(OwnershipLostError, match="has lost the run"):
            executor.run(run, stages, held.check_heartbeat)
        assert time.monotonic() - begin < 120.0  # the step takes ten minutes
    assert run.find("level-1", "solve") is None
