"""The records of superseded stages: one object for each owner of a run, however many rounds it has.

Below the run's place lies ``superseded/OWNER.json``, which only this owner writes. It holds the
commit objects of each stage, packed. What a later owner says of a stage stands for what earlier
ones say, and an empty entry says that the stage is gone.
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
"""Of each stage, what `pack` returns."""


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
    """Add stages to an owner's object, in place of what it said of them."""
    own = place / SUPERSEDED / f"{owner}.json"
    own.write_json(seal({_STAGES: {**_read(own), **changed}}))


def pack(nodes: CommitObjects) -> str:
    """Return commit objects as a short text."""
    return base64.b64encode(zlib.compress(json.dumps(nodes).encode())).decode()


def unpack(packed: str) -> CommitObjects:
    """Return the commit objects that `pack` was given; none for an empty text."""
    return dict(json.loads(zlib.decompress(base64.b64decode(packed)))) if packed else {}


def _read(place: Location) -> Mapping[str, str]:
    def read() -> Mapping[str, str]:
        return _parse(place.url, place.json_text())

    try:
        return read_intact(read) if place.is_remote else read()
    except FileNotFoundError:
        return {}
    except InputError as error:
        raise InputError(f"{error}; delete it, and the run does those stages again") from error


@lru_cache(maxsize=4)
def _parse(url: str, text: bytes) -> Mapping[str, str]:
    """Return what an object says; many stages are looked up in one text."""
    try:
        return dict(unsealed(text, url)[_STAGES])
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{url}: damaged: lists no stages") from error
