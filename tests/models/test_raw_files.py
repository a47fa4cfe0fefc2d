"""Raw files of every format, with and without labels, scaled as the training rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

from dcsvm_dask.data.ingest import ingest
from dcsvm_dask.errors import DcsvmWarning, InputError
from dcsvm_dask.prediction.batches import open_raw_file
from dcsvm_dask.runtime.execution import Execution
from dcsvm_dask.storage.preparation import Preparation

HERE = Execution(workers=0)


def write(path: Path, X: np.ndarray, y: np.ndarray | None) -> Path:
    """Write rows in the format that the name says; svmlight always has labels."""
    table = X if y is None else np.column_stack([X, y])
    if path.suffix == ".svm":
        dump_svmlight_file(X, np.zeros(len(X)) if y is None else y, str(path), zero_based=False)
    elif path.suffix == ".csv":
        np.savetxt(path, table, delimiter=",", fmt="%.9g")
    elif path.suffix == ".npy":
        np.save(path, table)
    elif path.suffix == ".npz":
        np.savez(path, **({"X": X} if y is None else {"X": X, "y": y}))
    elif path.suffix == ".parquet":
        pa = pytest.importorskip("pyarrow")
        names = ["a", "b", "c", "d", "label"][: table.shape[1]]
        columns = {name: table[:, k] for k, name in enumerate(names)}
        pytest.importorskip("pyarrow.parquet").write_table(pa.table(columns), path)
    else:
        group = zarr.create_group(path)
        group.create_array("X", data=X)
        if y is not None:
            group.create_array("y", data=y)
    return path


@pytest.mark.one_quick
@pytest.mark.parametrize("ending", ["svm", "csv", "npy", "npz", "parquet", "zarr"])
@pytest.mark.parametrize("labelled", [True, False])
@pytest.mark.parametrize("is_sparse", [True, False])
def test_files_decide_as_their_rows_do(
    kept_run: Any, tmp_path: Path, ending: str, labelled: bool, is_sparse: bool
) -> None:
    made = kept_run(is_sparse=is_sparse)
    y = made.y_test if labelled else None
    path = write(tmp_path / f"rows.{ending}", made.X_test, y)
    expected = made.run.decision_function(made.X_test, precision="float64", execution=HERE)
    found = made.run.decision_function(path, precision="float64", execution=HERE)
    np.testing.assert_allclose(found, expected, atol=1e-7)
    if labelled:
        by_file = made.run.evaluate(path, execution=HERE)
        by_array = made.run.evaluate((made.X_test, made.y_test), execution=HERE)
        assert by_file["confusion"] == by_array["confusion"]
    elif ending != "svm":
        with pytest.raises(InputError, match="no labels"):
            made.run.evaluate(path, execution=HERE)


@pytest.mark.parametrize("ending", ["csv", "npy", "npz", "parquet", "zarr"])
def test_files_of_other_widths_are_refused(kept_run: Any, tmp_path: Path, ending: str) -> None:
    made = kept_run()
    X = made.X_test[:, :2]
    with pytest.raises(InputError, match="4"):
        made.run.predict(write(tmp_path / f"rows.{ending}", X, None), execution=HERE)


def test_svmlight_rows_may_end_early_but_not_late(kept_run: Any, tmp_path: Path) -> None:
    made = kept_run(scale="none")
    short = made.X_test * [1, 1, 0, 0]
    path = write(tmp_path / "short.svm", short, made.y_test)
    expected = made.run.decision_function(short, execution=HERE)
    with pytest.warns(DcsvmWarning, match="names 2 features, the model was trained on 4"):
        found = made.run.decision_function(path, execution=HERE)
    np.testing.assert_allclose(found, expected, atol=1e-6)
    wide = np.column_stack([made.X_test, np.ones(100)])
    with pytest.raises(InputError, match="index 5 occurs"):
        made.run.predict(write(tmp_path / "wide.svm", wide, made.y_test), execution=HERE)


def test_svmlight_indices_count_as_in_training_or_as_the_file_says(tmp_path: Path) -> None:
    path = tmp_path / "rows.svm"
    path.write_text("1 1:5 2:6\n-1 2:7\n")

    def read(first: int | None) -> list[list[float]]:
        reading = {"label": None, "first_feature": first}
        prepared = Preparation([-1, 1], None, 3, True, None, 9, reading)
        source = open_raw_file(path, prepared, labelled=False)
        return sparse.vstack([rows for rows, _ in source.blocks()]).toarray().tolist()

    assert read(1) == read(None) == [[5, 6, 0], [0, 7, 0]]
    assert read(0) == [[0, 5, 6], [0, 0, 7]]
    path.write_text("1 0:5 2:6\n")
    assert read(None) == [[5, 0, 6]]


def test_the_test_part_of_an_archive_is_named(kept_run: Any, tmp_path: Path) -> None:
    made = kept_run()
    np.savez(tmp_path / "a.npz", X_train=made.X, X_test=made.X_test, y_test=made.y_test)
    found = made.run.decision_function(f"{tmp_path}/a.npz/test", execution=HERE)
    assert len(found) == 100
    assert len(made.run.decision_function(tmp_path / "a.npz", execution=HERE)) == 200
    assert made.run.evaluate(f"{tmp_path}/a.npz/test", execution=HERE)["n_rows"] == 100


def test_columns_are_found_by_name(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("b,what,a\n1,x,2\n")
    prepared = Preparation([-1, 1], None, 2, False, None, 9, {}, ["a", "b"])
    ((rows, labels),) = open_raw_file(tmp_path / "rows.csv", prepared, labelled=False).blocks()
    np.testing.assert_array_equal(rows, [[2, 1]])
    assert labels is None
    (tmp_path / "rows.csv").write_text("b,what,A\n1,x,2\n")
    with pytest.raises(InputError, match=r"lacks 1 of the 2 features .*: 'a'; it has: b, what, A"):
        open_raw_file(tmp_path / "rows.csv", prepared, labelled=False)


def test_a_header_of_numbers_is_no_row(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1,2,label\n5,6,0\n7,8,1\n")
    (tmp_path / "b.csv").write_text("1,2\n" + "5,6\n" * 7)
    prepared = Preparation.of(ingest(tmp_path / "a.csv", tmp_path / "a.zarr", header=True))
    source = open_raw_file(tmp_path / "b.csv", prepared, labelled=False)
    assert sum(rows.shape[0] for rows, _ in source.blocks()) == 7


@pytest.mark.parametrize("name", ["none.csv", "none.zarr", "none.npz/test"])
def test_files_that_are_not_there_are_refused(kept_run: Any, tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="none"):
        kept_run().run.predict(f"{tmp_path}/{name}", execution=HERE)


def test_a_data_set_remembers_from_where_its_file_counted(kept_run: Any, tmp_path: Path) -> None:
    made = kept_run()
    path = write(tmp_path / "rows.svm", made.X_test, made.y_test)
    assert ingest(path, tmp_path / "a.zarr").reading["first_feature"] == 1
    dump_svmlight_file(made.X_test, made.y_test, str(path), zero_based=True)
    assert ingest(path, tmp_path / "b.zarr").reading["first_feature"] == 0
    assert made.data.reading["first_feature"] is None
