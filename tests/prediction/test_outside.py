"""Rows in another unit than the training rows: predictions come with a note or a warning."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine

from dcsvm_dask import api
from dcsvm_dask.errors import DcsvmWarning
from dcsvm_dask.runtime.execution import Execution
from dcsvm_dask.storage.preparation import Preparation
from tests.command_line import invoke

HERE = Execution(workers=0)
HOW: dict[str, Any] = {"execution": HERE, "quiet": True, "report": False}
WINE = load_wine(as_frame=True).frame
"""Its column proline is from 278 to 1680."""
SAID = r"'proline' is far outside of its training range, 278 to 1680, in 178 of 178 rows, such as"


def in_other_unit() -> pd.DataFrame:
    return WINE.assign(proline=1000 * WINE["proline"])


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> api.Run:
    home = tmp_path_factory.mktemp("home")
    WINE.to_csv(home / "t.csv", index=False)
    api.ingest(home / "t.csv", home / "d.zarr", label="target")
    return api.train(home / "d.zarr", home / "run", C=10.0, **HOW)


def test_arrays_and_frames_are_warned_of(run: api.Run) -> None:
    frame = in_other_unit()
    with pytest.warns(DcsvmWarning, match=SAID) as caught:
        decided = run.predict(frame, execution=HERE)
    assert caught[0].filename == __file__
    assert len(set(decided)) == 1
    with pytest.warns(DcsvmWarning, match=SAID):
        run.decision_function(frame, execution=HERE)
    with pytest.warns(DcsvmWarning, match=SAID):
        run.evaluate(frame, execution=HERE)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run.predict(WINE, execution=HERE)
        run.evaluate(WINE, execution=HERE)


def test_unknown_categories_are_warned_of(tmp_path: Path) -> None:
    """Empty cells are not: somebody chose what fills them."""
    frame = WINE.assign(soil=np.where(WINE.index % 2, "clay", "sand"))
    place = tmp_path / "d.zarr"
    api.ingest(frame, place, label="target", one_hot=["soil"], missing="median")
    run = api.train(place, tmp_path / "run", **HOW)
    later = frame.assign(soil=["chalk"] * 10 + [None] * 10 + ["clay"] * (len(frame) - 20))
    said = r"10 cells have a category that the training rows do not have \(soil 10\)"
    with pytest.warns(DcsvmWarning, match=said):
        run.predict(later, execution=HERE)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run.predict(later.iloc[10:], execution=HERE)


def test_targets_are_warned_of(tmp_path: Path) -> None:
    run = api.train(WINE, tmp_path / "run", label="alcohol", task="regression", **HOW)
    with pytest.warns(DcsvmWarning, match=SAID):
        run.evaluate(in_other_unit(), execution=HERE)


def test_files_have_a_note_and_counts(run: api.Run, tmp_path: Path) -> None:
    in_other_unit().to_csv(tmp_path / "new.csv", index=False)
    words = (run.url, tmp_path / "new.csv", "--workers", 0)
    done = invoke("predict", *words, "--out", tmp_path / "p.csv")
    assert "note: the feature 'proline' is far outside of its training range" in done.stderr
    assert "warning: " in invoke("evaluate", *words).stderr
    found = run.predict_file(tmp_path / "new.csv", tmp_path / "q.csv", execution=HERE)
    assert found["outside"] == {
        "proline": {"cells": 178, "sample": 1_065_000.0, "least": 278.0, "greatest": 1680.0}
    }
    assert run.predict_file(WINE, tmp_path / "r.csv", execution=HERE)["outside"] == {}


def test_a_data_set_made_of_scaled_rows_keeps_their_ranges(run: api.Run, tmp_path: Path) -> None:
    url = run.folder.header["data"]["url"]
    part = api.ingest(url, tmp_path / "part.zarr", train_rows=100, shuffle=True)
    ranges = Preparation.read(run.folder).ranges
    assert np.array_equal(ranges, WINE.agg(["min", "max"]).drop(columns="target").T)
    assert part.ranges == ranges
