"""A run folder: parameters, and the results of its stages.

Layout, below the run's place::

    run.json                        parameters, data, versions; written before anything runs
    lock/OWNER.json                 the claim of each process that owned the run; see lock.py
    state/OWNER.json                the state of the run when that process left it
    journal/OWNER.json              its events of stages, workers and faults
    stages/STAGE/commit.json        commits the stage; its record
    stages/STAGE/NODE.json          commits the node; attempt, checksums, record
    stages/STAGE/NODE.ATTEMPT/...   the arrays of one attempt: the small ones in one object
    stages/STAGE/released.json      commit objects of nodes whose arrays are no longer needed
    superseded/OWNER.json           the released.json of superseded stages: rounds

A node writes its arrays under its own attempt and its JSON object last. Without that object the
node does not exist; the object of the attempt that ended first stays. So a node can run twice at
once or die at any moment. Every JSON object carries its own checksum, which is verified.

A process that owns the run (`RunFolder.owned`) writes and deletes nothing after it has lost it:
every change of the folder, and every commit of its tasks, checks its claim first. A pause between
the check and the change does not harm the next owner: state and journal have names of their own,
and a commit is the one that the next owner's task would make.
"""

from __future__ import annotations

import math
import shlex
from dataclasses import dataclass, replace
from typing import Any

from dcsvm_dask import __version__
from dcsvm_dask.absent import no_such
from dcsvm_dask.errors import InputError
from dcsvm_dask.storage.claims import Ownership
from dcsvm_dask.storage.easy import state_of_folder
from dcsvm_dask.storage.location import Location, seal
from dcsvm_dask.storage.nodes import RunNodes, digest_of
from dcsvm_dask.storage.superseded import read_superseded
from dcsvm_dask.versions import RESULT_VERSION

FORMAT = "dcsvm-run-4"
LEFT_BY_A_KILL = ("lock", ".run.json.")


@dataclass(frozen=True, slots=True)
class RunFolder(RunNodes):
    """The folder of a training.

    Parameters
    ----------
    place : Location
        The folder.
    header : dict
        The content of ``run.json``: ``settings`` (they shape committed stages), ``goals`` (may
        change between resumes), ``data``, ``versions`` and ``result_version``.
    owner : Ownership, optional
        The claim for which the folder is written.
    """

    @classmethod
    def create(
        cls, place: Location, header: dict[str, Any], owner: Ownership | None = None
    ) -> RunFolder:
        """Create a run and commit its parameters.

        Parameters
        ----------
        place : Location
        header : dict
            ``settings``, ``goals``, ``data`` and ``versions``.
        owner : Ownership, optional
            The claim for which the folder is written.

        Returns
        -------
        RunFolder

        Raises
        ------
        InputError
            If there is a run already, or a folder with other content.
        """
        refuse_existing(place)
        run = cls.draft(place, header, owner)
        run.begin()
        return run

    @classmethod
    def draft(
        cls, place: Location, header: dict[str, Any], owner: Ownership | None = None
    ) -> RunFolder:
        """Return a run that does not exist before `begin`.

        Parameters
        ----------
        place : Location
        header : dict
            ``settings``, ``goals``, ``data`` and ``versions``.
        owner : Ownership, optional
            The claim for which the folder is written.

        Returns
        -------
        RunFolder
        """
        own = {"result_version": RESULT_VERSION, "digest": digest_of(header)}
        return cls(place, {"format": FORMAT, **header, **own}, owner)

    def owned(self, owner: Ownership) -> RunFolder:
        """Return the folder for its owner; it is changed only while the claim owns it."""
        return replace(self, owner=owner)

    def taken_back(self) -> RunFolder:
        """Return the folder after commits were deleted, so that steps do not use cached commits."""
        if self.owner is None:
            return self
        return replace(self, owner=replace(self.owner, turn=self.owner.turn + 1))

    def carried(self) -> RunFolder:
        """Return the folder for the process that runs the method.

        That process alone moves superseded records.
        """
        return replace(self, superseded=read_superseded(self.place))

    def begin(self) -> None:
        """Commit the parameters of a draft."""
        self.write("run.json", self.header)

    def write(self, name: str, value: dict[str, Any]) -> None:
        """Write a sealed JSON object beside the stages.

        Raises
        ------
        OwnershipLostError
            If the owner has lost the folder.
        """
        self.check_owner()
        (self.place / name).write_json(seal(value))

    @classmethod
    def open(cls, place: Location | str) -> RunFolder:
        """Open an existing run.

        Raises
        ------
        InputError
            If there is none, or it is damaged or of another format.
        """
        place = Location.of(place)
        header = _read_header(place)
        for key in ("settings", "goals", "data", "versions"):
            if not isinstance(header.get(key), dict):
                raise InputError(f"{place}: run.json is damaged: {key!r} is missing")
        data, holdout = header["data"], header.get("holdout")
        if not (isinstance(data.get("url"), str) and isinstance(holdout, str | None)):
            raise InputError(f"{place}: run.json is damaged: the place of the data is missing")
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
        """Commit changed parameters that shape no committed stage.

        Parameters
        ----------
        goals : dict, optional
            New goals: tolerance, level to stop at.
        data_url : str, optional
            New address of the same data.

        Returns
        -------
        RunFolder
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
        """Raise an error if results of the run are those of another version of the package.

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
                f"not fit them: continue with dcsvm_dask {made}, or train a new run"
            )


def refuse_existing(place: Location) -> None:
    """Raise an error for a new run's place that has a run or other content.

    Raises
    ------
    InputError
        If it has.
    """
    if (place / "run.json").exists():
        raise InputError(
            f"{place}: a run exists there; continue it with "
            f"`dcsvm resume {shlex.quote(place.url)}`, or name another folder"
        )
    refuse_foreign(place)


def refuse_foreign(place: Location) -> None:
    """Raise an error for a folder that is neither empty nor a run.

    It is called before anything is written there.

    Raises
    ------
    InputError
        If it has other content than a run, or than a process that was killed before it committed
        the parameters.
    """
    names = place.list()
    if "run.json" not in names and any(not name.startswith(LEFT_BY_A_KILL) for name in names):
        raise InputError(f"{place}: is neither empty nor a run; name another folder")


def _read_header(place: Location) -> dict[str, Any]:
    """Return the content of ``run.json``; a run of another format is an error."""
    header = place / "run.json"
    try:
        try:
            value = header.read_json(sealed=True)
        except InputError:
            value = header.read_json()  # formats before the third had no checksum
            if value.get("format") == FORMAT:
                raise
    except (FileNotFoundError, NotADirectoryError) as error:
        wrong = state_of_folder(place) or "there is no run (no run.json)"
        if place.is_local and not place.exists():
            wrong = f"there is no run: {no_such('folder', place.url)}"
        raise InputError(f"{place}: {wrong}") from error
    if value.get("format") != FORMAT:
        raise InputError(
            f"{place}: run.json has the format {value.get('format')!r}, this version reads "
            f"{FORMAT!r}; train a new run, or use the version that wrote it"
        )
    return value


def _is_goal(value: Any) -> bool:
    whole = isinstance(value, int) and 0 <= value < 1 << 63
    return whole or (isinstance(value, float) and 0 <= value < math.inf)
