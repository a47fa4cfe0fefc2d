"""A run folder: parameters, and what its stages committed.

Layout, below the run's place::

    run.json                        parameters, data, versions; written before anything runs
    lock/OWNER.json                 the claim of each process that owned the run; see lock.py
    state/OWNER.json                how that process left the run
    journal/OWNER.json              what it has seen of its stages, workers and faults
    stages/STAGE/commit.json        the stage exists; its record
    stages/STAGE/NODE.json          the node exists; attempt, checksums, record
    stages/STAGE/NODE.ATTEMPT/...   the arrays of one attempt

A node writes its arrays under an attempt of its own and its JSON object last. What has no such
object does not exist; the object of the attempt that ended first stays. So a node can run twice at
once or die at any moment. Every JSON object carries a checksum of itself: what reads is what was
written.

A process that owns the run (`RunFolder.owned`) writes and deletes nothing after it has lost it:
every change of the folder, and every commit of its tasks, checks its claim first. Should a pause
come between the check and the change, nothing of the next owner is harmed: state and journal lie
under names of their own, and a commit is the one that the next owner's task would make.
"""

from __future__ import annotations

import math
import uuid
import zlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

from dcsvm_dask import __version__
from dcsvm_dask.errors import InputError, RunError
from dcsvm_dask.storage.files import make_folder
from dcsvm_dask.storage.location import Location, seal
from dcsvm_dask.storage.lock import Ownership
from dcsvm_dask.storage.node import Attempt, Committed, checksum_of
from dcsvm_dask.storage.recorded import RecordedPlace
from dcsvm_dask.storage.stage_id import StageId
from dcsvm_dask.versions import RESULT_VERSION

FORMAT = "dcsvm-run-3"

LEFT_BY_A_KILL = ("lock", ".run.json.")
NOBODY = "000000-000000000000"
"""The name under which a folder is written that was opened without its lock."""


