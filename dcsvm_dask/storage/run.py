"""A run folder: parameters, and what its stages committed.

Layout, below the run's place::

    run.json                        parameters, data, versions; written before anything runs
    lock/OWNER.json                 the claim of each process that owned the run; see lock.py
    state/OWNER.json                how that process left the run
    journal/OWNER.json              what it has seen of its stages, workers and faults
    stages/STAGE/commit.json        the stage exists; its record
    stages/STAGE/NODE.json          the node exists; attempt, checksums, record
    stages/STAGE/NODE.ATTEMPT/...   the arrays of one attempt: the small ones in one object
    stages/STAGE/released.json      commit objects of nodes whose arrays nobody needs any more
    superseded/OWNER.json           what was in released.json of superseded stages: rounds

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
from dataclasses import dataclass, replace
from typing import Any

from dcsvm_dask import __version__
from dcsvm_dask.errors import InputError
from dcsvm_dask.storage.location import Location, seal
from dcsvm_dask.storage.lock import Ownership
from dcsvm_dask.storage.nodes import RunNodes, digest_of
from dcsvm_dask.storage.superseded import read_superseded
from dcsvm_dask.versions import RESULT_VERSION

FORMAT = "dcsvm-run-4"
LEFT_BY_A_KILL = ("lock", ".run.json.")


@dataclass(frozen=True, slots=True)
class RunFolder(RunNodes):
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
        own = {"result_version": RESULT_VERSION, "digest": digest_of(header)}
        return cls(place, {"format": FORMAT, **header, **own}, owner)

    def owned(self, owner: Ownership) -> RunFolder:
        """Return the same folder, written for the owner of a claim and only while it owns it."""
        return replace(self, owner=owner)

    def taken_back(self) -> RunFolder:
        """Return the same folder, for steps that know nothing of what was committed before."""
        if self.owner is None:
            return self
        return replace(self, owner=replace(self.owner, turn=self.owner.turn + 1))

    def carried(self) -> RunFolder:
        """Return the same folder, for the process that alone moves records of superseded stages."""
        return replace(self, superseded=read_superseded(self.place))

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
        if header.get("digest") != digest_of(header):
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


def _is_goal(value: Any) -> bool:
    whole = isinstance(value, int) and 0 <= value < 1 << 63
    return whole or (isinstance(value, float) and 0 <= value < math.inf)
