"""An empty label is reported beside what is wrong with the columns of the same table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from dcsvm_dask import api
from dcsvm_dask.errors import InputError

TABLE = """age,town,income,job
31,Bonn,1200,no
42,Kiel,,yes
,Ulm,2100,
50,Bonn,1800,yes
47,Ulm,2500,no
"""


def lines(source: Any, tmp_path: Path, **words: Any) -> list[str]:
    """Return the message of a refused ingest, line by line without the name of the table."""
    with pytest.raises(InputError) as error:
        api.ingest(source, tmp_path / "d.zarr", label="job", **words)
    return [line.partition("t.csv")[2] for line in str(error.value).splitlines()]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    (tmp_path / "t.csv").write_text(TABLE)
    return tmp_path / "t.csv"


@pytest.mark.parametrize("words", [{}, {"test_fraction": 0.2}, {"rows": (0, 4)}], ids=str)
def test_all_is_reported_at_once(words: dict[str, Any], source: Path, tmp_path: Path) -> None:
    label, age, town, income = lines(source, tmp_path, **words)
    assert label == (
        ", line 4: the label is empty; leave rows without one out of the table, or write it"
    )
    assert age.startswith(", line 4: column 1 ('age') is empty")
    assert town.startswith(": the column 'town' holds words")
    assert income.startswith(", line 3: column 3 ('income') is empty")


@pytest.mark.parametrize("words", [{}, {"test_fraction": 0.2}], ids=str)
def test_alone_where_the_columns_are_fine(
    words: dict[str, Any], source: Path, tmp_path: Path
) -> None:
    assert len(lines(source, tmp_path, one_hot="auto", missing="median", **words)) == 1


def test_a_column_without_any_value_is_reported_beside_it(source: Path, tmp_path: Path) -> None:
    pd.read_csv(source).assign(income=None, town=1).to_csv(source, index=False)
    label, age, income = lines(source, tmp_path)
    assert "the label is empty" in label
    assert "('age') is empty" in age
    assert income == ": the column 'income' has no value in any row: --drop it"


def test_labels_of_rows_that_are_dropped_may_be_empty(source: Path, tmp_path: Path) -> None:
    data = api.ingest(source, tmp_path / "d.zarr", label="job", one_hot="auto", missing="drop")
    assert data.n_rows == 3


def test_a_word_that_counts_as_empty_is_shown(source: Path, tmp_path: Path) -> None:
    source.write_text(TABLE.replace("Ulm,2100,", "Ulm,2100,NA"))
    label = lines(source, tmp_path, one_hot="auto", missing="median")[0]
    assert label.startswith(", line 4: the label is empty ('NA'); leave rows without one out")
    assert "if 'NA' is a class, name the words of empty cells without it: --missing-words" in label


def test_yes_and_no_in_two_ways(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b,job\n" + "True,1,no\n0,2,no\n1,3,yes\nFalse,4,no\n" * 3)
    (message,) = lines(path, tmp_path)
    assert message == (
        ", line 2: column 1 ('a') is not a number: 'True'; write yes and no as 1 and 0 in all rows"
    )


def test_two_byte_order_marks(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("\ufeff\ufeffa,b,y\n1,2,0\n2,3,1\n4,5,1\n", encoding="utf-8")
    assert api.ingest(path, tmp_path / "d.zarr").feature_names == ["a", "b"]
