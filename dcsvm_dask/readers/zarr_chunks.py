"""Checks of chunks of foreign Zarr arrays before they are decoded.

Memory: a chunk decompresses to the size in the metadata of its array, which zarr_files.py
compares with the memory bound. Chunks that are stored in more bytes, or that state a larger size,
are errors; where a codec states none (gzip, zlib, bzip2, LZMA), a chunk is decompressed piece by
piece to count its bytes. So only known codecs are read.
"""

from __future__ import annotations

import bz2
import lzma
import math
import struct
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import zarr
from zarr.abc.store import RangeByteRequest
from zarr.codecs import BytesCodec, Crc32cCodec, ShardingCodec, VLenUTF8Codec
from zarr.core.buffer import default_buffer_prototype
from zarr.core.sync import sync
from zarr.storage import LocalStore

from dcsvm_dask.errors import InputError
from dcsvm_dask.readers.memory import bound, check_bound

_BLOSC = struct.Struct("<4xiii")
"""Header of a chunk: bytes decompressed, bytes of a block, bytes compressed."""
_ZSTD_RATIO = 1 << 15
"""Largest ratio of zstd: four bytes describe a block of 128 kB."""
_CHUNK_MEMORY = 4096
"""Approximate number of bytes of memory for each chunk of a read."""
_PIECE = 1 << 20
_ROOM = 1 << 16

_HEADED = ("blosc", "zstd", "lz4")
_STREAMS = ("gzip", "zlib", "bz2", "lzma")
_CHECKSUMS = ("crc32c", "crc32", "adler32", "fletcher32", "jenkins_lookup3")
_FILTERS = (
    *("delta", "shuffle", "fixedscaleoffset", "quantize", "bitround", "packbits", "astype"),
    *("vlen-utf8", "transpose", *_CHECKSUMS),
)


def check_codecs(array: zarr.Array[Any], name: str) -> None:
    """Raise an error for an array with an unknown codec.

    Raises
    ------
    InputError
        With the codec.
    """
    packings = [k for k in map(_name, array.compressors) if k not in _CHECKSUMS]
    unknown = [k for k in packings if k not in _HEADED + _STREAMS]
    unknown += [k for k in map(_name, array.filters) if k not in _FILTERS]
    if array.metadata.zarr_format == 3 and not isinstance(
        array.serializer, BytesCodec | VLenUTF8Codec
    ):
        unknown.append(_name(array.serializer))
    if unknown or len(packings) > 1:
        shown = ", ".join(unknown or packings)
        raise InputError(
            f"{name}: is compressed by {shown}, which is not supported; compress it with zstd"
        )
    shards = _sharding(array)
    if shards is not None and (
        [type(k) for k in shards.index_codecs] != [BytesCodec, Crc32cCodec]
        or shards.index_location.value != "end"
    ):
        raise InputError(
            f"{name}: has shards with an index that is not supported; write it with Zarr's defaults"
        )


def count_stored(array: zarr.Array[Any]) -> int:
    """Return an upper bound on the stored chunks of an array: all chunks of a shard count."""

    async def count() -> int:
        found = 0
        async for _ in array.store_path.store.list_prefix(f"{array.store_path.path}/"):
            found += 1
        return found

    per_shard = 1 if array.shards is None else math.prod(array.shards) // math.prod(array.chunks)
    return sync(count()) * per_shard


def check_chunks(array: zarr.Array[Any], start: int, stop: int) -> None:
    """Raise an error for stored chunks of the rows start:stop whose sizes are wrong.

    Parameters
    ----------
    array : zarr.Array
    start, stop : int

    Raises
    ------
    InputError
        With the first such chunk.
    """
    packings = [k for k in map(_name, array.compressors) if k not in _CHECKSUMS]
    for chunk in _chunks(array, start, stop):
        most = _most(array)
        if chunk.size > 2 * most + _ROOM:
            raise InputError(f"{chunk.key} is longer than its array says")
        if packings and chunk.size:
            _check_packed(chunk, packings[0], array, most)


class _Chunk:
    """A stored chunk: an object, or a part of one."""

    def __init__(self, store: Any, key: str, offset: int, size: int) -> None:
        self.store, self.key, self.offset, self.size = store, key, offset, size

    def read(self, size: int) -> bytes:
        """Return its first bytes."""
        return _read(
            self.store,
            self.key,
            RangeByteRequest(self.offset, self.offset + min(size, self.size)),
        )


