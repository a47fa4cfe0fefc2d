"""A node of a run: the attempt that is being written, and the committed result.

The layout, and the choice between several attempts, are described in `run`.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
import zarr

from dcsvm_dask.errors import RunError
from dcsvm_dask.storage.arrays import open_array, read_array, write_array
from dcsvm_dask.storage.checksums import Checksums
from dcsvm_dask.storage.claims import Ownership
from dcsvm_dask.storage.location import Location, seal
from dcsvm_dask.storage.recorded import RecordedPlace
from dcsvm_dask.storage.rows.read import RowArray, open_rows
from dcsvm_dask.storage.small import ARRAY_BYTES, NODE_BYTES, SMALL, read_small, to_bytes

Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Committed:
    """The committed result of a node: arrays below ``place`` and a small record."""

    place: Location
    record: Record
    attempt: str
    keys: dict[str, tuple[int, int]] = field(repr=False)
    released: bool = False
    """Whether the arrays were deleted because they are no longer needed."""
    small: tuple[str, ...] = ()
    """Names of the arrays that are stored in one object."""

    def has(self, name: str) -> bool:
        """Return whether an array was committed."""
        return name in self.small or f"{name}/zarr.json" in self.keys

    def read(self, name: str, rows: slice | None = None) -> np.ndarray:
        """Return one array, or some of its rows."""
        if name in self.small:
            values = read_small(self.checksums)[name]
            return values[... if rows is None or not values.ndim else rows].copy()
        return read_array(self.place / name, rows, checksums=self.checksums.below(name))

    def open_array(self, name: str) -> zarr.Array[Any]:
        """Return an array that is not small, for reading."""
        return open_array(self.place / name, checksums=self.checksums.below(name))

    def open_rows(self, name: str) -> RowArray:
        """Return rows that `write_rows` wrote."""
        return open_rows(self.place / name, self.checksums.below(name))

    @property
    def checksums(self) -> Checksums:
        """Expected checksums of the node's objects."""
        return Checksums(self.place, self.keys)

    def verify(self) -> bool:
        """Return whether every object exists with its committed checksum."""
        return self.released or _checksums(self.place) == self.keys


@dataclass(frozen=True, slots=True)
class Attempt:
    """The output of a node that is being written; invisible until it is committed."""

    place: RecordedPlace
    commit_object: Location
    digest: str
    owner: Ownership | None = None
    _written: list[str] = field(default_factory=list, repr=False)
    _small: dict[str, np.ndarray] = field(default_factory=dict, repr=False)

    def write(self, name: str, array: np.ndarray, chunk: int | None = None) -> None:
        """Write an array; small ones are written at the commit.

        Parameters
        ----------
        name : str
        array : ndarray
            Of a numeric type.
        chunk : int, optional
            Rows of a chunk; by default chunks of about 4 MB.
        """
        values = np.asarray(array)
        before = sum(one.nbytes for one in self._small.values())
        if values.nbytes <= min(ARRAY_BYTES, NODE_BYTES - before):
            self._small[name] = values.copy()
            return
        write_array(self.place / name, array, chunk)
        self._written.append(name)

    def commit(self, record: Record) -> bool:
        """Commit the node, unless another attempt has; return whether this one is committed.

        Raises
        ------
        RunError
            If arrays were deleted, or the process that this attempt works for no longer owns the
            run.
        """
        value = {
            "attempt": self.place.name,
            "parameters": self.digest,
            "keys": self._keys(),
            "small": list(self._small),
            "record": record,
        }
        if self.owner is not None:
            self.owner.check()
        if self.commit_object.write_new_json(seal(value)):
            return True
        # A client that retries after a lost answer finds its own object.
        return self.commit_object.read_json(sealed=True).get("attempt") == self.place.name

    def _keys(self) -> dict[str, tuple[int, int]]:
        """Return the stored keys, durable, with sizes and checksums."""
        if self._small:
            (self.place / SMALL).write_bytes(to_bytes(self._small))
        if self.place.is_remote and set(self.place.written) <= {SMALL}:
            return dict(self.place.written)  # just written, durable
        try:
            self.place.sync()
            keys = _checksums(self.place)
            # An array's metadata is written first, so a deleted array lacks it.
            gone = [name for name in self._written if f"{name}/zarr.json" not in keys]
            gone += [key for key in self.place.written if key not in keys]
        except FileNotFoundError as error:
            gone = [error.filename or str(error)]
        if gone:
            raise RunError(
                f"{self.place}: {gone[0]} was deleted while the step ran; "
                "another process seems to run it, too; stop one of them and resume"
            )
        return keys


@lru_cache(maxsize=4096)
def checksum_of(url: str) -> int:
    """Return an object's checksum; it is cached, since attempts never change."""
    return zlib.crc32(Location(url).read_bytes())


def _checksums(place: Location) -> dict[str, tuple[int, int]]:
    """Return the stored keys below a place; objects written by this process are not read."""
    known = place.written if isinstance(place, RecordedPlace) else {}

    def checksum(key: str, size: int) -> tuple[int, int]:
        found = known.get(key, (-1, 0))
        return found if found[0] == size else (size, zlib.crc32((place / key).read_bytes()))

    return {key: checksum(key, size) for key, size in place.keys().items()}
