"""nu-SVC and nu-SVR by levels and conquer are those of scikit-learn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import StandardScaler
from sklearn.svm import NuSVC, NuSVR, OneClassSVM

from dcsvm_dask.data.ingest import ingest
from dcsvm_dask.errors import InputError
from dcsvm_dask.estimators import DCNuSVC
from dcsvm_dask.methods.choice import choose_model
from dcsvm_dask.methods.committee import read_committee
from dcsvm_dask.methods.predict import load_model
from dcsvm_dask.methods.problem import read_problem
from dcsvm_dask.models.decision_values import decide
from dcsvm_dask.pipeline.training import Training
from dcsvm_dask.prediction.export import export_libsvm, export_svc
from dcsvm_dask.storage.dataset import DataSet
from dcsvm_dask.storage.location import Location
from dcsvm_dask.storage.run import RunFolder
from tests.methods.test_task import train

N = 800
TIGHT = {"tol": 1e-6, "svm_type": "nu", "fit_intercept": True}


class Rows:
    """Standardised rows and targets, with the data set of them."""

    def __init__(self, folder: Path, X: NDArray[Any], y: NDArray[Any], task: str) -> None:
        self.X = StandardScaler().fit_transform(X).astype(np.float32)
        self.y = y
        part = (self.X[:50], y[:50])
        self.data = ingest((self.X, y), folder / "d.zarr", test=part, task=task)


def some(found: dict[str, Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    order = np.random.default_rng(0).permutation(len(found["X_train"]))[:N]
    return found["X_train"][order], found["y_train"][order]


@pytest.fixture(scope="module")
def classes(shared_data: Callable[[str], Any], tmp_path_factory: pytest.TempPathFactory) -> Rows:
    X, y = some(shared_data("magic"))
    y = np.where(y == y.max(), 1, -1)
    return Rows(tmp_path_factory.mktemp("classes"), X, y, "classification")


@pytest.fixture(scope="module")
def targets(shared_data: Callable[[str], Any], tmp_path_factory: pytest.TempPathFactory) -> Rows:
    X, y = some(shared_data("cadata"))
    return Rows(tmp_path_factory.mktemp("targets"), X, (y - y.mean()) / y.std(), "regression")


def check(run: RunFolder, peer: NuSVC | NuSVR, rows: Rows) -> None:
    """Compare a run's model with scikit-learn's of the same rows."""
    X = rows.X.astype(np.float64)
    peer.set_params(tol=1e-6).fit(X, rows.y)
    alpha = peer.dual_coef_[0]
    objective = 0.5 * alpha @ rbf_kernel(peer.support_vectors_, gamma=peer.gamma) @ alpha
    expected = peer.predict(X) if isinstance(peer, NuSVR) else peer.decision_function(X)
    if isinstance(peer, NuSVR):
        objective -= alpha @ rows.y[peer.support_]
    stage = choose_model(run).stage
    record = run.node(stage, "commit").record
    # nu-SVC is divided by rho, which a violation of tol moves by about as much: the objective is as
    # near as 2 tol / rho, and before the division far nearer.
    assert record["objective"] == pytest.approx(objective, rel=1e-5)
    if isinstance(peer, NuSVC):
        rho = peer.nu * len(X) / float(np.abs(alpha).sum())
        found_before = record["objective"] * record["multiplier"] ** 2
        assert found_before == pytest.approx(objective * rho**2, rel=1e-8)
    assert record["violation"] <= 1e-6
    found = decide(load_model(run, stage), rows.X, "exact", dtype=np.float64).ravel()
    assert found == pytest.approx(expected, abs=1e-4)
    if record["multiplier"] > 0.0:
        size = float(np.abs(run.node(stage, "commit").read("alpha")).sum())
        assert size == pytest.approx(float(np.abs(alpha).sum()), rel=1e-4)


@pytest.mark.one_quick
@pytest.mark.parametrize("gamma", [0.1, 20.0])
def test_nu_svc_is_that_of_scikit_learn(classes: Rows, tmp_path: Path, gamma: float) -> None:
    words = {"gamma": gamma, "nu": 0.3, "block_cap": 512}
    run = train(classes.data, tmp_path / "r", **TIGHT, **words)
    check(run, NuSVC(nu=0.3, gamma=gamma), classes)


@pytest.mark.one_quick
@pytest.mark.parametrize(
    ("gamma", "nu", "C"), [(0.1, 0.3, 1.0), (20.0, 0.3, 1.0), (1.0, 0.9, 100.0)]
)
def test_nu_svr_is_that_of_scikit_learn(
    targets: Rows, tmp_path: Path, gamma: float, nu: float, C: float
) -> None:
    """The last one ends with epsilon 0: fewer rows than nu asks for lie outside of any tube."""
    words = {"gamma": gamma, "nu": nu, "C": C, "block_cap": 2048}
    run = train(targets.data, tmp_path / "r", **TIGHT, **words)
    check(run, NuSVR(nu=nu, gamma=gamma, C=C), targets)
    multiplier = run.node(choose_model(run).stage, "commit").record["multiplier"]
    assert (multiplier == 0.0) == (nu == 0.9)


@pytest.mark.long
def test_levels_lead_to_the_same_model(classes: Rows, targets: Rows, tmp_path: Path) -> None:
    words = {"gamma": 20.0, "nu": 0.3, "clusters": (4,), "block_cap": 512}
    check(train(classes.data, tmp_path / "c", **TIGHT, **words), NuSVC(nu=0.3, gamma=20.0), classes)
    check(train(targets.data, tmp_path / "r", **TIGHT, **words), NuSVR(nu=0.3, gamma=20.0), targets)


@pytest.mark.long
def test_committees_are_those_of_the_equal_c_svc_and_epsilon_svr(
    classes: Rows, targets: Rows, tmp_path: Path
) -> None:
    """Levels of both solve the same blocks; only the bias that these share is another."""
    words = {"gamma": 0.1, "clusters": (4,), "stop_at": 1, "committee": True, "fit_intercept": True}
    for rows, kind in ((classes, "c"), (targets, "r")):
        run = train(rows.data, tmp_path / f"{kind}-nu", svm_type="nu", nu=0.3, **words)
        epsilon = run.node("offset", "commit").record["epsilon"]
        own = {"C": -1.0 / epsilon} if kind == "c" else {"epsilon": epsilon}
        peer = train(rows.data, tmp_path / kind, **own, **words)
        found, expected = (committee_of(one, rows.X) for one in (run, peer))
        assert np.abs(found - expected).mean() < 0.2 * expected.std()
        assert found.std() == pytest.approx(expected.std(), rel=0.2)


def committee_of(run: RunFolder, X: NDArray[Any]) -> NDArray[np.float64]:
    committee = read_committee(run.node("committee-level-1", "commit"))
    model = replace(load_model(run, "level-1"), committee=committee)
    return decide(model, X, "committee").ravel()


def test_exports_decide_alike(classes: Rows, targets: Rows, tmp_path: Path) -> None:
    for rows, svm_type in ((classes, "nu_svc"), (targets, "nu_svr")):
        run = train(rows.data, tmp_path / svm_type, svm_type="nu", gamma=0.1, nu=0.3, tol=1e-3)
        expected = decide(load_model(run, choose_model(run).stage), rows.X, "exact").ravel()
        target = Location.of(tmp_path / f"{svm_type}.model", writable=True)
        export_libsvm(run, target)
        text = target.read_bytes().decode()
        assert text.startswith(f"svm_type {svm_type}\n")
        peer = export_svc(run)
        decide_of = peer.predict if svm_type == "nu_svr" else peer.decision_function
        assert decide_of(rows.X.astype(np.float64)) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"nu": 0.9}, "nu: 0.9 is too large for the classes"),
        ({"C": 2.0}, "a nu-SVC has no C"),
        ({"method": "cascade"}, "method cascade is not for nu-classification"),
        ({"task": "one-class"}, "svm_type: nu is for the tasks classification and regression"),
        ({"epsilon": 0.1}, "epsilon: is a parameter of task regression"),
    ],
)
def test_what_is_impossible_is_refused(classes: Rows, words: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Training.of({"svm_type": "nu", **words}).settle(DataSet.open(classes.data.url))


@pytest.mark.long
def test_the_largest_nu_is_one_that_random_rows_need_not_allow(
    shared_data: Callable[[str], Any],
) -> None:
    file = shared_data("magic")
    order = np.random.default_rng(0).permutation(len(file["X_train"]))[:2600]
    X = StandardScaler().fit_transform(file["X_train"][order]).astype(np.float32)
    y = file["y_train"][order]
    counts = np.unique(y, return_counts=True)[1]
    nu = 2.0 * counts.min() / counts.sum()
    peer = NuSVC(nu=nu * (1.0 - 1e-12), gamma=1.0, tol=1e-5).fit(X.astype(np.float64), y)
    found = DCNuSVC(nu=nu, gamma=1.0, tol=1e-5).fit(X, y).decision_function(X)
    assert found == pytest.approx(peer.decision_function(X.astype(np.float64)), abs=1e-4)


@pytest.mark.long
@pytest.mark.parametrize("kind", ["nu-SVC", "nu-SVR", "one-class"])
def test_the_certificate_of_a_level_holds_for_scikit_learn_s_solution(
    kind: str, shared_data: Callable[[str], Any], tmp_path: Path
) -> None:
    """Up to 4,096 rows nothing is estimated; sums that a level misses cost their multipliers."""
    found, n, nu = shared_data("cadata" if kind == "nu-SVR" else "magic"), 300, 0.4
    X = StandardScaler().fit_transform(found["X_train"][::40][:n]).astype(np.float32)
    y = found["y_train"][::40][:n]
    y = (y - y.mean()) / y.std() if kind == "nu-SVR" else np.where(y == y.max(), 1, -1)
    task = {"nu-SVC": "classification", "nu-SVR": "regression"}.get(kind, kind)
    words: dict[str, Any] = {"svm_type": "nu"} if kind != "one-class" else {}
    words |= {"C": 2.0} if kind == "nu-SVR" else {}
    run = train(
        ingest((X, y), tmp_path / "d.zarr", test=(X, y), task=task),
        tmp_path / "run",
        gamma=0.5,
        nu=nu,
        fit_intercept=True,
        clusters=(4,),
        stop_at=1,
        **words,
    )
    node, problem = run.node("level-1", "commit"), read_problem(run)
    assert problem.n == n
    everyone = np.arange(n)
    K = rbf_kernel(problem.take(everyone).astype(np.float64), gamma=0.5)
    b, dual, record = node.read("beta")[0], problem.dual, node.record
    peer = {"nu-SVC": NuSVC, "nu-SVR": partial(NuSVR, C=2.0), "one-class": OneClassSVM}[kind]
    peer = peer(nu=nu, kernel="precomputed", tol=1e-8).fit(K, problem.targets)
    best = np.zeros(n)
    best[peer.support_] = peer.dual_coef_[0]
    best *= nu * n / np.abs(best).sum() if kind == "nu-SVC" else 1.0  # before division by rho
    least = 0.5 * best @ K @ best + dual.p @ best
    size = 0.0 if problem.size is None else np.abs(b).sum() - problem.size
    level = 0.5 * b @ K @ b + dual.p @ b + problem.first_epsilon * size
    level += record["offset"] * (b.sum() - problem.total)
    assert record["objective_error"] == record["gap_error"] == 0.0
    assert record["objective_estimate"] == pytest.approx(level, rel=1e-5)
    assert record["gap_estimate"] >= level - least
    f = K @ b + record["offset"] + dual.p
    epsilon = problem.first_epsilon
    rising, falling = np.maximum(0.0, -f - epsilon), np.maximum(0.0, f - epsilon)
    loss = np.where(dual.upper > 0.0, dual.upper * rising, 0.0)
    loss = np.maximum(loss, np.where(dual.lower < 0.0, -dual.lower * falling, 0.0))
    gap = b @ f + epsilon * np.abs(b).sum() + loss.sum()
    assert record["gap_estimate"] == pytest.approx(gap, rel=1e-3)
