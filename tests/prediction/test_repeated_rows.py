"""Scored rows that are training rows are counted, beyond what repeats of the table explain."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_wine

from dcsvm_dask import api
from dcsvm_dask.prediction import repeated_rows
from dcsvm_dask.runtime.execution import Execution
from tests.command_line import invoke

HERE = Execution(workers=0)
HOW: dict[str, Any] = {"execution": HERE, "quiet": True, "report": False}
WINE = load_wine(as_frame=True).frame.sample(frac=1.0, random_state=0).reset_index(drop=True)
SAID = "rows have the same values as training rows, so that scores are not those of new rows"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("home")
    WINE[:120].to_csv(home / "train.csv", index=False)
    api.ingest(home / "train.csv", home / "d.zarr", label="target", scale="standard")
    api.train(home / "d.zarr", home / "run", **HOW)
    return home


@pytest.mark.parametrize(("first", "repeated"), [(120, 0), (111, 0), (110, 10), (60, 60)], ids=str)
def test_a_file_that_overlaps_the_training_rows(first: int, repeated: int, home: Path) -> None:
    test = WINE[first:]
    test[test.columns[::-1]].to_csv(home / "test.csv", index=False)
    done = invoke("evaluate", home / "run", home / "test.csv", "--workers", 0)
    assert done.exit_code == 0, done.output
    notes = [line for line in done.stderr.splitlines() if line.startswith("note:")]
    assert notes == (
        [f"note: {home}/test.csv: {repeated} of {len(test)} {SAID}"] if repeated else []
    )
    run = api.open_run(home / "run")
    assert len(run.evaluate(test, execution=HERE)["notes"]) == (repeated > 0)


def test_a_tenth_is_no_considerable_share(home: Path) -> None:
    test = pd.concat([WINE[:10], *[WINE[120:] + k * 1e-3 for k in range(2)]])
    test["target"] = test["target"].round()
    assert api.open_run(home / "run").evaluate(test, execution=HERE)["notes"] == []


def test_the_test_part_of_a_data_set(tmp_path: Path) -> None:
    api.ingest(WINE[:120], tmp_path / "d.zarr", test=WINE[60:], label="target")
    run = api.train(tmp_path / "d.zarr", tmp_path / "run", **HOW)
    place = f"{tmp_path}/d.zarr/test"
    assert run.evaluate(place, execution=HERE)["notes"] == [f"{place}: 60 of 118 {SAID}"]
    assert run.evaluate(f"{tmp_path}/d.zarr", execution=HERE)["notes"] == []  # said elsewhere
    shutil.rmtree(tmp_path / "d.zarr")
    assert run.evaluate(WINE[:120], execution=HERE)["notes"] == []  # nothing to compare with


def test_sparse_rows_and_targets(tmp_path: Path) -> None:
    X = sparse.random_array((200, 30), density=0.3, rng=np.random.default_rng(0), format="csr")
    y = np.asarray(X.sum(axis=1)).ravel()
    api.ingest((X, y), tmp_path / "d.zarr", task="regression", scale="minmax")
    run = api.train(tmp_path / "d.zarr", tmp_path / "run", task="regression", **HOW)
    (said,) = run.evaluate((X[100:], y[100:]), execution=HERE)["notes"]
    assert said.endswith(f": 100 of 100 {SAID}")


def test_tables_with_many_repeated_rows(shared_data: Callable[[str], Any], tmp_path: Path) -> None:
    """More than half of phishing are repeats; so are rows that are held out at random."""
    found = shared_data("phishing")
    api.ingest((found["X_train"], found["y_train"]), tmp_path / "d.zarr", test_fraction=0.2)
    run = api.train(tmp_path / "d.zarr", tmp_path / "run", **HOW)
    assert run.evaluate(f"{tmp_path}/d.zarr/test", execution=HERE)["notes"] == []
    repeated = found["X_train"][:2000], found["y_train"][:2000]
    (said,) = run.evaluate(repeated, execution=HERE)["notes"]
    assert "of 2,000 rows have the same values as training rows" in said


def test_of_too_many_training_rows_none_are_read(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = api.open_run(home / "run")
    monkeypatch.setattr(repeated_rows, "MOST_ROWS", 119)
    assert run.evaluate(WINE[60:], execution=HERE)["notes"] == []
