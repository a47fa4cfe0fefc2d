"""An evaluation on rows that were trained on says so."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from sklearn.datasets import load_iris

from dcsvm_dask import api
from dcsvm_dask.runtime.execution import Execution
from tests.command_line import invoke

HOW: dict[str, Any] = {"execution": Execution(workers=0), "quiet": True, "report": False}
IRIS = load_iris(as_frame=True).frame


@pytest.fixture
def home(tmp_path: Path) -> Path:
    IRIS.to_csv(tmp_path / "t.csv", index=False)
    others = IRIS[:120].assign(**{"sepal length (cm)": IRIS["sepal length (cm)"] + 0.01})
    others.to_csv(tmp_path / "other.csv", index=False)
    return tmp_path


def notes(home: Path, data: str, *words: object) -> list[str]:
    done = invoke("evaluate", home / "run", home / data, "--workers", 0, *words)
    assert done.exit_code == 0, done.output
    return [line for line in done.stderr.splitlines() if line.startswith("note:")]


def test_the_file_of_the_training_rows(home: Path) -> None:
    api.ingest(home / "t.csv", home / "d.zarr", label="target")
    api.train(home / "d.zarr", home / "run", **HOW)
    said = "the run was trained on the rows, so that scores are not those of new rows"
    assert notes(home, "t.csv") == [f"note: {home}/t.csv: {said}"]
    assert notes(home, "d.zarr") == [f"note: {home}/d.zarr: {said}"]
    assert notes(home, "t.csv", "--quiet") == notes(home, "other.csv") == []
    shutil.copy(home / "other.csv", home / "t.csv")  # another file in its place, with fewer rows
    assert notes(home, "t.csv") == []
    shutil.rmtree(home / "d.zarr")
    assert notes(home, "t.csv") == []


def test_a_file_of_which_rows_were_held_out(home: Path) -> None:
    api.ingest(home / "t.csv", home / "d.zarr", label="target", test_fraction=0.2)
    api.train(home / "d.zarr", home / "run", **HOW)
    (said,) = notes(home, "t.csv")
    assert said == (
        f"note: {home}/t.csv: the run was trained on 120 of its 150 rows, so that scores are not "
        f"those of new rows; {home}/d.zarr/test has others"
    )
    assert notes(home, "d.zarr/test") == notes(home, "d.zarr") == []
