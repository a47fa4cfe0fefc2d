"""Every file is read right, or refused with a sentence that says what to do or why."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

from dcsvm_dask import api
from dcsvm_dask.errors import InputError
from tests.readers.own_files.files import DAY, FILES, FRAME, JOB, READ, File, cells, replaced, text
from tests.readers.own_files.run import tried


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_a_file_is_read_right_or_refused_with_what_to_do(file: File, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of row numbers
        outcome, message = tried(file, tmp_path)
    assert outcome == file.outcome, message
    assert file.says in message
    assert (outcome == READ) == (not message)


def test_there_are_as_many_as_people_bring() -> None:
    assert len(FILES) == len({file.name for file in FILES}) >= 75


def test_numbers_of_several_signs_do_not_become_categories(tmp_path: Path) -> None:
    file = text(cells(lambda b: f"{b:.0f}{'$' if b > 4000 else '€'}"))(tmp_path)
    with pytest.raises(InputError, match="'b' holds numbers with signs or units"):
        api.ingest(file, tmp_path / "d.zarr", one_hot="auto")


def test_later_numbers_have_the_sign_of_the_training_rows(tmp_path: Path) -> None:
    def file(name: str, form: str) -> Path:
        content = cells(lambda b: form.format(b))
        return Path(text(content, name)(tmp_path))

    how = {"execution": api.Execution(workers=0), "quiet": True, "report": False}
    runs = {}
    for sign in ("%", "$"):
        data = tmp_path / f"{sign}.zarr"
        api.ingest(file(f"{sign}.csv", f"{{:.0f}}{sign}"), data, missing="median")
        runs[sign] = api.train(tmp_path / f"{sign}.zarr", tmp_path / f"run{sign}", **how)
    wanted = runs["%"].predict(tmp_path / "%.csv")
    np.testing.assert_array_equal(runs["$"].predict(tmp_path / "$.csv"), wanted)
    np.testing.assert_array_equal(runs["$"].predict(file("bare.csv", "{:.0f}")), wanted)
    filled = runs["%"].predict(file("holes.csv", "NA"))  # no number, and so none without a sign
    assert len(filled) == len(wanted)
    with pytest.raises(InputError, match=r"'b'.* is a number without a sign, and .* with %"):
        runs["%"].predict(tmp_path / "bare.csv")
    with pytest.raises(InputError, match=r"'b'.* is a number with %, and .* with \$"):
        runs["$"].predict(tmp_path / "%.csv")


def test_a_word_that_means_missing_is_quoted(tmp_path: Path) -> None:
    file = text(replaced(3, "a", "NA"))(tmp_path)
    with pytest.raises(InputError, match=r"is empty \('NA'\), as 1 .*; if 'NA' is a category"):
        api.ingest(file, tmp_path / "d.zarr")


def test_all_columns_that_need_a_choice_are_named_at_once(tmp_path: Path) -> None:
    table = FRAME.assign(job=JOB, day=DAY.strftime("%d %b %Y"))[["job", "day", "a", "y"]]
    table.loc[3, "a"] = np.nan
    file = text(table.to_csv(index=False))(tmp_path)
    with pytest.raises(InputError) as caught:
        api.ingest(file, tmp_path / "d.zarr")
    message = str(caught.value).splitlines()
    assert [("--one-hot" in one, "--dates" in one, "--missing" in one) for one in message] == [
        (True, False, False),
        (False, True, False),
        (False, False, True),
    ]
    assert all(one.startswith(str(file)) for one in message)
