"""LaSVM as runs on real rows: the exact answer where it goes on until it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.svm import SVC

from dcsvm_dask import api
from dcsvm_dask.errors import InputError
from dcsvm_dask.methods import progress as reports
from dcsvm_dask.runtime.callbacks import Callback
from dcsvm_dask.runtime.events import Advanced
from dcsvm_dask.runtime.execution import Execution
from dcsvm_dask.storage.dataset import DataSet
from tests.stored import problem_of

pytestmark = pytest.mark.usefixtures("few_rows_a_task")

ROWS, C, GAMMA = 700, 4.0, 8.0
HERE = Execution(workers=0)


@pytest.fixture
def train(data: DataSet, tmp_path: Path) -> Callable[..., api.Run]:
    def call(name: str = "run", execution: Execution = HERE, **how: Any) -> api.Run:
        words = {"gamma": GAMMA, "C": C, "quiet": True, **how}
        return api.train(data.place, tmp_path / name, execution=execution, **words)

    return call


@pytest.mark.one_quick
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_online_passes_reach_the_exact_objective(
    fit_intercept: bool, train: Callable[..., api.Run]
) -> None:
    exact = train("exact", tol=1e-6, fit_intercept=fit_intercept).status()
    run = train("online", method="online", passes=20, tol=1e-4, fit_intercept=fit_intercept)
    record = run.status()["stages"]["model-online"]
    assert record["solved"]
    assert record["objective"] == pytest.approx(exact["objective"], rel=1e-4)
    once = train("once", method="online", fit_intercept=fit_intercept).status()
    assert once["stages"]["model-online"]["objective"] >= exact["objective"]


class Advances(Callback):
    """Keeps what a run tells of how far its tasks are."""

    def __init__(self) -> None:
        self.reported: list[Advanced] = []

    def on_advance(self, event: Advanced) -> None:
        self.reported.append(event)


def test_online_tells_how_far_it_is(
    train: Callable[..., api.Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reports, "EVERY_SECONDS", 0.0)
    advances = Advances()
    run = train(method="online", callbacks=[advances])
    shares = [event.share for event in advances.reported]
    assert shares == sorted(shares)
    assert 0.0 < shares[0] < shares[-1] <= 1.0
    rows = [event.done for event in advances.reported if event.unit == "rows"]
    assert rows == sorted(rows)
    assert rows[-1] == ROWS
    records = [event.record for event in advances.reported]
    objectives = [record["objective"] for record in records if "objective" in record]
    assert objectives == sorted(objectives, reverse=True)
    violations = [record["violation"] for record in records if "violation" in record]
    assert violations[-1] <= 1e-3
    found = run.status()["stages"]["model-online"]
    assert found["objective"] == pytest.approx(objectives[-1], rel=1e-3)


def test_the_plan_of_online_is_about_what_it_comes_to(
    data: DataSet, train: Callable[..., api.Run]
) -> None:
    planned = api.plan(data.place, method="online", gamma=GAMMA, C=C)
    assert planned.measured.kept_share < 1.0
    values = train(method="online").status()["kernel_values"]
    assert values / 3 < planned.kernel_values < 3 * values


@pytest.mark.long
def test_online_is_scikit_learns_machine_in_other_programs_form(
    data: DataSet, train: Callable[..., api.Run]
) -> None:
    run = train(method="online", passes=30, tol=1e-5, fit_intercept=True)
    X, y = problem_of(data)
    wanted = SVC(C=C, gamma=GAMMA, tol=1e-6).fit(X, y).decision_function(X)
    np.testing.assert_allclose(run.decision_function(data.place.url), wanted, atol=5e-3)
    scaled = run.to_sklearn()[-1]  # the step after the scaling: X is scaled already
    np.testing.assert_allclose(scaled.decision_function(X), wanted, atol=5e-3)


@pytest.mark.long
def test_workers_change_nothing(
    data: DataSet, train: Callable[..., api.Run], two_workers: Execution
) -> None:
    here, there = train("here", method="online"), train("there", two_workers, method="online")
    rows = data.place.url
    assert np.array_equal(here.decision_function(rows), there.decision_function(rows))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"method": "online", "passes": 0}, "passes must be at least 1"),
        ({"method": "online", "samples": 300}, "samples must be .*, got 300"),
    ],
)
def test_what_is_impossible_is_refused(
    words: dict[str, Any], said: str, data: DataSet, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=said):
        api.train(data.place, tmp_path / "run", **words)
    assert not (tmp_path / "run").exists()
