"""Files that users ask for (predictions, exported models, reports): where they may be written.

Nothing that exists is replaced unless the user says so, and nothing is written inside a run or a
data set, whose files only dcsvm itself writes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from dcsvm_dask.errors import AccessError, InputError, UnreachableError
from dcsvm_dask.storage.location import Location

MARKS = {"run.json": "run", "dataset.json": "data set"}
"""The object that makes a folder what it is."""


def output(
    place: str | os.PathLike[str] | Location, what: str = "out", *, overwrite: bool = False
) -> Location:
    """Return where an output goes.

    Parameters
    ----------
    place : str, path or Location
    what : str, default "out"
        The parameter that names it, for messages.
    overwrite : bool, default False
        Whether a file that is there may be replaced.

    Raises
    ------
    InputError
        If something is there, or the place lies inside a run or a data set.
    """
    target = Location.of(place, writable=True)
    refuse_inside(target, what)
    if target.is_local and Path(target.url).is_dir():
        raise InputError(f"{what}: {target} is a folder; give the name of a file")
    if not overwrite and target.exists():
        raise exists_already(target, what)
    return target


def exists_already(target: Location, what: str = "out") -> InputError:
    """Return the error for an output that is there."""
    return InputError(f"{what}: {target} exists; name another file or give --overwrite")


def refuse_inside(place: Location, what: str = "out") -> None:
    """Refuse a place inside a run or a data set.

    Raises
    ------
    InputError
        If it is.
    """
    for folder in _folders(place):
        for mark, kind in MARKS.items():
            if _is_there(folder / mark):
                raise InputError(
                    f"{what}: {place} lies inside the {kind} {folder}; name a place outside of it"
                )


def _is_there(mark: Location) -> bool:
    try:
        return mark.exists()
    except UnreachableError:
        raise
    except AccessError:  # of a folder above that somebody else owns
        return False


def _folders(place: Location) -> Iterator[Location]:
    """Return the folders around a place, the innermost first."""
    if place.is_local:
        yield from (Location(str(folder)) for folder in Path(place.url).parents)
        return
    scheme, _, path = place.url.partition("://")
    parts = path.split("/")
    for count in range(len(parts) - 1, 0, -1):
        yield Location(f"{scheme}://{'/'.join(parts[:count])}")
