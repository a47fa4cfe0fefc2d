"""Dates such as 9999-12-31 that stand for missing ones are named; those of ordinary columns not."""

from __future__ import annotations

import datetime as dt
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dcsvm_dask.data.ingest import ingest
from dcsvm_dask.data.sentinel_dates import sentinel_dates
from dcsvm_dask.errors import DcsvmWarning
from dcsvm_dask.readers.preparing.choices import parse_names

RNG = np.random.default_rng(0)
N = 1000
BORN = RNG.integers(-14_000, 12_000, N)  # 1931 to 2002
SEEN = RNG.integers(18_600, 19_500, N)
Y = np.where(RNG.random(N) < 0.5, "yes", "no")
DAY_OF = {
    "9999-12-31": 2_932_896, "1900-01-01": -25_567, "1970-01-01": 0, "0001-01-01": -719_162,
    "1899-12-30": -25_569,
}  # fmt: skip


def with_day(column: np.ndarray, *days: int, rows: int = 30) -> np.ndarray:
    changed, places = column.copy(), RNG.permutation(len(column))
    for k, day in enumerate(days):
        changed[places[k * rows : (k + 1) * rows]] = day
    return changed


def found(column: np.ndarray) -> list[int]:
    return [one.day for one in sentinel_dates(column)]


@pytest.mark.parametrize("day", DAY_OF.values())
@pytest.mark.parametrize("column", [BORN, SEEN], ids=["born", "seen"])
def test_usual_dates(column: np.ndarray, day: int) -> None:
    assert found(column) == []
    assert found(with_day(column, day)) == [day]
    assert found(with_day(column, day, rows=9)) == []
    assert found(with_day(column, day, 2_932_896)) == sorted({day, 2_932_896})


def test_others_must_lie_farther_away() -> None:
    assert found(with_day(SEEN, 60_000)) == [60_000]
    assert found(with_day(SEEN, 21_000)) == []
    assert found(with_day(BORN, 100)) == []  # amid others, and not a usual one


@pytest.mark.parametrize(
    "column",
    [
        np.repeat(np.arange(-40, 40), 25),  # each day often, 1970-01-01 among them
        np.where(RNG.random(N) < 0.5, 0, 2_932_896),  # two dates
        np.array([-25_567, 0, 10, 20, 30, 40])[np.arange(N) % 6],  # too few to say
        SEEN // 365 * 365,
    ],
    ids=["daily", "two", "few", "years"],
)
def test_ordinary_columns(column: np.ndarray) -> None:
    assert found(column) == []


def dates(days: np.ndarray) -> Any:
    return days.astype("M8[D]")


def table(folder: Path, form: str) -> Path:
    """Return a table whose dates of the end are 9999-12-31 where there is none."""
    end = with_day(SEEN, DAY_OF["9999-12-31"])
    words = [one.strftime(form) for one in dates(end).astype(dt.date)]
    frame = pd.DataFrame({"end": words, "a": RNG.normal(size=N), "y": Y})
    frame.to_csv(folder / "t.csv", index=False, sep=";")
    return folder / "t.csv"


@pytest.mark.parametrize("how", ["parts", "days"])
@pytest.mark.parametrize("form", ["%Y-%m-%d", "%d.%m.%Y", "%b %d, %Y", "%Y-%m-%d 00:00:00"])
def test_the_remedy_helps_as_it_is_written(form: str, how: str, tmp_path: Path) -> None:
    path = table(tmp_path, form)
    with pytest.warns(DcsvmWarning) as caught:
        data = ingest(path, tmp_path / "d.zarr", dates=how)
    assert [str(one.message) for one in caught] == data.warnings
    (said,) = data.warnings
    reported = (
        "the date 9999-12-31 lies outside of all others in the column 'end' (3.0% of the rows; "
    )
    assert reported in said
    assert "(3.0% of the rows; others are 2020-12-04 to 2023-05-22)" in said
    argument = said.partition(" drop with ")[2].partition(" (and the words of other empty")[0]
    (option,) = shlex.split(argument)
    words = parse_names(option.removeprefix("--missing-words="))
    more: dict[str, Any] = {"missing": "drop", "missing_words": words, "overwrite": True}
    data = ingest(path, tmp_path / "d.zarr", dates=how, **more)
    assert data.warnings == []
    assert data.n_rows == N - 30


@pytest.mark.parametrize("how", ["parts", "days"])
def test_frames_and_parquet_are_told_to_have_empty_cells(how: str, tmp_path: Path) -> None:
    born = dates(with_day(BORN, 0)).astype("M8[us]")
    frame = pd.DataFrame({"born": born, "a": RNG.normal(size=N), "y": Y})
    frame.to_parquet(tmp_path / "t.parquet", index=False)
    for source in (frame, tmp_path / "t.parquet"):
        said = (
            "the date 1970-01-01 is far more frequent than all others in the column 'born' .3.0% "
            "of the rows; .*; where it stands for a missing value, write an empty cell instead"
        )
        with pytest.warns(DcsvmWarning, match=said) as caught:
            ingest(source, tmp_path / "d.zarr", dates=how, overwrite=True)
        assert len(caught) == 1  # not named as a number, too


@pytest.mark.parametrize("offset", ["Z", "+02:00", "-08:00", "+11:30"])
@pytest.mark.parametrize("how", ["parts", "days"])
def test_midnights_of_any_offset(offset: str, how: str, tmp_path: Path) -> None:
    real = np.datetime64("2023-01-01") + np.arange(200) % 150
    words = [f"{day}T10:00:00{offset}" for day in real.tolist()]
    words[::5] = [f"1970-01-01T00:00:00{offset}"] * 40
    rows = [f"{RNG.normal():.3f},{word},{k % 2}" for k, word in enumerate(words)]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["a,day,y", *rows]) + "\n")
    with pytest.warns(DcsvmWarning, match="the date 1970-01-01 lies outside of all") as caught:
        ingest(path, tmp_path / "d.zarr", dates=how)
    assert f"--missing-words=1970-01-01T00:00:00{offset}" in str(caught[0].message)
