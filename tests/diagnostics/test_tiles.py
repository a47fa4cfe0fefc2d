"""Rectangles by size: they fill the box, do not overlap, and have the areas asked for."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dcsvm_dask.diagnostics.tiles import Tile, tiles

SIZES = st.lists(st.integers(1, 10_000), min_size=1, max_size=200)


@settings(deadline=None)
@given(SIZES, st.floats(0.05, 20.0))
def test_tiles_fill_the_box_with_areas_as_the_sizes(sizes: list[int], aspect: float) -> None:
    box = Tile(-1.0, 2.0, 3.0, 2.5)
    found = tiles(sizes, box, aspect)
    areas = np.array([(t.right - t.left) * (t.top - t.bottom) for t in found])
    np.testing.assert_allclose(areas, 2.0 * np.array(sizes) / sum(sizes), rtol=1e-6)
    for tile in found:
        assert box.left - 1e-9 <= tile.left < tile.right <= box.right + 1e-9
        assert box.bottom - 1e-9 <= tile.bottom < tile.top <= box.top + 1e-9
    by_strip: dict[float, float] = {}
    for tile in found:
        # Inside a strip each begins where the one before it ends.
        assert abs(tile.left - by_strip.get(tile.top, box.left)) < 1e-9
        by_strip[tile.top] = tile.right


def test_tiles_of_equal_blocks_are_near_to_squares() -> None:
    found = tiles([5] * 512, Tile(0.0, 0.0, 1000.0, 60.0))
    ratios = [(t.right - t.left) / (t.top - t.bottom) for t in found]
    assert 0.6 < np.median(ratios) < 1.7


def test_no_blocks_have_no_tiles() -> None:
    assert tiles([], Tile(0.0, 0.0, 1.0, 1.0)) == []
