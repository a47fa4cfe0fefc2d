"""Categories that are numbers are those of later rows, however these write them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from dcsvm_dask.readers.preparing.cell_counts import CellCounts
from dcsvm_dask.readers.preparing.encoders import ONE_HOT, Encoder
from dcsvm_dask.readers.preparing.features import joined


@pytest.mark.parametrize(
    ("words", "cells", "places"),
    [
        (("1", "2", "10"), ["1.0", "2", "10.0", "3.0", "x"], [0, 1, 2, None, None]),
        (("1", "2.5"), ["2.50", "1"], [1, 0]),
        (("1", "1.0"), ["1", "1.0", "1.00"], [0, 1, None]),  # both are there
        (("1", "a"), ["1.0", "a"], [None, 1]),  # words
    ],
)
def test_one_and_one_point_zero(
    words: tuple[str, ...], cells: list[str], places: list[int | None]
) -> None:
    counts = CellCounts()
    encoder = Encoder("code", ONE_HOT, words=words, fill=words[0])
    found, _ = joined([encoder.encode(pa.array(cells), ".", counts)], single=False)
    wanted = np.zeros((len(cells), len(words)))
    for row, place in enumerate(places):
        if place is not None:
            wanted[row, place] = 1.0
    np.testing.assert_array_equal(found, wanted)
    assert counts.unknown["code"] == places.count(None)
