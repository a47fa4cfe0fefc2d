"""A run on an object store: an S3 server on this machine."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import s3fs

from dcsvm_dask import api
from dcsvm_dask.errors import InputError, RunError
from dcsvm_dask.methods import node
from dcsvm_dask.runtime import tasks
from dcsvm_dask.runtime.execution import Execution
from dcsvm_dask.storage import object_store
from dcsvm_dask.storage.claims import claim_names, read_owner
from dcsvm_dask.storage.location import Location
from dcsvm_dask.storage.lock import FolderLock
from tests.left import damaged
from tests.marks import soak

# Sessions of the client are closed by the garbage collector, with a warning.
pytestmark = [
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.long,
]


@pytest.fixture(scope="module")
def bucket(s3: Callable[[str], str]) -> str:
    return s3("runs")


def copy(folder: Path, to: str) -> str:
    """Copy a data set into the bucket."""
    for path in folder.rglob("*"):
        if path.is_file():
            Location(f"{to}/{path.relative_to(folder).as_posix()}").write_bytes(path.read_bytes())
    return to


@pytest.mark.parametrize("workers", [soak(0), 2])
def test_a_run_on_s3_is_the_same_and_goes_on(
    workers: int,
    bucket: str,
    small: Path,
    train: Callable[..., api.Run],
    undisturbed: api.Run,
    look: Any,
) -> None:
    execution = Execution(workers=workers)
    data, place = copy(small, f"{bucket}/small{workers}.zarr"), f"{bucket}/run{workers}"
    run = train(data=data, run=place, stop_at=1)
    before = look.attempts(run.folder)
    assert run.status()["model"] == "level-1"
    run = api.resume(place, stop_at=0, execution=execution, quiet=True)
    np.testing.assert_array_equal(look.alpha(run), look.alpha(undisturbed))
    after = look.attempts(run.folder)
    assert {name[0] for name in before if after[name] != before[name]} <= {"arrange"}
    assert look.orphans(run.folder) == []
    assert damaged(run.folder) == []
    assert read_owner(run.folder.place) is None
    with pytest.raises(InputError, match="dcsvm resume"):
        train(data=data, run=place, execution=Execution(workers=0))


@pytest.fixture
def shaky(monkeypatch: pytest.MonkeyPatch) -> Callable[[bool], None]:
    """Return a switch: from now on the store fails now and then, or always."""
    read, write = s3fs.S3FileSystem._cat_file, s3fs.S3FileSystem._pipe_file
    calls = {"read": 0, "write": 0}

    async def shaky_read(self: Any, *places: Any, **words: Any) -> bytes:
        calls["read"] += 1
        if always or calls["read"] % 11 == 3:
            raise ConnectionError("the store is away")
        if calls["read"] % 13 == 0:
            await asyncio.sleep(0.1)
        found: bytes = await read(self, *places, **words)
        return found[:-1] if calls["read"] % 37 == 5 else found

    async def shaky_write(self: Any, *places: Any, **words: Any) -> None:
        calls["write"] += 1
        if always or calls["write"] % 9 == 4:
            raise ConnectionError("the store is away")
        await write(self, *places, **words)
        if calls["write"] % 17 == 5:
            raise ConnectionError("the answer was lost")

    always = False

    def switch(on_for_good: bool) -> None:
        nonlocal always
        always = on_for_good
        monkeypatch.setattr(s3fs.S3FileSystem, "_cat_file", shaky_read)
        monkeypatch.setattr(s3fs.S3FileSystem, "_pipe_file", shaky_write)

    monkeypatch.setattr(object_store, "PAUSES", (0.01, 0.02, 0.05))
    return switch


def test_a_store_that_is_slow_fails_now_and_then_and_cuts_objects_short(
    shaky: Callable[[bool], None],
    bucket: str,
    small: Path,
    train: Callable[..., api.Run],
    undisturbed: api.Run,
    look: Any,
) -> None:
    data = copy(small, f"{bucket}/shaky.zarr")
    shaky(False)
    run = train(data=data, run=f"{bucket}/shaky-run", execution=Execution(workers=0))
    np.testing.assert_array_equal(look.alpha(run), look.alpha(undisturbed))
    assert look.attempts(run.folder).keys() == look.attempts(undisturbed.folder).keys()


def test_a_store_that_is_gone_is_named_and_the_run_goes_on_when_it_is_back(
    shaky: Callable[[bool], None],
    bucket: str,
    small: Path,
    train: Callable[..., api.Run],
    undisturbed: api.Run,
    look: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data, place = copy(small, f"{bucket}/gone.zarr"), f"{bucket}/gone-run"

    def leave(*_: object, **__: object) -> Any:
        shaky(True)
        return node.run_node(*_, **__)

    train(data=data, run=place, stop_at=2, execution=Execution(workers=0))
    monkeypatch.setattr(tasks, "run_node", leave)
    with pytest.raises((InputError, RunError), match=rf"{place}.*(the store is away)"):
        api.resume(place, stop_at=0, execution=Execution(workers=0), quiet=True)
    monkeypatch.undo()
    run = api.resume(place, stop_at=0, execution=Execution(workers=0), quiet=True)
    np.testing.assert_array_equal(look.alpha(run), look.alpha(undisturbed))


def test_a_folder_on_s3_has_one_owner(bucket: str) -> None:
    place = Location(f"{bucket}/locked")
    with FolderLock(place) as held:
        held.check()
        with pytest.raises(InputError, match="in use by"), FolderLock(place):
            pass
        (place / "run.json").write_json({})
    assert claim_names(place) == [held.name]
    with FolderLock(place) as following:
        assert claim_names(place) == [following.name]
