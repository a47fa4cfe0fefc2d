"""The records of superseded stages, one object for each owner of a run.

``superseded/OWNER.json`` below the run's place is written only by this owner. It holds the
commit objects of each stage, packed. Entries of a later owner replace those of earlier ones, and an
empty entry means that the stage was deleted.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from dcsvm_dask.errors import InputError
from dcsvm_dask.storage.location import Location, seal, unsealed
from dcsvm_dask.storage.object_store import read_intact

SUPERSEDED = "superseded"
_STAGES = "stages"

CommitObjects = dict[str, dict[str, Any]]
"""The commit objects of a stage, by node."""
Packed = dict[str, str]
"""Result of `pack` for each stage."""


def read_superseded(place: Location) -> Packed:
    """Return the superseded stages of the run at a place.

    Raises
    ------
    InputError
        If an object is damaged.
    """
    found: Packed = {}
    folder = place / SUPERSEDED
    for name in folder.list():
        if name.endswith(".json"):
            found.update(_read(folder / name))
    return {stage: packed for stage, packed in found.items() if packed}


def write_superseded(place: Location, owner: str, changed: Packed) -> None:
    """Add stages to an owner's object, replacing their earlier entries.

    Parameters
    ----------
    place : Location
        The run's folder.
    owner : str
        Name of the owner's claim.
    changed : dict of str to str
        Packed commit objects by stage.
    """
    own = place / SUPERSEDED / f"{owner}.json"
    own.write_json(seal({_STAGES: {**_read(own), **changed}}))


def pack(nodes: CommitObjects) -> str:
    """Return commit objects as a short text."""
    return base64.b64encode(zlib.compress(json.dumps(nodes).encode())).decode()


def unpack(packed: str) -> CommitObjects:
    """Return the commit objects from the result of `pack`; none for an empty text."""
    return dict(json.loads(zlib.decompress(base64.b64decode(packed)))) if packed else {}


def _read(place: Location) -> Mapping[str, str]:
    def read() -> Mapping[str, str]:
        return _parse(place.url, place.json_text())

    try:
        return read_intact(read) if place.is_remote else read()
    except FileNotFoundError:
        return {}
    except InputError as error:
        raise InputError(f"{error}; delete it, and the run repeats those stages") from error


@lru_cache(maxsize=4)
def _parse(url: str, text: bytes) -> Mapping[str, str]:
    """Return the entries of an object; cached, since many stages are looked up in one text."""
    try:
        return dict(unsealed(text, url)[_STAGES])
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{url}: damaged: lists no stages") from error
