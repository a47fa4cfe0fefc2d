"""The number of tasks of a stage, and the rows and blocks of each.

They depend on the data and the settings, never on the workers.
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


ARRANGE_LEAST_BYTES = 16 << 20
ARRANGE_MOST_BYTES = 256 << 20
ARRANGE_PARTS = 16
SHARE_LEAST_BYTES = 4 << 20
SHARE_MOST_BYTES = 128 << 20
SHARES = 64
# Least bytes that a part reads of a share: headers and requests cost more than fewer bytes.
PIECE_LEAST_BYTES = 64 << 10
# Pages of a piece: a part reads up to one page too many of each share.
PAGES_OF_PIECE = 16
MOST_ROW_PARTS = 128
# ... unless they had more rows than so many chunks.
MOST_CHUNKS = 8
SLOT_ROWS = 2048
MOST_SLOTS = 128
# Without levels, rows are arranged in blocks of about this many, so that neighbours lie together.
ARRANGED_BLOCK_ROWS = 1500


def bottom_clusters(clusters: tuple[int, ...], n_variables: int) -> int:
    """Return the number of clusters in whose order rows are arranged: those of the bottom level."""
    return clusters[0] if clusters else max(1, round(n_variables / ARRANGED_BLOCK_ROWS))


def row_parts(n_rows: int, chunk_rows: int) -> int:
    """Return the number of tasks that share the rows.

    Each also reads the support vectors that its rows can reach, with a smooth kernel all: beyond
    some number there are not more tasks, but larger ones.
    """
    chunks = math.ceil(n_rows / chunk_rows)
    return max(1, min(chunks, MOST_ROW_PARTS), math.ceil(chunks / MOST_CHUNKS))


def arrange_parts(n_bytes: int) -> int:
    """Return the number of tasks that write rows in block order.

    Where there are several, rows are shuffled first, and none of them reads the data set.
    """
    return _tasks(n_bytes, ARRANGE_PARTS, ARRANGE_LEAST_BYTES, ARRANGE_MOST_BYTES)


def shuffle_shares(n_bytes: int, parts: int) -> int:
    """Return the number of tasks that sort shares of the rows by block.

    Parameters
    ----------
    parts : int
        Tasks that take a piece of each.
    """
    least = max(SHARE_LEAST_BYTES, parts * PIECE_LEAST_BYTES)
    return _tasks(n_bytes, SHARES, least, SHARE_MOST_BYTES)


def _tasks(n_bytes: int, wanted: int, least: int, most: int) -> int:
    """Return the number of tasks that share some bytes, each between `least` and `most` of them."""
    return max(1, math.ceil(n_bytes / min(max(n_bytes / wanted, least), most)))


def level_slots(n_clusters: int, n_variables: int) -> int:
    """Return the number of tasks that share the blocks of a level.

    A task and its commit cost as much as solving some hundred rows.
    """
    return min(n_clusters, MOST_SLOTS, max(1, math.ceil(n_variables / SLOT_ROWS)))
