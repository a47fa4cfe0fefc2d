"""The commit object of a data set: where one is, and what it says; see dataset.py."""

from __future__ import annotations

import math
import os
from typing import Any

from dcsvm_dask.absent import no_such
from dcsvm_dask.errors import AccessError, InputError
from dcsvm_dask.masking import has_credentials
from dcsvm_dask.readers.urls import is_url, is_web
from dcsvm_dask.storage.location import Location

FORMAT = "dcsvm-dataset"
VERSION, VERSION_OF_TARGETS, VERSION_OF_ONE_CLASS = 2, 3, 4
CHECKSUMS = "checksums.json"
COMMIT = "dataset.json"
PARTS = ("train", "test")
ATTEMPT = r"parts-[0-9a-f]{12}"
"""Pattern of the names of attempts to write a data set."""


def read_commit(root: Location) -> dict[str, Any] | None:
    """Return the commit object of a data set at a place; None if there is none."""
    try:
        meta = (root / COMMIT).read_json()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except AccessError:
        raise
    except InputError:
        if is_web(root.url):  # some servers return a page for every address
            return None
        raise
    if meta.get("format") != FORMAT:
        raise InputError(f"{root}: {COMMIT} is not that of a data set")
    return meta


def find_data_set(
    place: str | os.PathLike[str] | Location,
) -> tuple[Location, str, dict[str, Any]] | None:
    """Return the data set at a place, the part, and the commit object; None if there is none.

    Raises
    ------
    AccessError
        If the commit object may not be read.
    """
    place = Location.of(place)
    meta = read_commit(place)
    if meta is not None:
        return place, "train", meta
    meta = read_commit(place.parent) if place.name in PARTS else None
    return None if meta is None else (place.parent, place.name, meta)


def is_data_set(place: str | os.PathLike[str] | Location) -> bool:
    """Return whether a place is a data set or a part of one.

    A signed URL names one file. A place whose ``dataset.json`` may not be read is none: stores deny
    access to absent objects to users who may not list them.
    """
    text = place.url if isinstance(place, Location) else os.fspath(place)
    if is_url(text) and has_credentials(text):
        return False
    try:
        return find_data_set(place) is not None
    except AccessError:
        return False


def require_data_set(place: Location) -> tuple[Location, str, dict[str, Any]]:
    """Return what `find_data_set` does; raise an error that says what is there if it is none."""
    found = find_data_set(place)
    if found is not None:
        return found
    if place.exists() or (place.parent.exists() and place.name in PARTS):
        raise InputError(
            f"{place}: not a data set (or its ingest did not end); make one with dcsvm ingest"
        )
    remedy = "check the path, or make one with dcsvm ingest"
    raise InputError(f"{place}: no data set there: {no_such('file or folder', place.url, remedy)}")


def are_labels(values: Any) -> bool:
    """Return whether a JSON value is a list of labels."""
    return isinstance(values, list) and all(
        isinstance(v, str) or (isinstance(v, int | float) and math.isfinite(v)) for v in values
    )
