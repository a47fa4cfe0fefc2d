"""Rectangles whose areas are the sizes of blocks, row after row in a box."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np


@dataclass(frozen=True, slots=True)
class Tile:
    """A rectangle; y grows upwards."""

    left: float
    bottom: float
    right: float
    top: float


def tiles(sizes: Sequence[float], box: Tile, aspect: float = 1.0) -> list[Tile]:
    """Return a rectangle for each size that together fill a box, in the order of the sizes.

    Parameters
    ----------
    sizes : sequence of float
        Positive numbers, to which the areas are proportional.
    box : Tile
        The rectangle to fill.
    aspect : float, default 1
        Pixels of a unit in y over pixels of a unit in x; rectangles are nearly square on the
        screen.

    Returns
    -------
    list of Tile
    """
    n = len(sizes)
    if not n:
        return []
    width, height = box.right - box.left, (box.top - box.bottom) * aspect
    strips = min(n, max(1, round(math.sqrt(n * height / width))))
    ends = np.cumsum(np.asarray(sizes, dtype=np.float64))
    total = ends[-1]
    # Each strip takes what lies, by size, in its share of the whole; none is empty.
    cuts = np.searchsorted(ends, total * np.arange(1, strips) / strips, side="left") + 1
    borders = np.unique(np.concatenate([[0], np.minimum(cuts, n), [n]]))
    found, top = [], box.top
    for first, last in pairwise(borders):
        begin = ends[first - 1] if first else 0.0
        whole = ends[last - 1] - begin
        bottom = top - (box.top - box.bottom) * whole / total
        edges = np.concatenate([[0.0], ends[first:last] - begin]) / whole * width + box.left
        found += [
            Tile(float(left), float(bottom), float(right), float(top))
            for left, right in pairwise(edges)
        ]
        top = bottom
    return found
