"""Smooth kernels on real rows: working sets instead of levels, in one task or over shares."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.svm import SVC

from dcsvm_dask import api
from dcsvm_dask.methods import progress as reports
from dcsvm_dask.methods.dcsvm import conquering, few_rows
from dcsvm_dask.pipeline import levels as training_levels
from dcsvm_dask.runtime.callbacks import Callback
from dcsvm_dask.runtime.events import Advanced, SetSolved
from dcsvm_dask.runtime.execution import Execution
from dcsvm_dask.storage.dataset import DataSet
from tests.left import rewrite_state
from tests.marks import long
from tests.stored import alpha_of, problem_of
from tests.svc import solve_smo

pytestmark = pytest.mark.usefixtures("few_rows_a_task")

ROWS, C, GAMMA, TOL = 3000, 8.0, 0.25, 1e-3
HERE = Execution(workers=0)


@pytest.fixture
def train(data: DataSet, tmp_path: Path) -> Callable[..., api.Run]:
    """Return a function that trains with sets of at most 1,500 rows."""

    def call(name: str = "run", execution: Execution = HERE, **how: Any) -> api.Run:
        words = {"gamma": GAMMA, "C": C, "tol": TOL, "block_cap": 1000, "quiet": True, **how}
        return api.train(data.place, tmp_path / name, execution=execution, **words)

    return call


@pytest.mark.parametrize(("cap", "smooth"), [(1000, True), long(200, False)])
def test_support_vectors_of_many_sets_are_left_to_levels(
    cap: int, smooth: bool, train: Callable[..., api.Run]
) -> None:
    """Some mass lies between clusters; sets of 300 rows would hold few of the support vectors."""
    run = train(gamma=4.0, clusters=(2,), block_cap=cap, tol=0.1)
    probed = run.folder.find("probe", "commit")
    assert probed is not None
    assert probed.record["probed_between"] > 0.2
    assert probed.record["smooth"] == smooth


def test_levels_that_are_given_are_not_said_to_pay_after_it_was_said_that_they_do_not(
    train: Callable[..., api.Run], capsys: pytest.CaptureFixture[str]
) -> None:
    train(levels=1, k=2, stop_at=0, tol=0.1, quiet=False)
    said = capsys.readouterr().err
    assert "working sets cost less than levels; the given levels are trained" in said
    assert "; clusters alone have " in said
    assert "save time" not in said


class Sets(Callback):
    """Keeps what a run tells of its working sets."""

    def __init__(self) -> None:
        self.reported: list[SetSolved] = []

    def on_set(self, event: SetSolved) -> None:
        self.reported.append(event)


def test_working_sets_are_reported_as_they_are_solved(
    train: Callable[..., api.Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reports, "EVERY_SECONDS", 0.0)
    monkeypatch.setattr(few_rows, "PREDICTED_ABOVE", ROWS // 2)
    sets = Sets()
    run = train(callbacks=[sets], set_cap=ROWS, block_cap=ROWS // 2)
    assert [event.number for event in sets.reported] == list(range(1, len(sets.reported) + 1))
    objectives = [event.record["objective"] for event in sets.reported]
    assert len(objectives) > 1
    assert objectives == sorted(objectives, reverse=True)
    last, found = sets.reported[-1].record, run.status()
    assert last["violation"] <= last["tol"] < last["start"]
    assert last["objective"] == pytest.approx(found["objective"], rel=1e-6)
    assert last["support"] == found["stages"][found["model"]]["support"]


class Advances(Callback):
    """Keeps how far tasks say that they are."""

    def __init__(self) -> None:
        self.reported: list[Advanced] = []

    def on_advance(self, event: Advanced) -> None:
        self.reported.append(event)


def test_a_task_that_solves_the_whole_problem_says_how_far_it_is(
    train: Callable[..., api.Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reports, "EVERY_SECONDS", 0.0)
    advances = Advances()
    train(callbacks=[advances])
    shares = [event.share for event in advances.reported if event.stage == "conquer-001"]
    assert len(shares) > 1
    assert shares == sorted(shares)
    assert 0.0 <= shares[0] < 1.0
    assert shares[-1] == pytest.approx(reports.MOST_REPORTED, rel=1e-12)


@pytest.fixture
def over_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have problems of more rows than a working set solved over shares."""
    monkeypatch.setattr(conquering, "MOST_WORK", 0.0)


