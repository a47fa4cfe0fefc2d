"""One process owns a folder at a time, and a dead one does not keep it."""

from __future__ import annotations

import getpass
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dcsvm_dask.errors import InputError, OwnershipLostError
from dcsvm_dask.storage import claims, lock
from dcsvm_dask.storage.claims import STALE_SECONDS, claim_names, read_owner
from dcsvm_dask.storage.location import Location
from dcsvm_dask.storage.lock import FolderLock
from dcsvm_dask.storage.processes import is_running, this_process

WHO = """
import json
from dcsvm_dask.storage.processes import this_process

print(json.dumps(this_process()), flush=True)
input()
"""
ELSEWHERE = {"boot": "another-boot", "host": "elsewhere"}


@pytest.fixture(autouse=True)
def _watch_briefly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock, "WATCH_SECONDS", 0.05)
    monkeypatch.setattr(claims, "DECIDE_SECONDS", 0.5)


@pytest.fixture
def other_process() -> Iterator[dict[str, Any]]:
    """Give the identity of a living process that is not this one."""
    with subprocess.Popen(
        [sys.executable, "-c", WHO], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        yield json.loads(child.stdout.readline())
        child.kill()


def owner_of(process: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {
        "user": "ada",
        "host": socket.gethostname(),
        **process,
        "since": 1_700_000_000.0,
        "heartbeat": time.time(),
        "beat": 7,
        "released": False,
        **changes,
    }


def put(place: Location, owner: dict[str, Any], number: int = 1) -> Location:
    """Write a claim as another process would."""
    written = place / "lock" / f"{number:06d}-{number:012x}.json"
    written.write_json(owner)
    return written


def test_a_claim_is_there_while_the_folder_is_owned_and_names_its_owner(place: Location) -> None:
    with FolderLock(place) as held:
        holder = read_owner(place)
        assert holder is not None
        assert holder["pid"] == os.getpid()
        assert holder["user"] == getpass.getuser()
        assert place.list() == ["lock"]
        assert claim_names(place) == [held.name]
    assert read_owner(place) is None
    assert place.list() == []  # nothing is left to be owned


def test_numbers_grow_and_the_last_claim_stays(place: Location) -> None:
    (place / "run.json").write_json({})
    names = []
    for _ in range(3):
        with FolderLock(place) as held:
            names.append(held.name)
        assert claim_names(place) == names[-1:]
        assert read_owner(place) is None
    assert [name.split("-")[0] for name in names] == ["000001", "000002", "000003"]


def test_a_run_owned_by_a_living_process_is_refused_by_name(
    place: Location, other_process: dict[str, Any]
) -> None:
    owner = owner_of(other_process)
    written = put(place, owner)
    since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(owner["since"]))
    words = rf"in use by ada@{socket.gethostname()} \(process {owner['pid']}, since {since}\)"
    with pytest.raises(InputError, match=words), FolderLock(place):
        pass
    assert written.read_json() == owner
    # A heartbeat that is late says nothing where the process itself can be seen: it may be stopped.
    put(place, {**owner, "heartbeat": 0.0})
    assert read_owner(place) is not None
    with pytest.raises(InputError, match="in use by ada"), FolderLock(place):
        pass
    assert len(claim_names(place)) == 1


def test_the_folder_is_given_back_after_an_exception(place: Location) -> None:
    with pytest.raises(KeyboardInterrupt), FolderLock(place):
        raise KeyboardInterrupt
    assert place.list() == []


@pytest.mark.parametrize("death", ["gone", "reused", "zombie"])
def test_the_folder_of_a_dead_process_is_taken_over(place: Location, death: str) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", WHO], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert child.stdin is not None
    assert child.stdout is not None
    owner = owner_of(json.loads(child.stdout.readline()))
    if death == "reused":  # the number belongs to a process that began later
        owner["ticks"] -= 360_000
    else:
        child.kill()
    if death == "gone":
        child.wait()
    _wait_until(lambda: is_running(owner) is False)
    put(place, owner)
    assert read_owner(place) is None
    with FolderLock(place) as held:
        assert (read_owner(place) or {})["pid"] == os.getpid()
        assert claim_names(place) == [held.name]
    child.kill()
    child.wait()
    child.stdin.close()
    child.stdout.close()


@pytest.mark.parametrize(
    "other",
    [
        {"pid_namespace": "pid:[1]"},  # a container
        {"boot": "another-boot"},  # a host of the same name, or this one before it was restarted
        {"boot": None, "pid_namespace": None, "ticks": None},  # a system that does not say
    ],
)
def test_a_host_of_the_same_name_is_judged_by_its_heartbeat_alone(
    place: Location, other: dict[str, Any]
) -> None:
    """Its processes cannot be seen by number, so that one which is not found says nothing."""
    owner = owner_of({**this_process(), "pid": 2**22 - 1, **other}, heartbeat=time.time() - 4.0)
    put(place, owner)
    assert read_owner(place) is not None
    with pytest.raises(InputError, match="in use by ada"), FolderLock(place):
        pass
    put(place, {**owner, "heartbeat": time.time() - STALE_SECONDS - 1})
    with FolderLock(place):
        assert (read_owner(place) or {})["pid"] == os.getpid()


def test_a_process_is_known_by_its_start_in_ticks_whatever_the_clock_says() -> None:
    here = this_process()
    stat = Path("/proc/self/stat").read_text().rsplit(")", 1)[1].split()
    assert here["ticks"] == int(stat[19])
    assert is_running(here)
    assert is_running({**here, "ticks": here["ticks"] + 1}) is False
    assert is_running({**here, "pid": 2**22 - 1}) is False
    assert is_running({**here, "pid_namespace": "pid:[1]"}) is None


@pytest.mark.parametrize("lag", [-3600.0, -STALE_SECONDS - 1, 0.0, 3600.0])
def test_a_process_whose_clock_is_wrong_keeps_its_folder(
    place: Location, lag: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner = owner_of({**this_process(), **ELSEWHERE}, heartbeat=time.time() + lag)
    put(place, owner)

    def beat(seconds: float) -> None:
        """Let the other process have a heartbeat while this one waits."""
        owner.update(heartbeat=owner["heartbeat"] + seconds, beat=owner["beat"] + 1)
        put(place, owner)

    monkeypatch.setattr(lock, "time", SimpleNamespace(**{**vars(time), "sleep": beat}))
    with pytest.raises(InputError, match="in use by ada@elsewhere"), FolderLock(place):
        pass
    assert len(claim_names(place)) == 1


@pytest.mark.parametrize("lag", [-3600.0, 3600.0])
def test_a_dead_process_whose_clock_was_wrong_does_not_keep_it(place: Location, lag: float) -> None:
    put(place, owner_of({**this_process(), **ELSEWHERE}, heartbeat=time.time() + lag))
    with FolderLock(place) as held:
        assert claim_names(place) == [held.name]


@pytest.mark.parametrize(
    "content", [b"", b"{", b"{}", b'{"host": 1}', b"[]", b"\xff", b'{"name": "npm"}']
)
def test_what_is_no_claim_of_ours_is_named_and_stays(
    place: Location, content: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claims, "LOOK_AGAIN_SECONDS", 0.0)
    written = place / "lock" / "000001-0123456789ab.json"
    written.write_bytes(content)
    assert read_owner(place) is None
    with pytest.raises(InputError, match=r"ab\.json: is not a lock written by dcsvm; delete it"):
        FolderLock(place).__enter__()
    assert written.read_bytes() == content
    assert len(claim_names(place)) == 1


def test_one_read_that_was_cut_short_says_nothing(
    place: Location, other_process: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claims, "LOOK_AGAIN_SECONDS", 0.0)
    monkeypatch.setattr(lock, "HEARTBEAT_SECONDS", 0.01)
    read, cut = Location.read_bytes, threading.Event()

    def read_half_once(self: Location) -> bytes:
        whole = read(self)
        if "/lock/" in self.url and not cut.is_set():
            cut.set()
            return whole[: len(whole) // 2]
        return whole

    monkeypatch.setattr(Location, "read_bytes", read_half_once)
    put(place, owner_of(other_process))
    with pytest.raises(InputError, match="in use by ada"):
        FolderLock(place).__enter__()
    assert cut.is_set()
    (place / "lock").delete()
    monkeypatch.setattr(Location, "read_bytes", lambda self: read(self)[:20])
    with FolderLock(place) as held:  # its heart needs no content

        def beats() -> int:
            return json.loads(read(place / "lock" / f"{held.name}.json"))["beat"]

        first = beats()
        _wait_until(lambda: beats() > first + 3)
        held.check()
        assert not held.lost.is_set()


def test_a_listing_that_lacks_the_own_claim_once_is_no_loss(
    place: Location, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed, short = Location.list, threading.Event()

    def list_nothing_once(self: Location) -> list[str]:
        if self.name == "lock" and not short.is_set():
            short.set()
            return []
        return listed(self)

    with FolderLock(place) as held:
        monkeypatch.setattr(Location, "list", list_nothing_once)
        held.check()
        assert short.is_set()


def test_of_two_that_ask_at_once_both_look_after_they_wrote(
    place: Location, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second one asks and goes on while the first pauses between its look and its claim."""
    second = FolderLock(place)
    write = FolderLock._write

    def pause(self: FolderLock, *, released: bool = False) -> None:
        if self is not second and not released and "entered" not in vars(pause):
            vars(pause)["entered"] = True
            second.__enter__()
        write(self, released=released)

    monkeypatch.setattr(FolderLock, "_write", pause)
    with pytest.raises(InputError, match="in use by"):
        FolderLock(place).__enter__()
    second.check()
    second.__exit__(None, None, None)
    assert place.list() == []


def test_who_lost_the_folder_hears_of_it_from_its_heart(
    place: Location, other_process: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock, "HEARTBEAT_SECONDS", 0.01)
    with FolderLock(place, "run") as held:
        held.check()
        held.check_heartbeat()
        put(place, owner_of(other_process), number=2)
        with pytest.raises(OwnershipLostError, match=r"lost the run: it was taken over by ada@"):
            held.check()
        with pytest.raises(OwnershipLostError):
            held.ownership.check()
        assert held.lost.wait(120)
        with pytest.raises(OwnershipLostError):
            held.check_heartbeat()
    assert len(claim_names(place)) == 1  # that of the new owner


def test_a_claim_that_is_taken_back_again_is_no_loss(
    place: Location, other_process: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process has asked at the same moment, seen the owner, and gone."""
    monkeypatch.setattr(lock, "HEARTBEAT_SECONDS", 0.05)
    monkeypatch.setattr(claims, "LOOK_AGAIN_SECONDS", 0.01)
    monkeypatch.setattr(claims, "DECIDE_SECONDS", 300.0)
    with FolderLock(place) as held:
        rival = place / "lock" / f"{held.name.split('-')[0]}-0123456789ab.json"
        claim = place / "lock" / f"{held.name}.json"

        def names(place: Location) -> list[str]:
            """Let the rival go once a heartbeat has seen it."""
            found = claim_names(place)
            if threading.current_thread().name == "folder-lock" and len(found) > 1:
                rival.delete()
            return found

        monkeypatch.setattr(lock, "claim_names", names)
        for _ in range(5):
            rival.write_json(owner_of(other_process))
            held.check()  # waits until it is decided
            assert not rival.exists()
            first = claim.read_json()["beat"]
            _wait_until(lambda first=first: claim.read_json()["beat"] > first)
        assert not held.lost.is_set()


def test_the_last_claim_stays_although_another_process_asks_at_the_end(
    place: Location, other_process: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Were both taken back, the next number would be 1: that of a former owner that sleeps."""
    monkeypatch.setattr(claims, "DECIDE_SECONDS", 300.0)
    (place / "data").write_json({})
    with FolderLock(place) as held:
        rival = put(place, owner_of(other_process), number=2)
        gone = threading.Timer(0.1, rival.delete)
        gone.start()
    gone.join()
    assert claim_names(place) == [held.name]
    assert (place / "lock" / f"{held.name}.json").read_json()["released"]


def test_numbers_go_on_where_claims_were_deleted(place: Location) -> None:
    (place / "state" / "000007-0123456789ab.json").write_json({})
    (place / "journal" / "000003-0123456789ab.json").write_json({})
    with FolderLock(place) as held:
        assert held.name.startswith("000008-")


def test_a_process_that_proc_hides_is_judged_by_its_heartbeat(
    other_process: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    read = Path.read_text

    def hidden(self: Path, *how: Any, **more: Any) -> str:
        if str(self) == f"/proc/{other_process['pid']}/stat":
            raise FileNotFoundError(str(self))
        return read(self, *how, **more)

    assert is_running(other_process)
    monkeypatch.setattr(Path, "read_text", hidden)
    assert is_running(other_process) is None


def test_a_claim_is_taken_back_where_asking_fails(
    place: Location, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(place, owner_of({**this_process(), "ticks": 0}))
    delete = Location.delete

    def refuse(self: Location) -> None:
        if self.name.startswith("000001-"):
            raise OSError(5, "Input/output error")
        delete(self)

    monkeypatch.setattr(Location, "delete", refuse)
    with pytest.raises(InputError, match="nothing can be written there"):
        FolderLock(place).__enter__()
    assert [name.split("-")[0] for name in claim_names(place)] == ["000001"]


def test_a_claim_that_was_deleted_is_a_loss(
    place: Location, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock, "HEARTBEAT_SECONDS", 0.01)
    with FolderLock(place) as held:
        (place / "lock").delete()
        assert held.lost.wait(120)
        with pytest.raises(OwnershipLostError, match="deleted"):
            held.check()


def test_a_former_owner_that_wakes_up_after_the_next_one_ended_has_lost(
    place: Location, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next owner has come and gone; the last beat of the former one writes its claim again."""
    (place / "run.json").write_json({})
    monkeypatch.setattr(lock, "HEARTBEAT_SECONDS", 3600.0)
    former = FolderLock(place).__enter__()
    claim = place / "lock" / f"{former.name}.json"
    asleep = {**claim.read_json(), **ELSEWHERE, "heartbeat": 0.0}
    claim.write_json(asleep)
    with FolderLock(place) as following:
        assert claim_names(place) == [following.name]
    former._write()
    assert claim.exists()
    with pytest.raises(OwnershipLostError):
        former.check()
    former.__exit__(None, None, None)
    assert claim_names(place) == [following.name]
    with FolderLock(place) as last:
        assert last.name.startswith("000003")


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), RuntimeError("away")])
def test_the_heartbeat_goes_on_and_survives_storage_that_fails(
    place: Location, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    monkeypatch.setattr(lock, "HEARTBEAT_SECONDS", 0.01)
    failed, write = threading.Event(), Location.write_bytes

    def fail_once(self: Location, data: bytes) -> None:
        if not failed.is_set():
            failed.set()
            raise error
        write(self, data)

    with FolderLock(place) as held:
        monkeypatch.setattr(Location, "write_bytes", fail_once)
        claim = place / "lock" / f"{held.name}.json"
        first = claim.read_json()["beat"]
        assert failed.wait(120)
        _wait_until(lambda: claim.read_json()["beat"] > first)


def test_of_many_that_want_a_folder_one_at_a_time_has_it(place: Location) -> None:
    put(place, owner_of({**this_process(), "ticks": 0}))
    (place / "run.json").write_json({})
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
            assert "in use by" in str(error) or "at the same time" in str(error)  # noqa: PT017

    threads = [threading.Thread(target=want) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert entered >= 1
    assert most == 1


def test_a_place_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("x")
    with (
        pytest.raises(InputError, match="nothing can be written there"),
        FolderLock(Location.of(file / "run")),
    ):
        pass


def _wait_until(holds: Any, seconds: float = 120.0) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.005)
