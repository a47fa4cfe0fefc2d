"""Data ingested to learn quantiles are trained so; a run without held-out rows has a report."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dcsvm_dask import api


@pytest.mark.long
def test_data_keep_the_task_that_they_were_ingested_for(tmp_path: Any) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), rng.normal(size=60)
    assert api.ingest((X, y), tmp_path / "r.zarr", task="regression").task == "regression"
    data = api.ingest((X, y), tmp_path / "q.zarr", task="quantile")
    assert data.task == "quantile"
    how: dict[str, Any] = {"execution": api.Execution(workers=0), "quiet": True, "report": False}
    run = api.train(data.url, tmp_path / "run", gamma=0.1, **how)
    assert run.folder.header["settings"]["task"] == "quantile"
    run.report(tmp_path / "report.html")
    assert "History" in (tmp_path / "report.html").read_text(encoding="utf-8")
