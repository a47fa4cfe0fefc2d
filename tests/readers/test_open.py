"""The format of a source is found out; a source that is not there is named."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

from dcsvm_dask.errors import InputError
from dcsvm_dask.readers.open import find_format, open_source


@pytest.mark.parametrize(
    ("name", "head", "kind"),
    [
        ("a9a", "-1 3:1 11:1\n", "svmlight"),
        ("a9a.t", "-1\n+1 2:0.5 # c\n", "svmlight"),
        ("ranks", "2 qid:1 1:3\n", "svmlight"),
        ("rows.csv", "1 2:3\n", "table"),
        ("rows.data", "1,2,a\n", "table"),
        ("rows.data", "1 2 3\n", "table"),
        ("rows.txt", "12:30,1\n", "table"),
    ],
)
def test_the_format_is_found_out(name: str, head: str, kind: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(head)
    assert find_format(str(path)) == kind


@pytest.mark.parametrize("name", ["none.svm", "none.csv", "none.npz", "none.npy", "none.zarr"])
def test_a_missing_file(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    with pytest.raises(InputError) as caught:
        open_source(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("name", ["none.svm", "none.csv", "none.npz", "none.npy"])
def test_an_empty_file(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.touch()
    with pytest.raises(InputError, match="empty: it holds no rows"):
        open_source(path)


def test_a_part_that_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "rows.npz"
    np.savez(path, X=np.eye(3), y=np.arange(3))
    with pytest.raises(InputError, match="has no test part"):
        open_source(path, part="test")


def _zipped(*members: tuple[str, str]) -> bytes:
    import io
    import zipfile

    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, text in members:
            archive.writestr(name, text)
    return content.getvalue()


EXCEL = _zipped(("[Content_Types].xml", "<Types/>"), ("xl/workbook.xml", "<workbook/>"))
CALC = _zipped(("mimetype", "application/vnd.oasis.opendocument.spreadsheet"), ("content.xml", ""))


@pytest.mark.parametrize("name", ["t", "t.csv", "t.txt", "t.dat"])
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (EXCEL, "is a spreadsheet: save the sheet as CSV, or in Python give"),
        (CALC, "is a spreadsheet: save the sheet as CSV, or in Python give"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "is an old Excel file: save the sheet"),
        (_zipped(("Index/Document.iwa", "")), "is a spreadsheet of Numbers: export it as CSV"),
        (_zipped(("rows.csv", "a,b\n1,2\n")), "is a zip archive: unpack it, and give the file in"),
    ],
    # Archives hold the time at which they were written, which may not be part of a test's name.
    ids=["excel", "calc", "old excel", "numbers", "zip"],
)
def test_sheets_are_recognised_by_their_content(
    name: str, content: bytes, message: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=f"{name}: {message}"):
        open_source(tmp_path / name)


@pytest.mark.parametrize("name", ["t", "t.csv", "t.xls", "t.svm"])
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<!doctype html>\n<html>", "is a web page: save the table"),
        ("<p>Good,1\n<p>Bad,2\n", "is a web page: .*; where it is a table of texts .*, begin it"),
        ("<HTML><body>", "is a web page: save the table"),
        ("\ufeff\r\n<html lang='en'>", "is a web page: save the table"),
        ('<?xml version="1.0"?>\n<!-- a <b> -->\n<html>', "is a web page: save the table"),
        ("<table border=1><tr><td>a</td>", "is a web page: save the table"),
        ('<?xml version="1.0"?>\n<Workbook>', "is a spreadsheet: save the sheet"),
        ('<?xml version="1.0"?>\n<rows>', "is an XML file: in Python give"),
        ("version https://git-lfs.github.com/spec/v1\n", "is a pointer of Git LFS"),
    ],
)
def test_marks_are_recognised_by_their_content(
    name: str, text: str, message: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(f"{text}\n1,2\n", encoding="utf-8")
    with pytest.raises(InputError, match=f"{name}: {message}"):
        open_source(tmp_path / name)


def test_text_that_is_called_a_spreadsheet(tmp_path: Path) -> None:
    path = tmp_path / "t.xlsx"
    path.write_text("a,b,y\n1,2,0\n3,4,1\n")
    with pytest.raises(InputError, match=r"is text, but has the name of .*: rename it to \.csv"):
        open_source(path)
    assert open_source(path.rename(tmp_path / "t.csv")).n_features == 2


def test_names_of_columns_in_angle_brackets(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("<p>,<html>,<y>\n1,2,0\n3,4,1\n")
    assert open_source(tmp_path / "t.csv").feature_names == ["<p>", "<html>"]


@pytest.mark.parametrize("given", ["parts", "parts/", "parts/*.csv", "parts/p-*.csv"])
def test_parts_are_refused_with_what_joins_them(given: str, tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    for k in range(3):
        (tmp_path / "parts" / f"p-{k}.csv").write_text(f"a,y\n{k},{k % 2}\n")
    with pytest.raises(InputError, match=r"3 files.*; give one file: join them by awk") as caught:
        open_source(f"{tmp_path}/{given}")
    command = re.search("awk .*?all.csv", str(caught.value))
    assert command is not None
    subprocess.run(command[0], shell=True, cwd=tmp_path, check=True)
    assert (tmp_path / "all.csv").read_text() == "a,y\n0,0\n1,1\n2,0\n"
    frame = re.search(r"dask\.dataframe\.read_csv\('(.*)'\)", str(caught.value))
    assert frame is not None
    assert len(dd.read_csv(frame[1])) == 3


def test_parts_of_parquet_are_refused_with_what_reads_them(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": range(4), "y": [0, 1] * 2})
    frame.to_parquet(tmp_path / "part.0.parquet")
    frame.to_parquet(tmp_path / "part.1.parquet")
    with pytest.raises(InputError, match=r"2 files such as part\.0\.parquet; .*read_parquet\('"):
        open_source(tmp_path)


def test_the_only_table_of_a_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,y\n1,0\n2,1\n")
    with pytest.raises(InputError, match=r"is a folder; give the file in it, .*/t\.csv$"):
        open_source(tmp_path)


def test_a_run_holds_no_rows(tmp_path: Path) -> None:
    for name in ("run.json", "history.json"):
        (tmp_path / name).write_text("{}")
    with pytest.raises(InputError, match="is the folder of a run, which holds models and no rows"):
        open_source(tmp_path)


@pytest.mark.parametrize(("ending", "joined"), [("", True), (".data", True), (".csv.gz", False)])
def test_only_text_is_joined_by_awk(ending: str, joined: bool, tmp_path: Path) -> None:
    for k in range(2):
        rows = pd.DataFrame({"a": [k], "y": [k]})
        rows.to_csv(tmp_path / f"part-{k}{ending}", index=False)
    with pytest.raises(InputError, match="is a pattern of 2 files; give one file") as caught:
        open_source(f"{tmp_path}/part-*")
    assert ("awk" in str(caught.value)) is joined


def test_archives_of_numpy_are_no_sheets(tmp_path: Path) -> None:
    np.savez(tmp_path / "t.npz", X_train=np.eye(3), y_train=np.array([0, 1, 1]))
    (tmp_path / "t.npz").rename(tmp_path / "t")
    assert open_source(tmp_path / "t").n_features == 3


def test_a_pipe_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    held = os.open(path, os.O_RDWR)  # whoever opens a pipe waits for the other end
    try:
        with pytest.raises(InputError, match=r"pipe: a pipe, which can be read only once; write"):
            open_source(path)
    finally:
        os.close(held)
