"""The scaling that an ingest chooses: by what the rows are, told and stored."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits

from dcsvm_dask import api
from dcsvm_dask.readers.statistics import ScalingStatistics
from dcsvm_dask.storage.dataset import DataSet
from tests.command_line import invoke

X, Y = load_breast_cancer(return_X_y=True)


def chosen(rows: Any, *, is_sparse: bool = False) -> ScalingStatistics:
    statistics = ScalingStatistics("auto")
    for start in range(0, rows.shape[0], 100):
        statistics.update(rows[start : start + 100])
    statistics.scaling = statistics.finish(rows.shape[1], is_sparse)  # type: ignore[attr-defined]
    return statistics


def test_dense_rows_are_standardised() -> None:
    found = chosen(X)
    assert found.scaling.kind == "standard"  # type: ignore[attr-defined]
    scaled = found.scaling.apply(X)  # type: ignore[attr-defined]
    np.testing.assert_allclose(scaled.std(axis=0), 1.0)
    assert "standardised" in found.reason


def test_constant_columns_become_0_and_are_counted() -> None:
    rows = np.column_stack([X, np.full(len(X), 7.0)])
    found = chosen(rows)
    assert not found.scaling.apply(rows)[:, -1].any()  # type: ignore[attr-defined]
    assert "1 constant" in found.reason


def test_features_of_0_and_1_are_left_alone() -> None:
    width = X.shape[1]
    between = (X[:, :1] - X[:, 0].min()) / np.ptp(X[:, 0])
    rows = np.hstack([X, np.quantile(X, 0.99, axis=0) < X, between])
    found = chosen(rows)
    scaled = found.scaling.apply(rows)  # type: ignore[attr-defined]
    np.testing.assert_array_equal(scaled[:, width:-1], rows[:, width:-1])
    others = np.r_[:width, rows.shape[1] - 1]
    np.testing.assert_allclose(scaled[:, others].std(axis=0), 1.0)
    np.testing.assert_allclose(scaled[:, others].mean(axis=0), 0.0, atol=1e-12)
    assert f"standardised, but for {width} of 0 and 1" in found.reason  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "rows",
    [
        load_digits().data / 16,
        load_digits().data / 8 - 1,
        (X - X.mean(axis=0)) / X.std(axis=0),
        ((X - X.mean(axis=0)) / X.std(axis=0))[:450],
        np.column_stack([(X - X.mean(axis=0)) / X.std(axis=0), np.ones(len(X))]),
    ],
    ids=["in 0..1", "in -1..1", "standardised", "a part of these", "with a constant"],
)
def test_rows_that_are_scaled_are_left_alone(rows: Any) -> None:
    found = chosen(rows)
    assert found.scaling is None  # type: ignore[attr-defined]
    assert "already" in found.reason


def test_sparse_rows_are_divided_by_the_largest_absolute_values() -> None:
    rows = sparse.csr_array(np.where(np.median(X, axis=0) < X, X, 0.0))
    found = chosen(rows, is_sparse=True)
    scaling = found.scaling  # type: ignore[attr-defined]
    assert (scaling.kind, scaling.offset) == ("minmax", None)
    np.testing.assert_allclose(abs(scaling.apply(rows)).max(axis=0).toarray(), 1.0)
    assert chosen(sparse.csr_array(rows > 0), is_sparse=True).scaling is None  # type: ignore[attr-defined]


def test_files_and_frames_are_scaled_arrays_and_data_sets_are_not(tmp_path: Path) -> None:
    frame = pd.DataFrame(X).assign(y=Y)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    kinds = {}
    for name, source in {
        "csv": str(tmp_path / "rows.csv"),
        "frame": frame,
        "arrays": (X, Y),
        "again": str(tmp_path / "arrays"),
    }.items():
        kinds[name] = api.ingest(source, tmp_path / name).scaling
    assert kinds["csv"] is not None
    assert kinds["frame"] is not None
    assert kinds["csv"].kind == kinds["frame"].kind == "standard"
    assert kinds["arrays"] is None
    assert kinds["again"] is None
    again = api.ingest(tmp_path / "csv", tmp_path / "copy")
    assert again.scaling is not None
    assert again.scaling.equals(kinds["csv"])


@pytest.mark.parametrize(
    ("n", "reported"), [(1, "1 constant feature set to 0"), (2, "2 constant features set to 0")]
)
def test_constant_features_are_counted_in_words(n: int, reported: str, tmp_path: Path) -> None:
    frame = pd.DataFrame(X).assign(**{f"same_{i}": 7.0 for i in range(n)}, y=Y)
    data = api.ingest(frame, tmp_path / "d.zarr", label="y")
    assert data.scaling_reason == f"features of dense rows are standardised; {reported}"


def test_it_is_learned_on_the_training_part_told_and_stored(tmp_path: Path) -> None:
    pd.DataFrame(X).assign(y=Y).to_csv(tmp_path / "rows.csv", index=False)
    done = invoke(
        "ingest", tmp_path / "rows.csv", "--out", tmp_path / "d.zarr", "--test-fraction", 0.5
    )
    assert done.exit_code == 0, done.output
    assert "scaling standard (features of dense rows are standardised)" in done.output
    data = api.ingest(
        str(tmp_path / "rows.csv"), tmp_path / "e.zarr", test_fraction=0.5, scale="standard"
    )
    assert data.fingerprint == DataSet.open(tmp_path / "d.zarr").fingerprint
    shown = invoke("info", tmp_path / "d.zarr")
    assert "are standardised)" in shown.output
    plain = invoke("ingest", tmp_path / "rows.csv", "--out", tmp_path / "n.zarr", "--scale", "none")
    assert "scaling none\n" in plain.output
