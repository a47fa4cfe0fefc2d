"""One-class SVMs by levels and conquer are those of scikit-learn."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse
from sklearn.svm import OneClassSVM

from dcsvm_dask.data.ingest import ingest
from dcsvm_dask.errors import InputError
from dcsvm_dask.methods.bagging.nodes import offset_units, sample
from dcsvm_dask.methods.bagging.threshold import threshold
from dcsvm_dask.methods.choice import choose_model
from dcsvm_dask.methods.predict import load_model
from dcsvm_dask.methods.problem import OFFSET, read_problem
from dcsvm_dask.methods.settings import BLOCK_CAP
from dcsvm_dask.models.decision_values import decide
from dcsvm_dask.storage.dataset import DataSet
from dcsvm_dask.storage.run import RunFolder
from tests.methods.test_task import train

GAMMA, N = 30.0, 1500


class Rows:
    """Rows of a data set, 100 of them three times, and the data set without labels."""

    def __init__(self, folder: Path, X: NDArray[np.float32]) -> None:
        self.X = np.concatenate([X, X[:100], X[:100]])
        self.data = ingest((self.X, None), folder / "d.zarr", test=(X[:50], None), task="one-class")


@pytest.fixture(scope="module")
def rows(shared_data: Callable[[str], Any], tmp_path_factory: pytest.TempPathFactory) -> Rows:
    found = shared_data("magic")["X_train"]
    order = np.random.default_rng(0).permutation(len(found))[:N]
    return Rows(tmp_path_factory.mktemp("rows"), found[order].astype(np.float32))


def objective_of(peer: OneClassSVM, gamma: float) -> float:
    """Return the objective of scikit-learn's solution, in float64."""
    from sklearn.metrics.pairwise import rbf_kernel

    alpha, X = peer.dual_coef_, peer.support_vectors_
    alpha = (alpha.toarray() if sparse.issparse(alpha) else alpha)[0]
    return float(0.5 * alpha @ rbf_kernel(X, gamma=gamma) @ alpha)


def check(run: RunFolder, X: Any, gamma: float, nu: float, weights: Any = None) -> None:
    """Compare a run's model with scikit-learn's of the same rows."""
    peer = OneClassSVM(nu=nu, gamma=gamma, tol=1e-6)
    peer.fit(X.astype(np.float64), sample_weight=weights)
    stage = choose_model(run).stage
    node = run.node(stage, "commit")
    assert node.record["objective"] == pytest.approx(objective_of(peer, gamma), rel=1e-6)
    assert node.record["bias"] == pytest.approx(-float(peer.offset_[0]), rel=1e-5)
    found = decide(load_model(run, stage), X, "exact", dtype=np.float64)
    far = np.abs(found - peer.decision_function(X.astype(np.float64)))
    assert far.max() < 1e-5 + 2e-5 * abs(node.record["bias"])
    total = nu * (X.shape[0] if weights is None else float(np.sum(weights)))
    assert node.read("alpha").sum() == pytest.approx(total, rel=1e-9)
    assert read_problem(run).total == pytest.approx(total, rel=1e-12)


@pytest.mark.one_quick
@pytest.mark.parametrize("nu", [0.02, 0.3])
@pytest.mark.parametrize(
    "words",
    [
        {"clusters": (8, 2)},
        {"levels": 0},
        {"levels": 0, "block_cap": BLOCK_CAP},
        {"method": "subsample", "fraction": 1.0},
    ],
    ids=["levels", "conquer", "at-once", "subsample"],
)
def test_every_way_leads_to_the_answer(
    rows: Rows, tmp_path: Path, nu: float, words: dict[str, Any]
) -> None:
    run = train(rows.data, tmp_path / "run", gamma=GAMMA, nu=nu, **words)
    check(run, rows.X, GAMMA, nu)


@pytest.mark.one_quick
@pytest.mark.parametrize("gamma", [1e-2, 3000.0, 1e7])
def test_kernels_of_any_locality(rows: Rows, tmp_path: Path, gamma: float) -> None:
    run = train(rows.data, tmp_path / "run", gamma=gamma, nu=0.1, clusters=(8,))
    check(run, rows.X, gamma, 0.1)


def test_blocks_that_are_alone_are_moved_to_the_offset(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1200, 2)) + 1e3 * rng.integers(0, 4, (1200, 1))
    data = ingest((X, None), tmp_path / "d.zarr", test=(X, None), task="one-class")
    run = train(data, tmp_path / "run", gamma=2.0, nu=0.2, clusters=(4,), block_cap=512)
    assert any(stage.startswith("balance") for stage in run.stages())
    check(run, data.rows.read(0, 1200), 2.0, 0.2)


