"""Dates of one form are read, whatever the blocks; those of several are refused by their line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dcsvm_dask import api
from dcsvm_dask.errors import InputError
from dcsvm_dask.readers import files
from dcsvm_dask.readers.open import open_source
from dcsvm_dask.readers.preparing import csv_tables
from dcsvm_dask.readers.preparing.choices import Choices
from dcsvm_dask.readers.preparing.source import PreparedSource


def learned(tmp_path: Path, days: list[str], **words: Any) -> PreparedSource:
    path = tmp_path / "t.csv"
    lines = [f"{k},{day},{k % 2}" for k, day in enumerate(days)]
    path.write_text("a,day,y\n" + "\n".join(lines) + "\n")
    source = open_source(path, choices=Choices.of(**{"dates": "parts", **words}))
    assert isinstance(source, PreparedSource)
    source.learn()
    return source


@pytest.fixture(params=[20, 60, 1 << 20])
def size(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    def small(path: str, encoding: str | None = None) -> Any:
        return files.text_blocks(path, request.param, encoding=encoding)

    monkeypatch.setattr(csv_tables, "text_blocks", small)
    return int(request.param)


@pytest.mark.usefixtures("size")
@pytest.mark.parametrize("how", [{"dates": "days"}, {"dates": None}, {"one_hot": "auto"}])
def test_forms_that_differ_are_refused(how: dict[str, Any], tmp_path: Path) -> None:
    days = ["2024-01-05", "2024-01-06", "2024-02-07", "05/01/2024", "2024-01-08"]
    message = (
        r"line 5: column 2 \('day'\) is a date of another form than those before it: "
        r"'05/01/2024' is not year-month-day, as '2024-01-05' is; write all dates of the column "
        r"as year-month-day, or give --dates drop"
    )
    with pytest.raises(InputError, match=message):
        learned(tmp_path, days, **how)
    dropped = learned(tmp_path, days, dates="drop")
    assert dropped.feature_names == ["a"]


@pytest.mark.usefixtures("size")
def test_day_and_month_that_change_places_are_refused(tmp_path: Path) -> None:
    days = ["03/04/2024", "25/04/2024", "04/25/2024"]
    with pytest.raises(
        InputError, match=r"line 4: .* '04/25/2024' is not day/month/year, as '03/0"
    ):
        learned(tmp_path, days)


@pytest.mark.usefixtures("size")
def test_a_word_among_dates_is_named(tmp_path: Path) -> None:
    days = ["2024-01-05", "2024-01-06", "later", "2024-01-07"] * 3
    message = r"line 4: column 2 \('day'\) is not a date: 'later'; .* --missing-words WORD"
    with pytest.raises(InputError, match=message):
        learned(tmp_path, days, one_hot="auto")
    made = learned(tmp_path, days, missing_words=["later"], missing="median").preparation
    assert made is not None
    assert made.encoders[1].n_missing == 3


@pytest.mark.usefixtures("size")
def test_a_later_block_shows_which_number_is_the_day(tmp_path: Path) -> None:
    days = ["03/04/2024", "05/06/2024", "07/08/2024", "25/04/2024", "", "01/02/2024"]
    source = learned(tmp_path, days, missing="median")
    made = source.preparation
    assert made is not None
    assert made.encoders[1].form == "%d/%m/%Y"
    assert made.encoders[1].fill == (2024.0, 4.0, 5.0, 2.0)  # of all by that form
    rows = [row for block, _ in source.blocks() for row in block.tolist()]
    assert rows[0] == [0, 2024, 4, 3, 2]


def test_a_date_of_another_form_in_a_later_table_is_named(tmp_path: Path) -> None:
    for name, days in (("t", ["2024-01-05", "2024-01-06"]), ("later", ["2024-01-05", "5 May"])):
        lines = [f"{k},{day},{k % 2}\n" for k, day in enumerate(days)]
        (tmp_path / f"{name}.csv").write_text("a,day,y\n" + "".join(lines))
    message = (
        r"later\.csv, line 3: column 2 \('day'\) is not a date written as year-month-day: '5 May'"
    )
    with pytest.raises(InputError, match=message):
        api.ingest(
            tmp_path / "t.csv",
            tmp_path / "d.zarr",
            test=tmp_path / "later.csv",
            label="y",
            dates="parts",
        )
