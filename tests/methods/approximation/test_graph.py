"""Feature maps and linear machines over them, as runs on real rows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.svm import LinearSVC

from dcsvm_dask import api
from dcsvm_dask.errors import InputError
from dcsvm_dask.features import Nystrom
from dcsvm_dask.methods.approximation.features import stored_map
from dcsvm_dask.runtime.execution import Execution
from dcsvm_dask.storage.dataset import DataSet
from tests.marks import long

pytestmark = pytest.mark.usefixtures("few_rows_a_task")

ROWS, C, GAMMA = 700, 0.25, 8.0
HERE = Execution(workers=0)
METHODS: list[Any] = [
    ("nystrom", {"rank": 40}),
    long("nystrom", {"rank": 40, "landmarks": "random"}),
    long("fourier", {"outputs": 60}),
    ("fourier", {"outputs": 128, "structured": True}),
    long("ltpu", {"centres": 40}),
    long("ltpu", {"centres": 40, "neighbours": 2}),
]


@pytest.fixture(scope="module", params=["dense", "sparse"])
def data(
    request: pytest.FixtureRequest,
    demo_rows: Callable[..., Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> DataSet:
    dense = DataSet.open(demo_rows(ROWS))
    if request.param == "dense":
        return dense
    place = tmp_path_factory.mktemp("sparse") / "d.zarr"
    rows = sparse.csr_array(dense.rows.read(0, ROWS))
    api.ingest((rows, np.array(dense.classes)[dense.read_codes(0, ROWS)]), place)
    return DataSet.open(place)


@pytest.fixture
def train(data: DataSet, tmp_path: Path) -> Callable[..., api.Run]:
    def call(name: str = "run", execution: Execution = HERE, **how: Any) -> api.Run:
        words = {"gamma": GAMMA, "C": C, "tol": 1e-4, "quiet": True, **how}
        return api.train(data.place, tmp_path / name, execution=execution, **words)

    return call


@pytest.mark.one_quick
@pytest.mark.parametrize(("method", "how"), METHODS)
def test_machines_over_features_are_scikit_learns(
    method: str, how: dict[str, Any], data: DataSet, train: Callable[..., api.Run]
) -> None:
    loss = "squared_hinge" if "landmarks" in how else "hinge"
    run = train(method=method, fit_intercept=True, loss=loss, **how)
    Z = stored_map(run.folder).transform(data.rows.read(0, ROWS)).astype(np.float64)
    y = np.where(data.read_codes(0, ROWS) == 1, 1, -1)
    svc = LinearSVC(C=C, loss=loss, dual=True, tol=1e-6, max_iter=10**6, random_state=0)
    values = svc.fit(Z, y).decision_function(Z)
    np.testing.assert_allclose(run.decision_function(data.place.url), values, atol=2e-3)
    slack = np.maximum(0.0, 1.0 - y * values) ** (2 if loss == "squared_hinge" else 1)
    squared = float(np.sum(svc.coef_**2) + svc.intercept_[0] ** 2)
    record = run.status()["stages"]["model-linear"]
    assert record["solved"]
    assert -record["linear_objective"] == pytest.approx(0.5 * squared + C * slack.sum(), rel=1e-5)


@pytest.mark.one_quick
def test_all_rows_as_landmarks_are_the_whole_kernel(train: Callable[..., api.Run]) -> None:
    # Without a bias, and with every row among the landmarks, the machine is the exact one.
    run = train("all", method="nystrom", rank=ROWS, landmarks="random", tol=1e-5)
    exact = train("exact", tol=1e-6)
    data = run.folder.header["data"]["url"]
    found, wanted = run.decision_function(data), exact.decision_function(data)
    np.testing.assert_allclose(found, wanted, atol=5e-3)
    assert isinstance(stored_map(run.folder), Nystrom)


@pytest.mark.long
def test_chunks_workers_and_a_resume_change_no_answer(
    train: Callable[..., api.Run], two_workers: Execution
) -> None:
    how: dict[str, Any] = {"method": "nystrom", "rank": 20}
    here, there = train("here", **how), train("there", two_workers, **how)
    pieces = train("pieces", chunks=3, **how)
    assert pieces.status()["stages"]["features"]["parts"] == 3
    data = here.folder.header["data"]["url"]
    assert np.array_equal(here.decision_function(data), there.decision_function(data))
    np.testing.assert_allclose(
        here.decision_function(data), pieces.decision_function(data), atol=1e-4
    )
    assert "complete" in api.resume(here.url, execution=HERE, quiet=True).status()["state"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"method": "nystrom", "kernel": "sigmoid"}, "kernel must be .*, got 'sigmoid'"),
        ({"method": "fourier", "kernel": "poly"}, "kernel must be .*, got 'poly'"),
        (
            {"method": "fourier", "kernel": "laplacian", "structured": True},
            "kernel must be one of rbf here, got 'laplacian'",
        ),
        ({"method": "ltpu", "kernel": "linear"}, "kernel must be .*, got 'linear'"),
        ({"method": "nystrom", "rank": 0}, "rank must be at least 1"),
        ({"method": "nystrom", "landmarks": "best"}, "landmarks must be .*, got 'best'"),
        ({"method": "fourier", "outputs": 7}, "outputs must be even"),
        ({"method": "ltpu", "loss": "log"}, "loss must be .*, got 'log'"),
        ({"method": "ltpu", "chunks": -1}, "chunks must be .*, got -1"),
    ],
)
def test_what_is_impossible_is_refused(
    words: dict[str, Any], said: str, data: DataSet, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=said):
        api.train(data.place, tmp_path / "run", **words)
    assert not (tmp_path / "run").exists()
