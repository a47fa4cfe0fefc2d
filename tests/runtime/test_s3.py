"""A run on an object store: an S3 server on this machine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dcsvm_dask import api
from dcsvm_dask.errors import InputError
from dcsvm_dask.runtime.session import Execution
from dcsvm_dask.storage.location import Location
from dcsvm_dask.storage.lock import FolderLock

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


@pytest.mark.parametrize("workers", [0, 2])
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
    run = train(data=data, run=place, stop_at=1, execution=execution)
    before = look.attempts(run.folder)
    assert run.status()["model"] == "level-1"
    run = api.resume(place, stop_at=0, execution=execution, quiet=True)
    np.testing.assert_array_equal(look.alpha(run), look.alpha(undisturbed))
    after = look.attempts(run.folder)
    assert {name[0] for name in before if after[name] != before[name]} <= {"arrange"}
    assert look.orphans(run.folder) == []
    assert run.folder.damaged() == []
    assert "lock.json" not in run.folder.place.list()
    with pytest.raises(InputError, match="dcsvm resume"):
        train(data=data, run=place, execution=Execution(workers=0))


def test_a_lock_on_s3_is_written_only_where_none_is(bucket: str) -> None:
    place = Location(f"{bucket}/locked")
    with FolderLock(place):
        assert not (place / "lock.json").write_new(b"{}")
        with pytest.raises(InputError, match="in use by"), FolderLock(place):
            pass
    assert (place / "lock.json").write_new(b"{}")
