"""Committee prediction of a run: calibrated on demand, and what the arrays say it is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.metrics.pairwise import rbf_kernel

import dcsvm_dask.api as dcsvm
from dcsvm_dask.methods.block_table import read_table
from dcsvm_dask.methods.committee import cross_decide
from dcsvm_dask.methods.predict import load_model
from dcsvm_dask.methods.problem import read_problem
from dcsvm_dask.storage.dataset import DataSet

pytestmark = pytest.mark.usefixtures("few_rows_a_task")

HERE = dcsvm.Execution(workers=0)
C, GAMMA = 8.0, 4.0


@pytest.fixture(scope="module")
def data(demo_rows: Callable[..., Path]) -> Path:
    return demo_rows(900, test_fraction=0.3)


@pytest.mark.long
def test_a_complete_run_is_calibrated_on_demand(data: Path, tmp_path: Path) -> None:
    how = {"gamma": GAMMA, "C": C, "clusters": (6,), "holdout": data / "test"}
    run = dcsvm.train(data, tmp_path / "run", execution=HERE, quiet=True, **how)
    exact = run.decision_function(str(data / "test"), mode="exact")
    with pytest.raises(ValueError, match=r"resume .* --committee"):
        run.evaluate(data / "test", mode="committee")
    run = dcsvm.resume(tmp_path / "run", committee=True, execution=HERE, quiet=True)
    assert run.status()["state"] == "complete"
    np.testing.assert_array_equal(run.decision_function(str(data / "test"), mode="exact"), exact)

    found = run.decision_function(str(data / "test"), mode="committee")
    model = load_model(run.folder, "level-1", compact=False)
    commit = run.folder.node("committee-level-1", "commit")
    X = DataSet.open(data / "test").rows.read(0, len(found)).astype(np.float64)
    K = rbf_kernel(X, model.support.astype(np.float64), gamma=GAMMA)
    members = np.add.reduceat(K * model.coef[0], model.offsets[:-1], axis=1)
    odds = members * commit.read("slope") + commit.read("intercept")
    expected = odds.sum(axis=1) - (model.n_blocks - 1) * commit.record["prior"]
    np.testing.assert_allclose(found, expected, atol=1e-3)
    accuracy = run.status()["stages"]["score-committee-level-1"]["accuracy"]
    assert accuracy == run.evaluate(data / "test", mode="committee")["accuracy"] > 0.7


def test_rows_that_are_left_out_are_decided_by_the_machine_of_the_rest(
    data: Path, tmp_path: Path
) -> None:
    class Leave(dcsvm.Callback):
        def on_commit(self, event: dcsvm.StageDone) -> None:
            if event.stage == "level-1":
                raise dcsvm.StopRun("its arrays are still there")

    how = {"gamma": GAMMA, "C": C, "clusters": (6,), "tol": 1e-6, "level_tol": 1e-6}
    run = dcsvm.train(
        data, tmp_path / "run", execution=HERE, quiet=True, callbacks=[Leave()], **how
    )
    problem, table = read_problem(run.folder), read_table(run.folder, "level-1")
    index = table.rows(2)
    beta = run.folder.node("level-1", "commit").read("beta")[0]
    rng = np.random.default_rng(3)
    rows, values, _ = cross_decide(problem, index, beta[index], 0.0, rng)
    assert sorted(rows) == sorted(index)
    fold = np.random.default_rng(3).permutation(len(index)) % 5
    X = problem.take(index).astype(np.float64)
    y, K = problem.targets_of(index), rbf_kernel(X, gamma=GAMMA)
    for number in range(5):
        rest, out = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
        Q = K[np.ix_(rest, rest)] * np.outer(y[rest], y[rest])
        best = minimize(
            lambda a, Q=Q: (0.5 * a @ Q @ a - a.sum(), Q @ a - 1.0),
            np.zeros(len(rest)),
            jac=True,
            method="L-BFGS-B",
            bounds=[(0.0, c) for c in problem.bounds(index[rest])],
            options={"maxiter": 5000, "ftol": 1e-15, "gtol": 1e-9},
        )
        expected = K[np.ix_(out, rest)] @ (y[rest] * best.x)
        found = values[_places(rows, index[out])]
        np.testing.assert_allclose(found, expected, atol=1e-4)


def _places(rows: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    order = np.argsort(rows)
    return order[np.searchsorted(rows[order], wanted)]
