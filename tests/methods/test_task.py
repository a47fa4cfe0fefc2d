"""A task that is none of the package's own goes through levels, refinement and conquer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dcsvm_dask.data.ingest import ingest
from dcsvm_dask.kernels import kernel_matrix
from dcsvm_dask.methods.choice import choose_model
from dcsvm_dask.methods.method import Method
from dcsvm_dask.methods.predict import load_model
from dcsvm_dask.methods.registry import METHODS
from dcsvm_dask.models.model import decide
from dcsvm_dask.pipeline.training import Training
from dcsvm_dask.runtime.announcer import Announcer
from dcsvm_dask.runtime.carry import carry
from dcsvm_dask.runtime.executors import in_process
from dcsvm_dask.solvers import solve_smo
from dcsvm_dask.storage.run import RunFolder
from dcsvm_dask.tasks import TASKS, Dual
from tests.begun import begun

DCSVM, CASCADE, BAGGING = (METHODS[name] for name in ("dcsvm", "cascade", "bagging"))
TAU, C = 0.3, 2.0


class Quantile:
    """Kernel quantile regression (Takeuchi, Le, Sears, Smola, JMLR 7, 2006)."""

    name = "quantile"
    has_classes = False

    def targets(self, codes: NDArray[Any], labels: Sequence[Any]) -> NDArray[np.float64]:
        return np.array(labels, np.float64)[codes]

    def dual(self, targets: NDArray[Any], C: NDArray[Any]) -> Dual:
        return Dual(-targets, C * (TAU - 1.0), C * TAU)

    def alpha(self, beta: NDArray[Any]) -> NDArray[Any]:
        return beta

    def scores(self, decision: NDArray[Any], targets: NDArray[Any]) -> dict[str, float]:
        far = targets - decision
        return {"pinball": float(np.mean(np.maximum(TAU * far, (TAU - 1.0) * far)))}


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a data set whose labels are targets, 100 of its rows twice; the task is known."""
    monkeypatch.setitem(TASKS, "quantile", Quantile())
    rng = np.random.default_rng(0)
    X = rng.uniform(-3.0, 3.0, (800, 1)).astype(np.float32)
    z = np.sin(2.0 * X[:, 0]) + rng.standard_normal(800) * 0.3
    z = np.round(np.clip(z, -1.2, 1.2), 1)
    X, z = np.concatenate([X, X[:100]]), np.concatenate([z, z[:100]])
    return ingest((X[:700], z[:700]), tmp_path / "d.zarr", test=(X[700:], z[700:]))


def run_of(data: Any, place: Path, method: Method, **words: Any) -> RunFolder:
    """Train on the data's targets by a method."""
    settings, goals, shape = Training.of(
        {"method": method.name, "C": C, "gamma": 2.0, "tol": 1e-5, "block_cap": 128, **words}
    ).settle(data, holdout=True, task="quantile")
    folder = begun(place, data, settings, goals, shape)
    with in_process(Announcer("", [])) as executor:
        carry(folder, lambda: method.run(settings, goals, shape), executor)
    return folder


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize(
    ("method", "words"),
    [
        (DCSVM, {"clusters": (4, 2)}),
        (DCSVM, {"levels": 0}),
        (CASCADE, {"leaves": 4, "passes": 30}),
    ],
    ids=["levels", "conquer", "cascade"],
)
def test_a_run_comes_to_the_solution_of_the_whole_problem(
    data: Any, tmp_path: Path, method: Method, words: dict[str, Any], fit_intercept: bool
) -> None:
    run = run_of(data, tmp_path / "run", method, fit_intercept=fit_intercept, **words)
    X = data.rows.read(0, data.n_rows)
    z = np.array(data.classes, np.float64)[data.read_codes(0, data.n_rows)]
    stage = choose_model(run).stage
    model, committed = load_model(run, stage), run.node(stage, "commit")
    K = kernel_matrix(model.kernel, X, dtype=np.float64)
    dual = Quantile().dual(z, np.full(len(z), C))
    exact = solve_smo(K, dual, equality=fit_intercept, tol=1e-7)
    record, beta = committed.record, committed.read("alpha")[0]
    tight = 1e-7 if method is DCSVM else 1e-5
    assert record["objective"] == pytest.approx(exact.objective, rel=tight)
    assert 0.5 * beta @ K @ beta - z @ beta == pytest.approx(exact.objective, rel=tight)
    assert ((beta >= C * (TAU - 1.0)) & (beta <= C * TAU)).all()
    assert (beta > 0).any()
    assert (beta < 0).any()
    if fit_intercept:
        assert abs(beta.sum()) < 1e-8
        decision = decide(model, X, "exact")
        np.testing.assert_allclose(decision, K @ exact.beta + exact.bias, atol=2e-3)
        assert np.mean(z < decision) == pytest.approx(TAU, abs=0.06)
    score = run.node(f"score-{stage}", "commit").record
    assert 0.0 < score["pinball"] < 0.2


def test_early_models_and_members_of_a_bag_predict_too(data: Any, tmp_path: Path) -> None:
    early = run_of(data, tmp_path / "early", DCSVM, clusters=(4, 2), stop_at=1)
    assert early.node("score-level-1", "commit").record["pinball"] < 0.2
    bag = run_of(data, tmp_path / "bag", BAGGING, members=4, vote="mean")
    stage = choose_model(bag).stage
    assert bag.node(f"score-{stage}", "commit").record["pinball"] < 0.2
