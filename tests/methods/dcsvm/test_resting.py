"""Variables that are clearly at zero rest in conquer's rounds, and are looked at before the end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.svm import SVC

from dcsvm_dask import api
from dcsvm_dask.methods.conquer import point
from dcsvm_dask.methods.dcsvm import graph
from dcsvm_dask.runtime.execution import Execution
from dcsvm_dask.storage.dataset import DataSet
from tests.left import rewrite_state
from tests.stored import alpha_of, problem_of

ROWS, C, GAMMA, TOL = 3000, 8.0, 4.0, 1e-5
HOW: dict[str, Any] = {
    "C": C,
    "gamma": GAMMA,
    "tol": TOL,
    "clusters": (16,),
    "block_cap": 150,
    "fit_intercept": True,
    "quiet": True,
    "execution": Execution(workers=0),
}


@pytest.fixture(autouse=True)
def _as_of_many_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let variables rest however few there are."""
    monkeypatch.setattr(graph, "MOST_ROWS_OF_SETS", 0)


def commits(run: api.Run) -> list[dict[str, Any]]:
    """Return the records of conquer's rounds and checks."""
    stages = run.folder.read_all()
    return [stages[name]["commit"].record for name in stages if name.startswith("conquer")]


def deviation(run: api.Run, data: DataSet) -> float:
    """Return how far decision values are from scikit-learn's at most."""
    X, y = problem_of(data)
    wanted = SVC(C=C, gamma=GAMMA, tol=1e-7).fit(X, y).decision_function(X)
    return float(np.abs(run.decision_function(data) - wanted).max())


@pytest.mark.long
def test_rounds_leave_rows_out_and_the_check_does_not(data: DataSet, tmp_path: Path) -> None:
    run = api.train(data, tmp_path / "run", **HOW)
    records = commits(run)
    assert run.status()["converged"]
    assert min(record["watched"] for record in records) < 0.8 * data.n_rows
    assert records[-1]["from_scratch"]
    assert records[-1]["watched"] == data.n_rows
    assert records[-1]["violation"] <= TOL
    assert deviation(run, data) < 5e-5


@pytest.mark.long
def test_rows_that_rest_too_soon_are_found_by_the_check(
    data: DataSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(point, "REST_MARGIN", 1e-9)
    monkeypatch.setattr(point, "REST_SHARE", 0.0)
    run = api.train(data, tmp_path / "run", **HOW)
    checks = [record for record in commits(run)[1:] if record["from_scratch"]]
    assert checks[0]["violation"] > TOL
    assert checks[-1]["violation"] <= TOL
    assert deviation(run, data) < 5e-5


@pytest.mark.long
def test_a_resume_between_rounds_ends_in_the_same_bits(data: DataSet, tmp_path: Path) -> None:
    whole = api.train(data, tmp_path / "whole", **HOW)
    stages = list(whole.status()["stages"])
    rounds = [name for name in stages if name.startswith("conquer")]
    for kept in (rounds[0], rounds[len(rounds) // 2]):
        run = api.train(data, tmp_path / kept, **HOW)
        for name in stages[stages.index(kept) + 1 :]:
            run.folder.stage(name).delete()
        rewrite_state(run.url, state="running")
        again = api.resume(run.url, execution=Execution(workers=0), quiet=True)
        assert list(again.status()["stages"]) == stages
        np.testing.assert_array_equal(alpha_of(again), alpha_of(whole))
