"""What an ingest says of its source: label, encoding, ranges, rows left out, row numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from dcsvm_dask.data.ingest import ingest
from dcsvm_dask.errors import DcsvmWarning, InputError
from dcsvm_dask.storage.dataset import DataSet

IRIS = load_iris(as_frame=True).frame


def test_how_a_table_is_read_is_kept(tmp_path: Path) -> None:
    text = IRIS.rename(columns={"sepal length (cm)": "größe"}).to_csv(index=False, sep=";")
    (tmp_path / "a.csv").write_bytes(text.encode("cp1252"))
    weights = np.where(np.arange(150) < 10, 0.0, 1.0)
    data = ingest(
        tmp_path / "a.csv",
        tmp_path / "d.zarr",
        encoding="cp1252",
        weights=weights,
        shuffle=True,
        train_rows=120,
    )
    again = DataSet.open(data.place)
    assert again.reading == {
        "format": "text",
        "label": "target",
        "position": 4,
        "separator": ";",
        "encoding": "cp1252",
        "array": None,
        "index": [],
        "header": None,
        "first_feature": None,
    }
    low, high = IRIS.min()[:4], IRIS.max()[:4]
    kept = IRIS[10:]
    assert again.ranges == [[kept.iloc[:, k].min(), kept.iloc[:, k].max()] for k in range(4)]
    assert (low <= high).all()
    assert again.dropped == {"weight_0": 10, "train_rows": 20}
    assert again.feature_names is not None
    assert again.feature_names[0] == "größe"


def test_only_the_first_ranges_of_wide_data(tmp_path: Path) -> None:
    for width, kept in ((60, 60), (1100, 20)):
        data = ingest((np.eye(width), np.arange(width) % 2), tmp_path / f"{width}.zarr")
        assert data.ranges == [[0.0, 1.0]] * kept


def with_index(place: str, shuffled: bool) -> pd.DataFrame:
    frame = IRIS.sample(frac=1, random_state=0).reset_index(drop=True) if shuffled else IRIS
    index = np.random.default_rng(0).permutation(150) if shuffled else np.arange(150)
    frame = frame.copy()
    frame.insert(0 if place == "first" else 2, "nr", index + (place == "first"))
    return frame


@pytest.mark.parametrize("place", ["first", "middle"])
@pytest.mark.parametrize("shuffled", [True, False])
def test_a_column_of_row_numbers(place: str, shuffled: bool, tmp_path: Path) -> None:
    frame = with_index(place, shuffled)
    with pytest.warns(
        DcsvmWarning, match=r"1 feature looks like a row number.*: 'nr'; drop columns"
    ):
        data = ingest(frame, tmp_path / "d.zarr")
    assert len(data.warnings) == 1
    assert ingest(frame, tmp_path / "e.zarr", drop=["nr"]).warnings == []


def test_the_index_that_pandas_writes(tmp_path: Path) -> None:
    half = IRIS.sample(frac=0.5, random_state=0)
    half.to_csv(tmp_path / "a.csv")
    with pytest.warns(
        DcsvmWarning, match=r"row number.*: 'Unnamed: 0'; drop columns .*index=False"
    ):
        ingest(tmp_path / "a.csv", tmp_path / "d.zarr")
    data = ingest(tmp_path / "a.csv", tmp_path / "e.zarr", drop=["Unnamed: 0"])
    assert data.feature_names == list(IRIS.columns[:4])
    half.reset_index().to_parquet(tmp_path / "a.parquet")
    with pytest.raises(InputError, match="no column 'Unnamed: 0' to drop"):
        ingest(tmp_path / "a.parquet", tmp_path / "f.zarr", drop=["Unnamed: 0"])


def test_what_is_no_row_number(tmp_path: Path) -> None:
    """Whole numbers as data have them: repeated, with gaps, or few."""
    n = 150
    rng = np.random.default_rng(0)
    columns = (np.arange(n) // 2, 2 * np.arange(n), np.arange(n) + 5, rng.integers(0, n, n))
    data: Any = ingest((np.column_stack(columns), np.arange(n) % 2), tmp_path / "d.zarr")
    assert data.warnings == []
    few = ingest((np.arange(10.0)[:, None], np.arange(10) % 2), tmp_path / "e.zarr")
    assert few.warnings == []


def test_columns_are_dropped_by_name_only(tmp_path: Path) -> None:
    (tmp_path / "a.svm").write_text("1 1:1\n-1 1:2\n")
    first = ingest(IRIS, tmp_path / "d.zarr")
    for source in (tmp_path / "a.svm", (np.eye(3), [0, 1, 1]), first.url):
        with pytest.raises(InputError, match="drop"):
            ingest(source, tmp_path / "e.zarr", drop=["a"])
    with pytest.raises(InputError, match="must be a list of names"):
        ingest(IRIS, tmp_path / "e.zarr", drop="target")
