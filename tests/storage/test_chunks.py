"""Chunks decoded without Zarr: the same values, and nothing from chunks that are not intact."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import google_crc32c
import numpy as np
import pytest

from dcsvm_dask.storage.arrays import open_array, write_array
from dcsvm_dask.storage.checksums import Checksums
from dcsvm_dask.storage.chunks import MOST_CHUNKS, read_chunks
from dcsvm_dask.storage.location import Location

N, CHUNK = 25_000, 6000
VALUES = np.random.default_rng(0).integers(0, 9, (N, 3)).astype(np.float32)


@pytest.fixture
def place(tmp_path: Path) -> Location:
    """Give a place with a compressed array."""
    place = Location.of(tmp_path) / "a"
    write_array(place, VALUES, chunk=CHUNK)
    return place


@pytest.mark.parametrize(
    ("start", "stop"), [(0, 6000), (0, 1), (5999, 6001), (3000, 20_000), (24_000, N), (7, 24_000)]
)
def test_rows_are_those_that_zarr_reads(place: Location, start: int, stop: int) -> None:
    found = read_chunks(open_array(place), place, start, stop)
    assert found is not None
    assert found.flags.c_contiguous
    np.testing.assert_array_equal(found, VALUES[start:stop])


def test_many_chunks_and_others_are_left_to_zarr(place: Location) -> None:
    assert N > MOST_CHUNKS * CHUNK
    assert read_chunks(open_array(place), place, 0, N) is None
    assert read_chunks(open_array(place), place, 5, 5) is None
    small = place.parent / "small"
    write_array(small, np.arange(10))  # which is not compressed
    assert read_chunks(open_array(small), small, 0, 10) is None


def test_chunks_that_come_again_are_not_shared(tmp_path: Path) -> None:
    place = Location.of(tmp_path) / "ones"
    write_array(place, np.ones(50_000, np.float32), chunk=10_000)
    array = open_array(place)
    for start, stop in ((0, 10_000), (10_000, 20_000), (9_000, 31_000)):
        found = read_chunks(array, place, start, stop)
        assert found is not None
        np.testing.assert_array_equal(found, np.ones(stop - start))
        found[:] = 2.0


def sealed(packed: bytes) -> bytes:
    """Return a compressed chunk with its checksum."""
    return packed + google_crc32c.value(packed).to_bytes(4, "little")


def resized(packed: bytes, size: int) -> bytes:
    """Return a compressed chunk that says that it is of another size."""
    return packed[:4] + struct.pack("<i", size) + packed[8:]


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "flipped": lambda data: data[:100] + bytes([data[100] ^ 1]) + data[101:],
    "cut": lambda data: data[:-10],
    "empty": lambda data: data[:0],
    "too large": lambda data: sealed(resized(data[:-4], 1 << 28)),
    "too small": lambda data: sealed(resized(data[:-4], 100)),
    "of no codec": lambda data: sealed(data[:16] + bytes(len(data) - 20)),
}


@pytest.mark.parametrize("damage", [*DAMAGE, "missing"])
def test_damaged_chunks_are_left_to_zarr(place: Location, damage: str) -> None:
    chunk = place / "c/1/0"
    data = chunk.read_bytes()
    if damage == "missing":
        chunk.delete()
    else:
        chunk.write_bytes(DAMAGE[damage](data))
    array: Any = open_array(place)
    assert read_chunks(array, place, 0, 6000) is not None
    assert read_chunks(array, place, 5999, 6001) is None


def test_chunks_that_are_not_the_committed_ones_are_left_to_zarr(place: Location) -> None:
    committed = Checksums(
        place, {key: crc_of(place / key) for key in ("c/0/0", "c/1/0", "zarr.json")}
    )
    array = open_array(place, None, committed)
    assert read_chunks(array, place, 0, 12_000) is not None
    assert read_chunks(array, place, 12_000, 12_001) is None  # not committed
    (place / "c/1/0").write_bytes((place / "c/0/0").read_bytes() + b"more")
    assert read_chunks(array, place, 6000, 6001) is None


def crc_of(place: Location) -> tuple[int, int]:
    """Return size and CRC-32 of an object."""
    data = place.read_bytes()
    return len(data), zlib.crc32(data)
