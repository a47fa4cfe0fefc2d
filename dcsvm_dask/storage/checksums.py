"""Size and checksum of every object of a commit, verified when it is read.

Zarr's own checksum of a chunk is inside the chunk: it detects a flipped bit, but not a chunk that
was copied over another one or comes from another array. So a commit lists each object below its
folder by key, with size and CRC-32, and arrays are read through a store that verifies them. An
object is verified at its first use in a process; later reads compare its size.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any

from zarr.abc.store import Store
from zarr.storage import WrapperStore

from dcsvm_dask.errors import InputError
from dcsvm_dask.storage.location import Location, parse_object
from dcsvm_dask.storage.object_store import read_intact

Keys = Mapping[str, tuple[int, int]]
"""Size in bytes and CRC-32 of each object, by its key below a folder."""

SMALL_BYTES = 64 << 10
"""Objects up to this size are verified in the reading thread."""
MOST_COMPARED = 1 << 20
"""Number of verified objects that a process remembers."""
_compared: set[int] = set()
CACHED_BYTES = 16 << 10
"""Largest size of objects of a remote store that are cached; they never change."""
MOST_CACHED = 256
_cached: dict[tuple[str, int, int], bytes] = {}


@dataclass(frozen=True, slots=True)
class Checksums:
    """The expected sizes and checksums of the objects below a folder.

    Parameters
    ----------
    place : Location
        The folder.
    keys : mapping
        Sizes and checksums by key, of the folder or of a folder above.
    prefix : str, default ""
        Prefix of the folder's keys in `keys`.
    """

    place: Location
    keys: Keys = field(repr=False)
    prefix: str = ""

    def __reduce__(self) -> tuple[Any, ...]:
        own = {key: value for key, value in self.keys.items() if key.startswith(self.prefix)}
        return Checksums, (self.place, own, self.prefix)

    def below(self, name: str) -> Checksums:
        """Return the checksums of a sub-folder."""
        return Checksums(self.place / name, self.keys, f"{self.prefix}{name}/")

    def store(self) -> Store:
        """Return a Zarr store of the folder that reads only committed objects."""
        return CheckedStore(self.place.store(), self)

    def read(self, key: str) -> bytes:
        """Return an object; ``FileNotFoundError`` if none was committed by this key.

        Raises
        ------
        InputError
            If it is missing or differs from the committed one.
        """
        if self.prefix + key not in self.keys:
            raise FileNotFoundError(f"{self.place}/{key}")
        cached = self.cached(key)
        if cached is not None:
            return cached
        try:
            data = (self.place / key).read_bytes()
        except FileNotFoundError as error:
            raise InputError(f"{self.place}/{key}: damaged: it is missing") from error
        self.compare(key, data, anew=True)
        self.keep(key, data)
        return data

    def read_json(self, key: str = "zarr.json") -> dict[str, Any]:
        """Return a JSON object; by default that of the folder's Zarr group or array."""
        read = partial(self.read, key)
        text = read_intact(read) if self.place.is_remote else read()
        return parse_object(text, f"{self.place}/{key}")

    def cached(self, key: str) -> bytes | None:
        """Return the cached bytes of an object; None if it is not cached."""
        return _cached.get((f"{self.place}/{key}", *self.keys[self.prefix + key]))

    def keep(self, key: str, data: Any) -> None:
        """Cache a verified small object of a remote store."""
        size, crc = self.keys[self.prefix + key]
        if self.place.is_remote and size <= CACHED_BYTES:
            while len(_cached) >= MOST_CACHED:
                # Other threads delete entries, too.
                with contextlib.suppress(StopIteration, RuntimeError):
                    _cached.pop(next(iter(_cached)), None)
            _cached[f"{self.place}/{key}", size, crc] = bytes(data)

    def compare(self, key: str, data: Any, *, anew: bool = False) -> None:
        """Verify the bytes of an object; with `anew` also if this process has verified it before.

        Raises
        ------
        InputError
            If they differ from the committed object.
        """
        size, crc = self.keys[self.prefix + key]
        mark = hash((f"{self.place}/{key}", size, crc))
        known = mark in _compared and not anew
        if len(data) == size and (known or zlib.crc32(data) == crc):
            if len(_compared) >= MOST_COMPARED:
                _compared.clear()
            _compared.add(mark)
            return
        raise InputError(
            f"{self.place}/{key}: damaged: its checksum differs from the committed one"
        )


class CheckedStore(WrapperStore[Store]):
    """A store that reads committed objects only, and verifies them."""

    def __init__(self, store: Store, checksums: Checksums) -> None:
        super().__init__(store)
        self._checksums = checksums

    def _with_store(self, store: Store) -> CheckedStore:
        return CheckedStore(store, self._checksums)

    def compare(self, key: str, data: bytes) -> None:
        """Verify the bytes of an object; see `Checksums.compare`."""
        self._check_committed(key)
        self._checksums.compare(key, data)

    async def get(self, key: str, prototype: Any, byte_range: Any = None) -> Any:
        """Return a whole object; None if none was committed by this key."""
        assert byte_range is None, "arrays of commits have no shards"
        if self._checksums.prefix + key not in self._checksums.keys:
            if key.rsplit("/", 1)[-1] == "zarr.json":
                return None
            self._check_committed(key)
        cached = self._checksums.cached(key)
        if cached is not None:
            return prototype.buffer.from_bytes(cached)
        data = await self._store.get(key, prototype)
        if data is None:
            raise InputError(f"{self._checksums.place}/{key}: damaged: it is missing")
        content = data.as_buffer_like()
        if len(content) <= SMALL_BYTES:  # changing threads would take longer
            self._checksums.compare(key, content)
        else:
            await asyncio.to_thread(self._checksums.compare, key, content)
        self._checksums.keep(key, content)
        return data

    def _check_committed(self, key: str) -> None:
        if self._checksums.prefix + key not in self._checksums.keys:
            raise InputError(f"{self._checksums.place}/{key}: damaged: it was not committed")


def write_checksums(place: Location, name: str, keys: Keys) -> list[int]:
    """Write the checksums of a folder as an object in it; return its size and CRC-32."""
    data = json.dumps(dict(sorted(keys.items()))).encode()
    (place / name).write_bytes(data)
    return [len(data), zlib.crc32(data)]


def read_checksums(place: Location, name: str, size: int, crc: int) -> Checksums:
    """Return the checksums that `write_checksums` wrote.

    Parameters
    ----------
    place : Location
        The folder.
    name : str
        Name of the object.
    size, crc : int
        The result of `write_checksums`.

    Returns
    -------
    Checksums

    Raises
    ------
    InputError
        If the object is missing or differs.
    """
    return Checksums(place, _read_keys((place / name).url, size, crc))


@lru_cache(maxsize=16)
def _read_keys(url: str, size: int, crc: int) -> Keys:
    try:
        data = Location(url).json_text()
    except FileNotFoundError as error:
        raise InputError(f"{url}: damaged: it is missing") from error
    if (len(data), zlib.crc32(data)) != (size, crc):
        raise InputError(f"{url}: damaged: its checksum differs from the committed one")
    try:
        return {key: (int(size), int(crc)) for key, (size, crc) in json.loads(data).items()}
    except (ValueError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise InputError(f"{url}: damaged: lists no checksums ({error!s:.200})") from error