@dataclass(frozen=True, slots=True)
class RunFolder:
    """One training's folder.

    Parameters
    ----------
    place : Location
        Where the run lives.
    header : dict
        What ``run.json`` holds: ``settings`` (they shape committed stages), ``goals`` (may change
        between resumes), ``data``, ``versions`` and ``result_version``.
    owner : Ownership, optional
        The claim for which the folder is written.
    """

    place: Location
    header: dict[str, Any]
    owner: Ownership | None = None

    @classmethod
    def create(
        cls, place: Location, header: dict[str, Any], owner: Ownership | None = None
    ) -> RunFolder:
        """Commit the parameters of a new run.

        Raises
        ------
        InputError
            If there is a run already, or a folder with other things in it.
        """
        refuse_existing(place)
        run = cls.draft(place, header, owner)
        run.begin()
        return run

    @classmethod
    def draft(
        cls, place: Location, header: dict[str, Any], owner: Ownership | None = None
    ) -> RunFolder:
        """Return a run that does not exist before `begin`, whatever is written into it."""
        own = {"result_version": RESULT_VERSION, "digest": _digest(header)}
        return cls(place, {"format": FORMAT, **header, **own}, owner)

    def owned(self, owner: Ownership) -> RunFolder:
        """Return the same folder, written for the owner of a claim and only while it owns it."""
        return replace(self, owner=owner)

    @property
    def writer(self) -> str:
        """The name of the claim for which the folder is written."""
        return NOBODY if self.owner is None else self.owner.name

    def begin(self) -> None:
        """Commit the parameters of a draft."""
        self.write("run.json", self.header)

    def write(self, name: str, value: dict[str, Any]) -> None:
        """Write a JSON object beside the stages, with its checksum.

        Raises
        ------
        OwnershipLostError
            If the folder is not the owner's any more.
        """
        self.check_owner()
        (self.place / name).write_json(seal(value))

    def check_owner(self) -> None:
        """Make sure that the folder may be changed; see `write`."""
        if self.owner is not None:
            self.owner.check()

    @classmethod
    def open(cls, place: Location | str) -> RunFolder:
        """Open an existing run.

        Raises
        ------
        InputError
            If there is none, or what is there is damaged or of another format.
        """
        place = Location.of(place)
        header = _read_header(place)
        for key in ("settings", "goals", "data", "versions"):
            if not isinstance(header.get(key), dict):
                raise InputError(f"{place}: run.json is damaged: {key!r} is missing")
        data, holdout = header["data"], header.get("holdout")
        if not (isinstance(data.get("url"), str) and isinstance(holdout, str | None)):
            raise InputError(f"{place}: run.json is damaged: it does not say where the data are")
        if header.get("digest") != _digest(header):
            raise InputError(
                f"{place}: run.json is damaged: it names other parameters or other data than the "
                "run was begun with"
            )
        if not all(map(_is_goal, header["goals"].values())) or not header["goals"].get("tol"):
            raise InputError(f"{place}: run.json is damaged: goals are {header['goals']}")
        return cls(place, header)

    def changed(
        self, *, goals: dict[str, Any] | None = None, data_url: str | None = None
    ) -> RunFolder:
        """Commit what shapes no committed stage.

        Parameters
        ----------
        goals : dict, optional
            Other goals: tolerance, level to stop at.
        data_url : str, optional
            Where the same data lie now.
        """
        header = dict(self.header)
        if goals is not None:
            header["goals"] = goals
        if data_url is not None:
            header["data"] = {**header["data"], "url": data_url}
        run = replace(self, header=header)
        run.begin()
        return run

    def check_result_version(self) -> None:
        """Refuse to add to a run whose results are those of another version of the package.

        Raises
        ------
        InputError
            With both versions and what to do.
        """
        found, made = self.header.get("result_version"), self.header["versions"].get("dcsvm_dask")
        if found != RESULT_VERSION:
            raise InputError(
                f"{self.place}: was begun by dcsvm_dask {made}, whose results have the version "
                f"{found}; those of this dcsvm_dask ({__version__}) have {RESULT_VERSION} and do "
                f"not fit them: go on by dcsvm_dask {made}, or train a new run"
            )

    @property
    def digest(self) -> str:
        """A short hash of what shapes committed stages."""
        return _digest(self.header)

    def stage(self, stage: str) -> Location:
        """Return the place of a stage."""
        return self.place / "stages" / stage

    def attempt(self, stage: str, node: str) -> Attempt:
        """Begin a node's output under a fresh name."""
        home = self.stage(stage)
        if home.is_local:  # durable, which it would not be when arrays make it on their way
            make_folder(Path(home.url))
        name = f"{node}.{uuid.uuid4().hex[:12]}"
        place = RecordedPlace.at(home / name)
        return Attempt(place, home / f"{node}.json", self.digest, self.owner)

    def find(self, stage: str, node: str) -> Committed | None:
        """Return a node's outcome, or None if it has not been committed.

        Raises
        ------
        InputError
            If the commit object is damaged or belongs to other parameters or data.
        """
        home = self.stage(stage)
        place = home / f"{node}.json"
        value = self._commit_object(stage, node)
        if value is None:
            return None
        try:
            digest, attempt, record = value["parameters"], value["attempt"], value["record"]
            keys = {key: (int(size), int(crc)) for key, (size, crc) in value["keys"].items()}
            # Arrays are deleted by this name, so it must not lead out of the stage.
            if "/" in attempt or not attempt.startswith(f"{node}.") or not isinstance(record, dict):
                raise ValueError(attempt)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise InputError(
                f"{place}: damaged commit object; delete it to do that step again"
            ) from error
        if digest != self.digest:
            raise InputError(f"{place}: was committed with other parameters or other data")
        return Committed(home / attempt, record, attempt, keys, value.get("released", False))

    def _commit_object(self, stage: str, node: str) -> dict[str, Any] | None:
        place = self.stage(stage) / f"{node}.json"
        try:
            return place.read_json(sealed=True)
        except FileNotFoundError:
            return None
        except InputError as error:
            if not place.read_bytes():  # a name that was reserved by a process that died
                return None
            raise InputError(f"{error}; delete it to do that step again") from error

    def node(self, stage: str, node: str) -> Committed:
        """Return a node's outcome, which must exist and have all of its objects."""
        found = self.find(stage, node)
        if found is None:
            raise RunError(f"{self.place}: stage {stage}: {node} has not been committed")
        if found.released:
            raise RunError(f"{self.place}: stage {stage}: the arrays of {node} were released")
        sizes = found.place.keys()
        for key, (size, _) in found.keys.items():
            if sizes.get(key) != size:
                self._refuse(found, key, "is missing or cut short", stage, node)
        # Chunks are checked when they are read; what tells their shape and type is checked here.
        for key, (_, crc) in found.keys.items():
            if key.endswith("zarr.json") and checksum_of(f"{found.place}/{key}") != crc:
                checksum_of.cache_clear()
                self._refuse(found, key, "is damaged", stage, node)
        return found

    def _refuse(self, found: Committed, key: str, why: str, stage: str, node: str) -> NoReturn:
        again = self.what_makes_again(stage, node)
        raise RunError(f"{found.place}/{key}: {why}; delete {again} and resume")

    def what_makes_again(self, stage: str, node: str) -> Location:
        """Return what to delete so that a node is made again: a committed stage as a whole."""
        home = self.stage(stage)
        return home if (home / "commit.json").exists() else home / f"{node}.json"

    def stages(self) -> list[str]:
        """Return the names of the stages that have begun, sorted; others' folders are left out."""
        names = (self.place / "stages").list()
        return [name for name in names if StageId(name).is_possible]

    def release(self, stage: str, node: str) -> None:
        """Delete a node's arrays and keep its record: nobody needs them any more."""
        found = self.find(stage, node)
        value = self._commit_object(stage, node)
        if found is None or value is None or found.released or not found.keys:
            return
        self.check_owner()
        # The mark first: a kill in between leaves arrays to sweep, never arrays that look damaged.
        (self.stage(stage) / f"{node}.json").write_json(seal({**value, "released": True}))
        found.place.delete()

    def reopen(self, stage: str) -> None:
        """Make a stage run again where its arrays were released; what was kept is used again."""
        released = [
            node
            for node in self.nodes(stage)
            if node != "commit" and (found := self.find(stage, node)) is not None and found.released
        ]
        self._take_back(stage, ["commit", *released])

    def discard(self, stage: str) -> None:
        """Delete a stage, with its commits."""
        self._take_back(stage, ["commit", *self.nodes(stage)])
        self.stage(stage).delete()

    def _take_back(self, stage: str, nodes: list[str]) -> None:
        """Delete commit objects for good, before anything that they name is deleted."""
        self.check_owner()
        for node in nodes:
            (self.stage(stage) / f"{node}.json").delete()
        self.stage(stage).sync_names()

    def nodes(self, stage: str) -> list[str]:
        """Return the names of a stage's committed nodes, sorted."""
        names = self.stage(stage).list()
        return [name.removesuffix(".json") for name in names if name.endswith(".json")]

    def sweep(self, stage: str) -> None:
        """Delete the arrays of attempts that no commit object names, or names as released."""
        home = self.stage(stage)
        names = home.list()
        found = (self.find(stage, node) for node in self.nodes(stage))
        committed = {one.attempt for one in found if one is not None and not one.released}
        self.check_owner()
        for name in names:
            if not name.endswith(".json") and name not in committed:
                (home / name).delete()


