"""Output files of users (predictions, exported models, reports): checks of their places.

Existing files are replaced only if the user says so, and nothing is written inside a run or a
data set.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from dcsvm_dask.errors import AccessError, InputError, UnreachableError
from dcsvm_dask.spelling import flag
from dcsvm_dask.storage.location import Location

MARKS = {"run.json": "run", "dataset.json": "data set"}
"""Objects that mark a folder as a run or data set."""


def output(
    place: str | os.PathLike[str] | Location, what: str = "out", *, overwrite: bool = False
) -> Location:
    """Return the place of an output.

    Parameters
    ----------
    place : str, path or Location
    what : str, default "out"
        Name of the parameter, for messages.
    overwrite : bool, default False
        Whether an existing file may be replaced.

    Returns
    -------
    Location

    Raises
    ------
    InputError
        If a file exists there, or the place is inside a run or a data set.
    """
    refuse_standard_output(place, what)
    target = Location.of(place, writable=True)
    refuse_inside(target, what)
    if target.is_local and Path(target.url).is_dir():
        raise InputError(f"{what}: {target} is a folder; give the name of a file")
    if not overwrite and target.exists():
        raise exists_already(target, what)
    return target


def exists_already(target: Location, what: str = "out") -> InputError:
    """Return the error for an output that exists."""
    return InputError(f"{what}: {target} exists; name another file or give {flag('overwrite')}")


def refuse_standard_output(place: str | os.PathLike[str] | Location, what: str = "out") -> None:
    """Raise an error for ``-``, which stands for standard output elsewhere.

    Raises
    ------
    InputError
        If it is that.
    """
    if isinstance(place, str) and place == "-":
        raise InputError(
            f"{what}: standard output cannot be written to: a file is written whole or not at all; "
            "give the name of a file"
        )


def refuse_inside(place: Location, what: str = "out") -> None:
    """Raise an error for a place inside a run or a data set.

    Raises
    ------
    InputError
        If it is inside one.
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
    except AccessError:  # a parent folder of another user
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
