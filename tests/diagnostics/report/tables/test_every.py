"""The numbers of a report against what the run's folder holds, counted in other ways."""

from __future__ import annotations

from pathlib import Path

import pytest

from dcsvm_dask import api
from dcsvm_dask.diagnostics.report.tables.every import tables
from dcsvm_dask.diagnostics.report.tables.table import rows_of
from tests.diagnostics.report.conftest import SETTINGS, N, train


def test_history_levels_and_blocks(trained: api.Run) -> None:
    found, status = tables(trained.folder), trained.status()
    commits = status["stages"]
    assert found["history"]["stage"][:2] == ["level-2", "level-1"]
    assert found["history"]["level"][:3] == [2, 1, None]
    assert found["history"]["objective"][-1] == status["objective"]
    assert found["history"]["time"] == sorted(found["history"]["time"])
    assert found["levels"]["clusters"] == [4, 2]
    assert found["levels"]["n_support"] == [commits[f"level-{n}"]["support"] for n in (2, 1)]
    for level in (2, 1):
        own = [row for row in rows_of(found["blocks"]) if row["level"] == level]
        assert sum(row["rows"] for row in own) == N
        assert [row["block"] for row in own] == list(range(len(own)))
        assert sum(row["support"] for row in own) == commits[f"level-{level}"]["support"]
    sizes = [row["rows"] for row in rows_of(found["blocks"]) if row["level"] == 1]
    balance = list(rows_of(found["balance"]))[1]
    assert balance["largest"] == max(sizes)
    assert balance["effective_blocks"] == pytest.approx(N**2 / sum(n * n for n in sizes))


@pytest.mark.long
def test_committees_are_shown_beside_early_prediction(data: Path, tmp_path: Path) -> None:
    how = {**SETTINGS, "clusters": (4,), "stop_at": 1}
    run = train(data, tmp_path / "run", holdout=data / "test", committee=True, **how)
    found = tables(run.folder, compute=True)
    assert found["predictions"]["mode"] == ["early", "committee"]
    assert found["predictions"]["stage"] == ["level-1", "committee-level-1"]
    assert found["prediction_modes"]["mode"] == ["early", "naive", "committee"]
    # All held-out rows are few enough to be measured, so both tables tell of the same rows.
    assert found["prediction_modes"]["accuracy"][2] == found["predictions"]["accuracy"][1]
    assert set(found["confusion"]["model"]) == {"level 1, early", "level 1, committee"}
    text = Path(run.report(tmp_path / "report.html")).read_text()
    assert "Bayesian committee machine" in text
