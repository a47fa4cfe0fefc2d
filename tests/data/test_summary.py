"""What is printed of a table: label, classes, and what its columns become."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dcsvm_dask.cli.info import describe
from dcsvm_dask.data.ingest import ingest
from dcsvm_dask.data.summary import reading_line, summary_lines
from dcsvm_dask.readers.preparing.dates import form_in_words
from dcsvm_dask.readers.preparing.preparation import ColumnPreparation
from dcsvm_dask.storage.dataset import DataSet
from tests.stored import split_of

N = 60
RNG = np.random.default_rng(0)
EVERY = np.arange(N)
DAYS = pd.Timestamp("2023-01-01") + pd.to_timedelta(7 * EVERY, "D")
FRAME = pd.DataFrame(
    {
        "nr": EVERY,
        "Age": np.where(EVERY % 6 == 1, np.nan, 40 + EVERY % 5),
        "height": RNG.normal(size=N),
        "Plan": np.where(EVERY % 10 == 1, "", np.array(["basic", "pro", "max"])[EVERY % 3]),
        "Signup": DAYS.strftime("%d/%m/%Y"),
        "churned": np.array(["yes", "no"])[EVERY % 2],
        "city": np.array(list("ABCDEFGHIJ"))[EVERY % 10],
    }
)


def taken(folder: Path, **words: Any) -> DataSet:
    FRAME.to_csv(folder / "t.csv", index=False)
    how = {"label": "churned", "drop": ["nr"], "one_hot": "auto", "dates": "parts", **words}
    return ingest(folder / "t.csv", folder / "d.zarr", **how)


def test_the_lines_name_label_classes_and_columns(tmp_path: Path) -> None:
    data = taken(tmp_path, missing="median")
    assert summary_lines(data) == [
        "label: column 'churned'",
        "classes of the training rows: no 30, yes 30",
        "column Age: number; 10 empty cells, filled with 42",
        "column Plan: 3 categories: basic, max, pro; 6 empty cells, filled with basic",
        "column Signup: dates as day/month/year: year, month, day, weekday",
        "column city: 10 categories: A, B, C, D, E, F, G, H and 2 more",
    ]
    shown = describe(data.place)
    assert shown["prepared"] == [line.removeprefix("column ") for line in summary_lines(data)[2:]]
    assert reading_line(shown["reading"]).endswith("; label: column 'churned'")


def test_an_indicator_is_named(tmp_path: Path) -> None:
    lines = summary_lines(taken(tmp_path, missing="indicator"))
    assert lines[2].endswith(
        ": number; 10 empty cells, filled with 42, and a feature 'Age missing'"
    )
    assert lines[3].endswith("6 empty cells, 0 in all of these, and a feature 'Plan missing'")


def test_empty_cells_of_training_rows_alone_are_counted(tmp_path: Path) -> None:
    data = taken(tmp_path, missing="median", test_fraction=0.5)
    train, _ = split_of(FRAME["churned"].to_numpy(), N // 2)
    count = int(FRAME["Age"].isna()[train].sum())
    assert data.columns is not None
    assert data.columns.encoders[0].n_missing == count


def test_a_data_set_without_counts_says_what_fills(tmp_path: Path) -> None:
    data = taken(tmp_path, missing="median")
    assert data.columns is not None
    stored = data.columns.to_json()
    for encoder in stored["encoders"]:
        del encoder["n_missing"]
    older = ColumnPreparation.from_json(stored)
    assert older is not None
    assert older.described()[0] == "Age: number; empty cells are filled with 42"


def test_of_many_columns_the_first_are_shown(tmp_path: Path) -> None:
    words = {f"w{k}": np.array(["a", "b"])[(EVERY // (k + 2)) % 2] for k in range(13)}
    pd.DataFrame({**words, "y": EVERY % 2}).to_csv(tmp_path / "w.csv", index=False)
    data = ingest(tmp_path / "w.csv", tmp_path / "w.zarr", one_hot="auto")
    lines = summary_lines(data)
    assert lines[-2].startswith("column w9: ")
    assert lines[-1] == f"and 3 more: dcsvm info {data.place}"


def test_real_targets_and_columns_without_names(tmp_path: Path) -> None:
    rows = np.column_stack([RNG.normal(size=(N, 2)), EVERY / 2])
    np.savetxt(tmp_path / "r.csv", rows, delimiter=",")
    data = ingest(tmp_path / "r.csv", tmp_path / "r.zarr", task="regression")
    assert summary_lines(data) == [
        "label: column 3 (--label 2)",
        "targets of the training rows: 0 to 29.5",
    ]


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ("%Y-%m-%dT%H:%M:%S", "year-month-day hour:minute:second"),
        ("%d.%m.%Y", "day.month.year"),
        ("%m/%d/%y %I %p", "month/day/year of two digits hour AM or PM"),
        ("%j", "%j"),
    ],
)
def test_forms_of_dates_are_told_in_words(form: str, words: str) -> None:
    assert form_in_words(form) == words
