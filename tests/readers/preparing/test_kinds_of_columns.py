"""Columns of frames and Parquet: categories of numbers, intervals, and large whole numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dcsvm_dask.data.ingest import ingest
from dcsvm_dask.errors import DcsvmWarning
from tests.stored import labels_of, rows_of

N = 60
RNG = np.random.default_rng(0)
ROOMS = RNG.integers(1, 4, N) * 10
PLAIN = pd.DataFrame({"rooms": ROOMS, "size": RNG.normal(size=N), "y": ["a", "b"] * (N // 2)})
LARGE = RNG.integers(2**60, 2**61, N)


def taken(frame: pd.DataFrame, folder: Path, kind: str, **how: Any) -> Any:
    source: Any = frame
    if kind == "parquet":
        source = folder / "t.parquet"
        frame.to_parquet(source)
    return ingest(source, folder / "d.zarr", scale="none", overwrite=True, **how)


@pytest.mark.parametrize("kind", ["frame", "parquet"])
@pytest.mark.parametrize("of", [int, float, bool])
def test_categories_that_are_numbers_are_numbers(kind: str, of: Any, tmp_path: Path) -> None:
    rooms = (PLAIN["rooms"] - 10).astype(of)
    frame = PLAIN.assign(rooms=rooms.astype("category"))
    wanted = np.column_stack([rooms, PLAIN["size"]]).astype(np.float32)
    np.testing.assert_array_equal(rows_of(taken(frame, tmp_path, kind)), wanted)
    with_words = frame.assign(town="Bonn")[["rooms", "size", "town", "y"]]
    data = taken(with_words, tmp_path, kind, one_hot="auto")
    np.testing.assert_array_equal(rows_of(data)[:, :2], wanted)


@pytest.mark.parametrize("kind", ["frame", "parquet"])
def test_categories_that_are_numbers_are_categories_where_that_is_asked(
    kind: str, tmp_path: Path
) -> None:
    frame = PLAIN.assign(rooms=PLAIN["rooms"].astype("category"))
    data = taken(frame, tmp_path, kind, one_hot=["rooms"])
    assert data.feature_names == ["rooms=10", "rooms=20", "rooms=30", "size"]
    wanted = ROOMS[:, None] == [10, 20, 30]
    np.testing.assert_array_equal(rows_of(data)[:, :3], wanted)


@pytest.mark.parametrize("kind", ["frame", "parquet"])
def test_labels_that_are_categories_of_numbers(kind: str, tmp_path: Path) -> None:
    y = PLAIN["y"] == "a"
    for frame in (PLAIN, PLAIN.assign(rooms=PLAIN["rooms"].astype("category"))):
        data = taken(frame.assign(y=y.astype(int).astype("category")), tmp_path, kind)
        np.testing.assert_array_equal(labels_of(data), y)


def test_intervals_are_categories(tmp_path: Path) -> None:
    cut = pd.cut(PLAIN["size"].where(PLAIN["size"] > -1.5), [-9, -1, 0, 9])
    data = taken(PLAIN.assign(rooms=cut), tmp_path, "frame", one_hot="auto", missing="indicator")
    names = ["(-1, 0]", "(-9, -1]", "(0, 9]"]
    assert data.feature_names == [*(f"rooms={name}" for name in names), "rooms missing", "size"]
    wanted = np.asarray(cut.cat.codes)[:, None] == [1, 0, 2, -1]  # bounds in the order of words
    assert wanted.any(axis=0).all()
    np.testing.assert_array_equal(rows_of(data)[:, :4], wanted)


@pytest.mark.parametrize("kind", ["frame", "parquet"])
@pytest.mark.parametrize("of", ["int64", "uint64", "Int64"])
def test_whole_numbers_that_float64_rounds_beside_words_and_empty_cells(
    kind: str, of: str, tmp_path: Path
) -> None:
    large = pd.Series(LARGE).astype(of)  # type: ignore[call-overload]
    town = np.array(["Bonn", "Kiel"])[ROOMS // 20]
    frame = pd.DataFrame({"bytes": large, "town": town, "size": PLAIN["size"], "y": PLAIN["y"]})
    how: dict[str, Any] = {"one_hot": "auto"}
    if of == "Int64":
        frame.loc[3, "bytes"] = pd.NA
        how["missing"] = "median"
    with pytest.warns(DcsvmWarning, match=r"'bytes', .* are rounded, beyond 2\^53"):
        data = taken(frame, tmp_path, kind, **how)
    there = np.arange(N) != (3 if of == "Int64" else -1)
    np.testing.assert_array_equal(rows_of(data)[there, 0], LARGE[there].astype(np.float32))
