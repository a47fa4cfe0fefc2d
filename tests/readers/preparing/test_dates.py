"""Dates are those that people wrote: years of two digits are recent, and no day rolls over."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from dcsvm_dask import api
from dcsvm_dask.errors import InputError
from dcsvm_dask.readers.preparing.dates import (
    DATE_FORMATS,
    DAYS,
    NUMBERS_OF_DATE,
    date_format,
    date_parts,
)

MOMENTS = [dt.datetime(1970, 1, 1), dt.datetime(2001, 10, 23), dt.datetime(2024, 2, 29, 15, 0)]


@pytest.mark.parametrize("form", DATE_FORMATS)
def test_every_form_is_read_back(form: str) -> None:
    zone = dt.timezone(dt.timedelta(hours=-3, minutes=-30)) if "%z" in form else None
    cells = [moment.replace(tzinfo=zone).strftime(form) for moment in MOMENTS]
    found = date_format(pa.array(cells))
    assert found is not None
    parts, wrong = date_parts(pa.array([*cells, None]), found)
    assert not wrong.any()
    truth = [dt.datetime.strptime(cell, form) for cell in cells]
    start = dt.datetime(1970, 1, 1, tzinfo=None if zone is None else dt.UTC)
    since = [(one - start) / dt.timedelta(days=1) for one in truth]
    np.testing.assert_allclose(parts[:-1, NUMBERS_OF_DATE.index(DAYS)], since, atol=1e-9)
    assert np.isnan(parts[-1]).all()


@pytest.mark.parametrize(
    ("cells", "form"),
    [
        (["04/07/16", "13/12/99"], "%d/%m/%y"),
        (["04-07-16", "13-12-99"], "%d-%m-%y"),
        (["04.07.16"], "%d.%m.%y"),
        (["07/14/16"], "%m/%d/%y"),
        (["10-Jan-01"], "%d-%b-%y"),
        (["2016-04-07"], "%Y-%m-%d"),
        (["4/7/2016"], "%m/%d/%Y"),
        (["Jan  3, 2024"], "%b %d, %Y"),
        (["2024-12-04T10:10:00Z"], "%Y-%m-%dT%H:%M:%SZ"),
        (["11/8/2024 10:34 AM"], "%m/%d/%Y %I:%M %p"),
        (["2024-03-01 12:00:00.123", "2024-03-01 12:00:00"], "%Y-%m-%d %H:%M:%S"),
        (["2024-03-01 12:00:00,250"], "%Y-%m-%d %H:%M:%S"),
        (["2024-03-01T12:00:00.123456Z"], "%Y-%m-%dT%H:%M:%SZ"),
        (["2024-03-01T12:00:00.5+02:00", "2024-03-01T12:00:00Z"], "%Y-%m-%dT%H:%M:%S%z"),
        (["2024-03-01 12:00:00 UTC", "2024-03-01 12:00:00 -0530"], "%Y-%m-%d %H:%M:%S%z"),
        (["01.03.2024 12:00:00,5"], "%d.%m.%Y %H:%M:%S"),
        (["03/14/2024 12:00:00.000"], "%m/%d/%Y %H:%M:%S"),
        (["2024-03-01T12:00"], "%Y-%m-%dT%H:%M"),
    ],
)
def test_the_year_is_where_it_is_written(cells: list[str], form: str) -> None:
    assert date_format(pa.array(cells)) == form
    years = date_parts(pa.array(cells), form)[0][:, NUMBERS_OF_DATE.index("year")]
    assert (years >= 1969).all()


@pytest.mark.parametrize(
    "cell", ["2024-02-31", "31.02.2024", "2023-02-29", "04/31/2024", "29/02/23", "2024-00-10", "x"]
)
def test_days_that_do_not_exist_are_no_dates(cell: str) -> None:
    assert date_format(pa.array([cell])) is None
    for form in DATE_FORMATS:
        parts, wrong = date_parts(pa.array([cell, None]), form)
        assert wrong.tolist() == [True, False]
        assert np.isnan(parts).all()


@pytest.mark.parametrize("cell", ["2024-05-23 10h36", "2024-31-12"])
def test_a_form_that_is_not_read_is_no_word(cell: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,day,y\n" + "".join(f"{k},{cell},{k % 2}\n" for k in range(9)))
    message = (
        "'day'.* may be dates, of a form that is not read .* --dates parts, or give --drop day"
    )
    for how in ({}, {"dates": "parts"}):
        with pytest.raises(InputError, match=message):
            api.ingest(path, tmp_path / "d.zarr", label="y", **how)


@pytest.mark.parametrize(
    ("cells", "hours", "seconds"),
    [
        (["2024-03-01 12:00:00.123", "2024-03-01 12:00:01"], [12, 12], [0.123, 1.0]),
        (["2024-03-01 12:00:00,250"], [12], [0.25]),
        (["2024-03-01T12:00:00.123456Z"], [12], [0.123456]),
        (["2024-03-01T12:00:00.5+02:00", "2024-03-01T12:00:00Z"], [12, 12], [-7199.5, 0.0]),
        (["2024-03-01 12:00:00 UTC", "2024-03-01 01:00:00-0530"], [12, 1], [0.0, -19_800.0]),
        (["2024-03-01 00:30:00+01"], [0], [-45_000.0]),
    ],
)
def test_fractions_and_offsets(cells: list[str], hours: list[int], seconds: list[float]) -> None:
    """Hours are those of the place, days are those in UTC, as of columns that have a time zone."""
    words = pa.array(cells)
    parts, wrong = date_parts(words, date_format(words))
    assert not wrong.any()
    assert parts[:, NUMBERS_OF_DATE.index("hour")].tolist() == hours
    noon = (dt.datetime(2024, 3, 1, 12) - dt.datetime(1970, 1, 1)) / dt.timedelta(days=1)
    found = 86_400 * (parts[:, NUMBERS_OF_DATE.index(DAYS)] - noon)
    np.testing.assert_allclose(found, seconds, atol=1e-5)


@pytest.mark.parametrize("ending", ["", "Z", "+02:00"])
def test_tables_of_text_and_json_lines_have_the_same_days(ending: str, tmp_path: Path) -> None:
    moments = [f"2024-03-{5 * k % 9 + 1:02d}T{k % 7:02d}:00:00.{k:03d}{ending}" for k in range(20)]
    rows = [(moment, k % 2) for k, moment in enumerate(moments)]
    (tmp_path / "t.csv").write_text("t,y\n" + "".join(f"{a},{b}\n" for a, b in rows))
    lines = [f'{{"t": "{a}", "y": {b}}}\n' for a, b in rows]
    (tmp_path / "t.jsonl").write_text("".join(lines))
    for how in ("days", "parts"):
        found = [
            api.ingest(
                tmp_path / name, tmp_path / "d.zarr", label="y", dates=how, scale="none",
                overwrite=True,
            ).fingerprint
            for name in ("t.csv", "t.jsonl")
        ]  # fmt: skip
        assert found[0] == found[1]


@pytest.mark.parametrize("cell", ["2024-03-01 12:00:00.", "2024-03-01T12:00:00.5+2", "2024-03-01Z"])
def test_other_endings_are_no_dates(cell: str) -> None:
    assert date_format(pa.array([cell])) is None


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["01JAN2024", "15FEB2024"], "may be dates"),
        (["01JAN2024:10:00:00", "15feb2024:11:30:00"], "may be dates"),
        (["Jan-24", "September 2023"], "may be dates"),
        (["0 days 01:00:00", "-1 days +23:00:00"], "times or durations"),
    ],
)
def test_few_dates_of_other_forms_are_no_categories(
    words: list[str], what: str, tmp_path: Path
) -> None:
    frame = pd.DataFrame({"a": np.arange(40) // 2, "when": words * 20, "y": np.arange(40) % 3 % 2})
    for source in (frame, tmp_path / "t.csv"):
        frame.to_csv(tmp_path / "t.csv", index=False)
        with pytest.raises(InputError, match=f"'when' holds .*{what}.*--one-hot when"):
            api.ingest(source, tmp_path / "d.zarr", one_hot="auto")
    data = api.ingest(frame, tmp_path / "d.zarr", one_hot=["when"])
    assert len(data.feature_names or ()) == 3


def test_names_that_begin_as_months_are_categories(tmp_path: Path) -> None:
    words = ["mara22", "jan", "12 dec", "Marc-01"] * 10
    frame = pd.DataFrame({"a": np.arange(40) // 2, "who": words, "y": np.arange(40) % 3 % 2})
    data = api.ingest(frame, tmp_path / "d.zarr", one_hot="auto")
    assert len(data.feature_names or ()) == 5
