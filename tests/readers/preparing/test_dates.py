"""Dates are those that people wrote: years of two digits are recent, and no day rolls over."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import numpy as np
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
    cells = [moment.strftime(form) for moment in MOMENTS]
    found = date_format(pa.array(cells))
    assert found is not None
    parts, wrong = date_parts(pa.array([*cells, None]), found)
    assert not wrong.any()
    truth = [dt.datetime.strptime(cell, form) for cell in cells]
    since = [(one - dt.datetime(1970, 1, 1)) / dt.timedelta(days=1) for one in truth]
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


@pytest.mark.parametrize("cell", ["2024-05-23 10:36:00.835042", "2024-31-12"])
def test_a_form_that_is_not_read_is_no_word(cell: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,day,y\n" + "".join(f"{k},{cell},{k % 2}\n" for k in range(9)))
    said = "'day'.* may be dates, of a form that is not read .* --dates parts, or give --drop day"
    for how in ({}, {"dates": "parts"}):
        with pytest.raises(InputError, match=said):
            api.ingest(path, tmp_path / "d.zarr", label="y", **how)
