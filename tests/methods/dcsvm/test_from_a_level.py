"""A local kernel whose blocks depend on each other: one task conquers from the last level."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from dcsvm_dask import api
from dcsvm_dask.pipeline import levels as training_levels
from dcsvm_dask.runtime.execution import Execution
from dcsvm_dask.storage.dataset import DataSet
from tests.left import rewrite_state
from tests.stored import alpha_of, problem_of
from tests.svc import solve_smo

ROWS, C, GAMMA, TOL = 3000, 8.0, 16.0, 1e-3
HERE = Execution(workers=0)


@pytest.fixture
def train(data: DataSet, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[..., api.Run]:
    """Return a function that trains with levels that nobody asked for."""
    monkeypatch.setattr(training_levels, "LEAST_ROWS_FOR_LEVELS", 1000)

    def call(name: str = "run", execution: Execution = HERE, **how: Any) -> api.Run:
        words = {"gamma": GAMMA, "C": C, "tol": TOL, "block_cap": 200, "quiet": True, **how}
        return api.train(data.place, tmp_path / name, execution=execution, **words)

    return call


@pytest.mark.parametrize("bias", [False, True])
def test_the_answer_is_that_of_the_whole_problem(
    bias: bool, data: DataSet, train: Callable[..., api.Run]
) -> None:
    run = train(fit_intercept=bias)
    found = run.status()
    assert [name for name in found["stages"] if name.startswith(("refine", "conquer"))] == [
        "conquer-001"
    ]
    assert found["converged"]
    assert not found["stages"]["level-1"]["alone"]
    X, y = problem_of(data)
    K = np.exp(-GAMMA * cdist(X, X, "sqeuclidean"))
    theirs = solve_smo(K, y, C, equality=bias, tol=1e-6)
    assert found["objective"] == pytest.approx(theirs.objective, rel=1e-6)


@pytest.mark.long
def test_neither_workers_nor_a_resume_change_it(
    train: Callable[..., api.Run], two_workers: Execution
) -> None:
    alone = train()
    np.testing.assert_array_equal(alpha_of(train("two", two_workers)), alpha_of(alone))
    stages = list(alone.status()["stages"])
    for kept in ("arrange", "level-1"):
        run = train(f"after-{kept}")
        for name in stages[stages.index(kept) + 1 :]:
            run.folder.stage(name).delete()
        rewrite_state(run.url, state="running")
        again = api.resume(run.url, execution=HERE, quiet=True)
        np.testing.assert_array_equal(alpha_of(again), alpha_of(alone))


def test_a_level_that_was_all_that_was_asked_for_goes_on(train: Callable[..., api.Run]) -> None:
    levels = len(train("straight").folder.header["settings"]["clusters"])
    run = train(stop_at=levels)
    assert run.status()["level"] == levels
    assert api.resume(run.url, stop_at=0, execution=HERE, quiet=True).status()["converged"]