def test_rows_have_weights(rows: Rows, tmp_path: Path) -> None:
    weights = np.random.default_rng(1).choice([0.5, 1.0, 4.0], len(rows.X))
    data = ingest(
        (rows.X, None), tmp_path / "d.zarr", test=(rows.X, None), task="one-class", weights=weights
    )
    run = train(data, tmp_path / "run", gamma=GAMMA, nu=0.2, clusters=(4, 2))
    check(run, rows.X, GAMMA, 0.2, weights)


@pytest.mark.long
def test_rows_are_sparse(shared_data: Callable[[str], Any], tmp_path: Path) -> None:
    X = sparse.csr_array(shared_data("w8a")["X_train"][:1500].astype(np.float32))
    data = ingest((X, None), tmp_path / "d.zarr", test=(X, None), task="one-class")
    assert data.is_sparse
    assert data.n_distinct < 1500
    run = train(data, tmp_path / "run", gamma=0.1, nu=0.2, clusters=(4, 2))
    check(run, X, 0.1, 0.2)


def test_all_rows_may_be_outliers(rows: Rows, tmp_path: Path) -> None:
    run = train(rows.data, tmp_path / "run", gamma=GAMMA, nu=1.0, clusters=(4, 2))
    stage = choose_model(run).stage
    np.testing.assert_array_equal(run.node(stage, "commit").read("alpha"), 1.0)
    assert decide(load_model(run, stage), rows.X, "exact").max() < 1e-3


@pytest.mark.long
def test_repeats_are_one_variable_whatever_their_labels(rows: Rows, tmp_path: Path) -> None:
    labels = np.where(np.arange(len(rows.X)) % 2, 1, -1)
    part = (rows.X, labels)
    data = ingest(part, tmp_path / "d.zarr", test=part, task="one-class")
    assert data.n_distinct == len(np.unique(rows.X, axis=0))
    models = []
    for name, one in (("labels", data), ("none", rows.data)):
        run = train(one, tmp_path / name, gamma=GAMMA, nu=0.1, clusters=(4, 2))
        assert run.node("arrange", "commit").record["variables"] == data.n_distinct
        models.append(load_model(run, choose_model(run).stage))
    values = [decide(model, rows.X[:50], "exact") for model in models]
    np.testing.assert_array_equal(*values)


@pytest.mark.long
@pytest.mark.soak
def test_blocks_share_one_offset_near_to_the_answer(rows: Rows, tmp_path: Path) -> None:
    run = train(rows.data, tmp_path / "run", gamma=100.0, nu=0.1, clusters=(8, 2))
    bias = run.node(choose_model(run).stage, "commit").record["bias"]
    assert run.node(OFFSET, "commit").record["bias"] == pytest.approx(bias, rel=0.3)
    level = load_model(run, "level-1")
    assert len(set(level.bias[:, 0].tolist())) == 1
    early = decide(level, rows.X, "early")
    exact = decide(load_model(run, choose_model(run).stage), rows.X, "exact")
    assert np.corrcoef(early, exact)[0, 1] > 0.95
    assert np.mean(early < -1e-3) < 0.3


@pytest.mark.long
def test_the_share_of_outliers_is_about_nu(rows: Rows, tmp_path: Path) -> None:
    run = train(rows.data, tmp_path / "run", gamma=GAMMA, nu=0.2, clusters=(4, 2))
    found = decide(load_model(run, choose_model(run).stage), rows.X, "exact")
    assert np.mean(found < -1e-3) <= 0.2
    assert np.mean(found <= 1e-3) >= 0.2


def test_a_kernel_that_is_not_shift_invariant(rows: Rows, tmp_path: Path) -> None:
    how: dict[str, Any] = {"kernel": "poly", "degree": 2, "gamma": 1.0, "coef0": 1.0}
    run = train(rows.data, tmp_path / "run", nu=0.2, clusters=(4, 2), tol=1e-3, **how)
    peer = OneClassSVM(nu=0.2, tol=1e-6, **how).fit(rows.X.astype(np.float64))
    node = run.node(choose_model(run).stage, "commit")
    assert node.record["bias"] == pytest.approx(-float(peer.offset_[0]), rel=1e-5)


def test_two_rows_suffice(tmp_path: Path) -> None:
    X = np.array([[0.0], [1.0]], np.float32)
    data: DataSet = ingest((X, None), tmp_path / "d.zarr", test=(X, None), task="one-class")
    run = train(data, tmp_path / "run", gamma=1.0, nu=0.5)
    check(run, X, 1.0, 0.5)


