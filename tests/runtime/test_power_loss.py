"""What a disk may hold when the power fails, at any moment of an ingest and a training.

Killed processes do not show it: what they wrote and did not sync survives in the page cache. So
every write, rename, link, deletion and sync of a real training is recorded, and at each prefix of
that record the disk is taken at its worst. What was not synced may be there or not, name by name
and file by file: a commit object counts as soon as it has its name, its arrays only when their
content and all of their names are synced, and what was deleted counts as gone at once.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

RECORD = """
import json, os, sys
from pathlib import Path

root, events = sys.argv[1], []
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC


def absolute(path, folder=-1):
    path = os.fsdecode(path)
    if not path.startswith("/") and folder not in (None, -1):
        path = os.readlink(f"/proc/self/fd/{folder}") + "/" + path
    return path


def keys(path):
    if not absolute(path).rsplit("/", 1)[-1].startswith("."):
        return None
    try:
        value = json.loads(Path(os.fsdecode(path)).read_bytes())
    except (OSError, ValueError):
        return None
    if not isinstance(value, dict) or "attempt" not in value:
        return None
    files = [f"{value['attempt']}/{key}" for key in value.get("keys", {})]
    return files


def hook(event, arguments):
    if event == "open" and not isinstance(arguments[0], int) and arguments[2] & WRITES:
        events.append(["write", absolute(arguments[0])])
    elif event == "os.mkdir":
        events.append(["mkdir", absolute(arguments[0], arguments[2])])
    elif event == "os.rename":
        moved = [absolute(arguments[0], arguments[2]), absolute(arguments[1], arguments[3])]
        events.append(["rename", *moved, keys(arguments[0])])
    elif event == "os.link":
        events.append(["link", *map(absolute, arguments[:2]), keys(arguments[0])])
    elif event in ("os.remove", "os.rmdir"):
        events.append(["remove", absolute(arguments[0], arguments[1])])


whole = os.fsync


def fsync(file):
    path = os.readlink(f"/proc/self/fd/{file if isinstance(file, int) else file.fileno()}")
    whole(file)
    events.append(["sync", path])


import dcsvm_dask as dcsvm
from dcsvm_dask.methods import sizes
from dcsvm_dask.runtime import carry
from importlib import resources