def refuse_existing(place: Location) -> None:
    """Refuse a place for a new run where a run is, or a folder with other things in it.

    Raises
    ------
    InputError
    """
    if (place / "run.json").exists():
        raise InputError(
            f"{place}: a run lives there already: go on with it by `dcsvm resume {place}`, "
            "or name another folder"
        )
    refuse_foreign(place)


def refuse_foreign(place: Location) -> None:
    """Refuse a folder that is not empty and no run, before anything is written there.

    Raises
    ------
    InputError
        If it holds more than a run, or than what a process left that was killed before it
        committed the parameters.
    """
    names = place.list()
    if "run.json" not in names and any(not name.startswith(LEFT_BY_A_KILL) for name in names):
        raise InputError(f"{place}: is not empty and is no run; name another folder")


def _read_header(place: Location) -> dict[str, Any]:
    """Return what ``run.json`` holds; a run of another version is refused by its format."""
    header = place / "run.json"
    try:
        try:
            value = header.read_json(sealed=True)
        except InputError:
            value = header.read_json()  # formats before the third had no checksum
            if value.get("format") == FORMAT:
                raise
    except (FileNotFoundError, NotADirectoryError) as error:
        raise InputError(f"{place}: there is no run (no run.json)") from error
    if value.get("format") != FORMAT:
        raise InputError(
            f"{place}: run.json has the format {value.get('format')!r}, this version reads "
            f"{FORMAT!r}; train a new run, or use the version that wrote it"
        )
    return value


def _digest(header: dict[str, Any]) -> str:
    shaping = repr(sorted(header["settings"].items())) + str(header["data"].get("fingerprint"))
    return f"{zlib.crc32(shaping.encode(errors='backslashreplace')):08x}"


def _is_goal(value: Any) -> bool:
    whole = isinstance(value, int) and 0 <= value < 1 << 63
    return whole or (isinstance(value, float) and 0 <= value < math.inf)
