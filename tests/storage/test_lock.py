"""One process carries a run at a time, and a dead one does not keep it."""

from __future__ import annotations

import getpass
import os
import socket
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from dcsvm_dask.errors import InputError, RunError
from dcsvm_dask.storage import lock
from dcsvm_dask.storage.location import Location
from dcsvm_dask.storage.lock import STALE_SECONDS, FolderLock, read_holder


@pytest.fixture(params=["folder", "memory"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Location]:
    """Give a place for a run: a folder, and an object store."""
    if request.param == "folder":
        yield Location.of(tmp_path / "run")
        return
    name = f"memory://{uuid.uuid4().hex}/run"
    yield Location.of(name)
    Location(name).delete()


@pytest.fixture(autouse=True)
def _settle_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock, "SETTLE_SECONDS", 0.05)
    monkeypatch.setattr(lock, "WATCH_SECONDS", 0.05)


@pytest.fixture
def other_process() -> Iterator[psutil.Process]:
    """Give a living process that is not this one."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        yield psutil.Process(child.pid)
        child.kill()


def owner_of(process: psutil.Process, **changes: Any) -> dict[str, Any]:
    return {
        "user": "ada",
        "host": socket.gethostname(),
        "pid": process.pid,
        "started": process.create_time(),
        "since": 1_700_000_000.0,
        "heartbeat": time.time(),
        **changes,
    }


def test_a_lock_is_there_while_it_is_held_and_names_its_owner(place: Location) -> None:
    with FolderLock(place):
        holder = read_holder(place)
        assert holder is not None
        assert holder["pid"] == os.getpid()
        assert holder["user"] == getpass.getuser()
        assert place.list() == ["lock.json"]
    assert read_holder(place) is None
    assert place.list() == []


def test_a_run_held_by_a_living_process_is_refused_by_name(
    place: Location, other_process: psutil.Process
) -> None:
    owner = owner_of(other_process)
    (place / "lock.json").write_json(owner)
    since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(owner["since"]))
    words = rf"in use by ada@{socket.gethostname()} \(process {owner['pid']}, since {since}\)"
    with pytest.raises(InputError, match=words), FolderLock(place):
        pass
    assert (place / "lock.json").read_json() == owner
    # A heartbeat that is late says nothing where the process itself can be seen.
    (place / "lock.json").write_json({**owner, "heartbeat": 0.0})
    assert read_holder(place) is not None


def test_the_lock_is_released_by_an_exception(place: Location) -> None:
    with pytest.raises(KeyboardInterrupt), FolderLock(place):
        raise KeyboardInterrupt
    assert place.list() == []


@pytest.mark.parametrize("death", ["gone", "reused", "zombie"])
def test_the_lock_of_a_dead_process_is_taken_over(place: Location, death: str) -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    assert child.stdin is not None
    owner = owner_of(psutil.Process(child.pid))
    if death == "reused":  # the number belongs to a process that began later
        owner["started"] -= 3600.0
    else:
        child.kill()
    if death == "gone":
        child.wait()
    else:
        _wait_until(lambda: death == "reused" or psutil.Process(child.pid).status() == "zombie")
    (place / "lock.json").write_json(owner)
    assert read_holder(place) is None
    with FolderLock(place):
        assert (read_holder(place) or {})["pid"] == os.getpid()
    child.kill()
    child.wait()
    child.stdin.close()


def test_a_process_of_another_host_is_judged_by_its_heartbeat(place: Location) -> None:
    owner = owner_of(psutil.Process(), host="elsewhere")
    (place / "lock.json").write_json(owner)
    with pytest.raises(InputError, match="ada@elsewhere"), FolderLock(place):
        pass
    (place / "lock.json").write_json({**owner, "heartbeat": time.time() - STALE_SECONDS - 1})
    with FolderLock(place):
        assert (read_holder(place) or {})["host"] == socket.gethostname()


@pytest.mark.parametrize("lag", [-3600.0, -STALE_SECONDS - 1, 0.0])
def test_a_process_whose_clock_is_behind_keeps_its_lock(place: Location, lag: float) -> None:
    owner = owner_of(psutil.Process(), host="elsewhere", heartbeat=time.time() + lag)
    (place / "lock.json").write_json(owner)
    stop = threading.Event()

    def beat() -> None:
        while not stop.wait(0.01):
            owner["heartbeat"] += 0.01
            (place / "lock.json").write_json(owner)

    thread = threading.Thread(target=beat)
    thread.start()
    try:
        with pytest.raises(InputError, match="in use by ada@elsewhere"), FolderLock(place):
            pass
    finally:
        stop.set()
        thread.join()
    assert (place / "lock.json").read_json() == owner


@pytest.mark.parametrize(
    "content", [b"", b"{", b"{}", b'{"host": 1}', b"[]", b"\xff", b'{"name": "npm"}']
)
def test_what_is_no_lock_of_ours_holds_nothing_and_stays(place: Location, content: bytes) -> None:
    (place / "lock.json").write_bytes(content)
    assert read_holder(place) is None
    with pytest.raises(InputError, match=r"lock\.json: is no lock that dcsvm wrote; delete it"):
        FolderLock(place).__enter__()
    assert (place / "lock.json").read_bytes() == content


def test_only_the_stale_lock_that_was_read_is_deleted(
    place: Location, other_process: psutil.Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place / "lock.json").write_json(owner_of(psutil.Process(), started=0.0))
    owner = owner_of(other_process)

    def another_comes_first(self: FolderLock, stale: dict[str, Any]) -> bool:
        (place / "lock.json").write_json(owner)
        return False

    monkeypatch.setattr(FolderLock, "_still_beats", another_comes_first)
    with pytest.raises(InputError, match="has just taken"):
        FolderLock(place).__enter__()
    assert (place / "lock.json").read_json() == owner


def test_a_lock_given_back_while_it_was_asked_for_deletes_nobodys(
    place: Location, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FolderLock, "_create", lambda self: False)
    with pytest.raises(InputError, match="has just taken"):
        FolderLock(place).__enter__()


def test_who_lost_the_lock_is_told(place: Location, other_process: psutil.Process) -> None:
    with FolderLock(place, "run") as held:
        held.check()
        (place / "lock.json").write_json(owner_of(other_process))
        with pytest.raises(RunError, match=r"has lost the run: ada@.* nothing more is written"):
            held.check()
        (place / "lock.json").delete()
        with pytest.raises(RunError, match="its lock was deleted"):
            held.check()


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), RuntimeError("away")])
def test_the_heartbeat_goes_on_and_survives_storage_that_fails(
    place: Location, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    monkeypatch.setattr(lock, "HEARTBEAT_SECONDS", 0.01)
    failed = threading.Event()
    write = Location.write_bytes

    def fail_once(self: Location, data: bytes) -> None:
        if not failed.is_set():
            failed.set()
            raise error
        write(self, data)

    monkeypatch.setattr(Location, "write_bytes", fail_once)
    with FolderLock(place):
        first = (place / "lock.json").read_json()["heartbeat"]
        assert failed.wait(10)
        _wait_until(lambda: (place / "lock.json").read_json()["heartbeat"] > first)


def test_who_lost_the_lock_neither_writes_nor_deletes_it(
    place: Location, other_process: psutil.Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock, "HEARTBEAT_SECONDS", 0.01)
    owner = owner_of(other_process)
    with FolderLock(place):
        (place / "lock.json").write_json(owner)
        time.sleep(0.1)
        # A beat that was under way may have come later than the new owner, but only that one.
        (place / "lock.json").write_json(owner)
        time.sleep(0.1)
        assert (place / "lock.json").read_json() == owner
    assert (place / "lock.json").read_json() == owner


def test_of_many_that_want_a_stale_lock_one_at_a_time_has_it(place: Location) -> None:
    (place / "lock.json").write_json(owner_of(psutil.Process(), started=0.0))
    inside, most, entered = 0, 0, 0
    gate, guard = threading.Barrier(8), threading.Lock()

    def want() -> None:
        nonlocal inside, most, entered
        gate.wait()
        try:
            with FolderLock(place):
                with guard:
                    inside, entered = inside + 1, entered + 1
                    most = max(most, inside)
                time.sleep(0.2)
                with guard:
                    inside -= 1
        except InputError as error:
            assert "in use by" in str(error) or "has just taken" in str(error)  # noqa: PT017

    threads = [threading.Thread(target=want) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert entered >= 1
    assert most == 1


def test_a_file_system_without_links_has_locks_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(os, "link", refuse)
    place = Location.of(tmp_path)
    with FolderLock(place):
        with pytest.raises(InputError, match="in use by"), FolderLock(place):
            pass
        assert place.list() == ["lock.json"]
    assert place.list() == []


def test_a_place_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("x")
    with (
        pytest.raises(InputError, match="nothing can be written there"),
        FolderLock(Location.of(file / "run")),
    ):
        pass


def _wait_until(holds: Any, seconds: float = 10.0) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.005)
