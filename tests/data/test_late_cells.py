"""Cells that are no plain numbers, after a beginning of a text that has nothing else."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dcsvm_dask.data.ingest import ingest
from dcsvm_dask.errors import InputError
from dcsvm_dask.readers.open import open_source
from dcsvm_dask.readers.table import TableSource
from dcsvm_dask.storage.dataset import DataSet

N = 6000
RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(RNG.normal(size=(N, 2)), columns=["a", "b"]).assign(y=RNG.integers(0, 2, N))


def written(folder: Path, cell: str) -> Path:
    path = folder / "t.csv"
    FRAME.to_csv(path, index=False)
    with path.open("a", encoding="utf-8") as file:
        file.write(f"{cell},0.5,1\n")
    assert isinstance(open_source(path), TableSource)  # by its beginning
    return path


@pytest.mark.parametrize(
    ("cell", "value"), [("(5.00)", -5.0), ('"1,000.5"', 1000.5), ("\u22125", -5.0)]
)
@pytest.mark.parametrize("how", [{}, {"test_fraction": 0.25}])
def test_numbers_are_read(cell: str, value: float, how: dict[str, Any], tmp_path: Path) -> None:
    data = ingest(written(tmp_path, cell), tmp_path / "d.zarr", scale="none", **how)
    parts = [data, data.open_part("test")] if how else [data]
    rows = np.concatenate([part.rows.read(0, part.n_rows) for part in parts])
    expected = np.sort(np.append(FRAME["a"], value)).astype(np.float32)
    assert np.array_equal(np.sort(rows[:, 0]), expected)


@pytest.mark.parametrize(
    ("cell", "said"),
    [("-", r"column 1 \('a'\) is empty"), ("12abc", r"column 1 \('a'\) is not a number: '12abc'")],
)
def test_others_are_refused_by_their_line(cell: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=rf"t\.csv, line {N + 2}: {said}"):
        ingest(written(tmp_path, cell), tmp_path / "d.zarr")
    assert not (tmp_path / "d.zarr").exists()


@pytest.mark.parametrize("cell", ["0,5", "1.234,5", "-3,25"])
def test_later_decimal_commas_are_named(cell: str, tmp_path: Path) -> None:
    path = written(tmp_path, "1.0")
    ingest(path, tmp_path / "d.zarr")
    later = tmp_path / "later.csv"
    for text in (f"a;b;y\n{cell};1;0\n", f'a,b,y\n"{cell}",1,0\n'):
        later.write_text(text)
        with pytest.raises(InputError) as caught:
            ingest(path, tmp_path / "e.zarr", test=later)
        assert str(caught.value) == (
            f"{later}, line 2: column 1 ('a') is not a number: '{cell}'; the training table has "
            "decimal points: write those of other tables alike"
        )


@pytest.mark.parametrize("cell", ["$5", "5%", "7.5 €"])
def test_later_signs_are_named(cell: str, tmp_path: Path) -> None:
    late = written(tmp_path, cell).rename(tmp_path / "late.csv")  # it begins with numbers
    (tmp_path / "few.csv").write_text(f"a,b,y\n{cell},1,0\n", encoding="utf-8")
    path, sign = written(tmp_path, "1.0"), re.escape(cell.strip("75. "))
    said = rf"is a number with {sign}, and those of the training rows are without a sign: write it"
    for later in (tmp_path / "few.csv", late):
        with pytest.raises(InputError, match=rf"line \d+: column 1 \('a'\) .*{said}"):
            ingest(path, tmp_path / "e.zarr", test=later)


@pytest.mark.parametrize("cell", ['"1,000.5"', "1 000.5", "1000.5"])
def test_later_thousands_are_read(cell: str, tmp_path: Path) -> None:
    later = tmp_path / "few.csv"
    later.write_text(f"a,b,y\n{cell},1,0\n")
    ingest(written(tmp_path, "1.0"), tmp_path / "d.zarr", test=later, scale="none")
    part = DataSet.open(tmp_path / "d.zarr/test")
    assert np.asarray(part.rows.read(0, 1)).tolist() == [[1000.5, 1.0]]
