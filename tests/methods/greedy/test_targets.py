"""SpSVM with the squared epsilon-insensitive loss, as runs on real rows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

from dcsvm_dask import api
from dcsvm_dask.errors import InputError
from dcsvm_dask.estimators import DCSVR
from dcsvm_dask.methods.greedy import basis as steps
from dcsvm_dask.methods.greedy import graph
from dcsvm_dask.runtime.execution import Execution
from dcsvm_dask.storage.dataset import DataSet

HERE = Execution(workers=0)
N, C, EPSILON, GAMMA = 500, 2.0, 0.1, 0.2
SQUARED = "squared_epsilon_insensitive"


@pytest.fixture(scope="module")
def rows(shared_data: Callable[[str], Any]) -> tuple[Any, Any]:
    found = shared_data("cadata")
    index = np.random.default_rng(0).permutation(len(found["X_train"]))[: N + 200]
    X, z = found["X_train"][index], found["y_train"][index].astype(np.float64)
    return StandardScaler().fit_transform(X).astype(np.float32), (z - z.mean()) / z.std() + 5.0


@pytest.fixture(scope="module")
def data(rows: tuple[Any, Any], tmp_path_factory: pytest.TempPathFactory) -> DataSet:
    X, z = rows
    weights = np.random.default_rng(0).choice([0.5, 1.0, 2.0], N)
    place = tmp_path_factory.mktemp("rows") / "d.zarr"
    return api.ingest((X[:N], z[:N]), place, task="regression", weights=weights)


@pytest.fixture
def train(data: DataSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., api.Run]:
    monkeypatch.setattr(graph, "PART_BYTES", 4 * 64 * 250)

    def call(name: str = "run", **how: Any) -> api.Run:
        words = {"gamma": GAMMA, "C": C, "epsilon": EPSILON, "least": 0.0, "loss": SQUARED, **how}
        return api.train(
            data.place, tmp_path / name, method="greedy", execution=HERE, quiet=True, **words
        )

    return call


@pytest.mark.one_quick
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_a_basis_of_all_rows_is_the_exact_svr(
    rows: tuple[Any, Any], data: DataSet, train: Callable[..., api.Run], fit_intercept: bool
) -> None:
    X, z = rows[0][:N], rows[1][:N]
    # Of a smoother kernel a few rows would be left out, which gain less than float32 tells.
    run = train(basis=N, fit_intercept=fit_intercept, gamma=2.0)
    svr = DCSVR(
        C=C, epsilon=EPSILON, gamma=2.0, loss=SQUARED, fit_intercept=fit_intercept, tol=1e-6
    ).fit(X, z, sample_weight=data.read_weights(0, N))
    record = run.status()["stages"]["model-greedy"]
    assert record["solved"]
    if not fit_intercept:  # else the mean of the targets is in one of them
        assert record["primal_objective"] == pytest.approx(-svr.objective_, rel=1e-5)
    np.testing.assert_allclose(run.predict(X, execution=HERE), svr.predict(X), atol=2e-3)


def test_few_basis_vectors_predict_nearly_as_well(
    rows: tuple[Any, Any], train: Callable[..., api.Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graph, "FIRST", 20)
    monkeypatch.setattr(steps, "SAMPLE_ROWS", 300)
    X, z = rows
    run = train(basis=40, fit_intercept=True)
    found = run.evaluate((X[N:], z[N:]), execution=HERE)
    svr = DCSVR(C=C, epsilon=EPSILON, gamma=GAMMA, loss=SQUARED).fit(X[:N], z[:N])
    best = float(np.sqrt(np.mean((svr.predict(X[N:]) - z[N:]) ** 2)))
    assert found["rmse"] < 1.1 * best
    stages = run.status()["stages"]
    assert stages["grow-01"]["support"] == 40
    assert stages["model-greedy"]["solved"]


def test_other_losses_are_refused(data: DataSet, tmp_path: Path) -> None:
    for words, said in (
        ({}, "loss: there are squared losses only here, got regression with the loss epsilon_ins"),
        ({"task": "quantile"}, "method greedy is not for quantile"),
    ):
        with pytest.raises(InputError, match=said):
            api.train(data.place, tmp_path / "run", method="greedy", **words)
    assert not (tmp_path / "run").exists()