def _chunks(array: zarr.Array[Any], start: int, stop: int) -> Iterator[_Chunk]:
    """Yield the stored chunks of some rows; chunks that are not stored are fill values."""
    store, shards = array.store_path.store, _sharding(array)
    shape = array.chunks if array.shards is None else array.shards
    low = start // shape[0]
    stops = (stop, *array.shape[1:])
    counts = [-(-size // c) for size, c in zip(stops, shape, strict=True)]
    counts[0] -= low
    # Zarr's own memory for each chunk of a read.
    what = f"reading {math.prod(counts):,} chunks at once"
    check_bound(_CHUNK_MEMORY * math.prod(counts), str(array.store_path), what)
    for number in range(math.prod(counts)):
        first, *later = (int(k) for k in np.unravel_index(number, counts))
        key = array.metadata.encode_chunk_key((low + first, *later))
        key = f"{array.store_path.path}/{key}".lstrip("/")
        try:
            size = _size(store, key)
        except (FileNotFoundError, NotADirectoryError):
            continue
        if shards is None:
            yield _Chunk(store, key, 0, size)
        else:
            yield from _parts(array, key, size)


def _parts(array: zarr.Array[Any], key: str, size: int) -> Iterator[_Chunk]:
    """Yield the chunks inside a shard, from its index at the end."""
    assert array.shards is not None
    store = array.store_path.store
    count = math.prod(array.shards) // math.prod(array.chunks)
    index = 16 * count + 4
    check_bound(_CHUNK_MEMORY * count, key, f"a shard of {count:,} chunks")
    if not index <= size <= count * (2 * _most(array) + _ROOM) + index:
        raise InputError(f"{key} is not as long as its array says")
    data = _read(store, key, RangeByteRequest(size - index, size))
    for offset, length in struct.iter_unpack("<QQ", data[:-4]):
        if (offset, length) == (2**64 - 1, 2**64 - 1):
            continue
        if offset + length > size:
            raise InputError(f"{key} is cut short")
        yield _Chunk(store, key, offset, length)


def _most(array: zarr.Array[Any]) -> int:
    """Return the largest decompressed size of a chunk in bytes."""
    if array.dtype.kind not in "biufUSV":  # strings of any length
        return bound() // 16
    whole = math.prod(array.chunks) * array.dtype.itemsize
    return 4 * whole + _ROOM if array.filters else whole


def _check_packed(chunk: _Chunk, packing: str, array: zarr.Array[Any], most: int) -> None:
    exact = array.dtype.kind in "biufUSV" and not array.filters
    if packing in _STREAMS:
        unpacked = _count(chunk, packing, most)
    elif packing == "blosc":
        head = chunk.read(_BLOSC.size)
        if len(head) < _BLOSC.size:
            raise InputError(f"{chunk.key} is cut short")
        unpacked, block, packed = _BLOSC.unpack(head)
        tail = chunk.size - packed
        # The decoder trusts these sizes and would read beyond the chunk's end.
        checked = any(_name(k) in _CHECKSUMS for k in array.compressors)
        if tail not in ((0, 4) if checked else (0,)) or not 0 < block <= max(unpacked, 1):
            raise InputError(f"{chunk.key} is not as long as it says")
    elif packing == "zstd":
        unpacked = _size_of_zstd(chunk.read(18))
        if unpacked < 0:
            unpacked, exact, most = chunk.size * _ZSTD_RATIO, False, max(most, bound() // 16)
    else:
        unpacked = int.from_bytes(chunk.read(4), "little")
    if unpacked > most or (exact and unpacked != most):
        raise InputError(f"{chunk.key} is not as long as it says: {unpacked} bytes, not {most}")


def _count(chunk: _Chunk, packing: str, most: int) -> int:
    """Return the number of decompressed bytes of a chunk, at most one more than allowed."""
    data, found = chunk.read(chunk.size), 0
    while data and found <= most:
        unpacker: Any
        if packing in ("gzip", "zlib"):
            unpacker = zlib.decompressobj(47)  # either kind of header
        else:
            unpacker = bz2.BZ2Decompressor() if packing == "bz2" else _lzma()
        try:
            while not unpacker.eof and found <= most:
                found += len(unpacker.decompress(data, _PIECE))
                data = getattr(unpacker, "unconsumed_tail", b"")
                if not unpacker.eof and not data and getattr(unpacker, "needs_input", True):
                    raise InputError(f"{chunk.key} is cut short")
        except (zlib.error, lzma.LZMAError, OSError) as error:
            raise InputError(f"{chunk.key} cannot be unpacked ({error})") from error
        data = unpacker.unused_data.lstrip(b"\0")
        if packing == "zlib":  # the decoder ignores the rest
            return found
    return found


def _lzma() -> lzma.LZMADecompressor:
    return lzma.LZMADecompressor(lzma.FORMAT_AUTO, memlimit=bound() // 4)


def _size_of_zstd(head: bytes) -> int:
    """Return the decompressed size that a frame of zstd states; -1 if it states none."""
    if len(head) < 6 or head[:4] != b"\x28\xb5\x2f\xfd":
        return 0
    about = head[4]
    single = about >> 5 & 1
    at = 5 + (1 - single) + (0, 1, 2, 4)[about & 3]
    size = (single, 2, 4, 8)[about >> 6]
    if not size:
        return -1
    return int.from_bytes(head[at : at + size], "little") + (256 if size == 2 else 0)


def _sharding(array: zarr.Array[Any]) -> ShardingCodec | None:
    found = [k for k in getattr(array.metadata, "codecs", ()) if isinstance(k, ShardingCodec)]
    return found[0] if found else None


def _name(codec: Any) -> str:
    name = getattr(codec, "codec_id", "") or str(codec.to_dict()["name"])
    return name.removeprefix("numcodecs.")


def _read(store: Any, key: str, part: RangeByteRequest) -> bytes:
    if isinstance(store, LocalStore):  # a tenth of the time
        with (store.root / key).open("rb") as file:
            file.seek(part.start)
            return file.read(part.end - part.start)
    found = sync(store.get(key, default_buffer_prototype(), byte_range=part))
    return b"" if found is None else bytes(found.to_bytes())


def _size(store: Any, key: str) -> int:
    if isinstance(store, LocalStore):
        return (store.root / key).stat().st_size
    return int(sync(store.getsize(key)))
