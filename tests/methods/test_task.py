"""Tasks with real targets go through levels, refinement and conquer, and through other methods."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.metrics import r2_score

from dcsvm_dask.data.ingest import ingest
from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels import kernel_matrix
from dcsvm_dask.methods.choice import choose_model
from dcsvm_dask.methods.committee import read_committee
from dcsvm_dask.methods.predict import load_model
from dcsvm_dask.methods.problem import read_problem
from dcsvm_dask.methods.registry import METHODS
from dcsvm_dask.models.decision_values import decide
from dcsvm_dask.pipeline.training import Training
from dcsvm_dask.runtime.announcer import Announcer
from dcsvm_dask.runtime.carry import carry
from dcsvm_dask.runtime.executors import in_process
from dcsvm_dask.solvers import duality_gap, solve_smo
from dcsvm_dask.storage.dataset import DataSet
from dcsvm_dask.storage.run import RunFolder
from dcsvm_dask.tasks import Quantile, Regression
from tests.begun import begun
from tests.marks import half

C = 2.0
TASKS = {
    "regression": {"task": "regression", "epsilon": 0.1},
    "squared": {"task": "regression", "epsilon": 0.1, "loss": "squared_epsilon_insensitive"},
    "quantile": {"task": "quantile", "quantile": 0.3},
}


def rows_of(name: str, shared_data: Callable[[str], Any], n: int) -> tuple[Any, NDArray[Any]]:
    """Return n standardised rows of a real data set, 100 of them twice, and their targets."""
    found = shared_data(name)
    X, z = found["X_train"].astype(np.float64), found["y_train"].astype(np.float64)
    index = np.random.default_rng(0).permutation(len(X))[:n]
    spread = X.std(axis=0)
    X = ((X - X.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0))[index].astype(np.float32)
    z = z[index]
    return np.concatenate([X, X[:100]]), np.concatenate([z, z[:100]])


def train(data: DataSet, place: Path, **words: Any) -> RunFolder:
    """Train on the data's targets, and score every model on the test part."""
    training = Training.of({"tol": 1e-5, "block_cap": 128, **words})
    settings, goals, shape = training.settle(data, holdout=True)
    folder = begun(place, data, settings, goals, shape)
    method = METHODS[training.method]
    with in_process(Announcer("", [])) as executor:
        carry(folder, lambda: method.run(settings, goals, shape), executor)
    return folder


