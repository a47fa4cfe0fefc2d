"""Tables that come after the training: what looks alike is not taken for something else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dcsvm_dask import Execution, api
from dcsvm_dask.data.ingest import ingest
from dcsvm_dask.errors import InputError
from dcsvm_dask.storage.dataset import DataSet

HERE = Execution(workers=0)
RNG = np.random.default_rng(0)
X = RNG.integers(0, 9, (60, 2)).astype(np.float64)
Y = np.where(X[:, 0] > X[:, 1], "dog", "cat")


def trained(source: Any, place: Path, **how: Any) -> api.Run:
    ingest(source, place / "d.zarr", **how)
    return api.train(
        place / "d.zarr", place / "run", gamma=0.5, C=10.0, execution=HERE, quiet=True, report=False
    )


def test_empty_cells_that_are_left_out_need_no_room(tmp_path: Path) -> None:
    """Their lines are shorter than lines of which every cell is read."""
    rows = tmp_path / "rows.csv"
    names = ",".join(f"n{k}" for k in range(40))
    lines = [f"{k % 7},{',' * 40}{'ab'[k % 2]}" for k in range(3000)]
    rows.write_text("\n".join([f"x,{names},y", *lines]) + "\n")
    data = ingest(rows, tmp_path / "d.zarr", drop=names.split(","), label="y")
    np.testing.assert_array_equal(data.rows.read(0, 3000)[:, 0], np.arange(3000) % 7)
    run = trained(rows, tmp_path / "r", drop=names.split(","), label="y")
    assert len(run.predict(rows, execution=HERE)) == 3000


@pytest.mark.parametrize("features", [1, 2])
def test_a_word_label_that_is_not_last_is_no_header(features: int, tmp_path: Path) -> None:
    rows, later = tmp_path / "rows.csv", tmp_path / "later.csv"
    lines = [",".join([y, *map(str, x[:features])]) for x, y in zip(X, Y, strict=True)]
    rows.write_text("\n".join(lines))
    later.write_text("\n".join(lines[7:20]))
    run = trained(rows, tmp_path, label=0, header=False)
    assert run.evaluate(later, execution=HERE)["n_rows"] == 13
    parts = ingest(rows, tmp_path / "e.zarr", label=0, header=False, test=later)
    assert parts.open_part("test").n_rows == 13


def test_a_row_of_values_is_not_taken_for_names_that_are_numbers(tmp_path: Path) -> None:
    run = trained((pd.DataFrame(X), Y), tmp_path)
    later = tmp_path / "later.csv"
    later.write_text("1,0\n5,6\n7,8\n")
    found = run.decision_function(later, execution=HERE)
    wanted = run.decision_function(np.array([[1.0, 0], [5, 6], [7, 8]]), execution=HERE)
    np.testing.assert_array_equal(found, wanted)
    later.write_text("0,1\n1,0\n5,6\n7,8\n")  # as pandas writes such a frame
    np.testing.assert_array_equal(run.decision_function(later, execution=HERE), wanted)


def test_rows_of_length_one_over_other_features_are_refused(tmp_path: Path) -> None:
    frame = pd.DataFrame(X, columns=["a", "b"])
    run = trained((frame, Y), tmp_path, scale="unit")
    wider = frame.assign(c=3.0)[["b", "c", "a"]]
    ingest((wider, Y), tmp_path / "wide.zarr", scale="unit")
    with pytest.raises(InputError, match="was scaled differently"):
        run.predict(tmp_path / "wide.zarr", execution=HERE)
    with pytest.raises(InputError, match="scaled to length 1 over 3 features"):
        ingest((frame, Y), tmp_path / "e.zarr", scale="unit", test=tmp_path / "wide.zarr")
    ingest((frame[["b", "a"]], Y), tmp_path / "turned.zarr", scale="unit")
    np.testing.assert_array_equal(
        run.predict(tmp_path / "turned.zarr", execution=HERE), run.predict(frame, execution=HERE)
    )


@pytest.mark.parametrize("missing", [np.nan, None, "", "?"])
def test_a_missing_label_is_no_class(missing: Any, tmp_path: Path) -> None:
    numbers = np.where(Y == "dog", 3, 5)
    run = trained((X, numbers), tmp_path, positive=[3])
    labels = pd.Series([3, missing, 5], dtype=object)
    with pytest.raises(InputError, match=r"no label|neither numbers nor strings"):
        run.evaluate((X[:3], labels.to_numpy()), execution=HERE)


def test_one_other_column_is_not_taken_for_the_label(tmp_path: Path) -> None:
    frame = pd.DataFrame(X, columns=["a", "b"])
    run = trained((frame, (Y == "dog").astype(int)), tmp_path)
    with pytest.raises(InputError, match="no labels"):
        run.evaluate(frame.assign(flag=1), execution=HERE)
    found = run.evaluate(frame.assign(target=(Y == "dog").astype(int)), execution=HERE)
    assert found["accuracy"] == 1.0


def test_a_usual_name_of_a_label_in_another_place_is_refused(tmp_path: Path) -> None:
    rows, later = tmp_path / "rows.csv", tmp_path / "later.csv"
    labels = (Y == "dog").astype(int)
    np.savetxt(rows, np.column_stack([labels, X]), delimiter=",")
    run = trained(rows, tmp_path, label=0)
    assert DataSet.open(tmp_path / "d.zarr").feature_names is None
    frame = pd.DataFrame(X, columns=["a", "b"])
    frame.assign(label=labels).to_csv(later, index=False)
    with pytest.raises(InputError, match=r"the label may be 'a'.*or 'label'"):
        run.evaluate(later, execution=HERE)
    frame.assign(label=labels)[["label", "a", "b"]].to_csv(later, index=False)
    assert run.evaluate(later, execution=HERE)["accuracy"] == 1.0
