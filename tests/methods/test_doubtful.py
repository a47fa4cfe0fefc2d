"""Runs whose models are of no use say so, and what to do: at their end, in status and report."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from dcsvm_dask import api
from dcsvm_dask.diagnostics.report.tables.records import read_records
from dcsvm_dask.errors import DcsvmWarning
from dcsvm_dask.methods.doubtful import always, missed, missed_classes_warning
from dcsvm_dask.runtime.execution import Execution
from tests.command_line import invoke

HOW: dict[str, Any] = {"execution": Execution(workers=0), "quiet": True, "report": False}
X, Y = load_breast_cancer(return_X_y=True)


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give rows without scaling, of which rows see each other hardly at gamma 0.01."""
    place = tmp_path_factory.mktemp("data") / "d.zarr"
    api.ingest((X, Y), place, test_fraction=0.3, scale="none")
    return place


def test_nearly_all_rows_as_support_vectors_are_reported(raw: Path, tmp_path: Path) -> None:
    how = {**HOW, "holdout": raw / "test", "gamma": 0.01}
    with pytest.warns(DcsvmWarning, match="distinct rows .* are support vectors; .*--scale auto"):
        run = api.train(raw, tmp_path / "run", **how)
    (said,) = [one for one in run.status()["warnings"] if "support vectors" in one]
    assert "--gamma scale" in said
    assert said in read_records(run.folder).notes
    shown = invoke("status", tmp_path / "run")
    assert f"warning    {said}" in shown.output


def test_a_scaled_run_has_no_doubts(tmp_path: Path) -> None:
    data = api.ingest((X, Y), tmp_path / "d.zarr", test_fraction=0.3, scale="auto")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = api.train(data.place, tmp_path / "run", holdout=tmp_path / "d.zarr/test", **HOW)
    assert run.status()["warnings"] == []


@pytest.mark.parametrize("held_out", [True, False])
def test_one_class_for_all_rows_is_reported(tmp_path: Path, held_out: bool) -> None:
    api.ingest((X, Y), tmp_path / "d.zarr", test_fraction=0.3, scale="minmax")
    how = {**HOW, "holdout": tmp_path / "d.zarr/test" if held_out else None}
    rows = "held-out" if held_out else "training"
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        run = api.train(tmp_path / "d.zarr", tmp_path / "run", C=1e-4, gamma=1e-4, **how)
    found = [str(one.message) for one in said if one.category is DcsvmWarning]
    assert found == run.status()["warnings"]
    (constant,) = [one for one in found if "--class-weight balanced" in one]
    assert "predicts class 1 for all of" in constant
    assert f"{rows} rows" in constant


def test_many_classes_are_looked_at_on_held_out_rows(
    digits: tuple[np.ndarray, np.ndarray], tmp_path: Path
) -> None:
    images, labels = digits
    api.ingest((images[:500], labels[:500]), tmp_path / "d.zarr", test_fraction=0.5)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        api.train(
            tmp_path / "d.zarr",
            tmp_path / "run",
            gamma=1e3,
            holdout=tmp_path / "d.zarr/test",
            **HOW,
        )
    assert any("for all of 250 held-out rows" in str(one.message) for one in said) or any(
        "says the same of every new row" in str(one.message) for one in said
    )


def test_a_class_that_is_hardly_ever_found_is_reported(
    digits: tuple[np.ndarray, np.ndarray], tmp_path: Path
) -> None:
    images, labels = digits
    place, kinds = tmp_path / "d.zarr", np.array(["zero", "one", *["more"] * 8])[labels]
    api.ingest((images[:1000], kinds[:1000]), place, test=(images[1000:], kinds[1000:]))
    how = {**HOW, "holdout": place / "test"}
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        run = api.train(place, tmp_path / "run", C=0.3, gamma=0.02, fit_intercept=True, **how)
    found = run.evaluate(place / "test")
    recall = {one["label"]: one["recall"] for one in found["by_class"]}
    assert recall["one"] < 0.02 < 0.5 < recall["zero"]
    (sentence,) = found["warnings"]
    assert "class 'one' (" in sentence
    assert "80 evaluated rows) right: for rare classes give `--class-weight balanced`" in sentence
    shown = invoke("evaluate", tmp_path / "run", place / "test").stdout
    assert f"warning            {sentence}" in " ".join(shown.split("\n"))
    at_the_end = sentence.replace("evaluated", "held-out")
    assert run.status()["warnings"] == [at_the_end]
    assert at_the_end in [str(one.message) for one in said]


def test_few_rows_of_a_class_prove_nothing() -> None:
    assert missed("abcd", [0, 0, 1, 1], [49, 50, 51, 50]) == [("b", 0, 50), ("c", 1, 51)]
    reported = missed_classes_warning([("yes", 1, 2520)], "evaluated rows")
    assert "predicts class 'yes' (1 of 2,520 evaluated rows) right" in reported


def test_rows_of_one_class_prove_nothing() -> None:
    same = np.zeros(5, np.int64)
    assert always(same, same, ["a", "b"], "rows") == {}
    assert always(same, np.array([0, 0, 1, 0, 0]), ["a", "b"], "rows") == {
        "always": ["a", 5, "rows"]
    }
    assert always(same[:0], same[:0], ["a", "b"], "rows") == {}
