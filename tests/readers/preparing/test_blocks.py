"""Tables of text in many blocks are read as in one."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dcsvm_dask.errors import InputError
from dcsvm_dask.readers import files
from dcsvm_dask.readers.labels import LabelTable
from dcsvm_dask.readers.open import open_source
from dcsvm_dask.readers.preparing import csv_tables
from dcsvm_dask.readers.preparing.choices import Choices
from dcsvm_dask.readers.preparing.column_facts import ColumnFacts
from dcsvm_dask.readers.preparing.features import Features, joined
from dcsvm_dask.readers.preparing.records import end_of_records
from dcsvm_dask.readers.preparing.source import PreparedSource
from dcsvm_dask.readers.preparing.words import tidy
from tests.marks import long

N = 400
CHOICES = Choices.of(one_hot=["word"], dates="parts", missing="indicator")


def table(path: Path, *, late: str = "7") -> str:
    """Write a table with all that columns may have; `late` is a cell of its end."""
    random = np.random.default_rng(0)
    out = io.StringIO()
    write = csv.writer(out, lineterminator="\n").writerow
    write(["number", "word", "flag", "day", "late", "y"])
    words = ['two\nlines, "quoted"', "plain", 'a 5" pipe', "NA"]
    for k in range(N):
        number = "" if random.random() < 0.1 else random.integers(0, 99) / 8
        day = f"2024-0{random.integers(1, 9)}-{random.integers(10, 28)}"
        word, flag = random.choice(words), random.choice(["yes", "no"])
        write([number, word, flag, day, late if k == N - 5 else k, random.choice(["in", "out"])])
    path.write_text(out.getvalue())
    return str(path)


def read(path: str) -> tuple[np.ndarray, list[Any], PreparedSource]:
    source = open_source(path, choices=CHOICES)
    assert isinstance(source, PreparedSource)
    source.learn()
    found = list(source.blocks())
    labels = [label for _, part in found for label in np.asarray(part).tolist()]
    return np.concatenate([rows for rows, _ in found]), labels, source


def cut(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    def small(path: str, encoding: str | None = None) -> Any:
        return files.text_blocks(path, size, encoding=encoding)

    monkeypatch.setattr(csv_tables, "text_blocks", small)


@pytest.mark.parametrize("size", [long(64), 300, 1500])
def test_blocks_of_any_size_give_the_same(
    size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = table(tmp_path / "t.csv", late="1,007")  # no number as it stands, long after others
    rows, labels, source = read(path)
    cut(monkeypatch, size)
    again, same, other = read(path)
    np.testing.assert_array_equal(rows, again)
    assert labels == same
    assert source.preparation == other.preparation
    assert rows[N - 5, list(other.feature_names or ()).index("late")] == 1007


def test_a_text_is_parsed_once_and_no_number_is_named_by_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = table(tmp_path / "t.csv")
    source = open_source(path, choices=CHOICES)
    assert isinstance(source, PreparedSource)
    source.learn()
    first = list(source.blocks())
    Path(path).unlink()
    assert [rows.tolist() for rows, _ in source.blocks()] == [rows.tolist() for rows, _ in first]
    cut(monkeypatch, 500)
    bad = table(tmp_path / "bad.csv", late="bad")
    lines = Path(bad).read_text().split("\n")
    line = next(k for k, one in enumerate(lines, 1) if ",bad," in one)
    with pytest.raises(InputError, match=rf"line {line}: column 5 \('late'\) is not a number: 'ba"):
        read(bad)


def test_a_sign_that_only_later_blocks_have_is_refused() -> None:
    facts = ColumnFacts("a", as_words=False, decimal=".", keeps=False, is_text=True)
    facts.update(pa.array([1.0, 2.0]), np.arange(2))
    facts.update(tidy(pa.array(["3%", " 4%", ""]), [""]), np.arange(2, 5))
    assert (facts.signs, facts.n_numbers, facts.first_missing) == ({"", "%"}, 4, 4)


@pytest.mark.parametrize("rows", [2, 70_000])
def test_an_open_quotation_mark_is_named_by_its_line(rows: int, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,word,y\n1,x,0\n" + '2,"y,1\n' + "3,z,0\n" * rows)
    with pytest.raises(InputError, match="line 3: has a cell whose quotation marks do not close"):
        read(str(path))


@settings(deadline=None)  # the first call compiles
@given(st.lists(st.lists(st.sampled_from(["a", '"', "\n", ",", ""]), min_size=1, max_size=4)))
def test_records_end_where_the_csv_module_ends_them(cells: list[list[str]]) -> None:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n", quoting=csv.QUOTE_ALL).writerows(cells)
    text = np.frombuffer(out.getvalue().encode(), np.uint8)
    assert end_of_records(text, ",") == len(text)
    if cells:
        last = io.StringIO()
        csv.writer(last, lineterminator="\n", quoting=csv.QUOTE_ALL).writerow(cells[-1])
        before = len(text) - len(last.getvalue())
        assert end_of_records(text[:-2], ",") <= before


def test_features_stand_side_by_side() -> None:
    parts = [
        Features(np.array([[1.5], [-0.0]])),
        Features(np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([1, 0])),
    ]
    rows, is_fine = joined(parts, single=True)
    assert rows.dtype == np.float32
    assert is_fine
    assert rows.tolist() == [[1.5, 0, 1], [0, 1, 0]]
    assert not np.signbit(rows).any()
    assert joined([Features(np.array([[0.1]]))], single=True)[0].dtype == np.float64
    assert not joined([Features(np.array([[np.inf], [0.1]]))], single=True)[1]


@pytest.mark.parametrize(
    "labels",
    [
        np.array([3, 1, 3, 2], np.int8),
        np.array([-100, 100, 0], np.int8),
        np.array([0.0, -0.0, 7.0]),
        np.array([0.5, 1.0]),
        np.array(["b", "a", "b"], object),
        np.array([1e12, 5.0]),
    ],
)
def test_labels_are_counted_as_sorting_does(labels: np.ndarray) -> None:
    table = LabelTable("t")
    codes = table.add(labels)
    assert [table.labels[code] for code in codes] == labels.tolist()
    assert table.first_rows == [labels.tolist().index(label) for label in table.labels]
    assert table.counts == [labels.tolist().count(label) for label in table.labels]
