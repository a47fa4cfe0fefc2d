"""Cascade SVM on real rows: the exact answer, a falling objective, the same after a resume."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.svm import SVC

from dcsvm_dask import api
from dcsvm_dask.errors import DcsvmWarning, InputError
from dcsvm_dask.runtime.execution import Execution
from dcsvm_dask.storage.dataset import DataSet
from tests.callbacks import StopAt
from tests.stored import problem_of
from tests.svc import solve_smo

pytestmark = pytest.mark.usefixtures("few_rows_a_task")

ROWS, C, GAMMA, TOL = 1200, 8.0, 8.0, 1e-5


@pytest.fixture
def cascade(data: DataSet, tmp_path: Path) -> Callable[..., api.Run]:
    """Return a function that trains a cascade of four leaves."""

    def call(name: str = "run", workers: int = 0, **how: Any) -> api.Run:
        words = {"gamma": GAMMA, "C": C, "tol": TOL, "leaves": 4, "quiet": True, **how}
        run, execution = tmp_path / name, Execution(workers=workers)
        return api.train(data.place, run, method="cascade", execution=execution, **words)

    return call


def problem(data: DataSet) -> tuple[np.ndarray, np.ndarray]:
    X, y = problem_of(data)
    return np.exp(-GAMMA * cdist(X, X, "sqeuclidean")), y


@pytest.mark.parametrize(
    ("leaves", "arity", "block_cap"),
    [
        (4, 2, None),
        pytest.param(9, 3, None, marks=pytest.mark.long),
        pytest.param(4, 4, 64, marks=pytest.mark.long),
    ],
)
def test_without_a_bias_the_answer_is_that_of_the_dense_problem(
    leaves: int, arity: int, block_cap: int | None, data: DataSet, cascade: Callable[..., api.Run]
) -> None:
    found = cascade(leaves=leaves, arity=arity, block_cap=block_cap).status()
    K, y = problem(data)
    whole = solve_smo(K, y, C, tol=1e-7)
    assert found["converged"]
    assert found["violation"] <= TOL
    assert found["objective"] == pytest.approx(whole.objective, rel=1e-6)


def test_with_a_bias_the_answer_is_scikit_learns(
    data: DataSet, cascade: Callable[..., api.Run]
) -> None:
    run = cascade(fit_intercept=True)
    found = run.status()
    K, y = problem(data)
    svc = SVC(C=C, kernel="precomputed", tol=1e-6).fit(K, y)
    alpha = np.zeros(ROWS)
    alpha[svc.support_] = svc.dual_coef_[0]
    objective = 0.5 * alpha @ K @ alpha - np.abs(alpha).sum()
    assert found["converged"]
    assert found["objective"] == pytest.approx(objective, rel=1e-6)
    assert found["stages"][found["model"]]["bias"] == pytest.approx(svc.intercept_[0], abs=1e-3)


@pytest.mark.long
def test_the_objective_falls_from_pass_to_pass_and_one_pass_is_close(
    cascade: Callable[..., api.Run],
) -> None:
    entries = cascade("all", leaves=8).history()
    objectives = [entry["objective"] for entry in entries]
    assert len(objectives) > 1
    assert all(b <= a + 1e-9 * abs(a) for a, b in pairwise(objectives))
    once = cascade("once", leaves=8, passes=1).status()
    assert not once["converged"]
    assert once["objective"] == pytest.approx(objectives[0], rel=1e-7)
    assert list(once["stages"]) == ["arrange", "pass-000", "model-pass-000"]


@pytest.mark.parametrize("stage", ["pass-000", "check-000", "pass-001"])
@pytest.mark.long
def test_a_resume_ends_with_the_same_bits(stage: str, cascade: Callable[..., api.Run]) -> None:
    whole = cascade("whole")
    cut = cascade("cut", callbacks=[StopAt(stage)])
    assert cut.status()["state"] == "interrupted"
    again = api.resume(cut.url, execution=Execution(workers=0), quiet=True, report=False)
    found, wanted = (run.folder.node(run.status()["model"], "commit") for run in (again, whole))
    assert np.array_equal(found.read("alpha"), wanted.read("alpha"))


@pytest.mark.parametrize("decide", ["mean", "committee"])
def test_the_leaves_decide_as_a_bag_of_their_shares(
    decide: str, data: DataSet, cascade: Callable[..., api.Run], tmp_path: Path
) -> None:
    bottom = cascade(decide=decide)
    bag = api.train(
        data.place,
        tmp_path / "bag",
        method="bagging",
        members=4,
        vote=decide,
        gamma=GAMMA,
        C=C,
        tol=TOL,
        execution=Execution(workers=0),
        quiet=True,
    )
    rows = data.place.url
    assert np.array_equal(bottom.decision_function(rows), bag.decision_function(rows))
    assert bottom.status()["approximates"]


@pytest.mark.long
def test_a_tolerance_out_of_reach_ends_with_its_reason_and_a_larger_one_is_met(
    cascade: Callable[..., api.Run],
) -> None:
    with pytest.warns(DcsvmWarning, match="ended before its violation"):
        run = cascade(tol=1e-14, leaves=2)
    found = run.status()
    assert (found["state"], found["converged"]) == ("complete", False)
    assert "give a larger tol than 1e-14" in found["message"]
    api.resume(run.url, tol=0.01, execution=Execution(workers=0), quiet=True)
    found = run.status()
    assert (found["converged"], found["message"]) == (True, "")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"leaves": 6}, "leaves must be a power of the arity 2"),
        ({"arity": 1}, "arity must be at least 2"),
        ({"passes": -1}, "passes must be .*, got -1"),
        ({"leaves": 2.0}, "leaves must be a whole number"),
        ({"leaves": 2048}, "cascade: needs 2048 distinct rows"),
        ({"levels": 2}, "levels: there is no such parameter of cascade; there are kernel, "),
        ({"method": "cascades"}, "method: 'cascades' is unknown; known: dcsvm, decomposition"),
    ],
)
def test_what_is_impossible_is_refused(
    words: dict[str, Any], said: str, data: DataSet, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=said):
        api.train(data.place, tmp_path / "run", **{"method": "cascade", **words})
    assert not (tmp_path / "run").exists()