@pytest.mark.long
@pytest.mark.parametrize("nu", [0.05, 0.7])
def test_a_cascade_reaches_the_answer_with_the_sum_kept(
    rows: Rows, tmp_path: Path, nu: float
) -> None:
    words: dict[str, Any] = {"method": "cascade", "leaves": 8, "gamma": GAMMA, "nu": nu}
    run = train(rows.data, tmp_path / "run", **words)
    check(run, rows.X, GAMMA, nu)
    last = max(stage for stage in run.stages() if stage.startswith("check"))
    assert run.node(last, "commit").record["violation"] <= 1e-5


def test_a_cascade_of_sparse_rows_with_weights(
    shared_data: Callable[[str], Any], tmp_path: Path
) -> None:
    X = sparse.csr_array(shared_data("w8a")["X_train"][:800].astype(np.float32))
    weights = np.random.default_rng(1).choice([0.5, 1.0, 4.0], 800)
    part = (X, None)
    data = ingest(part, tmp_path / "d.zarr", test=part, task="one-class", weights=weights)
    run = train(data, tmp_path / "run", method="cascade", leaves=4, gamma=0.1, nu=0.2)
    check(run, X, 0.1, 0.2, weights)


@pytest.mark.long
def test_a_bag_is_the_mean_of_its_members_in_units_of_their_rho(rows: Rows, tmp_path: Path) -> None:
    words: dict[str, Any] = {"method": "bagging", "members": 4, "gamma": GAMMA, "nu": 0.2}
    run = train(rows.data, tmp_path / "run", **words)
    problem, Z, each = read_problem(run), rows.X[:300].astype(np.float64), []
    for number in range(4):
        index, counts = sample(problem, number, 4, replace=False)
        peer = OneClassSVM(nu=0.2, gamma=GAMMA, tol=1e-6)
        peer.fit(problem.take(index).astype(np.float64), sample_weight=counts)
        each.append(peer.decision_function(Z) / peer.offset_ + 1.0)
    model = load_model(run, choose_model(run).stage)
    found = decide(model, rows.X[:300], "exact", dtype=np.float64)
    mean = np.mean(each, axis=0)  # but for the bag's own threshold
    np.testing.assert_allclose(found - found[0], mean - mean[0], atol=1e-5)
    # The leaves of a cascade are such a bag.
    words = {"method": "cascade", "leaves": 4, "decide": "mean", "gamma": GAMMA, "nu": 0.2}
    leaves = train(rows.data, tmp_path / "leaves", **words)
    model = load_model(leaves, choose_model(leaves).stage)
    np.testing.assert_array_equal(decide(model, rows.X[:300], "exact", dtype=np.float64), found)


@pytest.mark.long
@pytest.mark.parametrize("gamma", [1.0, 1000.0])
def test_a_share_nu_of_new_rows_is_outside_of_a_bag(
    rows: Rows, shared_data: Callable[[str], Any], tmp_path: Path, gamma: float
) -> None:
    words: dict[str, Any] = {"method": "bagging", "members": 8, "gamma": gamma, "nu": 0.1}
    run = train(rows.data, tmp_path / "run", **words)
    found = shared_data("magic")["X_train"]
    new = found[np.random.default_rng(0).permutation(len(found))[N : N + 4000]]
    model = load_model(run, choose_model(run).stage)
    outside = [
        float(np.mean(decide(model, X.astype(np.float32), "exact") <= 0.0)) for X in (new, rows.X)
    ]
    assert outside[0] == pytest.approx(0.1, abs=0.03)
    assert outside[1] < 0.13


def test_the_threshold_counts_rows_by_their_voters_and_weights() -> None:
    values = np.array([[1.0, np.nan, 5.0, 8.0, np.nan], [3.0, 4.0, np.nan, 6.0, np.nan]])
    weights = np.array([2.0, 1.0, 1.0, 4.0, 9.0])  # means 2, 4, 5, 7 and none
    found = [threshold(values, weights, nu) for nu in (0.01, 0.25, 0.4, 1.0)]
    assert found == [2.0, 3.0, 4.5, 7.0]
    assert threshold(np.full((2, 3), np.nan), np.ones(3), 0.1) is None


def test_members_without_a_positive_rho_keep_their_scale() -> None:
    np.testing.assert_array_equal(offset_units(np.array([-2.0, -4.0])), [2.0, 4.0])
    np.testing.assert_array_equal(offset_units(np.array([-2.0, 0.0])), [1.0, 1.0])


@pytest.mark.parametrize(
    ("method", "word"), [("bagging", "vote"), ("cascade", "decide")], ids=["bagging", "cascade"]
)
def test_votes_of_classes_are_refused(rows: Rows, tmp_path: Path, method: str, word: str) -> None:
    with pytest.raises(InputError, match=f"{word} must be .*mean for one-class"):
        train(rows.data, tmp_path / "run", method=method, gamma=GAMMA, **{word: "sign"})
