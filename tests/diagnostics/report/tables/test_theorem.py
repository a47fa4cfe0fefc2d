"""The bound of Theorem 1 in a report, and where there is none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dcsvm_dask import api
from dcsvm_dask.diagnostics.report.tables.every import tables
from dcsvm_dask.diagnostics.report.tables.records import read_records
from dcsvm_dask.diagnostics.report.tables.table import rows_of
from dcsvm_dask.diagnostics.report.tables.theorem import estimate, why_no_bound
from dcsvm_dask.kernels import kernel_matrix
from dcsvm_dask.methods.predict import load_model
from tests.diagnostics.report.conftest import blobs, train


def test_the_theorem_holds(trained: api.Run) -> None:
    found = tables(trained.folder, compute=True)["theorem"]
    for row in rows_of(found):
        assert -3 * row["difference_error"] - 1e-3 <= row["difference"]
        assert row["difference"] <= row["bound"] + 3 * row["difference_error"]
    assert set(found["difference_from"]) <= {"pairs", "exact"}


def test_what_lies_between_blocks_is_the_rest_of_the_objective(trained: api.Run) -> None:
    model = load_model(trained.folder, "level-2")
    K = np.asarray(kernel_matrix(model.kernel, model.support, model.support), np.float64)
    block = np.repeat(np.arange(model.n_blocks), np.diff(model.offsets))
    K[block[:, None] == block] = 0.0
    exact = 0.5 * model.coef[0] @ K @ model.coef[0]
    found = estimate(model, 200_000, np.random.default_rng(0))
    assert found["error"] > 0
    assert abs(found["sum"] - exact) <= 4 * found["error"]
    assert found["error"] < 0.2 * abs(exact)


@pytest.mark.long
def test_a_bias_or_a_kernel_without_a_bound(biased: api.Run, data: Path, tmp_path: Path) -> None:
    records = read_records(biased.folder)
    assert "without a bias" in str(why_no_bound(records))
    found = tables(records)["theorem"]
    assert found["bound"] == found["difference"] == [None]
    sigmoid = train(data, tmp_path / "tanh", kernel="sigmoid", gamma=0.1, clusters=(4,), stop_at=1)
    assert "not positive" in str(why_no_bound(read_records(sigmoid.folder)))


@pytest.mark.long
def test_merged_repeats_have_no_bound(tmp_path: Path) -> None:
    X, y = blobs(300, 5)
    api.ingest((np.concatenate([X, X[:50]]), np.concatenate([y, y[:50]])), tmp_path / "d.zarr")
    run = train(tmp_path / "d.zarr", tmp_path / "run", gamma=8.0, clusters=(4,), stop_at=1)
    records = read_records(run.folder)
    assert "Repeated rows were merged" in str(why_no_bound(records))
    found = tables(records)
    assert found["theorem"]["bound"] == [None]
    assert dict(zip(*found["data_set"].values(), strict=True))["repeats merged"] == 50


@pytest.mark.long
def test_weights_of_rows_widen_the_bound(tmp_path: Path) -> None:
    X, y = blobs(300, 5)
    weights = np.where(np.arange(300) == 7, 3.0, 1.0)
    bounds = []
    for name, given in (("plain", None), ("weighted", weights)):
        api.ingest((X, y), tmp_path / f"{name}.zarr", weights=given)
        run = train(tmp_path / f"{name}.zarr", tmp_path / name, gamma=8.0, clusters=(4,), stop_at=1)
        bounds += tables(read_records(run.folder))["theorem"]["bound"]
    assert bounds[1] == pytest.approx(9.0 * bounds[0])
