"""Columns of plain numbers beside others are read as pyarrow reads them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dcsvm_dask.readers.preparing import csv_tables
from dcsvm_dask.readers.preparing.csv_tables import CsvTable
from dcsvm_dask.readers.preparing.plain_numbers import PlainNumbers

NUMBERS = (0, 1, 3)


def columns(path: Path, monkeypatch: pytest.MonkeyPatch, least: int) -> list[list[Any]]:
    """Return the columns of a table, whose texts of so many bytes are read by both parsers."""
    monkeypatch.setattr(csv_tables, "LEAST_BYTES", least)
    batches = CsvTable(str(path), header=True).batches(range(4), NUMBERS)
    return [[one for batch in batches for one in batch[k].to_pylist()] for k in range(4)]


@pytest.mark.parametrize(
    ("cells", "is_plain"),
    [
        (["7", "-0.5", "a", "1e3"], True),
        (['"7"', " .5 ", '"a, ""b"""', "+2"], True),
        (["123456789012345678901234567890.5", "4.9e-324", "", "0.1"], True),
        (["7", "", "a", "NaN"], False),
        (["7", "1", '"two\nlines"', "2"], False),
        (["inf", "1", "a", "2"], False),
        (["1.234", "1e39", "a", "2"], False),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n", ",\n"])
def test_both_parsers_give_the_same(
    cells: list[str], is_plain: bool, end: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    class Seen(PlainNumbers):
        def read(self, *given: Any) -> Any:
            seen.append(super().read(*given))
            return seen[-1]

    monkeypatch.setattr(csv_tables, "PlainNumbers", Seen)
    path = tmp_path / "t.csv"
    random = np.random.default_rng(0)
    rows = [
        f"{a:.4g},{b!r},word {k % 3},{k}"
        for k, (a, b) in enumerate(random.normal(size=(9, 2)).tolist())
    ]
    rows.insert(5, ",".join(cells))
    path.write_text("a,b,word,d" + end + "".join(row + end for row in rows), newline="")
    expected = columns(path, monkeypatch, 1 << 30)
    assert not seen
    assert columns(path, monkeypatch, 0) == expected
    assert [one is not None for one in seen] == [is_plain]


def test_numbers_that_mean_no_value_are_empty_cells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csv_tables, "LEAST_BYTES", 0)
    path = tmp_path / "t.csv"
    path.write_text("a,word\n1,x\n-999,y\n")
    table = CsvTable(str(path), header=True, missing_words=["", "-999"])
    assert next(iter(table.batches([0], [0])))[0].to_pylist() == [1.0, None]