sizes.SLOT_ROWS = 128
carry.MOST_SUPERSEDED = 2
os.fsync = fsync
sys.addaudithook(hook)
here = dcsvm.Execution(workers=0)
source = resources.files("dcsvm_dask.demo") / "covtype.csv.xz"
words = dict(label="lodgepole_pine", rows=(0, 600), scale="minmax")
dcsvm.ingest(str(source), root + "/data.zarr", **words)
how = dict(gamma=8.0, C=8.0, clusters=(4, 2), block_cap=128, tol=1e-4, quiet=True, report=False)
dcsvm.train(root + "/data.zarr", root + "/run", execution=here, stop_at=1, **how)
dcsvm.resume(root + "/run", execution=here, stop_at=0, quiet=True, report=False)
recorded = list(events)
print(json.dumps([e for e in recorded if any(str(a).startswith(root) for a in e[1:3])]))
"""


@dataclass
class Disk:
    """Names, files and what of both is durable after some of the events.

    Attributes
    ----------
    names : dict
        Number of the file or folder that each path names now.
    safe_names : set
        Paths whose name was synced with its folder since it was given.
    safe_files : set
        Numbers of files that were synced since they were written.
    commits : dict
        What each commit object may hold on disk: the files that it names, for the durable version
        and all later ones.
    """

    names: dict[str, int] = field(default_factory=dict)
    safe_names: set[str] = field(default_factory=set)
    safe_files: set[int] = field(default_factory=set)
    commits: dict[str, list[list[str]]] = field(default_factory=dict)
    count: int = 0

    def play(self, event: str, path: str, *more: Any) -> None:
        """Take the next event."""
        if event == "write":
            if path in self.names:
                self.safe_files.discard(self.names[path])
            else:
                self._name(path, self._new())
        elif event == "mkdir":
            if path not in self.names:  # also reported where the folder is there already
                self._name(path, self._new())
        elif event in ("rename", "link"):
            target, keys = more
            self._name(target, self.names[path])
            if event == "rename":
                self._forget(path)
            if keys is not None:
                folder = PurePosixPath(target).parent
                self.commits.setdefault(target, []).append([str(folder / key) for key in keys])
        elif event == "remove":
            # Also reported where a folder is not empty and stays.
            if not any(name.startswith(f"{path}/") for name in self.names):
                self._forget(path)
        elif event == "sync":
            self._sync(path)

    def _new(self) -> int:
        self.count += 1
        return self.count

    def _name(self, path: str, number: int) -> None:
        self.names[path] = number
        self.safe_names.discard(path)

    def _forget(self, path: str) -> None:
        self.names.pop(path, None)
        self.safe_names.discard(path)

    def _sync(self, path: str) -> None:
        if path in self.names:
            self.safe_files.add(self.names[path])
        for name in self.names:
            if name.rsplit("/", 1)[0] == path:
                self.safe_names.add(name)
        for name, versions in list(self.commits.items()):
            if name.rsplit("/", 1)[0] == path:
                if name in self.names:
                    self.commits[name] = versions[-1:]
                else:
                    del self.commits[name]

    def is_safe(self, path: str, root: str) -> bool:
        """Whether a file is on disk for certain, with its content and every folder above it."""
        above = [str(one) for one in PurePosixPath(path).parents if str(one).startswith(root + "/")]
        return self.names.get(path) in self.safe_files and {path, *above} <= self.safe_names


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, list[list[Any]]]:
    """Give the folder of an ingest, a training and a resume, and what they did to the disk."""
    root = tmp_path_factory.mktemp("recorded")
    done = subprocess.run(
        [sys.executable, "-c", RECORD, root], capture_output=True, text=True, check=True
    )
    return str(root), json.loads(done.stdout.splitlines()[-1])


@pytest.mark.long
def test_no_prefix_shows_a_commit_whose_arrays_are_incomplete(
    record: tuple[str, list[list[Any]]],
) -> None:
    root, events = record
    disk, checked = Disk(), 0
    for number, event in enumerate(events):
        disk.play(*event)
        # Nothing becomes unsafe but by these: what was checked at a commit stays so otherwise.
        if event[0] in ("sync", "mkdir"):
            continue
        touched = set(event[1:3])
        for commit, versions in disk.commits.items():
            for files in versions:
                look = files if commit in touched else touched & set(files)
                unsafe = [file for file in look if not disk.is_safe(file, root)]
                assert not unsafe, f"event {number} {event}: {commit} may be without {unsafe[0]}"
                checked += len(look)
    assert len([event for event in events if event[0] in ("link", "rename") and event[3]]) > 20
    assert any(event[0] == "remove" and "/stages/" in event[1] for event in events)
    assert checked > 100


@pytest.mark.long
def test_no_record_is_deleted_before_its_copy_is_durable(
    record: tuple[str, list[list[Any]]],
) -> None:
    root, events = record
    disk, gone = Disk(), {"node": 0, "released": 0}
    for event, path, *more in events:
        parts = PurePosixPath(path).relative_to(root).parts
        # The arrangement is done again when the run goes on: its commit is taken back.
        commit = parts[1:2] == ("stages",) and path.endswith(".json") and len(parts) == 4
        if event == "remove" and commit and path in disk.names and parts[2] != "arrange":
            moved = parts[3] == "released.json"
            copies = [
                name
                for name in disk.names
                if PurePosixPath(name).parent.name == "superseded" and name.endswith(".json")
            ]
            copies = copies if moved else [f"{PurePosixPath(path).parent}/released.json"]
            hidden = parts[3].startswith(".")
            assert hidden or any(disk.is_safe(name, root) for name in copies), path
            if not hidden:
                gone["released" if moved else "node"] += 1
        disk.play(event, path, *more)
    assert gone["node"] > 10
    assert gone["released"] > 1


def test_what_was_committed_is_durable_at_the_end(record: tuple[str, list[list[Any]]]) -> None:
    root, events = record
    disk = Disk()
    for event in events:
        disk.play(*event)
    there = [path for path in disk.names if path.endswith(".json") and "/stages/" in path]
    commits = [path for path in there if not path.endswith("zarr.json")]
    assert len(commits) > 10
    moved = [path for path in disk.names if "/run/superseded/" in path and path.endswith(".json")]
    assert len(moved) == 1  # of the resume, which has the rounds
    for path in [*commits, *moved, f"{root}/run/run.json", f"{root}/data.zarr/dataset.json"]:
        assert disk.is_safe(path, root), path


def test_a_data_set_is_durable_before_it_has_its_commit(
    record: tuple[str, list[list[Any]]],
) -> None:
    root, events = record
    disk, committed = Disk(), f"{root}/data.zarr/dataset.json"
    for event in events:
        disk.play(*event)
        if event[0] == "rename" and event[2] == committed:
            break
    parts = [path for path in disk.names if "/data.zarr/parts-" in path and Path(path).is_file()]
    assert len(parts) > 5
    assert all(disk.is_safe(path, root) for path in parts)
