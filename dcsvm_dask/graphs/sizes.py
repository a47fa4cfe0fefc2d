"""How many tasks a graph has: from data and settings alone, never from the workers."""

from __future__ import annotations

import math

ARRANGE_LEAST_BYTES = 32 << 20
ARRANGE_MOST_BYTES = 256 << 20
ARRANGE_PARTS = 16
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
    """Return into how many tasks arranging is shared: every one reads all of the data set."""
    part = min(max(n_bytes / ARRANGE_PARTS, ARRANGE_LEAST_BYTES), ARRANGE_MOST_BYTES)
    return max(1, math.ceil(n_bytes / part))


def level_slots(n_clusters: int, n_variables: int) -> int:
    """Return into how many tasks the blocks of a level are shared, from the costliest on in turn.

    A task and its commit cost as much as solving some hundred rows does.
    """
    return min(n_clusters, MOST_SLOTS, max(1, math.ceil(n_variables / SLOT_ROWS)))
