"""The format of a source is found out; a source that is not there is named."""

from __future__ import annotations

from pathlib import Path

import numpy as np
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
    ("content", "said"),
    [
        (EXCEL, "is a spreadsheet: save the sheet as CSV, or in Python give"),
        (CALC, "is a spreadsheet: save the sheet as CSV, or in Python give"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "is an old Excel file: save the sheet"),
        (_zipped(("Index/Document.iwa", "")), "is a spreadsheet of Numbers: export it as CSV"),
        (_zipped(("rows.csv", "a,b\n1,2\n")), "is a zip archive: unpack it, and give the file in"),
    ],
)
def test_sheets_are_told_by_their_content(
    name: str, content: bytes, said: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=f"{name}: {said}"):
        open_source(tmp_path / name)


def test_archives_of_numpy_are_no_sheets(tmp_path: Path) -> None:
    np.savez(tmp_path / "t.npz", X_train=np.eye(3), y_train=np.array([0, 1, 1]))
    (tmp_path / "t.npz").rename(tmp_path / "t")
    assert open_source(tmp_path / "t").n_features == 3
