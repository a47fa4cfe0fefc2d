"""Places for runs, and runs in them."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from dcsvm_dask.storage.location import Location
from dcsvm_dask.storage.run import RunFolder
from tests.run_folder import HEADER


@pytest.fixture(params=["folder", "memory"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Location]:
    """Give a place for a run: a folder, and an object store without conditional writes."""
    if request.param == "folder":
        yield Location.of(tmp_path / "run")
        return
    name = f"memory://{uuid.uuid4().hex}/run"
    yield Location.of(name)
    Location(name).delete()


@pytest.fixture
def run(place: Location) -> RunFolder:
    """Give a new run in each of these places."""
    return RunFolder.create(place, HEADER)


@pytest.fixture(params=["local", "memory"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Location:
    if request.param == "local":
        return Location.of(tmp_path)
    return Location.of(f"memory://{tmp_path.name}")


def chunk_files(place: Location, name: str) -> list[Location]:
    return [place / name / key for key in (place / name).keys() if key.startswith("c/")]  # noqa: SIM118
