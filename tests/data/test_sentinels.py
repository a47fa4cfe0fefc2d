"""Values such as -999 that stand for missing ones are named; those of ordinary columns are not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes, load_digits, load_wine

from dcsvm_dask import api
from dcsvm_dask.data.ingest import ingest
from dcsvm_dask.data.sentinels import sentinels
from dcsvm_dask.errors import DcsvmWarning

RNG = np.random.default_rng(0)
N = 1000
AGE = RNG.integers(18, 91, N).astype(float)
TEMPERATURE = RNG.normal(4.0, 9.0, N).round(1)
INCOME = RNG.lognormal(10.0, 1.0, N).round(2)
RATING = RNG.integers(1, 6, N).astype(float)
Y = np.where(RNG.random(N) < 0.5, "yes", "no")


def found(column: Any) -> list[float]:
    rows = np.asarray(column, np.float64).reshape(len(column), -1)
    return [one.value for one in sentinels(rows, rows.min(axis=0), rows.max(axis=0))]


def with_value(column: np.ndarray, value: float, rows: int = 30) -> np.ndarray:
    changed = column.copy()
    changed[RNG.permutation(len(column))[:rows]] = value
    return changed


@pytest.mark.parametrize(
    ("column", "value"),
    [
        (TEMPERATURE, -999.0), (TEMPERATURE, 999.9), (AGE, 999.0), (AGE, -99.0), (RATING, 99.0),
        (RATING + 5, -1.0), (INCOME, -9999.0), (INCOME, 1e30), (AGE, 999999.0), (AGE, -32768.0),
        (AGE, 5432.0), (RATING + 1, -9.0),
    ],
)  # fmt: skip
def test_a_value_far_from_all_others(column: np.ndarray, value: float) -> None:
    assert found(column) == []
    assert found(with_value(column, value)) == [value]
    assert found(with_value(column, value, rows=9)) == []  # as outliers may be


@pytest.mark.parametrize(
    ("column", "value"),
    [(AGE * 0.75, 99.0), (np.linspace(10.0, 80_000.0, N), 99_999.0)],
    ids=["age", "income"],
)
def test_nines_that_are_more_frequent_than_any_other(column: np.ndarray, value: float) -> None:
    assert found(with_value(column, value, rows=9)) == []
    assert found(with_value(column, value, rows=N // 3)) == [value]
    assert found(with_value(np.minimum(column, value - 1), value - 0.5, rows=N // 3)) == []


@pytest.mark.parametrize(
    "column",
    [
        np.where(RNG.random(N) < 0.9, 0.0, 7000.0 + AGE),  # mostly 0
        np.where(RNG.random(N) < 0.5, 0.0, 999.0),  # two values
        np.array([1.0, 2.0, 3.0, 999.0])[np.arange(N) % 4],  # codes of categories
        np.minimum(INCOME, 99_999.0),  # capped
        np.where(RNG.random(N) < 0.8, -1.0, RNG.integers(0, 800, N)),  # a count, or none
        np.where(RNG.random(N) < 0.5, -1.0, RNG.uniform(0.7, 1.0, N)),  # scaled
        RNG.poisson(0.1, N), RNG.geometric(0.2, N), RNG.integers(1, 1000, N),
        np.where(AGE > 60, -99.0, TEMPERATURE * 8),  # others are below 0, too
    ],
    ids=["zeros", "binary", "codes", "capped", "count", "scaled", "poisson", "geometric", "whole",
         "negative"],
)  # fmt: skip
def test_ordinary_columns(column: np.ndarray) -> None:
    assert found(column) == []


@pytest.mark.parametrize("name", ["a9a", "bank_marketing", "cpusmall", "kddcup99_10pct", "magic"])
def test_real_data(name: str, shared_data: Callable[[str], Any]) -> None:
    assert found(shared_data(name)["X_train"][:4000]) == []


def test_other_real_data() -> None:
    for load in (load_diabetes, load_digits, load_wine):
        assert found(load(return_X_y=True)[0]) == []
    assert found(load_diabetes(scaled=False).data) == []


def table(tmp_path: Path) -> pd.DataFrame:
    columns = {"age": AGE, "temperature": TEMPERATURE, "rating": RATING}
    frame = pd.DataFrame({**columns, "y": Y})
    frame.loc[:39, ["age", "temperature"]] = -999.0
    frame.loc[50:69, "rating"] = 99.0
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet", index=False)
    return frame


def test_the_warning_names_columns_and_a_remedy_that_helps(tmp_path: Path) -> None:
    table(tmp_path)
    with pytest.warns(DcsvmWarning) as caught:
        data = ingest(tmp_path / "t.csv", tmp_path / "d.zarr")
    assert [str(one.message) for one in caught] == data.warnings
    of_nines, of_99 = (text.removeprefix(f"{tmp_path / 't.csv'}: ") for text in data.warnings)
    assert of_nines == (
        "the value -999 lies outside of all others in the columns 'age' (4.0% of the rows; "
        "others are 18 to 90), 'temperature' (4.0% of the rows; others are "
        f"{TEMPERATURE[40:].min():g} to {TEMPERATURE[40:].max():g}); where it stands for a missing "
        "value, give --missing median, indicator or drop with --missing-words=-999,-999.0 (and the "
        "words of other empty cells)"
    )
    assert of_99 == (
        "the value 99 lies outside of all others in the column 'rating' (2.0% of the rows; "
        "others are 1 to 5); where it stands for a missing value, give --missing median, indicator "
        "or drop with --missing-words=99,99.0 (and the words of other empty cells)"
    )
    words = ["-999", "-999.0", "99", "99.0"]
    how: dict[str, Any] = {"missing": "drop", "missing_words": words, "overwrite": True}
    data = ingest(tmp_path / "t.csv", tmp_path / "d.zarr", **how)
    assert data.warnings == []
    assert data.n_rows == N - 60


def test_tables_without_words_are_told_to_have_empty_cells(tmp_path: Path) -> None:
    frame = table(tmp_path)
    for source in (tmp_path / "t.parquet", frame):
        with pytest.warns(DcsvmWarning, match="write an empty cell instead, and give --missing"):
            ingest(source, tmp_path / "d.zarr", label="y", overwrite=True)
    arrays = frame.drop(columns="y").to_numpy(), Y  # whose columns have no names
    assert api.ingest(arrays, tmp_path / "e.zarr").warnings == []


def test_tables_with_targets_are_looked_at_too(tmp_path: Path) -> None:
    frame = table(tmp_path).assign(y=1e30 * TEMPERATURE)
    with pytest.warns(DcsvmWarning) as caught:
        ingest(frame, tmp_path / "d.zarr", label="y", task="regression")
    assert {one.category for one in caught} == {DcsvmWarning}
    assert len(caught) == 2


def test_of_many_rows_the_share_is_that_of_a_sample(tmp_path: Path) -> None:
    pressure = RNG.normal(1013.0, 9.0, 30_000).round(1)
    pressure[RNG.random(30_000) < 0.05] = -9999.0
    frame = pd.DataFrame({"pressure": pressure, "y": np.arange(30_000) % 2})
    frame.to_csv(tmp_path / "t.csv", index=False)
    said = r"the value -9999 lies .*'pressure' \(about [45].\d% of the rows"
    with pytest.warns(DcsvmWarning, match=said):
        ingest(tmp_path / "t.csv", tmp_path / "d.zarr")


@pytest.mark.parametrize(
    ("column", "values"),
    [
        (TEMPERATURE, [-9999.0, -999.0]), (RATING + 5, [-1.0, 9999.0]),
        (TEMPERATURE, [-999.0, 999.0]), (AGE, [-999.0, 999.0]), (AGE, [9999.0, 999.0]),
        (INCOME, [-9999.0, -999.0, -99.0]),
    ],
)  # fmt: skip
def test_several_values_in_a_column(column: np.ndarray, values: list[float]) -> None:
    changed = column.copy()
    for k, value in enumerate(values):
        changed[40 * k : 40 * k + 30] = value
    assert found(changed) == sorted(values)
    rare = changed.copy()
    rare[40:61] = rare[100]  # the second one is in nine rows
    assert values[1] not in found(rare)


def test_two_values_are_named_with_the_range_of_all_others(tmp_path: Path) -> None:
    frame = pd.DataFrame({"temperature": TEMPERATURE, "y": Y})
    frame.loc[:29, "temperature"] = -999.0
    frame.loc[30:69, "temperature"] = -9999.0
    frame.to_csv(tmp_path / "t.csv", index=False)
    with pytest.warns(DcsvmWarning) as caught:
        ingest(tmp_path / "t.csv", tmp_path / "d.zarr")
    least, greatest = TEMPERATURE[70:].min(), TEMPERATURE[70:].max()
    for one, value, share in zip(caught, ("-9999", "-999"), ("4.0", "3.0"), strict=True):
        assert (
            f"the value {value} lies outside of all others in the column 'temperature' ({share}% "
            f"of the rows; others are {least:g} to {greatest:g})"
        ) in str(one.message)
