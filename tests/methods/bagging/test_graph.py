"""Bagging on real rows: what each machine sees, how they vote."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.calibration import _sigmoid_calibration
from sklearn.svm import SVC

from dcsvm_dask import api
from dcsvm_dask.errors import InputError
from dcsvm_dask.methods.bagging.nodes import sample
from dcsvm_dask.methods.committee import decided_rows
from dcsvm_dask.methods.problem import read_problem
from dcsvm_dask.models.decision_values import decide
from dcsvm_dask.runtime.execution import Execution
from dcsvm_dask.storage.dataset import DataSet
from dcsvm_dask.storage.model import read_model
from tests.stored import problem_of

pytestmark = pytest.mark.usefixtures("few_rows_a_task")

ROWS, C, GAMMA = 800, 8.0, 8.0
HERE = Execution(workers=0)


@pytest.fixture
def bag(data: DataSet, tmp_path: Path) -> Callable[..., api.Run]:
    """Return a function that trains a bag."""

    def call(name: str = "run", execution: Execution = HERE, **how: Any) -> api.Run:
        words = {"gamma": GAMMA, "C": C, "tol": 1e-6, "members": 4, "quiet": True, **how}
        words |= {"method": "bagging", "execution": execution}
        return api.train(data.place, tmp_path / name, **words)

    return call


@pytest.mark.parametrize("vote", ["mean", "sign"])
def test_machines_are_scikit_learns_and_vote(
    vote: str, data: DataSet, bag: Callable[..., api.Run]
) -> None:
    run = bag(vote=vote, fit_intercept=True)
    X, y = problem_of(data)
    drawn, problem = [], read_problem(run.folder)
    for number in range(4):
        index, counts = sample(problem, number, 4, replace=False)
        drawn.append(np.repeat(problem.rows[index], counts.astype(int)))
    assert len(np.concatenate(drawn)) == ROWS
    machines = [SVC(C=C, gamma=GAMMA, tol=1e-7).fit(X[rows], y[rows]) for rows in drawn]
    values = np.array([machine.decision_function(X) for machine in machines])
    wanted = (np.sign(values) if vote == "sign" else values).mean(axis=0)
    # The data set is scaled already; a run would scale rows that it is given once more.
    model = read_model(run.folder.node("model-bag", "commit"), problem.settings.kernel)
    np.testing.assert_allclose(decide(model, X, "exact"), wanted, atol=2e-3)


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_a_committee_is_the_sum_of_scikit_learns_sigmoids(
    fit_intercept: bool, data: DataSet, bag: Callable[..., api.Run]
) -> None:
    run = bag(vote="committee", fit_intercept=fit_intercept)
    X, y = problem_of(data)
    problem = read_problem(run.folder)
    model = read_model(run.folder.node("model-bag", "commit"), problem.settings.kernel)
    groups = np.repeat(np.arange(4), np.diff(model.offsets))
    K = np.exp(-GAMMA * cdist(X, np.asarray(model.support), "sqeuclidean"))
    wanted = np.zeros(ROWS)
    for number in range(4):
        index, _ = sample(problem, number, 4, replace=False)
        values = K[:, groups == number] @ model.coef[0, groups == number]
        unseen = np.setdiff1d(decided_rows(problem), index)
        rows, counts = problem.rows[unseen], problem.weights[unseen].astype(float)
        a, b = _sigmoid_calibration(values[rows], y[rows], sample_weight=counts)
        share = counts[y[rows] > 0].sum() / counts.sum()
        wanted -= a * values + b + np.log(share / (1 - share))
    prior = np.log((np.sum(y > 0) + 1) / (np.sum(y < 0) + 1))
    # Their sigmoid is solved by another method to another tolerance.
    np.testing.assert_allclose(decide(model, X, "exact"), wanted + prior, atol=0.02, rtol=2e-3)


def test_with_replacement_each_machine_draws_by_itself(bag: Callable[..., api.Run]) -> None:
    run = bag(replace=True)
    problem = read_problem(run.folder)
    samples = [sample(problem, number, 4, replace=True) for number in range(4)]
    assert [int(counts.sum()) for _, counts in samples] == [ROWS // 4] * 4
    assert any(counts.max() > 1 for _, counts in samples)
    assert len(np.unique(np.concatenate([index for index, _ in samples]))) < ROWS


@pytest.mark.long
def test_one_machine_is_the_exact_one(data: DataSet, bag: Callable[..., api.Run]) -> None:
    one = bag("one", members=1)
    exact = api.train(
        data.place,
        Path(one.url).parent / "exact",
        execution=Execution(workers=0),
        quiet=True,
        gamma=GAMMA,
        C=C,
        tol=1e-6,
    )
    rows = data.place.url
    np.testing.assert_allclose(
        one.decision_function(rows), exact.decision_function(rows), atol=1e-4, rtol=1e-4
    )
    assert one.status()["converged"]


@pytest.mark.long
def test_workers_change_nothing(
    data: DataSet, bag: Callable[..., api.Run], two_workers: Execution
) -> None:
    rows = data.place.url
    here, there = bag("here", members=7), bag("there", two_workers, members=7)
    assert np.array_equal(here.decision_function(rows), there.decision_function(rows))
    assert there.status()["stages"]["model-bag"]["members"] == 7


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"members": 0}, "members must be at least 1"),
        ({"members": 900}, "bagging: needs 900 distinct rows"),
        ({"vote": "loud"}, "vote must be one of mean, sign"),
        ({"vote": "committee", "members": 1}, "members must be at least 2"),
        ({"replace": 1}, "replace must be true or false"),
    ],
)
def test_what_is_impossible_is_refused(
    words: dict[str, Any], said: str, data: DataSet, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=said):
        api.train(data.place, tmp_path / "run", method="bagging", **words)
    assert not (tmp_path / "run").exists()


def test_a_bag_has_the_tolerance_that_it_was_begun_with(bag: Callable[..., api.Run]) -> None:
    run, here = bag(members=2), Execution(workers=0)
    with pytest.raises(InputError, match="bagging, which solves once, to tol 1e-06; train a new"):
        api.resume(run.url, tol=1e-3, execution=here, quiet=True)
    assert api.resume(run.url, execution=here, quiet=True).status()["state"] == "complete"
