"""Which column is the label, and how the columns of a later table are found."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from dcsvm_dask.data.ingest import ingest
from dcsvm_dask.data.summary import reading_line, reading_of
from dcsvm_dask.errors import InputError
from dcsvm_dask.readers.columns import Expected, column_layout
from dcsvm_dask.readers.frames import FrameSource, memory_source
from dcsvm_dask.readers.open import open_source
from dcsvm_dask.readers.preparing.choices import Choices
from dcsvm_dask.readers.preparing.source import PreparedSource
from dcsvm_dask.readers.source import Source

Opener = Callable[..., Source]


def open_csv(table: dict[str, Any], path: Path, **how: Any) -> Source:
    pd.DataFrame(table).to_csv(path / "a.csv", index=False)
    return open_source(path / "a.csv", **how)


def open_parquet(table: dict[str, Any], path: Path, **how: Any) -> Source:
    pd.DataFrame(table).to_parquet(path / "a.parquet", index=False)
    return open_source(path / "a.parquet", **how)


def open_pandas(table: dict[str, Any], path: Path, **how: Any) -> Source:
    return FrameSource(pd.DataFrame(table), name="a", **how)


def open_polars(table: dict[str, Any], path: Path, **how: Any) -> Source:
    return FrameSource(pl.DataFrame(table), name="a", **how)


OPENERS = pytest.mark.parametrize("opened", [open_csv, open_parquet, open_pandas, open_polars])


@OPENERS
def test_the_last_column_is_the_label(opened: Opener, tmp_path: Path) -> None:
    source = opened({"x": [1.0, 2.0], "z": [3.0, 4.0], "species": ["a", "b"]}, tmp_path)
    assert source.feature_names == ["x", "z"]
    assert (source.reading.label, source.reading.position) == ("species", 2)
    ((rows, labels),) = source.blocks()
    np.testing.assert_array_equal(rows, [[1, 3], [2, 4]])
    assert labels is not None
    assert labels.tolist() == ["a", "b"]


@OPENERS
@pytest.mark.parametrize("usual", ["y", "label", "Target", "CLASS"])
def test_two_columns_that_may_be_the_label(opened: Opener, usual: str, tmp_path: Path) -> None:
    table = {"x": [1.0, 2.0], usual: [3.0, 4.0], "species": ["a", "b"]}
    with pytest.raises(InputError, match=f"may be 'species', the last column, or '{usual}'"):
        opened(table, tmp_path)
    assert opened(table, tmp_path, label="species").feature_names == ["x", usual]
    last = "class" if usual == "label" else "label"
    table = {"x": [1.0, 2.0], usual: [3.0, 4.0], last: ["a", "b"]}
    assert opened(table, tmp_path).feature_names == ["x", usual]


@OPENERS
def test_a_later_table_is_matched_by_name(opened: Opener, tmp_path: Path) -> None:
    expected = Expected(2, ["a", "b"], "ort", 0)
    table = {"id": ["p", 'q"'], "b": [1.5, 2], "ort": ["u", "v"], "a": [3.0, 4], "when": ["", "n,"]}
    for labelled in (True, False):
        source = opened(table, tmp_path, expected=expected, labelled=labelled)
        ((rows, labels),) = source.blocks()
        np.testing.assert_array_equal(rows, [[3, 1.5], [4, 2]])
        assert (None if labels is None else labels.tolist()) == (["u", "v"] if labelled else None)
    del table["ort"]
    ((rows, labels),) = opened(table, tmp_path, expected=expected).blocks()
    np.testing.assert_array_equal(rows, [[3, 1.5], [4, 2]])
    assert labels is None
    wanted = Expected(4, ["a", "c", "b", "d"])
    with pytest.raises(InputError, match=r"lacks 2 of the 4 features .*: 'c', 'd'; it has: id, b"):
        opened(table, tmp_path, expected=wanted)


def test_without_names_the_place_counts() -> None:
    expected = Expected(2, ["a", "b"], "ort", 1)
    assert column_layout("t", 2, None, expected=expected).features == [0, 1]
    found = column_layout("t", 3, None, expected=expected)
    assert (found.label, found.features) == (1, [0, 2])
    found = column_layout("t", 3, ["p", "q", "ort"], expected=Expected(2, None, "ort", 0))
    assert (found.label, found.features) == (2, [0, 1])
    with pytest.raises(InputError, match="4 columns, but 2 features"):
        column_layout("t", 4, None, expected=expected)


def test_a_label_that_had_no_name() -> None:
    expected = Expected(2, ["a", "b"])
    assert column_layout("t", 3, ["b", "Target", "a"], expected=expected).label == 1
    assert column_layout("t", 3, ["b", "ort", "a"], expected=expected).label is None
    assert column_layout("t", 4, ["b", "ort", "a", "y"], expected=expected).label == 3
    assert column_layout("t", 4, ["b", "ort", "a", "when"], expected=expected).label is None


def test_two_columns_of_one_name() -> None:
    with pytest.raises(
        InputError, match="t: two columns have the name 'b': 1 and 3, counted from 0"
    ):
        column_layout("t", 4, ["a", "b", "c", "b"])
    frame = pd.DataFrame(np.ones((2, 3)), columns=["a", "a", "y"])
    with pytest.raises(InputError, match="two columns have the name 'a'"):
        FrameSource(frame, name="t")


@OPENERS
def test_columns_that_are_left_out(opened: Opener, tmp_path: Path) -> None:
    table = {"id": ["p", "q"], "a": [1.0, 2.0], "ort": ["u", "v"], "b": [3.0, 4.0]}
    source = opened(table, tmp_path, label="ort", drop=["id"])
    assert source.feature_names == ["a", "b"]
    assert source.reading.position == 1
    np.testing.assert_array_equal(next(iter(source.blocks()))[0], [[1, 3], [2, 4]])
    for drop, message in (
        (["c"], "no column 'c' to drop"),
        (["ort"], "no column 'ort'; there are"),
    ):
        with pytest.raises(InputError, match=message):
            opened(table, tmp_path, label="ort", drop=drop)


@pytest.mark.parametrize(
    "kind", ["Int64", "Float64", "boolean", "int64[pyarrow]", "float32", "bool"]
)
def test_types_of_columns(kind: str) -> None:
    frame = pd.DataFrame({"a": pd.array([0, 1, 1], dtype=kind), "y": ["u", "v", "v"]})
    np.testing.assert_array_equal(
        next(iter(FrameSource(frame, name="t").blocks()))[0][:, 0], [0, 1, 1]
    )
    if kind[0] in "IF":
        frame.loc[1, "a"] = pd.NA
        with pytest.raises(InputError, match=r"t: row 1, column 0 \('a'\) .* is NaN"):
            list(FrameSource(frame, name="t").blocks())


@pytest.mark.parametrize("library", [pd, pl])
def test_frames_that_cannot_be_used(library: Any) -> None:
    for column in (["1", "2"], [date(2020, 1, 1), date(2021, 1, 1)]):
        with pytest.raises(InputError, match=r"the column 'a' must be numeric, got .*"):
            FrameSource(library.DataFrame({"a": column, "y": [0, 1]}), name="t")
    with pytest.raises(InputError, match=r"row 1 \(counted from 0\) has no label; leave"):
        list(FrameSource(library.DataFrame({"a": [1, 2], "y": ["u", None]}), name="t").blocks())
    with pytest.raises(InputError, match="empty: 0 rows"):
        FrameSource(library.DataFrame({"a": [], "y": []}), name="t")


def test_frames_that_are_not_in_memory() -> None:
    frame = pl.DataFrame({"a": [1, 2], "y": [0, 1]})
    for X in (frame.lazy(), frame.to_arrow()):
        with pytest.raises(InputError, match=r"X: .* is not a data frame .* in memory; convert it"):
            memory_source(X, name="X")


def test_labels_of_any_type() -> None:
    for labels in (pd.Categorical(["u", "v"]), [True, False], pd.array([3, 4], "Int64")):
        frame = pd.DataFrame({"a": [1, 2], "y": labels})
        ((_, found),) = FrameSource(frame, name="t").blocks()
        assert found is not None
        assert found.tolist() == list(labels)


def test_an_index_of_pandas_is_neither_label_nor_feature(tmp_path: Path) -> None:
    frame = pd.DataFrame({"x": np.arange(8.0), "species": list("abababab")})
    frame[frame.x != 3].to_parquet(tmp_path / "a.parquet")
    source = open_source(tmp_path / "a.parquet")
    assert source.reading.label == "species"
    assert source.reading.index == ("__index_level_0__",)
    assert source.feature_names == ["x"]
    ((rows, labels),) = source.blocks()
    assert rows[:, 0].tolist() == [0, 1, 2, 4, 5, 6, 7]
    assert list(labels) == list("abaabab")


def test_an_index_with_a_name_is_a_feature_only_where_it_is_named(tmp_path: Path) -> None:
    path, kept = tmp_path / "a.parquet", ("x", "customer")
    frame = pd.DataFrame({"x": np.arange(8.0), "species": list("abababab")})
    customer = pd.Index([7.0, 1, 3, 2, 9, 8, 5, 4], name="customer")
    frame.set_index(customer).to_parquet(path)
    assert open_source(path).feature_names == ["x"]
    chosen = open_source(path, label="species", choices=Choices(columns=kept))
    assert isinstance(chosen, PreparedSource)
    assert chosen.input_names == list(kept)
    by_name = open_source(path, label="customer", drop=["species"])
    assert (by_name.reading.label, by_name.feature_names) == ("customer", ["x"])
    later = Expected(2, kept, "species")
    assert open_source(path, expected=later).feature_names == list(kept)
    with pytest.raises(InputError, match="column -1, is left out by drop, or is the index of pand"):
        open_source(path, label=-1)
    frame.set_index("species").to_parquet(path)
    assert open_source(path, label="species").feature_names == ["x"]
    frame.set_index(frame.species.rename("class")).to_parquet(path)
    assert open_source(path, drop=["species"]).reading.label == "class"


def test_an_index_that_was_left_out_is_shown(tmp_path: Path) -> None:
    frame = pd.DataFrame({"x": np.arange(8.0), "species": list("abababab")})
    frame[frame.x != 3].to_parquet(tmp_path / "a.parquet")
    data = ingest(tmp_path / "a.parquet", tmp_path / "a.zarr", label="species", scale="none")
    found = reading_of(data)
    assert found["index"] == ["__index_level_0__"]
    assert "without the index of pandas, '__index_level_0__' (--columns takes" in reading_line(
        found
    )
    (tmp_path / "b.parquet").write_bytes(b"PAR1" + bytes(20))
    with pytest.raises(InputError, match=r"b\.parquet: damaged"):
        open_source(tmp_path / "b.parquet")
