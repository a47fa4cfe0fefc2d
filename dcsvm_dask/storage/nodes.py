"""The committed nodes of a run: finding, reading and deleting them.

`RunFolder` in `run` extends it and describes the layout.
"""

from __future__ import annotations

import uuid
import zlib
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from dcsvm_dask.errors import InputError, RunError
from dcsvm_dask.storage.claims import Ownership
from dcsvm_dask.storage.files import make_folder
from dcsvm_dask.storage.location import Location, seal
from dcsvm_dask.storage.node import Attempt, Committed, checksum_of
from dcsvm_dask.storage.recorded import RecordedPlace
from dcsvm_dask.storage.small import SMALL
from dcsvm_dask.storage.stage_id import StageId
from dcsvm_dask.storage.superseded import (
    CommitObjects,
    Packed,
    pack,
    read_superseded,
    unpack,
    write_superseded,
)

RELEASED = "released"
"""Name of the object with the records of released nodes; no node has it."""
MOST_KNOWN = 512
"""Number of commit objects that a process caches."""
READERS = 16
"""Concurrent reads of objects from an object store."""
NOBODY = "000000-000000000000"
"""Name of the writer of a folder that was opened without its lock."""


@dataclass(frozen=True, slots=True)
class RunNodes:
    """The nodes of a run; see `RunFolder` for the parameters."""

    place: Location
    header: dict[str, Any]
    owner: Ownership | None = None
    known: dict[tuple[str, str], Committed] | None = field(default=None, repr=False, compare=False)
    """Results of `find`, where they can be cached: in steps, which delete no commits."""
    superseded: Packed | None = field(default=None, repr=False, compare=False)
    """Result of `read_superseded`, where no other process changes it; see `carried`."""

    @property
    def writer(self) -> str:
        """Name of the claim for which the folder is written."""
        return NOBODY if self.owner is None else self.owner.name

    def check_owner(self, seen: float = 0.0) -> None:
        """Check that the folder may be changed; see `Ownership.check`."""
        if self.owner is not None:
            self.owner.check(seen)

    @property
    def digest(self) -> str:
        """Short hash of the parameters that shape committed stages."""
        return digest_of(self.header)

    def stage(self, stage: str) -> Location:
        """Return the place of a stage."""
        return self.place / "stages" / stage

    def attempt(self, stage: str, node: str) -> Attempt:
        """Begin a node's output under a new name."""
        home = self.stage(stage)
        if home.is_local:  # durable, unlike folders made with an array
            make_folder(Path(home.url))
        name = f"{node}.{uuid.uuid4().hex[:12]}"
        place = RecordedPlace.at(home / name)
        return Attempt(place, home / f"{node}.json", self.digest, self.owner)

    def find(self, stage: str, node: str, *, released: bool = True) -> Committed | None:
        """Return the committed result of a node; None if it has not been committed.

        Parameters
        ----------
        stage, node : str
        released : bool, default True
            Whether to look among released nodes, too; a stage without a commit has none.

        Returns
        -------
        Committed or None

        Raises
        ------
        InputError
            If the commit object is damaged or has other parameters or data.
        """
        known = None if self.known is None else self.known.get((stage, node))
        if known is not None and (released or not known.released):
            return known
        value = self._commit_object(stage, node)
        if value is None and released:
            value = self._released_here(stage).get(node) or self._superseded(stage).get(node)
        if value is None:
            return None
        found = self._parsed(stage, node, value)
        if self.known is not None:
            if len(self.known) >= MOST_KNOWN:
                self.known.clear()
            self.known[stage, node] = found
        return found

    def _parsed(self, stage: str, node: str, value: dict[str, Any]) -> Committed:
        home = self.stage(stage)
        place = home / f"{node}.json"
        try:
            digest, attempt, record = value["parameters"], value["attempt"], value["record"]
            keys = {key: (int(size), int(crc)) for key, (size, crc) in value["keys"].items()}
            # Arrays are deleted by this name, so it must be inside the stage.
            if "/" in attempt or not attempt.startswith(f"{node}.") or not isinstance(record, dict):
                raise ValueError(attempt)
            small = tuple(map(str, value["small"]))
            if small and SMALL not in keys:
                raise ValueError(small)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise InputError(
                f"{place}: damaged commit object; delete it to run that step again"
            ) from error
        if digest != self.digest:
            raise InputError(f"{place}: was committed with other parameters or other data")
        return Committed(home / attempt, record, attempt, keys, value.get("released", False), small)

    def _commit_object(self, stage: str, node: str) -> dict[str, Any] | None:
        place = self.stage(stage) / f"{node}.json"
        try:
            return place.read_json(sealed=True)
        except FileNotFoundError:
            return None
        except InputError as error:
            if not place.read_bytes():  # a name reserved by a process that died
                return None
            raise InputError(f"{error}; delete it to run that step again") from error

    def node(self, stage: str, node: str) -> Committed:
        """Return the committed result of a node, all of whose objects exist.

        Raises
        ------
        RunError
            If it is not committed or released, or an object is missing or damaged.
        """
        found = self.find(stage, node)
        if found is None:
            raise RunError(f"{self.place}: stage {stage}: {node} has not been committed")
        if found.released:
            raise RunError(f"{self.place}: stage {stage}: the arrays of {node} were released")
        if not self.place.is_remote:  # remote objects are verified when they are read
            self._check_stored(stage, node, found)
        return found

    def _check_stored(self, stage: str, node: str, found: Committed) -> None:
        sizes = found.place.keys()
        for key, (size, _) in found.keys.items():
            if sizes.get(key) != size:
                self._refuse(found, key, "is missing or cut short", stage, node)
        # Chunks are verified when they are read, metadata here.
        for key, (_, crc) in found.keys.items():
            if key.endswith("zarr.json") and checksum_of(f"{found.place}/{key}") != crc:
                checksum_of.cache_clear()
                self._refuse(found, key, "is damaged", stage, node)

    def _refuse(self, found: Committed, key: str, why: str, stage: str, node: str) -> NoReturn:
        again = self.what_makes_again(stage, node)
        raise RunError(f"{found.place}/{key}: {why}; delete {again} and resume")

    def what_makes_again(self, stage: str, node: str) -> Location:
        """Return what to delete to make a node again, an object or a folder.

        A committed stage is made again as a whole.
        """
        home = self.stage(stage)
        whole = (home / "commit.json").exists() or "commit" in self._released_here(stage)
        return home if whole else home / f"{node}.json"

    def stages(self) -> list[str]:
        """Return the sorted names of the stages that have begun."""
        begun = self._begun()
        return sorted({*begun, *self._packed()})

    def _begun(self) -> list[str]:
        """Return the names of the stages that have a folder."""
        return [name for name in (self.place / "stages").list() if StageId(name).is_possible]

    def released(self, stage: str) -> set[str]:
        """Return the nodes of a stage whose arrays were released."""
        return {node for node, value in self._released(stage).items() if value["released"]}

    def _released(self, stage: str) -> CommitObjects:
        """Return the commit objects of released nodes."""
        here = self._released_here(stage)  # first, since objects move from here to there
        return {**self._superseded(stage), **here}

    def _released_here(self, stage: str) -> CommitObjects:
        place = self.stage(stage) / f"{RELEASED}.json"
        try:
            return dict(place.read_json(sealed=True)["nodes"])
        except FileNotFoundError:
            return {}
        except InputError as error:
            raise InputError(f"{error}; delete {self.stage(stage)} and resume") from error

    def _superseded(self, stage: str) -> CommitObjects:
        return unpack(self._packed().get(stage, ""))

    def _packed(self) -> Packed:
        return read_superseded(self.place) if self.superseded is None else self.superseded

    def _change_superseded(self, changed: Packed) -> None:
        write_superseded(self.place, self.writer, changed)
        if self.superseded is not None:
            self.superseded.update(changed)
            for stage in [stage for stage, packed in changed.items() if not packed]:
                del self.superseded[stage]

    def release(self, stage: str, *nodes: str) -> None:
        """Delete the arrays of nodes; their records are moved into one object."""
        found = self._commit_objects(stage, nodes)
        if found:
            self.check_owner()
            self._release(stage, found)

    def _release(self, stage: str, found: dict[str, dict[str, Any]]) -> None:
        """Release nodes, given their commit objects.

        The records are written first, then the commit objects are deleted, then the arrays: after a
        kill in between nodes are complete, or arrays are left to delete.
        """
        home = self.stage(stage)
        keys = [f"{value['attempt']}/{key}" for value in found.values() for key in value["keys"]]
        marked = {node: {**value, "released": bool(value["keys"])} for node, value in found.items()}
        kept = {"nodes": {**self._released_here(stage), **marked}}
        (home / f"{RELEASED}.json").write_json(seal(kept))
        home.delete_objects([f"{node}.json" for node in found])
        home.sync_names()
        home.delete_objects(keys)

    def fold(self, stages: Collection[str]) -> None:
        """Move the records of superseded stages into one object, so that rounds leave no files.

        They are copied before they are deleted, so a kill in between leaves both. Stages with kept
        arrays are not moved, so that a user can delete a damaged one with its commit.
        """
        found = {stage: here for stage in stages if (here := self._released_here(stage))}
        if not found:
            return
        self.check_owner()
        moved = {stage: {**self._superseded(stage), **here} for stage, here in found.items()}
        self._change_superseded({stage: pack(nodes) for stage, nodes in moved.items()})
        self.place.delete_objects([f"stages/{stage}/{RELEASED}.json" for stage in found])

    def settle(self, stage: str, kept: Collection[str]) -> None:
        """Delete the objects of a committed stage that are no longer needed.

        Parameters
        ----------
        stage : str
        kept : collection of str
            Nodes whose arrays are kept. Records of all nodes are kept; attempts without a commit
            object are deleted.
        """
        home = self.stage(stage)
        names = home.list()
        nodes = _node_names(names)
        found = self._commit_objects(stage, nodes)
        gone = {node: value for node, value in found.items() if node not in kept}
        attempts = {value["attempt"] for value in found.values()}
        left = [name for name in names if not name.endswith(".json") and name not in attempts]
        self.check_owner()
        if gone:
            self._release(stage, gone)
        for name in left:
            (home / name).delete()

    def _commit_objects(self, stage: str, nodes: Collection[str]) -> CommitObjects:
        """Return the commit objects of nodes that have their own, by node."""

        def read(node: str) -> dict[str, Any] | None:
            value = self._commit_object(stage, node)
            if value is not None:
                self._parsed(stage, node, value)  # raises if it is damaged
            return value

        with ThreadPoolExecutor(READERS if self.place.is_remote else 1) as pool:
            values = pool.map(read, nodes)
            return {node: one for node, one in zip(nodes, values, strict=True) if one is not None}

    def read(self, stage: str, but: Collection[str] = ()) -> dict[str, Committed]:
        """Return the results of all committed nodes of a stage except those in `but`, by name."""
        here = self._objects_here(stage, but)
        found = {**self._superseded(stage), **here}
        return self._outcomes(stage, {node: found[node] for node in found if node not in but})

    def read_all(self) -> dict[str, dict[str, Committed]]:
        """Return the results of all committed nodes, by stage and name."""
        here = {stage: self._objects_here(stage) for stage in self._begun()}
        packed = self._packed()  # last, since objects move from here to there
        return {
            stage: self._outcomes(stage, {**unpack(packed.get(stage, "")), **here.get(stage, {})})
            for stage in sorted({*here, *packed})
        }

    def _objects_here(self, stage: str, but: Collection[str] = ()) -> CommitObjects:
        """Return the commit objects in a stage's folder, including those of released nodes."""
        nodes = [node for node in self.unreleased(stage) if node not in but]
        found = self._commit_objects(stage, nodes)
        return {**self._released_here(stage), **found}

    def _outcomes(self, stage: str, found: CommitObjects) -> dict[str, Committed]:
        return {node: self._parsed(stage, node, value) for node, value in sorted(found.items())}

    def reopen(self, stage: str) -> None:
        """Make a stage run again whose arrays were released; nodes with arrays are reused."""
        released = self._released(stage)
        if not released:
            return
        self.check_owner()
        for node, value in released.items():
            if node != "commit" and not value["released"]:  # it has no arrays
                (self.stage(stage) / f"{node}.json").write_new_json(seal(value))
        self._delete_commits(stage, ["commit"])
        if stage in self._packed():
            self._change_superseded({stage: ""})
        self._delete_commits(stage, [RELEASED])

    def discard(self, *stages: str) -> None:
        """Delete stages with their commits."""
        self.check_owner()
        gone = {stage: "" for stage in stages if stage in self._packed()}
        if gone:
            self._change_superseded(gone)
        for stage in stages:
            self._delete_commits(stage, ["commit", *self.unreleased(stage), RELEASED])
            self.stage(stage).delete()

    def _delete_commits(self, stage: str, nodes: list[str]) -> None:
        """Delete commit objects durably, before the arrays that they name."""
        for node in dict.fromkeys(nodes):
            (self.stage(stage) / f"{node}.json").delete()
        self.stage(stage).sync_names()

    def nodes(self, stage: str) -> list[str]:
        """Return the names of a stage's committed nodes, sorted."""
        names = self.unreleased(stage)
        return sorted({*names, *self._released(stage)})

    def unreleased(self, stage: str) -> list[str]:
        """Return the sorted names of the nodes that have their own commit object."""
        return _node_names(self.stage(stage).list())


def _node_names(names: list[str]) -> list[str]:
    """Return the nodes whose commit objects are among the names in a stage's folder."""
    found = (name.removesuffix(".json") for name in names if name.endswith(".json"))
    return [name for name in found if name != RELEASED]


def digest_of(header: dict[str, Any]) -> str:
    """Return a short hash of the parameters that shape committed stages."""
    shaping = repr(sorted(header["settings"].items())) + str(header["data"].get("fingerprint"))
    return f"{zlib.crc32(shaping.encode(errors='backslashreplace')):08x}"
