"""Chunks that foreign programs packed by Blosc, looked at before its decoder trusts them."""

from __future__ import annotations

import itertools
import math
import struct
from typing import Any

import zarr
from zarr.abc.store import RangeByteRequest
from zarr.codecs import BloscCodec
from zarr.core.buffer import default_buffer_prototype
from zarr.core.sync import sync

from dcsvm_dask.errors import InputError

_HEAD = struct.Struct("<4xiii")
"""Of a chunk: bytes unpacked, bytes of a block, bytes packed."""


def is_blosc(array: zarr.Array[Any]) -> bool:
    """Whether a decoder of Blosc sees an array's stored bytes as they are."""
    last = array.compressors[-1] if array.compressors and array.shards is None else None
    return isinstance(last, BloscCodec) or getattr(last, "codec_id", "") == "blosc"


def check_chunks(array: zarr.Array[Any], start: int, stop: int) -> None:
    """Refuse chunks of the rows start:stop whose sizes are not theirs.

    The decoder reads as far as a chunk's first bytes say, beyond its end if they lie.
    """
    store, whole = array.store_path.store, math.prod(array.chunks) * array.dtype.itemsize
    rows = range(start // array.chunks[0], -(-stop // array.chunks[0]))
    others = (range(-(-n // c)) for n, c in zip(array.shape[1:], array.chunks[1:], strict=True))
    for place in itertools.product(rows, *others):
        key = f"{array.store_path.path}/{array.metadata.encode_chunk_key(place)}".lstrip("/")
        first = RangeByteRequest(0, _HEAD.size)
        head = sync(store.get(key, default_buffer_prototype(), byte_range=first))
        if head is None:  # it holds fill values
            continue
        if len(head) < _HEAD.size:
            raise InputError(f"{key} is cut short")
        unpacked, block, packed = _HEAD.unpack(head.to_bytes())
        sizes = packed == sync(store.getsize(key)) and 0 < block <= max(unpacked, 1)
        if not sizes or (unpacked != whole and not array.filters):
            raise InputError(f"{key} is not as long as it says")
