"""Cells that are no plain numbers, after a beginning of a text that has nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dcsvm_dask.data.ingest import ingest
from dcsvm_dask.errors import InputError
from dcsvm_dask.readers.open import open_source
from dcsvm_dask.readers.table import TableSource

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