@pytest.fixture(params=["over shares", "as a whole", "as one set"])
def way(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Return parameters with which rows are solved over shares, or by one task."""
    if request.param == "over shares":
        request.getfixturevalue("over_shares")
    return {"set_cap": ROWS} if request.param == "as one set" else {}


def test_without_a_bias_the_answer_is_that_of_the_dense_problem(
    way: dict[str, Any],
    data: DataSet,
    train: Callable[..., api.Run],
    capsys: pytest.CaptureFixture[str],
) -> None:
    run = train(quiet=False, **way)
    found = run.status()
    names, said = list(found["stages"]), capsys.readouterr().err
    if not way:
        assert "working sets cost less than levels" in said
    assert names[-3] == "arrange" or names[:3] == ["probe", "arrange", "decomposition-001"]
    X, y = problem_of(data)
    K = np.exp(-GAMMA * cdist(X, X, "sqeuclidean"))
    whole = solve_smo(K, y, C, tol=1e-6)
    assert found["converged"]
    assert found["objective"] == pytest.approx(whole.objective, rel=1e-6)
    alpha = alpha_of(run)
    gradient = y * (K @ (y * alpha)) - 1.0
    assert np.max(np.where(alpha < C, -gradient, gradient), initial=0.0) <= 1.1 * TOL
    assert np.max(gradient, where=alpha > 0, initial=0.0) <= 1.1 * TOL


def test_with_a_bias_the_answer_is_scikit_learns(
    way: dict[str, Any], data: DataSet, train: Callable[..., api.Run]
) -> None:
    run = train(fit_intercept=True, **way)
    X, y = problem_of(data)
    theirs = SVC(C=C, gamma=GAMMA, tol=1e-6).fit(X, y)
    f = theirs.decision_function(X)
    coef = np.zeros(ROWS)
    coef[theirs.support_] = theirs.dual_coef_[0]
    objective = 0.5 * coef @ (f - theirs.intercept_[0]) - np.abs(coef).sum()
    found = run.status()
    assert found["converged"]
    assert found["objective"] == pytest.approx(objective, rel=1e-6)
    assert abs(y @ alpha_of(run)) < 1e-6
    model = found["stages"][found["model"]]
    assert model["bias"] == pytest.approx(float(theirs.intercept_[0]), abs=5e-3)


@pytest.mark.long
def test_neither_workers_nor_a_resume_change_the_answer(
    way: dict[str, Any], train: Callable[..., api.Run], two_workers: Execution
) -> None:
    alone = train(**way)
    two = train("two", two_workers, **way)
    np.testing.assert_array_equal(alpha_of(two), alpha_of(alone))
    stages = list(alone.status()["stages"])
    for kept in stages[stages.index("arrange") : -1]:
        run = train(f"after-{kept}", **way)
        for name in stages[stages.index(kept) + 1 :]:
            run.folder.stage(name).delete()
        rewrite_state(run.url, state="running")
        again = api.resume(run.url, execution=Execution(workers=0), quiet=True)
        np.testing.assert_array_equal(alpha_of(again), alpha_of(alone))


def test_tighter_goals_go_on_from_where_it_was(train: Callable[..., api.Run]) -> None:
    run = train(tol=1e-2)
    loose = run.status()
    tight = api.resume(run.url, execution=Execution(workers=0), quiet=True, tol=1e-4).status()
    assert tight["converged"]
    assert tight["violation"] <= 1e-4 < loose["violation"]
    assert tight["objective"] < loose["objective"]


@pytest.mark.long
def test_an_early_model_of_a_smooth_kernel_goes_on_in_the_same_process(
    train: Callable[..., api.Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training_levels, "LEAST_ROWS_FOR_LEVELS", 1000)
    run = train("early", stop_at=1)
    assert run.status()["level"] == 1
    run = api.resume(run.url, stop_at=0, execution=Execution(workers=0), quiet=True)
    status = run.status()
    assert status["converged"]
    assert "conquer-001" in status["stages"]  # which is how smooth kernels go on
    assert "refine-000" not in status["stages"]
    exact = train("exact", levels=0)
    assert status["objective"] == pytest.approx(exact.status()["objective"], rel=1e-4)
