"""Runs with the squared hinge loss against hard margins with a ridge, which are the same problem.

min 0.5 |w|^2 + C sum xi^2 is the hard margin of the kernel K + I / (2 C) (Shawe-Taylor, Cristianini
2002), so that SVC solves it for a huge C, and non-negative least squares do without a bias.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import nnls
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from dcsvm_dask import api
from dcsvm_dask.diagnostics.report.tables.about import command, parameters
from dcsvm_dask.diagnostics.report.tables.records import read_records
from dcsvm_dask.diagnostics.report.tables.table import rows_of
from dcsvm_dask.errors import InputError
from dcsvm_dask.estimators import DCSVC
from dcsvm_dask.pipeline.training import Training
from dcsvm_dask.runtime.execution import Execution

C, GAMMA = 5.0, 4.0
HOW: dict[str, Any] = {
    "C": C,
    "gamma": GAMMA,
    "loss": "squared_hinge",
    "execution": Execution(workers=0),
    "quiet": True,
    "report": False,
}


class Problem:
    """Weighted rows, some of them twice, of two classes; and what solves them otherwise."""

    def __init__(self, X: Any, y: Any) -> None:
        self.X, self.y = np.concatenate([X, X[:40]]), np.concatenate([y, y[:40]])
        self.weight = np.random.default_rng(1).choice([0.5, 1.0, 2.0], len(self.y))

    def solved(self, fit_intercept: bool) -> tuple[Any, float]:
        """Return decision values and the dual objective."""
        K, sign = (
            rbf_kernel(self.X.astype(np.float64), gamma=GAMMA),
            np.where(self.y > 0, 1.0, -1.0),
        )
        cost = C * self.weight * np.where(self.y > 0, 3.0, 1.0)
        Q = K + np.diag(0.5 / cost)
        beta, bias = np.zeros(len(sign)), 0.0
        if fit_intercept:
            peer = SVC(kernel="precomputed", C=1e9, tol=1e-8).fit(Q, sign)
            beta[peer.support_], bias = peer.dual_coef_[0], peer.intercept_[0]
        else:
            L = np.linalg.cholesky(Q * np.outer(sign, sign))
            beta = sign * nnls(L.T, np.linalg.solve(L, np.ones(len(sign))))[0]
        return K @ beta + bias, float(0.5 * beta @ Q @ beta - np.abs(beta).sum())


@pytest.fixture(scope="module")
def problem(shared_data: Callable[[str], Any]) -> Problem:
    found = shared_data("magic")
    index = np.random.default_rng(0).permutation(len(found["X_train"]))[:250]
    return Problem(found["X_train"][index].astype(np.float32), found["y_train"][index].astype(int))


@pytest.fixture(scope="module")
def data(problem: Problem, tmp_path_factory: pytest.TempPathFactory) -> Any:
    place = tmp_path_factory.mktemp("data") / "d.zarr"
    return api.ingest((problem.X, problem.y), place, weights=problem.weight)


@pytest.mark.one_quick
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize(
    "words",
    [
        {"clusters": (4, 2)},
        {"levels": 0},
        {"method": "cascade", "leaves": 2, "tol": 1e-4},
        {"method": "subsample", "fraction": 1.0},
    ],
    ids=["levels", "whole", "cascade", "subsample"],
)
def test_a_run_is_a_hard_margin_with_a_ridge(
    words: dict[str, Any], fit_intercept: bool, problem: Problem, data: Any, tmp_path: Path
) -> None:
    how = {**HOW, "tol": 1e-5, "block_cap": 192, "class_weight": {1: 3.0}, **words}
    run = api.train(data.url, tmp_path / "run", fit_intercept=fit_intercept, **how)
    decision, objective = problem.solved(fit_intercept)
    record = run.folder.node(run.status()["model"], "commit").record
    assert run.status()["converged"]
    assert record["objective"] == pytest.approx(objective, rel=1e-6)
    assert 0.0 <= record["gap"] < 1e-4 * abs(objective)
    assert record["bounded"] == 0
    found, far = run.decision_function(problem.X), 10.0 * how["tol"]
    np.testing.assert_allclose(found, decision, rtol=0, atol=far)
    alpha = run.folder.node(run.status()["model"], "commit").read("alpha")[0]
    assert (alpha >= 0.0).all()
    assert (alpha > C * problem.weight).any()


@pytest.mark.one_quick
@pytest.mark.parametrize("multiclass", ["ovo", "ovr"])
@pytest.mark.parametrize("levels", [(), (2,)], ids=["whole", "levels"])
def test_many_classes(
    multiclass: str, levels: tuple[int, ...], wine: tuple[Any, Any], tmp_path: Path
) -> None:
    X, y = wine
    how = {**HOW, "gamma": 0.1, "tol": 1e-6, "fit_intercept": True, "multiclass": multiclass}
    layers: dict[str, Any] = {"clusters": levels} if levels else {"levels": 0}
    run = api.train(X, y, tmp_path / "run", **how, **layers)
    own = {"gamma": 0.1, "C": C, "loss": "squared_hinge", "multiclass": multiclass}
    peer = DCSVC(**own, tol=1e-6).fit(X, y)
    assert DCSVC.from_run(tmp_path / "run").loss == "squared_hinge"
    again = DCSVC.from_run(tmp_path / "run")
    np.testing.assert_allclose(again.objective_, peer.objective_, rtol=1e-6)
    values = [one._machine_values(X) for one in (again, peer)]
    np.testing.assert_allclose(*values, rtol=0, atol=1e-4)
    for number, positive in enumerate(range(3) if multiclass == "ovr" else ()):
        sign, K = np.where(y == positive, 1.0, -1.0), rbf_kernel(X.astype(np.float64), gamma=0.1)
        svc = SVC(kernel="precomputed", C=1e9, tol=1e-8).fit(K + np.eye(len(y)) / (2 * C), sign)
        expected = K[:, svc.support_] @ svc.dual_coef_[0] + svc.intercept_[0]
        np.testing.assert_allclose(values[0][:, number], expected, rtol=0, atol=1e-4)
    assert run.folder.node(run.status()["model"], "commit").record["bounded"] == 0


@pytest.mark.long
def test_early_models_committees_and_bags_have_it_and_a_run_goes_on_with_it(
    problem: Problem, tmp_path: Path
) -> None:
    X, y = problem.X, problem.y
    how = {**HOW, "fit_intercept": True, "tol": 1e-5}
    data = api.ingest((X, y), tmp_path / "d.zarr")
    early = api.train(data.url, tmp_path / "run", stop_at=1, clusters=(4, 2), committee=True, **how)
    bag = api.train(
        data.url, tmp_path / "bag", method="bagging", members=2, vote="committee", **how
    )
    truth = np.where(y == y.max(), 1, -1)
    for run, modes in ((early, ("early", "naive", "committee")), (bag, (None,))):
        for mode in modes:
            words = {} if mode is None else {"mode": mode}
            right = np.sign(run.decision_function(X, **words)) == truth
            assert right.mean() > 0.75
    api.resume(early.url, stop_at=0, execution=HOW["execution"], quiet=True, report=False)
    again = DCSVC.from_run(early.url)
    whole = DCSVC(C=C, gamma=GAMMA, loss="squared_hinge", tol=1e-5).fit(X, y)
    np.testing.assert_allclose(again.objective_, whole.objective_, rtol=1e-6)
    np.testing.assert_allclose(
        again.decision_function(X), whole.decision_function(X), rtol=0, atol=1e-4
    )
    records = read_records(early.folder)
    assert "--loss squared_hinge" in command(records)
    shown = {row["name"]: row["value"] for row in rows_of(parameters(records))}
    assert shown["loss"] == "squared_hinge"
    svc = early.to_sklearn()
    np.testing.assert_allclose(
        svc.decision_function(X.astype(np.float64)), again.decision_function(X), rtol=0, atol=1e-5
    )
    assert np.abs(svc.dual_coef_).max() > C


@pytest.mark.long
def test_a_search_has_it_and_trains_the_best_candidate_with_it(
    problem: Problem, tmp_path: Path
) -> None:
    X, y = problem.X, problem.y
    data = api.ingest((X, y), tmp_path / "d.zarr")
    words = {**HOW, "C": (0.5, 5.0), "gamma": 4.0, "fit_intercept": True, "tol": 1e-5}
    words |= {"cv": 3, "exact": 2, "block_rows": 120}
    run = api.search(data.url, tmp_path / "run", **words)
    assert run.best is not None
    made = DCSVC.from_run(run.best.url)
    best = next(row for row in run.results() if row["best"])
    assert (made.loss, made.C) == ("squared_hinge", best["C"])
    assert "--loss squared_hinge" in command(read_records(run.folder))
    hinge = api.search(data.url, tmp_path / "hinge", refit=False, **{**words, "loss": "hinge"})
    assert "--loss" not in command(read_records(hinge.folder))
    support = [sum(row["support"] for row in one.results()) for one in (run, hinge)]
    assert support[0] > support[1]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            {"method": "online", "loss": "squared_hinge"},
            "loss: online has no squared_hinge, but hi",
        ),
        (
            {"method": "libsvm", "loss": "squared_hinge", "fit_intercept": True},
            "loss: libsvm has no",
        ),
        ({"method": "greedy", "loss": "hinge"}, "loss: greedy has no hinge, but squared_hinge"),
        ({"task": "regression", "loss": "hinge"}, "loss must be one of epsilon_insensitive"),
        ({"task": "classification", "loss": "epsilon_insensitive"}, "loss must be one of hinge"),
        ({"loss": "log"}, "loss must be one of hinge, squared_hinge"),
    ],
)
def test_what_has_another_loss_is_refused_by_name(words: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        Training.of(words)


def test_the_usual_loss_leaves_no_trace_in_settings(data: Any) -> None:
    named, unnamed = (Training.of(words).settle(data)[0] for words in ({"loss": "hinge"}, {}))
    assert named == unnamed
    assert named.task_options == {}
    with pytest.raises(InputError, match="loss must be one of hinge, squared_hinge for classific"):
        Training.of({"loss": "squared_epsilon_insensitive"}).settle(data)
