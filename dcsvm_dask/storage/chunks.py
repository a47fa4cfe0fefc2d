"""Chunks of local arrays, decoded straight into the array that is returned.

Zarr decodes each chunk on another thread to memory of its own and copies it from there, which takes
twice as long. Where many chunks are read it decodes them side by side, and is left to it.
"""

from __future__ import annotations

import math
import struct
import sys
from functools import lru_cache
from typing import Any

import google_crc32c
import numpy as np
import zarr
from numcodecs import Blosc
from numpy.typing import NDArray
from zarr.codecs import BloscCodec, BytesCodec, Crc32cCodec

from dcsvm_dask.errors import InputError
from dcsvm_dask.storage.checksums import CheckedStore
from dcsvm_dask.storage.location import Location

MOST_CHUNKS = 4
"""Number of chunks from which on Zarr's threads are faster."""
CHUNK_BYTES = 4 << 20
"""Target size of chunks, uncompressed."""
_CODEC = Blosc()
# Compressed chunks of up to so many bytes hold little that differs.
_REPEATED = 8 << 10
# Bytes of a chunk, of a block of it, and of the compressed chunk.
_HEADER = struct.Struct("<4xiii")
_CRC = 4


def read_chunks(
    array: zarr.Array[Any], place: Location, start: int, stop: int
) -> NDArray[Any] | None:
    """Return array[start:stop]; None: Zarr has to read them, or to say what is wrong with them.

    Parameters
    ----------
    array : zarr.Array
        With the codecs of `create_array`.
    place : Location
        The place of the array.
    start, stop : int
        Rows that exist.

    Returns
    -------
    ndarray or None
    """
    if not (place.is_local and array.ndim and start < stop and _is_packed(array)):
        return None
    rows, width = array.chunks[0], array.shape[1:]
    numbers = range(start // rows, -(-stop // rows))
    if len(numbers) > MOST_CHUNKS:
        return None
    found: NDArray[Any] = np.empty((stop - start, *width), array.dtype)
    for number in numbers:
        first = number * rows
        low, high = max(start, first), min(stop, first + rows)
        packed = _packed(array, place, number)
        if packed is None:
            return None
        wanted = found[low - start : high - start]
        chunk = wanted if high - low == rows else np.empty((rows, *width), array.dtype)
        try:
            if len(packed) <= _REPEATED and chunk.nbytes <= CHUNK_BYTES:
                chunk = _decoded(packed, chunk.nbytes).view(array.dtype).reshape(chunk.shape)
            else:
                _CODEC.decode(packed, chunk)
        except (ValueError, RuntimeError):
            return None
        if chunk is not wanted:
            wanted[...] = chunk[low - first : high - first]
    return found


@lru_cache(maxsize=2)
def _decoded(packed: bytes, size: int) -> NDArray[np.uint8]:
    """Return a chunk that may come again: one of a single value, such as those of binary rows."""
    chunk = np.empty(size, np.uint8)
    _CODEC.decode(packed, chunk)
    return chunk


def _is_packed(array: zarr.Array[Any]) -> bool:
    """Return whether chunks are compressed rows of whole length."""
    codecs: Any = array.metadata.codecs  # type: ignore[union-attr]
    kinds = [type(codec) for codec in codecs]
    return (
        kinds == [BytesCodec, BloscCodec, Crc32cCodec]
        and sys.byteorder == "little"
        and array.chunks[1:] == array.shape[1:]
    )


def _packed(array: zarr.Array[Any], place: Location, number: int) -> bytes | None:
    """Return a chunk as Blosc packed it; None if it is missing or damaged."""
    key = "/".join(["c", str(number), *(["0"] * (array.ndim - 1))])
    store = array.store_path.store
    try:
        content = (place / key).read_bytes()
        if isinstance(store, CheckedStore):
            store.compare(key, content)
    except (OSError, InputError):
        return None
    packed, crc = content[:-_CRC], content[-_CRC:]
    if len(packed) < _HEADER.size:
        return None
    if google_crc32c.value(packed) != int.from_bytes(crc, "little"):
        return None
    size, _, packed_size = _HEADER.unpack_from(packed)
    # The decoder trusts these sizes, and would read or write beyond the ends.
    expected = math.prod(array.chunks) * array.dtype.itemsize
    return packed if (size, packed_size) == (expected, len(packed)) else None
