"""Columns of dates by their name that hold counts of days or seconds are warned of."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dcsvm_dask.data.ingest import ingest

N = 60
RNG = np.random.default_rng(0)
DAYS = RNG.integers(44_000, 46_000, N)
Y = np.array(["yes", "no"])[RNG.integers(0, 2, N)]


def warned(folder: Path, columns: dict[str, Any], kind: str) -> list[str]:
    source: Any = pd.DataFrame({"height": RNG.normal(size=N).round(3), **columns, "y": Y})
    if kind == "csv":
        source.to_csv(folder / "t.csv", index=False)
        source = folder / "t.csv"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data = ingest(source, folder / "d.zarr", label="y", overwrite=True)
    return [text.partition(": ")[2] for text in data.warnings]


@pytest.mark.parametrize("kind", ["csv", "frame"])
@pytest.mark.parametrize("name", ["date", "OrderDate", "startdate", "Datum der Messung", "time"])
def test_days_of_excel(name: str, kind: str, tmp_path: Path) -> None:
    first = pd.Timestamp("1899-12-30") + pd.Timedelta(int(DAYS[0]), "D")
    for values in (DAYS, DAYS + 0.25):
        (said,) = warned(tmp_path, {name: values}, kind)
        quoted = f"'{name}'" if " " in name else name
        assert said == (
            f"the numbers of the column {name!r} look like dates as Excel counts days (the first "
            f"is {first:%Y-%m-%d}); write them so and give --dates parts, or leave them out "
            f"(--drop {quoted}, in Python drop=[NAME])"
        )


def test_days_of_many_years(tmp_path: Path) -> None:
    days = RNG.integers(25_000, 45_000, N)
    (said,) = warned(tmp_path, {"birthdate": days}, "frame")
    assert said.startswith("the numbers of the column 'birthdate' look like dates as Excel")


@pytest.mark.parametrize(("size", "how"), [(1, "seconds"), (1000, "milliseconds")])
def test_seconds_since_1970(size: int, how: str, tmp_path: Path) -> None:
    stamps = size * (1_700_000_000 + 7919 * RNG.integers(0, 5000, N))
    said = warned(tmp_path, {"timestamp": stamps, "end_date": stamps + 9}, "frame")
    found = [one for one in said if "look like dates" in one]
    assert len(found) == 1
    assert f"columns 'timestamp', 'end_date' look like dates in {how} since 1970 (the" in found[0]


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("income", DAYS),
        ("last_update", DAYS),
        ("day", RNG.integers(1, 366, N)),
        ("Time", np.linspace(34_200, 57_600, N).round(3)),  # seconds of a day, of a stock exchange
        ("race_time", np.linspace(26_000, 52_000, N).round()),
        ("date", np.full(N, 45_000) + RNG.integers(0, 2, N)),
    ],
)
def test_other_columns(name: str, values: Any, tmp_path: Path) -> None:
    assert warned(tmp_path, {name: values}, "csv") == []
