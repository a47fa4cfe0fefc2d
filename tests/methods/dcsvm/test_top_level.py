"""The last level of large blocks: solved where its clusters lie apart, else left out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.svm import SVC

from dcsvm_dask import api
from dcsvm_dask.diagnostics.report.tables.levels import levels
from dcsvm_dask.diagnostics.report.tables.records import read_records
from dcsvm_dask.pipeline import levels as training_levels
from dcsvm_dask.runtime.execution import Execution
from dcsvm_dask.storage.dataset import DataSet
from tests.stored import problem_of

ROWS, C = 2000, 4.0
HERE = Execution(workers=0)
QUIET: dict[str, Any] = {"quiet": True, "execution": HERE}


@pytest.fixture(autouse=True)
def _small_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let few rows have two levels, of 64 clusters and of 8."""
    monkeypatch.setattr(training_levels, "LEAST_ROWS_FOR_LEVELS", 500)
    monkeypatch.setattr(training_levels, "BOTTOM_BLOCK_ROWS", 40)


@pytest.fixture(scope="module")
def smooth_rows(magic_rows: Any, tmp_path_factory: pytest.TempPathFactory) -> DataSet:
    """Give rows without gaps between them."""
    return api.ingest(magic_rows(ROWS), tmp_path_factory.mktemp("magic") / "rows.zarr")


def stages_of(run: api.Run) -> list[str]:
    return [stage for stage in run.status()["stages"] if "level" in stage]


def test_a_level_that_parts_rows_hardly_better_is_left_out(
    smooth_rows: DataSet, tmp_path: Path
) -> None:
    how = {"gamma": 4.0, "C": C, "tol": 1e-5, "block_cap": 100, "fit_intercept": True}
    run = api.train(smooth_rows, tmp_path / "run", **how, **QUIET)
    assert stages_of(run) == ["level-2", "partition-level-1"]
    why = run.status()["stages"]["partition-level-1"]["why"]
    assert "solving the level would take longer than it saves" in why
    X, y = problem_of(smooth_rows)
    wanted = SVC(C=C, gamma=4.0, tol=1e-7).fit(X, y)
    np.testing.assert_allclose(
        run.decision_function(smooth_rows), wanted.decision_function(X), atol=5e-5
    )


def test_a_level_of_rows_that_lie_apart_is_solved(data: DataSet, tmp_path: Path) -> None:
    run = api.train(data, tmp_path / "run", gamma=2.0, C=C, block_cap=100, **QUIET)
    assert stages_of(run) == ["level-2", "partition-level-1", "level-1"]
    whole = api.train(data, tmp_path / "whole", gamma=2.0, C=C, levels=0, **QUIET)
    found, wanted = (one.status()["objective"] for one in (run, whole))
    assert found == pytest.approx(wanted, rel=1e-5)
    table = levels(read_records(run.folder))
    assert table["level"] == [2, 1]
    assert all(table["clustering"])
    assert min(table["clustering_seconds"]) > 0.0


@pytest.mark.parametrize("asked_for", [{"levels": 2}, {"clusters": (64, 8)}, {"committee": True}])
def test_a_level_that_is_asked_for_is_solved(
    asked_for: dict[str, Any], smooth_rows: DataSet, tmp_path: Path
) -> None:
    run = api.train(smooth_rows, tmp_path / "run", gamma=4.0, block_cap=100, **asked_for, **QUIET)
    assert "level-1" in stages_of(run)
    assert "partition-level-1" not in stages_of(run)


def test_a_run_that_stopped_at_the_level_ends_in_the_same_model(
    smooth_rows: DataSet, tmp_path: Path
) -> None:
    how: dict[str, Any] = {"gamma": 4.0, "C": C, "block_cap": 100}
    straight = api.train(smooth_rows, tmp_path / "straight", **how, **QUIET)
    stopped = api.train(smooth_rows, tmp_path / "stopped", stop_at=1, **how, **QUIET)
    assert stages_of(stopped) == ["level-2", "level-1"]
    resumed = api.resume(stopped.url, stop_at=0, **QUIET)
    np.testing.assert_array_equal(
        resumed.decision_function(smooth_rows), straight.decision_function(smooth_rows)
    )
