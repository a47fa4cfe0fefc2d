"""Data sets of one-class SVMs: labels that only score, or none, from every reader; and errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file

from dcsvm_dask import api
from dcsvm_dask.cli.info import describe
from dcsvm_dask.data.ingest import ingest
from dcsvm_dask.errors import InputError
from dcsvm_dask.storage.dataset import DataSet
from dcsvm_dask.storage.dataset_commit import VERSION_OF_ONE_CLASS

RNG = np.random.default_rng(0)
X = RNG.integers(-8, 9, (300, 4)).astype(np.float32) / 8
Y = RNG.choice([-1, 1], 300)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Return a folder with the same rows in every format, with labels and without."""
    import pandas as pd

    dump_svmlight_file(X.astype(np.float64), Y, str(tmp_path / "a.svm"), zero_based=False)
    np.savez(tmp_path / "a.npz", X_train=X, y_train=Y)
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame.assign(label=Y).to_csv(tmp_path / "a.csv", index=False)
    frame.assign(label=Y).to_parquet(tmp_path / "a.parquet", index=False)
    zeros = np.zeros(300)
    dump_svmlight_file(X.astype(np.float64), zeros, str(tmp_path / "b.svm"), zero_based=False)
    np.savez(tmp_path / "b.npz", X_train=X)
    np.save(tmp_path / "b.npy", X)
    frame.to_csv(tmp_path / "b.csv", index=False)
    np.savetxt(tmp_path / "bare.csv", X, delimiter=",")
    frame.to_parquet(tmp_path / "b.parquet", index=False)
    return tmp_path


def read(data: DataSet) -> tuple[Any, Any]:
    rows = data.rows.read(0, data.n_rows)
    return (rows.toarray() if data.is_sparse else rows), data.read_y(0, data.n_rows)


@pytest.mark.parametrize("name", ["a.svm", "a.npz", "a.csv", "a.parquet"])
def test_labels_are_kept(files: Path, name: str) -> None:
    data = ingest(files / name, files / "d.zarr", task="one-class")
    rows, signs = read(data)
    np.testing.assert_array_equal(rows, X)
    np.testing.assert_array_equal(signs, Y)
    assert data.one_class
    assert data.task == "one-class"
    assert data.classes == data.counts == []
    positive = int((Y > 0).sum())
    assert data.labels_text == f"+1: {positive} rows, -1: {300 - positive} rows"
    assert data.n_distinct == len(np.unique(X, axis=0))
    assert (data.place / "dataset.json").read_json()["version"] == VERSION_OF_ONE_CLASS
    assert describe(data.place)["parts"]["train"]["targets"] is None


@pytest.mark.parametrize("name", ["b.svm", "b.npz", "b.npy", "b.csv", "bare.csv", "b.parquet"])
def test_rows_need_no_labels(files: Path, name: str) -> None:
    words = {} if name == "b.svm" else {"label": "none"}
    data = ingest(files / name, files / "d.zarr", task="one-class", **words)
    rows, signs = read(data)
    np.testing.assert_array_equal(rows, X)
    assert not signs.any()
    assert data.labels_text == "none"
    with pytest.raises(InputError, match=r"no labels found|every row has the label"):
        ingest(files / name, files / "e.zarr", **words)


def test_arrays_and_frames_need_no_labels(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("abcd"))
    first = api.ingest((X, None), tmp_path / "a.zarr", task="one-class")
    second = api.ingest(X, tmp_path / "b.zarr", task="one-class")
    third = api.ingest(frame, tmp_path / "c.zarr", label="none", task="one-class")
    assert first.fingerprint == second.fingerprint == third.fingerprint
    labelled = api.ingest((X, Y), tmp_path / "d.zarr", task="one-class")
    assert labelled.n_distinct == first.n_distinct
    again = ingest(labelled.place, tmp_path / "e.zarr", task="one-class")
    np.testing.assert_array_equal(read(again)[1], Y)


@pytest.mark.long
def test_other_labels_have_signs_by_positive(tmp_path: Path) -> None:
    words = np.where(Y > 0, "normal", "attack")
    part = (X[:50], words[:50])
    data = api.ingest(
        (X, words), tmp_path / "d.zarr", test=part, task="one-class", positive=["normal"]
    )
    np.testing.assert_array_equal(read(data)[1], Y)
    np.testing.assert_array_equal(read(data.open_part("test"))[1], Y[:50])
    assert data.positive == ["normal"]
    here = api.Execution(workers=0)
    run = api.train(data.place, tmp_path / "run", gamma=1.0, nu=0.5, execution=here, quiet=True)
    found, stored = run.evaluate(part), run.evaluate(data.place / "test")
    for scores in (found, stored):  # they are training rows
        assert "50 of 50 rows" in scores.pop("notes")[0]
    assert found == pytest.approx(stored, abs=1.0)
    assert found["auc"] == stored["auc"]


@pytest.mark.parametrize(
    ("labels", "why"),
    [
        (np.arange(300) % 3 - 1, "has the label 0; labels of one-class are"),
        (np.arange(300) % 2, "has the label 0; labels of one-class are"),
        (np.where(Y > 0, "in", "out"), r"row \d+ \(counted from 0\) has the label '(in|out)'"),
        (np.where(Y > 0, 1.0, np.nan), "has no label"),
    ],
)
def test_labels_without_a_sign_are_refused(tmp_path: Path, labels: Any, why: str) -> None:
    with pytest.raises(InputError, match=why):
        api.ingest((X, labels), tmp_path / "d.zarr", task="one-class")
    assert not (tmp_path / "d.zarr").exists()


def test_a_positive_label_that_no_row_has_is_refused(tmp_path: Path) -> None:
    words = np.where(Y > 0, "normal", "attack")
    part, how = (X[:50], words[:50]), {"task": "one-class"}
    with pytest.raises(InputError, match=r"norml: .* has no such label, but attack, n"):
        api.ingest((X, words), tmp_path / "d.zarr", positive=["norml"], **how)
    only = words == "attack"
    api.ingest((X[only], words[only]), tmp_path / "e.zarr", test=part, positive=["normal"], **how)


def test_a_column_may_be_called_none(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("abcd")).assign(none=Y)
    data = api.ingest(frame, tmp_path / "d.zarr", label="none", task="one-class")
    np.testing.assert_array_equal(read(data)[1], Y)
