"""A place that records the checksums of objects written below it.

So a commit, which lists them, does not read the objects again.
"""

from __future__ import annotations

import asyncio
import zlib
from dataclasses import dataclass, field
from typing import Any

from zarr.abc.store import Store
from zarr.storage import WrapperStore

from dcsvm_dask.storage.checksums import SMALL_BYTES
from dcsvm_dask.storage.location import Location


@dataclass(frozen=True, slots=True)
class RecordedPlace(Location):
    """A place to which only this process writes, through it and places below it.

    Attributes
    ----------
    root : str
        URL of the place where recording began.
    written : dict
        Size and CRC-32 of the written objects, by keys below the root.
    """

    root: str
    written: dict[str, tuple[int, int]] = field(repr=False, compare=False)

    @classmethod
    def at(cls, place: Location) -> RecordedPlace:
        """Return a place without recorded objects."""
        return cls(place.url, place.url, {})

    def __truediv__(self, part: str) -> RecordedPlace:
        return RecordedPlace(f"{self.url}/{part}", self.root, self.written)

    def store(self) -> Store:
        """Return a Zarr store rooted here."""
        return _RecordingStore(Location.store(self), self.written, self._key)

    def write_bytes(self, data: bytes) -> None:
        """Write the object whole or not at all; it is durable when this returns."""
        Location.write_bytes(self, data)
        self.written[self._key] = len(data), zlib.crc32(data)

    def delete(self) -> None:
        """Delete this object or everything below this folder, if it exists."""
        if self._key in self.written:
            self.parent.delete_objects([self.name])
        else:
            Location.delete(self)
        gone = [key for key in self.written if f"{key}/".startswith(f"{self._key}/".lstrip("/"))]
        for key in gone:
            del self.written[key]

    @property
    def _key(self) -> str:
        """Key of this place below the root; empty for the root."""
        return self.url.removeprefix(self.root).removeprefix("/")


class _RecordingStore(WrapperStore[Store]):
    """A store that records the checksums of written objects."""

    def __init__(self, store: Store, written: dict[str, tuple[int, int]], prefix: str) -> None:
        super().__init__(store)
        self._written, self._prefix = written, f"{prefix}/".lstrip("/")

    def _with_store(self, store: Store) -> _RecordingStore:
        return _RecordingStore(store, self._written, self._prefix.rstrip("/"))

    async def get(self, key: str, prototype: Any, byte_range: Any = None) -> Any:
        """Return an object that this process has written; other processes write none there."""
        if self._prefix + key not in self._written:
            return None
        return await self._store.get(key, prototype, byte_range)

    async def exists(self, key: str) -> bool:
        """Return whether this process has written an object."""
        return self._prefix + key in self._written

    async def set(self, key: str, value: Any) -> None:
        """Write an object."""
        content = value.as_buffer_like()
        small = len(content) <= SMALL_BYTES
        crc = zlib.crc32(content) if small else await asyncio.to_thread(zlib.crc32, content)
        await self._store.set(key, value)
        self._written[self._prefix + key] = (len(value), crc)

    async def set_if_not_exists(self, key: str, value: Any) -> None:
        """Write an object; other processes write none there."""
        await self.set(key, value)
