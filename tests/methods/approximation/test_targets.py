"""Feature maps and linear SVMs over them that learn real targets, as runs on real rows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.svm import LinearSVR

from dcsvm_dask import api
from dcsvm_dask.diagnostics.report.tables.every import tables
from dcsvm_dask.errors import InputError
from dcsvm_dask.estimators import DCSVR
from dcsvm_dask.methods.approximation.features import stored_map
from dcsvm_dask.runtime.execution import Execution
from dcsvm_dask.solvers import solve_smo
from dcsvm_dask.storage.dataset import DataSet
from dcsvm_dask.tasks import Quantile
from tests.marks import long

ROWS, C, EPSILON, GAMMA = 700, 0.5, 0.1, 0.1
HERE = Execution(workers=0)
SQUARED = "squared_epsilon_insensitive"
METHODS: list[Any] = [
    ("nystrom", {"rank": 40}),
    ("nystrom", {"rank": 40, "landmarks": "random", "loss": SQUARED}),
    long("fourier", {"outputs": 60}),
    ("fourier", {"outputs": 128, "structured": True}),
    ("ltpu", {"centres": 40, "neighbours": 2, "loss": SQUARED}),
    long("ltpu", {"centres": 40}),
]
Rows = tuple[Any, Any]


def rows_of(shared_data: Callable[[str], Any], name: str, n: int) -> Rows:
    """Return n standardised rows of a real data set and standardised targets, five from zero."""
    found = shared_data(name)
    index = np.random.default_rng(0).permutation(len(found["X_train"]))[:n]
    X, z = (found[key].astype(np.float64)[index] for key in ("X_train", "y_train"))
    spread = X.std(axis=0)
    X = (X - X.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)
    return X.astype(np.float32), (z - z.mean()) / z.std() + 5.0


@pytest.fixture(scope="module")
def rows(shared_data: Callable[[str], Any]) -> Rows:
    return rows_of(shared_data, "cadata", ROWS + 300)


@pytest.fixture(scope="module")
def data(rows: Rows, tmp_path_factory: pytest.TempPathFactory) -> DataSet:
    place = tmp_path_factory.mktemp("rows") / "d.zarr"
    X, z = rows
    return api.ingest((X[:ROWS], z[:ROWS]), place, test=(X[ROWS:], z[ROWS:]), task="regression")


@pytest.fixture
def train(data: DataSet, tmp_path: Path) -> Callable[..., api.Run]:
    def call(name: str = "run", place: Any = None, **how: Any) -> api.Run:
        words = {"gamma": GAMMA, "C": C, "tol": 1e-4, "quiet": True, **how}
        if words.get("task") != "quantile":
            words["epsilon"] = EPSILON
        words["execution"] = words.get("execution", HERE)
        return api.train(place or data.place, tmp_path / name, **words)

    return call


@pytest.mark.one_quick
@pytest.mark.parametrize(("method", "how"), METHODS)
def test_svms_over_features_are_scikit_learns(
    method: str, how: dict[str, Any], rows: Rows, train: Callable[..., api.Run]
) -> None:
    run = train(method=method, fit_intercept=True, **how)
    X, z = rows[0][:ROWS], rows[1][:ROWS]
    Z, centre = stored_map(run.folder).transform(X).astype(np.float64), z.mean()
    loss = how.get("loss", "epsilon_insensitive")
    svr = LinearSVR(
        C=C, epsilon=EPSILON, loss=loss, dual=True, tol=1e-5, max_iter=10**6, random_state=0
    )
    # The bias is regularised from the mean of the targets.
    values = svr.fit(Z, z - centre).predict(Z) + centre
    np.testing.assert_allclose(run.predict(X, execution=HERE), values, atol=5e-3)
    beyond = np.maximum(0.0, np.abs(z - values) - EPSILON) ** (2 if loss == SQUARED else 1)
    regular = 0.5 * float(np.sum(svr.coef_**2) + np.ravel(svr.intercept_)[0] ** 2)
    record = run.status()["stages"]["model-linear"]
    assert record["solved"]
    assert 0.0 <= record["linear_gap"] < 1e-3 * -record["linear_objective"]
    assert -record["linear_objective"] == pytest.approx(regular + C * beyond.sum(), rel=1e-4)
    found = run.evaluate((X, z), execution=HERE)
    assert found["r2"] > 0.5
    assert found["rmse"] == pytest.approx(np.sqrt(np.mean((z - values) ** 2)), rel=1e-2)


def test_all_rows_as_landmarks_are_the_whole_kernel(
    rows: Rows, train: Callable[..., api.Run], tmp_path: Path
) -> None:
    X, z = rows[0][:400], rows[1][:400] - 5.0
    place = tmp_path / "d.zarr"
    api.ingest((X, z), place, task="regression")
    for loss in ("epsilon_insensitive", SQUARED):
        how: dict[str, Any] = {"rank": 400, "landmarks": "random", "tol": 1e-5, "loss": loss}
        run = train(f"run-{loss}", place, method="nystrom", **how)
        svr = DCSVR(
            C=C, epsilon=EPSILON, gamma=GAMMA, fit_intercept=False, tol=1e-6, loss=loss, n_jobs=1
        )
        np.testing.assert_allclose(
            run.predict(X, execution=HERE), svr.fit(X, z).predict(X), atol=5e-3
        )
        record = run.status()["stages"]["model-linear"]
        assert record["linear_objective"] == pytest.approx(svr.objective_, rel=1e-3)


@pytest.mark.parametrize(
    ("name", "rank", "near"), [long("cadata", 200, 0.05), long("mv", 800, 0.3)]
)
def test_more_components_come_closer_to_the_exact_svr(
    shared_data: Callable[[str], Any],
    train: Callable[..., api.Run],
    tmp_path: Path,
    name: str,
    rank: int,
    near: float,
) -> None:
    X, z = rows_of(shared_data, name, 1200)
    place = tmp_path / "d.zarr"
    api.ingest((X[:800], z[:800]), place, task="regression")
    exact = DCSVR(C=C, epsilon=EPSILON, gamma=GAMMA, n_jobs=1).fit(X[:800], z[:800])
    best = float(np.sqrt(np.mean((exact.predict(X[800:]) - z[800:]) ** 2)))
    for method, word, most in (("nystrom", "rank", rank), ("fourier", "outputs", 800)):
        errors = []
        for number in (10, most):
            how = {"method": method, word: number, "fit_intercept": True, "tol": 1e-2}
            run = train(f"{method}-{number}", place, **how)
            errors.append(run.evaluate((X[800:], z[800:]), execution=HERE)["rmse"])
        assert abs(errors[1] - best) < 0.5 * abs(errors[0] - best)
        assert errors[1] == pytest.approx(best, rel=near)


def test_quantiles_are_learned_too(rows: Rows, train: Callable[..., api.Run]) -> None:
    run = train(
        method="nystrom", rank=30, fit_intercept=True, task="quantile", quantile=0.3, tol=1e-5
    )
    X, z = rows[0][:ROWS], rows[1][:ROWS]
    Z = stored_map(run.folder).transform(X).astype(np.float64)
    dual = Quantile(quantile=0.3).dual(z - z.mean(), np.full(ROWS, C))
    K = Z @ Z.T + 1.0
    exact = solve_smo(K, dual, tol=1e-6)
    record = run.status()["stages"]["model-linear"]
    assert record["linear_objective"] == pytest.approx(exact.objective, rel=1e-5)
    values = run.predict(X, execution=HERE)
    np.testing.assert_allclose(values, K @ exact.beta + z.mean(), atol=2e-3)
    found = run.evaluate((X, z), execution=HERE)
    assert found["coverage"] == pytest.approx(0.3, abs=0.02)


@pytest.mark.long
def test_weights_repeats_and_chunks(
    rows: Rows, train: Callable[..., api.Run], tmp_path: Path
) -> None:
    X, z = rows[0][:300], rows[1][:300]
    weights = np.random.default_rng(0).integers(1, 4, 300)
    index = np.repeat(np.arange(300), weights)
    api.ingest((X, z), tmp_path / "w.zarr", task="regression", weights=weights.astype(float))
    api.ingest((X[index], z[index]), tmp_path / "r.zarr", task="regression")
    how: dict[str, Any] = {"method": "fourier", "outputs": 40, "fit_intercept": True, "tol": 1e-6}
    runs = [
        train("weights", tmp_path / "w.zarr", **how),
        train("repeats", tmp_path / "r.zarr", **how),
        train("chunks", tmp_path / "r.zarr", chunks=3, **how),
    ]
    # Repeats move the mean of the targets, from which a bias is regularised: not by much here.
    first, *others = (run.predict(X, execution=HERE) for run in runs)
    np.testing.assert_allclose(others[0], others[1], atol=1e-4)
    np.testing.assert_allclose(first, others[0], atol=2e-3)


@pytest.mark.long
def test_reports_and_exports_know_it(
    rows: Rows, train: Callable[..., api.Run], tmp_path: Path, data: DataSet
) -> None:
    svmutil = pytest.importorskip("libsvm.svmutil")
    run = train(method="nystrom", rank=30, fit_intercept=True, holdout=data.place / "test")
    X = rows[0][ROWS:]
    ours = run.predict(X, precision="float64", execution=HERE)
    run.export(tmp_path / "m.model")
    model = svmutil.svm_load_model(str(tmp_path / "m.model"))
    wide = sparse.csr_matrix(X, dtype=np.float64)
    values, _, _ = svmutil.svm_predict(np.zeros(len(X)), wide, model, "-q")
    np.testing.assert_allclose(values, ours, atol=1e-4)
    with pytest.raises(InputError, match="training data; those of a model of nystrom are not"):
        run.to_sklearn()
    found = tables(run.folder)["parameters"]
    parameters = dict(zip(found["name"], found["value"], strict=True))
    assert parameters["task"] == "regression"
    assert parameters["loss"] == "epsilon_insensitive"
    score = run.status()["stages"]["score-model-linear"]
    assert score["r2"] == pytest.approx(run.evaluate((X, rows[1][ROWS:]), execution=HERE)["r2"])
    fourier = train("fourier", method="fourier", outputs=20)
    with pytest.raises(InputError, match="a model of fourier cannot be exported"):
        fourier.export(tmp_path / "f.model")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"loss": "hinge"}, "loss must be epsilon_insensitive or squared_epsilon_insensitive for"),
        ({"loss": "pinball"}, "loss must be one of hinge, squared_hinge, epsilon_insensitive"),
        ({"task": "quantile", "loss": SQUARED}, "loss: is a parameter of task classification"),
        ({"task": "quantile", "loss": "hinge"}, "loss must be left out for quantile"),
        ({"task": "classification", "loss": SQUARED}, "its rows have targets, but task"),
    ],
)
def test_losses_of_other_tasks_are_refused(
    words: dict[str, Any], said: str, data: DataSet, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=said):
        api.train(data.place, tmp_path / "run", method="nystrom", **words)
    assert not (tmp_path / "run").exists()
