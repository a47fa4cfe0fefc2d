"""Files that exist whole or not at all, on file systems that can less than others."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from dcsvm_dask.storage import files
from dcsvm_dask.storage.files import create_file, make_folder, replace_file
from dcsvm_dask.storage.location import Location
from dcsvm_dask.storage.run import RunFolder
from tests.file_limit import smaller_files
from tests.left import KilledError
from tests.run_folder import HEADER


def refuse(*_: object) -> None:
    raise OSError(errno.EOPNOTSUPP, "Operation not supported")


@pytest.fixture(params=["links", "renames", "neither"])
def able(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Let the file system have hard links, renames that do not replace (exFAT), or neither."""
    if request.param != "links":
        monkeypatch.setattr(os, "link", refuse)
    if request.param == "neither":
        monkeypatch.setattr(files, "_rename_new", refuse)
    monkeypatch.setattr(files, "_RESERVED_SECONDS", 0.1)
    return str(request.param)


def test_a_file_is_created_once(able: str, tmp_path: Path) -> None:
    target = tmp_path / "deep" / "n.json"
    assert create_file(target, b"first")
    assert not create_file(target, b"second")
    assert target.read_bytes() == b"first"
    assert list(target.parent.iterdir()) == [target]


def test_of_many_one_creates_a_file(
    able: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_RESERVED_SECONDS", 5.0)  # none is taken for dead
    for number in range(20):
        target, gate = tmp_path / str(number), threading.Barrier(8)

        def create(i: int, target: Path = target, gate: threading.Barrier = gate) -> bool:
            gate.wait()
            return create_file(target, b"%d" % i * 1000)

        with ThreadPoolExecutor(8) as pool:
            created = list(pool.map(create, range(8)))
        assert sum(created) == 1
        assert target.read_bytes() == b"%d" % created.index(True) * 1000


@pytest.mark.parametrize("write", [replace_file, create_file], ids=lambda one: one.__name__)
def test_a_failure_of_the_system_names_the_file(
    write: Callable[[Path, bytes], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "m.txt"
    with smaller_files(1000), pytest.raises(OSError, match="too large") as full:
        write(target, b"x" * 10_000)
    assert full.value.filename == str(target)

    def refuse(path: Path, *_: object) -> None:  # a folder that may only be read
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(PermissionError) as closed:
        write(target, b"x")
    assert closed.value.filename == str(target)
    assert list(tmp_path.iterdir()) == []


def test_a_failure_of_a_folder_names_that_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(OSError, match="file") as found:
        replace_file(tmp_path / "file" / "m.txt", b"x")
    assert found.value.filename == str(tmp_path / "file")


OPERATIONS: list[tuple[Any, str]] = [
    *((os, name) for name in ("link", "fsync", "unlink", "open")),
    *((Path, name) for name in ("open", "touch", "replace", "unlink")),
    (files, "_rename_new"),
]


def killed_at(number: int, act: Callable[[], Any], monkeypatch: pytest.MonkeyPatch) -> bool:
    """Let the process die before its n-th operation on files; return whether it came so far."""
    count = 0
    with monkeypatch.context() as patch:
        for owner, name in OPERATIONS:
            whole = getattr(owner, name)

            def call(*arguments: Any, whole: Any = whole, **words: Any) -> Any:
                nonlocal count
                count += 1
                if count >= number:  # nothing that it would still do is done
                    raise KilledError
                return whole(*arguments, **words)

            patch.setattr(owner, name, call)
        try:
            act()
        except KilledError:
            return True
    return False


def test_a_kill_at_any_operation_leaves_no_half_commit(
    able: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = RunFolder.create(Location.of(tmp_path), HEADER)
    number = 0
    while True:
        number += 1
        attempt = run.attempt("s", f"n{number}")
        if not killed_at(number, partial(attempt.commit, {"rows": 3}), monkeypatch):
            break
        found = run.find("s", f"n{number}")
        again = run.attempt("s", f"n{number}")
        assert again.commit({"rows": 3}) == (found is None)
        found = run.find("s", f"n{number}")
        assert found is not None
        assert found.record == {"rows": 3}
    assert number > 5


def test_a_kill_at_any_operation_leaves_the_old_file_or_the_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, number = tmp_path / "state.json", 0
    target.write_bytes(b"old")
    while True:
        number += 1
        killed = killed_at(number, lambda: replace_file(target, b"new"), monkeypatch)
        assert target.read_bytes() in ((b"old", b"new") if killed else (b"new",))
        if not killed:
            break
        target.write_bytes(b"old")
    assert number > 3


def test_the_folders_of_a_new_file_are_durable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[Path] = []
    monkeypatch.setattr(files, "sync_folder", synced.append)
    make_folder(tmp_path / "a" / "b")
    assert synced == [tmp_path, tmp_path / "a"]
    synced.clear()
    assert create_file(tmp_path / "a" / "b" / "n.json", b"{}")
    assert synced == [tmp_path / "a" / "b"]
