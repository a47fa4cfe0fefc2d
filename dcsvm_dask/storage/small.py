"""The small arrays of a node as one object: a line of JSON that describes them, then their bytes.

An array of its own in Zarr takes two objects and several requests, which for vectors of some
thousand numbers is all that they cost. What is larger is an array of its own; see `arrays`.
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
"""The key of the object in a node's folder; no array is called so."""
ARRAY_BYTES = 512 << 10
"""Arrays up to this size are small ..."""
NODE_BYTES = 2 << 20
"""... as long as all of a node take no more than this."""
KEPT = 8
"""Nodes whose small arrays a process remembers."""


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
    """Return the arrays of an object that `to_bytes` made; they cannot be written to."""
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
    """Return the small arrays of a node, of which the checksums are given.

    Raises
    ------
    InputError
        If they are missing or not what was committed.
    """
    return _read(_Known(checksums))


class _Known:
    """Checksums of a node, equal to those of the same object."""

    def __init__(self, checksums: Checksums) -> None:
        self.checksums = checksums
        self._key = checksums.place.url, *checksums.keys[SMALL]

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Known) and other._key == self._key


@lru_cache(maxsize=KEPT)
def _read(known: _Known) -> dict[str, NDArray[Any]]:
    checksums = known.checksums
    remote = checksums.place.is_remote
    data = read_intact(lambda: checksums.read(SMALL)) if remote else checksums.read(SMALL)
    try:
        return from_bytes(data)
    except (ValueError, TypeError, AttributeError) as error:
        raise InputError(
            f"{checksums.place}/{SMALL}: damaged: holds no arrays ({error!s:.200})"
        ) from error
