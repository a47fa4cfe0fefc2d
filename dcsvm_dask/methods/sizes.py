"""How many tasks a stage has, and how rows and blocks are shared among them.

Both follow from data and settings alone, never from the workers.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray


def share(n: int, part: int, parts: int) -> tuple[int, int]:
    """Return the borders of one of `parts` nearly equal shares of range(n)."""
    return n * part // parts, n * (part + 1) // parts


def blocks_of_part(offsets: NDArray[np.int64], part: int, parts: int) -> tuple[int, int]:
    """Return the consecutive blocks of a part; parts hold nearly equal numbers of rows."""
    first, last = share(int(offsets[-1]), part, parts)
    start, stop = np.searchsorted(offsets[:-1], [first, last])
    return int(start), int(len(offsets) - 1 if part == parts - 1 else stop)


ARRANGE_LEAST_BYTES = 32 << 20
ARRANGE_MOST_BYTES = 256 << 20
ARRANGE_PARTS = 16
SHARE_LEAST_BYTES = 4 << 20
SHARE_MOST_BYTES = 128 << 20
SHARES = 64
# Of a share, what a part takes: of less, heads and requests cost more than bytes.
PIECE_LEAST_BYTES = 64 << 10
# A part reads a page too many of each share: of all bytes, so many times less than all.
PAGES_OF_PIECE = 16
SLOT_ROWS = 2048
MOST_SLOTS = 128
# Without levels, rows are still arranged in blocks of about this many: neighbours lie together.
ARRANGED_BLOCK_ROWS = 1500


def bottom_clusters(clusters: tuple[int, ...], n_variables: int) -> int:
    """Return into how many clusters rows are arranged: those of the bottom level, if there is."""
    return clusters[0] if clusters else max(1, round(n_variables / ARRANGED_BLOCK_ROWS))


def row_parts(n_rows: int, chunk_rows: int) -> int:
    """Return into how many tasks rows are shared."""
    return max(1, math.ceil(n_rows / chunk_rows))


def arrange_parts(n_bytes: int) -> int:
    """Return into how many tasks blocks are shared that put their rows in order.

    Of more than one none reads the data set: rows are shuffled first.
    """
    return _tasks(n_bytes, ARRANGE_PARTS, ARRANGE_LEAST_BYTES, ARRANGE_MOST_BYTES)


def shuffle_shares(n_bytes: int, parts: int) -> int:
    """Return into how many tasks rows are shared that are written sorted by block.

    Parameters
    ----------
    parts : int
        Tasks that take a piece of each.
    """
    least = max(SHARE_LEAST_BYTES, parts * PIECE_LEAST_BYTES)
    return _tasks(n_bytes, SHARES, least, SHARE_MOST_BYTES)


def _tasks(n_bytes: int, wanted: int, least: int, most: int) -> int:
    """Return how many tasks share some bytes: as many as wanted, or as the size of each allows."""
    return max(1, math.ceil(n_bytes / min(max(n_bytes / wanted, least), most)))


def level_slots(n_clusters: int, n_variables: int) -> int:
    """Return into how many tasks the blocks of a level are shared, from the costliest on in turn.

    A task and its commit cost as much as solving some hundred rows does.
    """
    return min(n_clusters, MOST_SLOTS, max(1, math.ceil(n_variables / SLOT_ROWS)))
