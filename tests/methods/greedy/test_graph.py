"""SpSVM as runs on real rows: its optimum, whoever works on it, and after a resume."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from dcsvm_dask import api
from dcsvm_dask.diagnostics.lines import Lines
from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels import Kernel
from dcsvm_dask.methods.goals import Goals
from dcsvm_dask.methods.greedy import basis as steps
from dcsvm_dask.methods.greedy import graph
from dcsvm_dask.methods.plan import plan
from dcsvm_dask.methods.settings import Settings
from dcsvm_dask.methods.shape import Shape
from dcsvm_dask.models.model import Model
from dcsvm_dask.runtime.capacity import check_memory
from dcsvm_dask.runtime.execution import Execution
from dcsvm_dask.storage.dataset import DataSet
from dcsvm_dask.storage.model import read_model
from tests.callbacks import StopAt
from tests.left import forget_state
from tests.marks import soak
from tests.rounding import never_rises
from tests.stored import problem_of
from tests.svc import solve_smo

pytestmark = pytest.mark.usefixtures("few_rows_a_task")

ROWS, C, GAMMA, BASIS = 1500, 4.0, 8.0, 24
HERE = Execution(workers=0)
ROUNDS = ["grow-00", "grow-01", "grow-02"]


@pytest.fixture(autouse=True)
def three_rounds_and_two_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    """Share the rows as if they were many; a share has two tiles, and ends within a byte."""
    monkeypatch.setattr(graph, "FIRST", 6)
    monkeypatch.setattr(graph, "PART_BYTES", 4 * BASIS * 800)


@pytest.fixture
def train(data: DataSet, tmp_path: Path) -> Callable[..., api.Run]:
    def call(name: str = "run", execution: Execution = HERE, **how: Any) -> api.Run:
        words = {"gamma": GAMMA, "C": C, "basis": BASIS, "least": 0.0, "quiet": True, **how}
        return api.train(data.place, tmp_path / name, method="greedy", execution=execution, **words)

    return call


def model_of(run: api.Run) -> Model:
    return read_model(run.folder.node("model-greedy", "commit"), Kernel("rbf", GAMMA))


def weights_of(run: api.Run) -> Any:
    return model_of(run).coef[0]


@pytest.mark.long
def test_a_basis_of_all_rows_has_the_whole_problems_objective(
    demo_rows: Callable[..., Path], tmp_path: Path
) -> None:
    n, few = 600, DataSet.open(demo_rows(600))
    run = api.train(
        few.place,
        tmp_path / "run",
        method="greedy",
        gamma=GAMMA,
        C=C,
        basis=n,
        least=0.0,
        quiet=True,
        execution=Execution(workers=0),
    )
    record = run.status()["stages"]["model-greedy"]
    X = few.rows.read(0, n).astype(np.float64)
    y = np.where(few.read_codes(0, n) == 1, 1.0, -1.0)
    # The squared hinge's dual is the hinge's with a ridge of 1 / (2 C) and no upper bound.
    ridge = np.exp(-GAMMA * cdist(X, X, "sqeuclidean")) + np.eye(n) / (2.0 * C)
    dual = solve_smo(ridge, y, 1e6, tol=1e-7)
    assert record["primal_objective"] == pytest.approx(-dual.objective, rel=1e-5)


@pytest.mark.one_quick
@pytest.mark.parametrize(
    ("fit_intercept", "sample"),
    [(False, ROWS), (True, ROWS), pytest.param(True, 500, marks=pytest.mark.long)],
)
def test_weights_are_the_best_of_all_rows_and_every_commit_lowers_the_objective(
    fit_intercept: bool,
    sample: int,
    data: DataSet,
    train: Callable[..., api.Run],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(steps, "SAMPLE_ROWS", sample)
    run = train(fit_intercept=fit_intercept)
    found = run.status()
    record = found["stages"]["model-greedy"]
    X, y = problem_of(data)
    model = model_of(run)
    beta, Z, bias = model.coef[0], model.support.astype(np.float64), float(model.bias[0, 0])
    K = np.exp(-GAMMA * cdist(X, Z, "sqeuclidean"))
    G = np.exp(-GAMMA * cdist(Z, Z, "sqeuclidean"))
    left = np.maximum(0.0, 1.0 - y * (K @ beta + bias))
    objective = 0.5 * beta @ G @ beta + C * left @ left
    slope = G @ beta - 2.0 * C * K.T @ (y * left)
    assert found["converged"]
    assert len(beta) == BASIS
    assert record["primal_objective"] == pytest.approx(objective, rel=1e-6)
    # Columns are rounded to float32.
    assert np.abs(slope).max() <= 1e-6 * C * ROWS
    assert not fit_intercept or abs(2.0 * C * y @ left) <= 1e-6 * C * ROWS
    entries = [entry for entry in run.history() if entry["objective"] is not None]
    assert [entry["stage"] for entry in entries if "grow" in entry["stage"]] == ROUNDS
    assert [entry["n_support"] for entry in entries if "grow" in entry["stage"]] == [6, 12, 24]
    assert never_rises([entry["objective"] for entry in entries])


@pytest.mark.long
def test_a_sample_chooses_about_as_well_as_all_rows(
    train: Callable[..., api.Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    def reached(name: str) -> float:
        found = train(name, seed=1).status()["stages"]["model-greedy"]["primal_objective"]
        return float(found)

    of_all = reached("all")
    monkeypatch.setattr(steps, "SAMPLE_ROWS", 700)
    of_sample = reached("sample")
    assert of_sample != of_all
    assert of_sample < 1.1 * of_all


@pytest.mark.long
def test_workers_change_nothing(
    data: DataSet, train: Callable[..., api.Run], two_workers: Execution
) -> None:
    one, two = train("here"), train("there", two_workers)
    assert np.array_equal(weights_of(one), weights_of(two))
    rows = data.place.url
    assert np.array_equal(one.decision_function(rows), two.decision_function(rows))


@pytest.mark.long
@pytest.mark.parametrize(
    "stage",
    [
        soak("grow-00"),
        "grow-01",
        "fit-02-00",
    ],
)
def test_a_resume_ends_with_the_same_bits(
    stage: str, train: Callable[..., api.Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steps, "SAMPLE_ROWS", 500)
    whole = train("whole")
    cut = train("cut", callbacks=[StopAt(stage)])
    assert cut.status()["state"] == "interrupted"
    again = api.resume(cut.url, execution=Execution(workers=0), quiet=True, report=False)
    assert np.array_equal(weights_of(again), weights_of(whole))


@pytest.mark.long
def test_what_is_lost_is_made_again(train: Callable[..., api.Run]) -> None:
    run = train()
    before = weights_of(run)
    shutil.rmtree(Path(run.url) / "stages" / "model-greedy")
    forget_state(run.url)  # which says that nothing is to do
    execution = Execution(workers=0)
    again = api.resume(run.url, execution=execution, quiet=True, report=False)
    assert np.array_equal(weights_of(again), before)


def test_it_ends_where_a_basis_vector_brings_too_little(train: Callable[..., api.Run]) -> None:
    run = train(least=0.05, basis=200)
    assert run.status()["stages"]["model-greedy"]["support"] < 50
    assert run.status()["converged"]


def test_every_commit_says_how_large_the_basis_is_and_the_objective(
    train: Callable[..., api.Run],
) -> None:
    stream = StringIO()
    stages = train(callbacks=[Lines(stream)]).status()["stages"]
    reported = stream.getvalue()
    for name, size in zip(ROUNDS, (6, 12, 24), strict=True):
        assert f"basis {size}, objective {stages[name]['objective']:.6g}, Newton" in reported


def test_rows_without_a_difference_have_no_basis(tmp_path: Path) -> None:
    X, y = np.zeros((20, 3), np.float32), np.tile([0, 1], 10)
    np.savez(tmp_path / "rows.npz", X=X, y=y)
    data = api.ingest(tmp_path / "rows.npz", tmp_path / "data.zarr")
    run = api.train(
        data.place,
        tmp_path / "run",
        method="greedy",
        kernel="linear",
        quiet=True,
        execution=Execution(workers=0),
    )
    assert run.status()["stages"]["model-greedy"]["support"] == 0


@pytest.mark.long
def test_memory_of_a_task_is_bounded_however_many_rows_there_are(
    train: Callable[..., api.Run],
) -> None:
    settings = Settings.from_json(train().folder.header["settings"])
    goals = Goals(tol=1e-3, stop_at=0, max_rounds=100)

    def largest(n: int) -> int:
        planned = plan(settings, goals, Shape(n, n, 216 * n))
        found = [s.need.most for s in planned.stages if s.stage.name != "arrange"]
        return max(found)

    with pytest.raises(InputError, match="or lower -P basis, or train on fewer rows"):
        check_memory(plan(settings, goals, Shape(10**6, 10**6, 216 * 10**6)), 250 << 20)
    few, many = largest(10**6), largest(10**7)
    assert many - few <= 16 * 9 * 10**6  # a few bytes a row, and none of them for the basis


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"basis": 2.5}, "basis must be .*, got 2.5"),
        ({"least": -1}, "least must be .*, got -1"),
        ({"kernel": "sigmoid"}, "kernel must be .*, got 'sigmoid'"),
    ],
)
def test_what_is_impossible_is_refused(
    words: dict[str, Any], said: str, data: DataSet, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=said):
        api.train(data.place, tmp_path / "run", method="greedy", **words)
    assert not (tmp_path / "run").exists()
