"""Every file is read right, or refused with a sentence that says what to do or why."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

from dcsvm_dask import api
from dcsvm_dask.errors import InputError
from tests.readers.own_files.files import FILES, READ, File, cells, text
from tests.readers.own_files.run import tried


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_a_file_is_read_right_or_refused_with_what_to_do(file: File, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of row numbers
        outcome, said = tried(file, tmp_path)
    assert outcome == file.outcome, said
    assert file.says in said
    assert (outcome == READ) == (not said)


def test_there_are_as_many_as_people_bring() -> None:
    assert len(FILES) == len({file.name for file in FILES}) >= 75


@pytest.mark.parametrize("sign", ["%", " €"])
def test_numbers_with_signs_do_not_become_categories_by_themselves(
    sign: str, tmp_path: Path
) -> None:
    file = text(cells(lambda b: f"{b:.0f}{sign}"))(tmp_path)
    with pytest.raises(InputError, match="'b' holds numbers with signs or units"):
        api.ingest(file, tmp_path / "d.zarr", one_hot="auto")