@pytest.fixture
def data(tmp_path: Path) -> DataSet:
    """Return a data set of a noisy sine far from zero, 100 of its rows twice, with a test part."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-3.0, 3.0, (800, 1)).astype(np.float32)
    z = 5.0 + np.sin(2.0 * X[:, 0]) + rng.standard_normal(800) * 0.3
    X, z = np.concatenate([X, X[:100]]), np.concatenate([z, z[:100]])
    part = (X[700:], z[700:])
    return ingest((X[:700], z[:700]), tmp_path / "d.zarr", test=part, task="regression")


WAYS: dict[str, dict[str, Any]] = {
    "levels": {"clusters": (4, 2)},
    "conquer": {"levels": 0},
    "cascade": {"method": "cascade", "leaves": 4, "passes": 30},
    "subsample": {"method": "subsample", "fraction": 1.0},
}


@pytest.mark.one_quick
@pytest.mark.parametrize(("words", "fit_intercept", "task"), half(WAYS, [False, True], [*TASKS]))
def test_a_run_comes_to_the_solution_of_the_whole_problem(
    data: DataSet, tmp_path: Path, words: dict[str, Any], fit_intercept: bool, task: str
) -> None:
    own = {**TASKS[task], "C": C, "gamma": 2.0, "fit_intercept": fit_intercept}
    run = train(data, tmp_path / "run", **own, **words)
    X, z = data.rows.read(0, data.n_rows), data.read_y(0, data.n_rows)
    stage = choose_model(run).stage
    model, committed = load_model(run, stage), run.node(stage, "commit")
    K = kernel_matrix(model.kernel, X, dtype=np.float64)
    learns: Any = Quantile(0.3) if task == "quantile" else Regression(0.1, task == "squared")
    dual = learns.dual(z, np.full(len(z), C))
    exact = solve_smo(K, dual, equality=fit_intercept, tol=1e-7)
    record, beta = committed.record, committed.read("alpha")[0]
    tight = 1e-5 if "method" in words else 1e-7
    reached = 0.5 * beta @ K @ beta + dual.linear(beta)
    # Without a bias the mean of the targets is in the objective; centred ones leave it out.
    shift = 0.0
    if fit_intercept:
        assert abs(beta.sum()) < 1e-7
        shift = float(np.mean(z)) * beta.sum()
        decision = decide(model, X, "exact")
        np.testing.assert_allclose(decision, K @ exact.beta + exact.bias, atol=3e-3)
    assert record["objective"] == pytest.approx(exact.objective, rel=tight)
    assert reached + shift == pytest.approx(exact.objective, rel=tight)
    np.testing.assert_array_equal(dual.clip(beta), beta)
    assert (beta > 0).any()
    assert (beta < 0).any()
    gap = duality_gap(dual.gradient(K @ beta, beta), beta, dual, equality=fit_intercept)
    assert record["gap"] == pytest.approx(gap, abs=1e-4 * abs(exact.objective))
    score = run.node(f"score-{stage}", "commit").record
    if task != "quantile":
        assert score["r2"] > 0.75
    else:
        assert 0.0 < score["pinball"] < 0.2
        if fit_intercept:
            below = np.mean(z < decide(model, X, "exact"))
            assert below == pytest.approx(0.3, abs=0.06)


@pytest.mark.one_quick
@pytest.mark.parametrize(("fit_intercept", "task"), half([False, True], [*TASKS]))
def test_joint_steps_across_the_kink_never_raise_the_objective(
    tmp_path: Path, task: str, fit_intercept: bool
) -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-3.0, 3.0, (400, 2)).astype(np.float32)
    z = 3.0 + np.sin(2.0 * X[:, 0]) * X[:, 1] + rng.standard_normal(400) * 0.3
    data = ingest((X, z), tmp_path / "d.zarr", test=(X, z), task="regression")
    how = {"C": 5.0, "gamma": 2.0, "fit_intercept": fit_intercept, **TASKS[task]}
    run = train(data, tmp_path / "run", **how, clusters=(4, 2), block_cap=64, tol=1e-3)
    joined = 0
    for chain in ("refine", "conquer"):
        stages = sorted(stage for stage in run.stages() if stage.startswith(f"{chain}-"))
        commits = [run.find(stage, "commit") for stage in stages]
        records = [commit.record for commit in commits if commit is not None]
        rounds = [record for record in records if "decrease" in record]
        joined += sum(record["beta_min"] < 1.0 for record in rounds)
        slack = 1e-9 * max((abs(record["objective"]) for record in rounds), default=0.0)
        assert all(b["objective"] <= a["objective"] + slack for a, b in pairwise(rounds))
        assert all(record["decrease"] >= -slack for record in rounds)
    assert joined > 0


@pytest.mark.one_quick
@pytest.mark.parametrize("task", TASKS)
def test_early_models_and_members_of_a_bag_predict_too(
    data: DataSet, tmp_path: Path, task: str
) -> None:
    how = {**TASKS[task], "C": C, "gamma": 2.0, "fit_intercept": True}
    early = train(data, tmp_path / "early", **how, clusters=(4, 2), stop_at=1)
    bag = train(data, tmp_path / "bag", **how, method="bagging", members=4, vote="mean")
    stage = choose_model(bag).stage
    for run, name in ((early, "level-1"), (bag, stage)):
        score = run.node(f"score-{name}", "commit").record
        if task != "quantile":
            assert score["r2"] > 0.7
        else:
            assert score["pinball"] < 0.2


SETS = {"cadata": (0.5, 2e4), "kin40k": (0.3, 5.0), "mv": (0.1, 50.0)}
"""gamma and C."""


@pytest.mark.one_quick
@pytest.mark.parametrize(
    ("words", "name"), half({"levels": {"clusters": (8, 2)}, "sets": {"levels": 0}}, [*SETS])
)
def test_a_run_agrees_with_svr_on_real_data(
    shared_data: Callable[[str], Any], tmp_path: Path, name: str, words: dict[str, Any]
) -> None:
    gamma, weight = SETS[name]
    svm = pytest.importorskip("sklearn.svm")
    X, z = rows_of(name, shared_data, 1500)
    unit = float(z.std())
    data = ingest((X, z), tmp_path / "d.zarr", test=(X, z), task="regression")
    how = {"C": weight, "gamma": gamma, "epsilon": 0.1 * unit, "tol": 1e-6 * unit}
    run = train(data, tmp_path / "run", fit_intercept=True, **{"block_cap": 400, **how}, **words)
    stage = choose_model(run).stage
    peer = svm.SVR(**how, cache_size=500).fit(X.astype(np.float64), z)
    model = load_model(run, stage)
    far = np.abs(decide(model, X, "exact", dtype=np.float64) - peer.predict(X.astype(np.float64)))
    assert far.max() < 1e-4 * unit
    beta = np.zeros(len(z))
    beta[peer.support_] = peer.dual_coef_[0]
    K = kernel_matrix(model.kernel, X, dtype=np.float64)
    theirs = 0.5 * beta @ K @ beta - z @ beta + how["epsilon"] * np.abs(beta).sum()
    assert run.node(stage, "commit").record["objective"] == pytest.approx(theirs, rel=1e-6)


def test_libsvm_as_a_method_is_svr(data: DataSet, tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    how = {"C": C, "gamma": 2.0, "epsilon": 0.1, "fit_intercept": True}
    ours = train(data, tmp_path / "ours", **how)
    peer = train(data, tmp_path / "peer", method="libsvm", **how)
    X = data.rows.read(0, 100)
    values = [decide(load_model(run, choose_model(run).stage), X, "exact") for run in (ours, peer)]
    np.testing.assert_allclose(*values, atol=1e-3)
    objectives = [
        run.node(choose_model(run).stage, "commit").record["objective"] for run in (ours, peer)
    ]
    assert objectives[0] == pytest.approx(objectives[1], rel=1e-5)


@pytest.mark.one_quick
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_a_tube_wider_than_the_spread_has_an_empty_model(
    data: DataSet, tmp_path: Path, fit_intercept: bool
) -> None:
    for words in ({"clusters": (4, 2)}, {"levels": 0}):
        place = tmp_path / f"run-{len(words['clusters']) if 'clusters' in words else 0}"
        run = train(data, place, epsilon=50.0, fit_intercept=fit_intercept, **words)
        stage = choose_model(run).stage
        assert run.node(stage, "commit").record["support"] == 0
        predicted = decide(load_model(run, stage), data.rows.read(0, 5), "exact")
        assert len(set(predicted.tolist())) == 1


def test_constant_targets_are_predicted(tmp_path: Path) -> None:
    X = np.random.default_rng(0).standard_normal((200, 2)).astype(np.float32)
    z = np.full(200, 1e6)
    data = ingest((X, z), tmp_path / "d.zarr", test=(X, z), task="regression")
    run = train(data, tmp_path / "run", fit_intercept=True)
    model = load_model(run, choose_model(run).stage)
    np.testing.assert_array_equal(decide(model, X, "exact"), z)


def test_the_answer_scales_with_the_targets(data: DataSet, tmp_path: Path) -> None:
    X, z = data.rows.read(0, data.n_rows), data.read_y(0, data.n_rows)
    unit = 2.0**20
    part = (X, unit * z)
    large = ingest(part, tmp_path / "large.zarr", test=part, task="regression")
    how: dict[str, Any] = {"gamma": 2.0, "fit_intercept": True, "clusters": (4, 2)}
    one = train(data, tmp_path / "one", C=C, epsilon=0.1, tol=1e-4, **how)
    scaled = {"C": unit * C, "epsilon": unit * 0.1, "tol": unit * 1e-4}
    other = train(large, tmp_path / "other", **scaled, **how)
    models = [load_model(run, choose_model(run).stage) for run in (one, other)]
    values = [decide(model, X, "exact") for model in models]
    np.testing.assert_allclose(values[1] / unit, values[0], rtol=1e-6)


@pytest.mark.long
def test_squared_losses_without_a_tube_are_kernel_ridge_regression(
    shared_data: Callable[[str], Any], tmp_path: Path
) -> None:
    ridge = pytest.importorskip("sklearn.kernel_ridge")
    X, z = rows_of("cadata", shared_data, 500)
    unit = float(z.std())
    data = ingest((X, z), tmp_path / "d.zarr", test=(X, z), task="regression")
    how = {**TASKS["squared"], "epsilon": 0.0, "C": 5.0, "gamma": 0.1, "tol": 1e-6 * unit}
    run = train(data, tmp_path / "run", clusters=(4,), **how)
    peer = ridge.KernelRidge(alpha=0.1, kernel="rbf", gamma=0.1).fit(X.astype(np.float64), z)
    found = decide(load_model(run, choose_model(run).stage), X, "exact", dtype=np.float64)
    far = np.abs(found - peer.predict(X.astype(np.float64)))
    assert far.max() < 1e-4 * unit


def test_the_squared_loss_is_refused_by_name_where_there_is_none(data: DataSet) -> None:
    squared = {"loss": "squared_epsilon_insensitive"}
    with pytest.raises(InputError, match="loss: libsvm has no squared_epsilon_insensitive"):
        Training.of({"method": "libsvm", "fit_intercept": True, **squared}).settle(data)
    with pytest.raises(InputError, match="loss: is a parameter of task classification and reg"):
        Training.of({"task": "quantile", **squared})
    with pytest.raises(InputError, match="loss must be one of epsilon_insensitive"):
        Training.of({"task": "regression", "loss": "hinge"})


def test_a_committee_of_regression(shared_data: Callable[[str], Any], tmp_path: Path) -> None:
    """Members weigh by what they leave of the variance, far SVMs hardly at all."""
    X, z = rows_of("cpusmall", shared_data, 900)
    data = ingest(
        (X[:600], z[:600]), tmp_path / "d.zarr", test=(X[600:], z[600:]), task="regression"
    )
    words: dict[str, Any] = {"gamma": 0.05, "C": 50.0, "epsilon": 1.0, "tol": 1e-3}
    run = train(data, tmp_path / "run", **words, clusters=(5,), stop_at=1, committee=True)
    node = run.node("committee-level-1", "commit")
    model = load_model(run, "level-1")
    model = replace(model, committee=read_committee(node))
    members = np.stack(
        [
            kernel_matrix(model.kernel, X[600:], model.support[a:b], dtype=np.float64)
            @ model.coef[0, a:b]
            for a, b in pairwise(model.offsets)
        ]
    )
    wanted = node.read("slope") @ members + node.read("intercept").sum() - 4 * node.record["prior"]
    found = decide(model, X[600:], "committee", dtype=np.float64)
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
    score = run.node("score-committee-level-1", "commit").record
    assert score["r2"] == pytest.approx(r2_score(z[600:], found), abs=1e-4)
    naive = r2_score(z[600:], decide(model, X[600:], "naive"))
    assert score["r2"] > max(0.3, naive)


def test_a_bag_of_regression_is_a_committee(
    shared_data: Callable[[str], Any], tmp_path: Path
) -> None:
    X, z = rows_of("cpusmall", shared_data, 900)
    data = ingest(
        (X[:600], z[:600]), tmp_path / "d.zarr", test=(X[600:], z[600:]), task="regression"
    )
    words: dict[str, Any] = {"gamma": 0.05, "C": 50.0, "epsilon": 1.0, "tol": 1e-3}
    bag: dict[str, Any] = {"method": "bagging", "members": 4}
    found = []
    for vote in ("mean", "committee"):
        run = train(data, tmp_path / vote, **words, **bag, vote=vote)
        stage = next(stage for stage in run.stages() if stage.startswith("score"))
        found.append(run.node(stage, "commit").record["r2"])
    assert min(found) > 0.5
    with pytest.raises(InputError, match="vote must be mean for quantile"):
        train(data, tmp_path / "q", **bag, task="quantile", vote="committee", gamma=0.05)


@pytest.mark.one_quick
@pytest.mark.parametrize("task", TASKS)
def test_certificates_of_a_level_are_those_of_the_dense_problem(
    task: str, shared_data: Callable[[str], Any], tmp_path: Path
) -> None:
    """Up to 4,096 rows nothing of them is estimated."""
    rows = rows_of("cpusmall", shared_data, 500)
    run = train(
        ingest(rows, tmp_path / "d.zarr", test=rows, task="regression"),
        tmp_path / "run",
        **TASKS[task],
        C=C,
        gamma=0.5,
        clusters=(4,),
        stop_at=1,
    )
    record, problem = run.node("level-1", "commit").record, read_problem(run)
    b, z = run.node("level-1", "commit").read("beta")[0], problem.targets - problem.task.centre
    everyone = np.arange(problem.n)
    upper, K = (
        problem.bounds(everyone),
        kernel_matrix(problem.settings.kernel, problem.take(everyone)),
    )
    f = K.astype(np.float64) @ b
    error, epsilon = z - f, TASKS[task].get("epsilon", 0.0)
    if task == "quantile":
        loss = upper * np.where(error > 0.0, 0.3 * error, -0.7 * error)
    else:
        outside = np.maximum(0.0, np.abs(error) - epsilon)
        loss = upper * (outside**2 if task == "squared" else outside)
    dual = 0.5 * b @ f - z @ b + epsilon * np.abs(b).sum()
    dual += (b**2 / (4.0 * upper)).sum() if task == "squared" else 0.0
    primal = 0.5 * b @ f + loss.sum()
    assert record["objective_error"] == record["gap_error"] == 0.0
    assert record["objective_estimate"] == pytest.approx(dual, rel=1e-4)
    assert record["gap_estimate"] == pytest.approx(primal + dual, rel=1e-3)
