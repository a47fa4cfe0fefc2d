"""The number of distinct hashes of a long column, in bounded memory and linear time."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from dcsvm_dask.storage.spool import Column

Hashes = NDArray[np.uint64]

BATCH = 1 << 21
"""Hashes that are counted at a time in memory."""
BUCKETS_A_BATCH = 8
"""A table of fewer hashes fits a core's cache."""
MOST_BUCKETS = 256
"""Each is an open file."""
DIGIT, LEVELS = 16, 4
"""Bits by which a level chooses buckets, and how many such digits 64 bits have."""


def count_distinct(read: Callable[[int, int], Hashes], n: int, level: int = 0) -> int:
    """Return the number of distinct hashes.

    More of them than a batch go to buckets on disk by some of their bits, in one pass; each bucket
    is then counted by itself, or is cut into buckets by other bits.

    Parameters
    ----------
    read : callable
        ``read(start, stop)`` gives hashes as uint64 (m, 2).
    n : int
        Number of hashes.
    level : int
        How often they have been cut into buckets.
    """
    if n <= BATCH or level == LEVELS:  # equal hashes stay in one bucket, however many they are
        return _count(read, n)
    total, buckets = 0, _buckets(read, n, level)
    for bucket in buckets:
        with closing(bucket):
            total += count_distinct(bucket.read, bucket.length, level + 1)
    return total


def _buckets(read: Callable[[int, int], Hashes], n: int, level: int) -> list[Column]:
    """Return files of which each has all hashes with equal bits."""
    count = min(MOST_BUCKETS, -(-BUCKETS_A_BATCH * n // BATCH))
    buckets = [Column(np.uint64, 2) for _ in range(count)]
    shift = np.uint64(DIGIT * level)
    for start in range(0, n, BATCH // 4):
        hashes = read(start, min(n, start + BATCH // 4))
        digit = (hashes[:, 1] >> shift).astype(np.uint16) % np.uint16(count)
        order = np.argsort(digit, kind="stable")
        borders = np.searchsorted(digit[order], np.arange(count + 1))
        for bucket, first, last in zip(buckets, borders[:-1], borders[1:], strict=True):
            if first < last:
                bucket.append(hashes[order[first:last]])
    return buckets


def _count(read: Callable[[int, int], Hashes], n: int) -> int:
    """Count a batch at a time; only one of equal hashes stays in memory."""
    known = np.empty((0, 2), np.uint64)
    for start in range(0, n, BATCH):
        known = np.concatenate([known, read(start, min(n, start + BATCH))])
        known = known[: _move_distinct(known)]
    return len(known)


@njit(cache=True, nogil=True)
def _move_distinct(hashes: Any) -> int:
    """Move one of each hash to the front and return how many these are.

    They are found by an open-addressing table that is at most half full.
    """
    size = 16
    while size < 2 * hashes.shape[0]:
        size *= 2
    table = np.zeros(size, np.int32)
    mask = size - 1
    found = 0
    for i in range(hashes.shape[0]):
        slot = np.int64(hashes[i, 0] >> np.uint64(1)) & mask
        while table[slot] != 0:
            k = table[slot] - 1
            if hashes[k, 0] == hashes[i, 0] and hashes[k, 1] == hashes[i, 1]:
                break
            slot = (slot + 1) & mask
        if table[slot] == 0:
            hashes[found, 0], hashes[found, 1] = hashes[i, 0], hashes[i, 1]
            found += 1
            table[slot] = found
    return found
