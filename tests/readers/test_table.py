"""Delimited text: what NumPy gives; headers, labels, quotes; bad cells by line and column."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dcsvm_dask.errors import InputError
from dcsvm_dask.readers import files
from dcsvm_dask.readers.columns import Expected
from dcsvm_dask.readers.open import open_source
from dcsvm_dask.readers.table import TableSource


def read(path: Path, **options: Any) -> tuple[Any, Any]:
    blocks = list(TableSource(str(path), **options).blocks())
    X = np.concatenate([rows for rows, _ in blocks])
    if blocks[0][1] is None:
        return X, None
    return X, np.concatenate([labels for _, labels in blocks])


def test_quotation_marks_in_labels_are_those_of_pandas(tmp_path: Path) -> None:
    words = ['say "aah"', "it's", '"', 'a""b', 'x"y', "a,b"] * 3
    frame = pd.DataFrame({"x": range(len(words)), "y": words})
    path = tmp_path / "rows.csv"
    frame.to_csv(path, index=False)
    X, labels = read(path)
    assert X[:, 0].tolist() == frame["x"].tolist()
    assert labels.tolist() == pd.read_csv(path)["y"].tolist() == words


def test_marks_that_are_not_in_quotes_stay(tmp_path: Path) -> None:
    _, labels = read(write(tmp_path, 'x,y\n1,a""b\n2,"a""b"\n3,a"b\n'))
    assert labels.tolist() == ['a""b', 'a"b', 'a"b']


def write(tmp_path: Path, text: str, name: str = "rows.csv") -> Path:
    path = tmp_path / name
    path.write_text(text)
    return path


@pytest.mark.parametrize("form", ["%.18e", "%.6f", "%r", "%d", "%.3g"])
def test_as_numpy_reads_it(form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = np.random.default_rng(0).normal(scale=50, size=(3000, 6))
    path = tmp_path / "rows.csv"
    rows = [",".join("%r" % v if form == "%r" else form % v for v in r) for r in table.tolist()]  # noqa: UP031
    path.write_text("\n".join(rows))
    monkeypatch.setattr(files.text_blocks, "__defaults__", (1 << 15,))  # many blocks
    X, labels = read(path)
    theirs = np.loadtxt(path, delimiter=",")
    np.testing.assert_array_equal(X, theirs[:, :-1])
    np.testing.assert_array_equal(labels, theirs[:, -1])


def test_covtype(shared_data: Any, tmp_path: Path) -> None:
    archive = shared_data("covtype")
    X, y = archive["X_train"][:3000], archive["y_train"][:3000]
    path = tmp_path / "rows.csv.gz"
    with gzip.open(path, "wb") as file:
        np.savetxt(file, np.column_stack([y, X]), fmt="%d", delimiter=",")
    mine, labels = read(path, label=0)
    np.testing.assert_array_equal(mine, X)
    np.testing.assert_array_equal(labels, y)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", "1,2,0\n3,4,1\n"),
        ("a.csv", "1;2;0\r\n3;4;1\r\n"),
        ("a.tsv", "1\t2\t0\n\n3\t4\t1"),
        ("a.txt", " 1  2 0\n3 \t4   1  \n"),
        ("a.dat", "1|2|0\n3| 4 |1\n"),
        ("a.csv", '"1","2","0"\n" 3",4,1\n'),
        ("a.csv", "\ufeff1,2,0\n3,4,1\n"),
    ],
)
def test_ways_to_part_cells(name: str, text: str, tmp_path: Path) -> None:
    X, labels = read(write(tmp_path, text, name))
    np.testing.assert_array_equal(X, [[1, 2], [3, 4]])
    np.testing.assert_array_equal(labels, [0, 1])


@pytest.mark.parametrize(
    ("text", "options", "features", "names"),
    [
        ("a,b,c\n1,2,3\n", {}, [[1, 2]], ["a", "b"]),
        ("a,label,c\n1,2,3\n", {"label": "label"}, [[1, 3]], ["a", "c"]),
        ("a,y,label\n1,2,3\n", {}, [[1, 2]], ["a", "y"]),
        (",b,c\n1,2,3\n", {}, [[1, 2]], ["Unnamed: 0", "b"]),
        ("a,b,c\n1,two,3\n", {"drop": ["b"]}, [[1]], ["a"]),
        ("a,b,c\n1,2,3\n", {"label": "a"}, [[2, 3]], ["b", "c"]),
        ("a,b,c\n1,2,3\n", {"label": "1"}, [[1, 3]], ["a", "c"]),
        ("1,2,3\n", {"label": "-2"}, [[1, 3]], None),
        ("0,1,label\n5,6,7\n", {}, [[5, 6]], ["0", "1"]),
        ("0,1,2\n5,6,7\n", {"header": True}, [[5, 6]], ["0", "1"]),
        ("# u v w\n5 6 7\n", {}, [[5, 6]], ["u", "v"]),
        ('"a,1",b,c\n1,2,3\n', {}, [[1, 2]], ["a,1", "b"]),
        ("\n\na,b,c\n1,2,3\n", {}, [[1, 2]], ["a", "b"]),
    ],
)
def test_headers_and_labels(
    text: str, options: Any, features: Any, names: Any, tmp_path: Path
) -> None:
    path = write(tmp_path, text)
    np.testing.assert_array_equal(read(path, **options)[0], features)
    assert TableSource(str(path), **options).feature_names == names


def test_labels_that_are_words(tmp_path: Path) -> None:
    path = write(tmp_path, '1,yes\n2,no\n3,"yes"\n4,"a, b"\n5,7\n6, no \n')
    np.testing.assert_array_equal(read(path)[1], ["yes", "no", "yes", "a, b", "7.0", "no"])


def test_a_known_width_shows_whether_there_are_labels(tmp_path: Path) -> None:
    path = write(tmp_path, "1,2,3\n4,5,6\n")
    X, labels = read(path, expected=Expected(3))
    assert labels is None
    np.testing.assert_array_equal(X, [[1, 2, 3], [4, 5, 6]])
    np.testing.assert_array_equal(read(path, expected=Expected(2))[1], [3, 6])
    with pytest.raises(InputError, match=r"3 columns, but 7 features"):
        open_source(path, n_features=7)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("1,2,0\n1,2\n", 2, "fewer than 3 cells"),
        ("1,2,0\n\n1,2,3,4\n", 3, "more than 3 cells"),
        ("1,2,0\n1,,3\n", 2, "column 2 is empty"),
        ("a,b,y\n1,2,0\n1, ,3\n", 3, "column 2 ('b') is empty"),
        ("1,2,0\n1,x,3\n", 2, "column 2 is not a number: 'x'"),
        ("1,2,0\n1,2x,3\n", 2, "column 2 is not a number: '2x'"),
        ("1,2,0\n1,1_0,3\n", 2, "column 2 is not a number: '1_0'"),
        ("1,2,0\n1,2 3,3\n", 2, "column 2 is not a number: '2 3'"),
        ("1,2,0\n1,nan,3\n", 2, "column 2 is 'nan'; fill in or drop such rows, or"),
        ("1,2,0\n1,-inf,3\n", 2, "column 2 is NaN, infinite"),
        ("1,2,0\n1,1e39,3\n", 2, "too large for float32: '1e39'"),
        ("1,2,0\n1,2,\n", 2, "column 3, the label, is empty; leave rows without one"),
        ('1,2,0\n1,2,"a\n', 2, "unclosed quotation mark"),
        ('1,2,0\n1,"2,3\n', 2, "column 2 is not a number"),
        ("1,x,0\n", 1, "'x' is not a number (give --header"),
    ],
)
def test_bad_lines_name_file_line_and_column(
    text: str, line: int, message: str, tmp_path: Path
) -> None:
    path = write(tmp_path, text)
    with pytest.raises(InputError) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}, line {line}: ")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("a,b,y\n", {}, "holds no rows"),
        ("1\n2\n", {}, "has one column; a label and features are needed; between cells may"),
        ("a,b\n1,2\n", {"label": "c"}, "no column 'c'; there are: a, b"),
        ("1,2\n1,2\n", {"label": "7"}, "no column 7: there are 2"),
    ],
)
def test_bad_tables(text: str, options: Any, message: str, tmp_path: Path) -> None:
    path = write(tmp_path, text)
    with pytest.raises(InputError) as caught:
        read(path, **options)
    assert str(path) in str(caught.value)
    assert message in str(caught.value)


NUMBERS = st.floats(width=32, allow_nan=False, allow_infinity=False)
FORMS = st.sampled_from(["r", ".17g", ".18e", ".20f", ".5g", "g", "+.6E"])


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.lists(st.tuples(NUMBERS, FORMS), min_size=3, max_size=3), min_size=1, max_size=5),
    st.sampled_from([",", "\t", ";", " "]),
)
def test_values_are_those_of_float(
    tmp_path_factory: pytest.TempPathFactory,
    table: list[list[tuple[float, str]]],
    delimiter: str,
) -> None:
    cells = [[repr(v) if f == "r" else format(v, f) for v, f in row] for row in table]
    path = tmp_path_factory.mktemp("floats") / "rows.txt"
    path.write_text("\n".join(delimiter.join(row) for row in cells) + "\n")
    X, labels = read(path)
    wanted = np.array([[float(cell) for cell in row] for row in cells])
    np.testing.assert_array_equal(X, wanted[:, :2])
    np.testing.assert_array_equal(labels, wanted[:, 2])


def test_a_first_line_that_is_no_line_of_cells(tmp_path: Path) -> None:
    path = write(tmp_path, f"{'a' * 140_000},b\n1,2\n")
    with pytest.raises(InputError, match=r"rows.csv: the first line is not a row of cells"):
        TableSource(str(path))
