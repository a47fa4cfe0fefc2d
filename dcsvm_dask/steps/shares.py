"""How rows and blocks are shared among the tasks of a layer."""

from __future__ import annotations

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
