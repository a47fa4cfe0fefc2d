"""The small arrays of a node as one object: a line of JSON that describes them, then their bytes.

A Zarr array takes two objects and several requests, which costs more than some thousand numbers.
Larger arrays are Zarr arrays; see `arrays`.
"""

from __future__ import annotations

import json
import math
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.errors import InputError
from dcsvm_dask.storage.checksums import Checksums
from dcsvm_dask.storage.object_store import read_intact

SMALL = "small"
"""Key of the object in a node's folder; no array has this name."""
ARRAY_BYTES = 512 << 10
"""Largest size of a small array ..."""
NODE_BYTES = 2 << 20
"""... as long as all of a node together are not larger than this."""
CACHED_NODES = 8
"""Number of nodes whose small arrays a process caches."""


def to_bytes(arrays: dict[str, NDArray[Any]]) -> bytes:
    """Return arrays of numbers as one object."""
    stored = {
        name: np.ascontiguousarray(values, values.dtype.newbyteorder("<"))
        for name, values in arrays.items()
    }
    about = {name: [one.dtype.str, list(arrays[name].shape)] for name, one in stored.items()}
    head = json.dumps(about).encode() + b"\n"
    return b"".join([head, *(values.tobytes() for values in stored.values())])


def from_bytes(data: bytes) -> dict[str, NDArray[Any]]:
    """Return the arrays of an object of `to_bytes`, read-only."""
    head, _, body = data.partition(b"\n")
    found, at = {}, 0
    for name, (kind, shape) in json.loads(head).items():
        dtype, count = np.dtype(kind), math.prod(shape)
        if dtype.kind not in "biuf":
            raise ValueError(f"{name} is of type {kind}")
        found[name] = np.frombuffer(body, dtype, count, at).reshape(shape)
        at += count * dtype.itemsize
    return found


def read_small(checksums: Checksums) -> dict[str, NDArray[Any]]:
    """Return the small arrays of a node, given its checksums.

    Raises
    ------
    InputError
        If they are missing or damaged.
    """
    return _read(_Key(checksums))


class _Key:
    """Checksums of a node that are equal if their object of small arrays is."""

    def __init__(self, checksums: Checksums) -> None:
        self.checksums = checksums
        self._key = checksums.place.url, *checksums.keys[SMALL]

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and other._key == self._key


@lru_cache(maxsize=CACHED_NODES)
def _read(known: _Key) -> dict[str, NDArray[Any]]:
    checksums = known.checksums
    remote = checksums.place.is_remote
    data = read_intact(lambda: checksums.read(SMALL)) if remote else checksums.read(SMALL)
    try:
        return from_bytes(data)
    except (ValueError, TypeError, AttributeError) as error:
        raise InputError(
            f"{checksums.place}/{SMALL}: damaged: holds no arrays ({error!s:.200})"
        ) from error
