"""A place that knows the checksums of what was written below it, so that nobody reads it again."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field

from zarr.abc.store import Store

from dcsvm_dask.storage.checksums import Written
from dcsvm_dask.storage.location import Location


@dataclass(frozen=True, slots=True)
class RecordedPlace(Location):
    """A place that this process writes to, by it or by those below it."""

    written: Written = field(repr=False, compare=False)

    @classmethod
    def at(cls, place: Location) -> RecordedPlace:
        """Return a place of which nothing is known yet."""
        return cls(place.url, Written(place))

    def __truediv__(self, part: str) -> RecordedPlace:
        return RecordedPlace(f"{self.url}/{part}", self.written)

    def store(self) -> Store:
        """Return a Zarr store rooted here."""
        return self.written.store(Location(self.url))

    def write_bytes(self, data: bytes) -> None:
        """Write the object whole or not at all, durable when this returns."""
        Location.write_bytes(self, data)
        self.written.keys[self._key] = len(data), zlib.crc32(data)

    def delete(self) -> None:
        """Delete this object or everything below this folder; nothing happens if it is absent."""
        Location.delete(self)
        gone = [
            key for key in self.written.keys if f"{key}/".startswith(f"{self._key}/".lstrip("/"))
        ]
        for key in gone:
            del self.written.keys[key]

    @property
    def _key(self) -> str:
        """The key of this place below the one where recording began; empty: it is that."""
        return self.url.removeprefix(self.written.place.url).removeprefix("/")
