"""Real targets that were given to `easy` as classes, and classes that are many."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes

from dcsvm_dask import api
from dcsvm_dask.api.easy_classes import check_learnable, classes_note, pairs_of
from dcsvm_dask.errors import InputError
from dcsvm_dask.storage.dataset import DataSet

pytestmark = pytest.mark.filterwarnings("ignore::dcsvm_dask.errors.DcsvmWarning")
MINUTE = 60.0


def test_real_targets_are_refused_before_the_search(tmp_path: Path) -> None:
    path = tmp_path / "diabetes.csv"
    load_diabetes(as_frame=True).frame.to_csv(path, index=False)
    match = r"354 training rows are \d+ different numbers.*give --task regression.*dcsvm train"
    with pytest.raises(InputError, match=match):
        api.easy(path, tmp_path / "out", label="target", minutes=0.3, quiet=True)
    assert not (tmp_path / "out").exists()


def ingested(labels: np.ndarray, folder: Path) -> DataSet:
    X = np.random.default_rng(0).normal(size=(len(labels), 2))
    table = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": labels})
    return api.ingest(table, folder / "d.zarr", label="y")


def test_numbers_of_few_rows_are_refused_where_they_cost_the_time(tmp_path: Path) -> None:
    data = ingested(np.arange(900) % 300 * 7, tmp_path)
    check_learnable(data, 5 * MINUTE)
    with pytest.raises(InputError, match=f"{pairs_of(data):,} pairs"):
        check_learnable(data, 0.1 * MINUTE)


@pytest.mark.parametrize("kind", ["words", "numbered", "often", "two"])
def test_classes_are_never_refused(kind: str, tmp_path: Path) -> None:
    rows = np.arange(600)
    labels = {
        "words": np.array([f"c{k % 250}" for k in rows]),
        "numbered": rows % 250,
        "often": rows % 20 * 7,
        "two": np.where(rows % 2, 0.5, 7.25),
    }[kind]
    data = ingested(labels, tmp_path)
    check_learnable(data, 0.01)
    few = kind in ("often", "two")
    note = classes_note(data, 5.0)
    assert (note is None) is few
    assert few or "31,125 pairs" in str(note)
