"""solve_parallel against scikit-learn, and against SMO on the whole kernel matrix in float64."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM

from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels import Kernel
from dcsvm_dask.solvers import WorkingSet, solve_parallel, solve_smo
from dcsvm_dask.solvers.optimality import bias, size_multiplier, violation
from dcsvm_dask.solvers.sums import brought_to_task
from dcsvm_dask.tasks import (
    Classification,
    Dual,
    NuClassification,
    NuRegression,
    OneClass,
    Quantile,
    Regression,
    Task,
)
from tests.marks import long
from tests.rounding import at_most

ROWS, SIZE = 1200, 150
"""Several sets, of several shares."""
TOL = 1e-5
Rows = tuple[Any, np.ndarray]


def value(K: Any, dual: Dual, beta: Any) -> float:
    """Return the objective, summed in float64."""
    found = 0.5 * beta @ K @ beta + dual.p @ beta
    if dual.epsilon is not None:
        found += dual.epsilon @ np.abs(beta)
    if dual.ridge is not None:
        found += 0.5 * dual.ridge @ beta**2
    return float(found)


def coefficients(peer: Any) -> Any:
    """Return the coefficients of scikit-learn's support vectors."""
    found = peer.dual_coef_
    return (found.toarray() if sparse.issparse(found) else found)[0]


def matrix(kernel: Kernel, X: Any) -> Any:
    """Return scikit-learn's kernel matrix in float64."""
    X = (X.toarray() if sparse.issparse(X) else X).astype(np.float64)
    return pairwise_kernels(X, metric=kernel.name, gamma=kernel.gamma)


def some(shared_data: Callable[[str], Any], name: str, n: int = ROWS) -> Rows:
    """Return n random rows of real data, standardised where they are dense."""
    file = shared_data(name)
    index = np.random.default_rng(0).permutation(len(file["X_train"]))[:n]
    X, y = file["X_train"][index].astype(np.float64), file["y_train"][index].astype(np.float64)
    if name != "a9a":
        X = (X - X.mean(axis=0)) / X.std(axis=0)
    return X.astype(np.float32), y


@pytest.fixture(scope="session")
def magic(shared_data: Callable[[str], Any]) -> Rows:
    """Give two classes, dense."""
    X, y = some(shared_data, "magic")
    return X, np.where(y == y.max(), 1.0, -1.0)


@pytest.fixture(scope="session")
def a9a(shared_data: Callable[[str], Any]) -> Rows:
    """Give two classes, CSR."""
    X, y = some(shared_data, "a9a")
    return sparse.csr_array(X), np.where(y == y.max(), 1.0, -1.0)


@pytest.fixture(scope="session")
def cadata(shared_data: Callable[[str], Any]) -> Rows:
    """Give targets."""
    X, z = some(shared_data, "cadata")
    return X, (z - z.mean()) / z.std()


RBF = Kernel("rbf", gamma=0.1)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", ["magic", "a9a"])
def test_classes_are_those_of_svc(
    name: str, weighted: bool, request: pytest.FixtureRequest
) -> None:
    X, y = request.getfixturevalue(name)
    w = np.random.default_rng(1).uniform(0.2, 3.0, len(y)) if weighted else np.ones(len(y))
    dual, K = Classification().dual(y, 4.0 * w), matrix(RBF, X)
    peer = SVC(C=4.0, gamma=0.1, tol=1e-6).fit(X, y, sample_weight=w)
    theirs = np.zeros(len(y))
    theirs[peer.support_] = coefficients(peer)
    found, last = solve_parallel(RBF, X, dual, equality=True, tol=TOL, size=SIZE, shares=3)
    assert found.converged
    assert last.steps > 3
    assert value(K, dual, found.beta) == pytest.approx(value(K, dual, theirs), rel=1e-6)
    np.testing.assert_allclose(
        K @ found.beta + found.bias, peer.decision_function(X), atol=20 * TOL, rtol=1e-4
    )


@pytest.mark.parametrize("epsilon", [0.1, 0.0])
def test_targets_are_those_of_svr(epsilon: float, cadata: Rows) -> None:
    X, z = cadata
    dual, K = Regression(epsilon=epsilon).dual(z, np.full(len(z), 2.0)), matrix(RBF, X)
    peer = SVR(C=2.0, gamma=0.1, epsilon=epsilon, tol=1e-6).fit(X, z)
    theirs = np.zeros(len(z))
    theirs[peer.support_] = coefficients(peer)
    found, _ = solve_parallel(RBF, X, dual, equality=True, tol=TOL, size=SIZE, shares=3)
    assert found.converged
    assert value(K, dual, found.beta) == pytest.approx(value(K, dual, theirs), rel=1e-6)
    np.testing.assert_allclose(
        K @ found.beta + found.bias, peer.predict(X), atol=20 * TOL, rtol=1e-4
    )


def start_of(task: Any, dual: Dual, C: Any) -> Any:
    """Return a point with the sums of a task, and the problem there."""
    beta = brought_to_task(np.zeros(len(dual)), dual, task, C, dual.p)
    size = task.size(C)
    return beta, dual if size is None else dual.with_size(beta, size)


@pytest.mark.parametrize("name", ["magic", "a9a"])
def test_novelty_is_that_of_one_class_svm(name: str, request: pytest.FixtureRequest) -> None:
    X, y = request.getfixturevalue(name)
    task, C = OneClass(nu=0.3), np.ones(len(y))
    beta, dual = start_of(task, task.dual(y, C), C)
    K, peer = matrix(RBF, X), OneClassSVM(nu=0.3, gamma=0.1, tol=1e-6).fit(X)
    theirs = np.zeros(len(y))
    theirs[peer.support_] = coefficients(peer)
    found, _ = solve_parallel(RBF, X, dual, beta=beta, equality=True, tol=TOL, size=SIZE)
    assert found.converged
    assert value(K, dual, found.beta) == pytest.approx(value(K, dual, theirs), rel=1e-6)
    np.testing.assert_allclose(
        K @ found.beta + found.bias, peer.decision_function(X), atol=1e-5 * K.sum(axis=1).max()
    )


@pytest.mark.parametrize("name", ["magic", "a9a"])
def test_nu_classes_are_those_of_nu_svc(name: str, request: pytest.FixtureRequest) -> None:
    X, y = request.getfixturevalue(name)
    task, C = NuClassification(nu=0.3), np.ones(len(y))
    beta, dual = start_of(task, task.dual(y, C), C)
    K, peer = matrix(RBF, X), NuSVC(nu=0.3, gamma=0.1, tol=1e-7).fit(X, y)
    theirs = np.zeros(len(y))
    theirs[peer.support_] = coefficients(peer)
    found, _ = solve_parallel(RBF, X, dual, beta=beta, equality=True, tol=1e-6, size=SIZE, shares=3)
    assert found.converged
    at = task.dual(y, C).with_size(found.beta, task.size(C))
    rho = task.decision_scale(size_multiplier(found.gradient, found.beta, at))
    mine = found.beta / rho
    # Before the division by rho, to which the tolerance applies.
    undivided = theirs * np.abs(found.beta).sum() / np.abs(theirs).sum()
    assert value(K, dual, found.beta) == pytest.approx(value(K, dual, undivided), rel=1e-6)
    np.testing.assert_allclose(mine.sum(), 0.0, atol=1e-9 * np.abs(mine).sum())
    intercept = bias(found.gradient, found.beta, at) / rho
    np.testing.assert_allclose(K @ mine + intercept, peer.decision_function(X), atol=1e-3)


@pytest.mark.parametrize("nu", [0.3, 0.99])
def test_nu_targets_are_those_of_nu_svr(nu: float, cadata: Rows) -> None:
    X, z = cadata
    task, C = NuRegression(nu=nu), np.full(len(z), 2.0)
    beta, dual = start_of(task, task.dual(z, C), C)
    K, peer = matrix(RBF, X), NuSVR(nu=nu, C=2.0, gamma=0.1, tol=1e-6).fit(X, z)
    theirs = np.zeros(len(z))
    theirs[peer.support_] = coefficients(peer)
    found, _ = solve_parallel(RBF, X, dual, beta=beta, equality=True, tol=TOL, size=SIZE, shares=3)
    assert found.converged
    assert value(K, dual, found.beta) == pytest.approx(value(K, dual, theirs), rel=1e-6)
    at = task.dual(z, C).with_size(found.beta, task.size(C))
    intercept = bias(found.gradient, found.beta, at)
    np.testing.assert_allclose(K @ found.beta + intercept, peer.predict(X), atol=1e-3)


TASKS: dict[str, Any] = {
    "hinge": Classification(),
    "squared hinge": Classification(squared=True),
    "tube": Regression(epsilon=0.1),
    "squared tube": Regression(epsilon=0.1, squared=True),
    "squares": Regression(epsilon=0.0, squared=True),
    "quantile": Quantile(quantile=0.2),
}


@pytest.mark.one_quick
@pytest.mark.parametrize("storage", ["dense", "csr"])
@pytest.mark.parametrize("equality", [False, True])
@pytest.mark.parametrize("kind", list(TASKS))
@pytest.mark.parametrize("kernel", [RBF, Kernel("laplacian", gamma=0.05)], ids=["rbf", "laplacian"])
def test_other_losses_are_those_of_smo(
    kernel: Kernel, kind: str, equality: bool, storage: str, magic: Rows, cadata: Rows
) -> None:
    X, y = magic if "hinge" in kind else cadata
    X, y = X[:700], y[:700]
    C = np.random.default_rng(2).uniform(0.5, 4.0, len(y))
    dual, K = TASKS[kind].dual(y, C), matrix(kernel, X)
    whole = solve_smo(K, dual, equality=equality, tol=1e-7)
    rows = sparse.csr_array(X) if storage == "csr" else X
    found, _ = solve_parallel(kernel, rows, dual, equality=equality, tol=TOL, size=SIZE, shares=4)
    assert found.converged
    best = value(K, dual, whole.beta)
    assert value(K, dual, found.beta) == pytest.approx(best, rel=1e-6)
    gradient = dual.gradient(K @ found.beta, found.beta)
    assert violation(gradient, found.beta, dual, equality=equality) <= 20 * TOL
    assert found.objective == pytest.approx(best, rel=1e-5)


@pytest.mark.parametrize("inner", ["smo", long("newton"), long("interior-point")])
def test_inner_solvers_lead_to_one_answer(inner: str, magic: Rows) -> None:
    X, y = magic
    dual = Classification().dual(y, np.full(len(y), 4.0))
    K, one = matrix(RBF, X), {"equality": True, "tol": TOL, "size": SIZE}
    found, _ = solve_parallel(RBF, X, dual, inner=inner, **one)
    other, _ = solve_parallel(RBF, X, dual, **one)
    assert value(K, dual, found.beta) == pytest.approx(value(K, dual, other.beta), rel=1e-7)


@pytest.mark.parametrize("name", ["magic", long("a9a")])
def test_shares_change_rounding_only_and_threads_nothing(
    name: str, request: pytest.FixtureRequest
) -> None:
    X, y = request.getfixturevalue(name)
    dual = Classification().dual(y, np.full(len(y), 4.0))
    K, how = matrix(RBF, X), {"equality": True, "tol": TOL, "size": SIZE}
    whole, _ = solve_parallel(RBF, X, dual, shares=1, **how)
    for shares in (2, 7):
        found, last = solve_parallel(RBF, X, dual, shares=shares, **how)
        threaded, other = solve_parallel(RBF, X, dual, shares=shares, threads=3, **how)
        np.testing.assert_array_equal(found.beta, threaded.beta)
        np.testing.assert_array_equal(found.gradient, threaded.gradient)
        assert last.steps == other.steps
        np.testing.assert_allclose(found.beta, whole.beta, atol=0.05)
        assert value(K, dual, found.beta) == pytest.approx(value(K, dual, whole.beta), rel=1e-8)


def test_the_size_of_the_cache_changes_nothing(a9a: Rows) -> None:
    X, y = a9a
    dual = Classification().dual(y, np.full(len(y), 4.0))
    how: dict[str, Any] = {"equality": True, "tol": 1e-3, "size": SIZE, "shares": 2}
    betas = [
        solve_parallel(RBF, X, dual, cache_bytes=n_bytes, **how)[0].beta
        for n_bytes in (0, 4 * ROWS * 300, 1 << 26)
    ]
    for other in betas[1:]:
        np.testing.assert_array_equal(betas[0], other)


@st.composite
def problems(draw: st.DrawFn) -> dict[str, Any]:
    """Return a small problem of any task with a start of the right sums."""
    n = draw(st.integers(1, 60))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = rng.standard_normal((n, 3))
    if draw(st.booleans()):  # some rows are equal
        X = np.round(X)
    kind = draw(st.sampled_from([*TASKS, "one-class", "nu-svc", "nu-svr"]))
    C = 2.0 ** draw(st.integers(-4, 6)) * (np.ones(n) if draw(st.booleans()) else rng.random(n))
    C = np.maximum(C, 1e-3)
    y = np.where(rng.random(n) < draw(st.floats(0.2, 0.8)), 1.0, -1.0)
    z = rng.standard_normal(n)
    start, equality = np.zeros(n), draw(st.booleans())
    if kind in TASKS:
        dual = TASKS[kind].dual(y if "hinge" in kind else z, C)
        if draw(st.booleans()):
            start = np.clip(rng.uniform(-1.0, 1.0, n), dual.lower, dual.upper)
    else:
        equality = True
        nu = draw(st.floats(0.05, 1.0))
        if kind == "nu-svc":
            most = 2.0 * min(C[y > 0].sum(), C[y < 0].sum()) / C.sum()
            kind, nu = ("one-class", nu) if most == 0.0 else (kind, nu * most)
        tasks: dict[str, Task] = {
            "one-class": OneClass(nu=nu),
            "nu-svc": NuClassification(nu=nu),
            "nu-svr": NuRegression(nu=nu),
        }
        task = tasks[kind]
        start, dual = start_of(task, task.dual(z if kind == "nu-svr" else y, C), C)
    return {
        "X": X.astype(np.float32),
        "dual": dual,
        "beta": start,
        "equality": equality,
        "size": draw(st.integers(2, 70)),
        "shares": draw(st.integers(1, min(n, 4))),
        "kernel": Kernel("rbf", gamma=2.0 ** draw(st.integers(-5, 3))),
        "tol": draw(st.sampled_from([1e-1, 1e-3])) * dual.unit,
    }


@given(problems())
@settings(max_examples=100, deadline=None)
def test_every_step_is_feasible_and_the_objective_never_rises(problem: dict[str, Any]) -> None:
    dual, start, equality = problem["dual"], problem["beta"], problem["equality"]
    K = matrix(problem["kernel"], problem["X"])
    points = [start]
    how = {name: problem[name] for name in ("kernel", "X", "dual", "beta", "equality", "size")}
    how |= {"shares": problem["shares"], "tol": problem["tol"]}
    sets: list[WorkingSet] = []

    def too_many(one: WorkingSet) -> bool:
        sets.append(one)
        return len(sets) > 3000

    found, last = solve_parallel(**how, callback=too_many)

    def after(steps: int) -> np.ndarray:
        return solve_parallel(**how, callback=lambda one: one.steps >= steps)[0].beta

    points += [after(steps) for steps in (1, 2, 3, 5, 10) if steps < last.steps]
    points.append(found.beta)
    # Pairs of an ill-conditioned problem may take more steps than a test has time for.
    assert found.converged or last.steps > 3000, (found.violation, last.steps)
    room = 1e-9 * (1.0 + np.abs(dual.upper[dual.upper < 1e30]).sum())
    values = [value(K, dual, beta) for beta in points]
    scale = 1e-6 * (1.0 + max(map(abs, values)) + float(np.abs(found.beta).sum() ** 2))
    for beta in points:
        assert (dual.lower <= beta).all()
        assert (beta <= dual.upper).all()
        if equality:
            assert beta.sum() == pytest.approx(start.sum(), abs=room)
        if dual.spare is not None:
            assert np.abs(beta).sum() <= np.abs(start).sum() + dual.spare + room
    assert all(after <= before + scale for before, after in pairwise(values))
    assert [one.steps for one in sets] == list(range(1, len(sets) + 1))
    assert at_most([one.entering for one in sets[1:]], [one.entering for one in sets[:-1]])


@pytest.mark.parametrize("equality", [False, True])
def test_one_row(equality: bool) -> None:
    X = np.ones((1, 2), np.float32)
    dual = Classification().dual(np.ones(1), np.full(1, 3.0))
    found, _ = solve_parallel(RBF, X, dual, equality=equality)
    assert found.beta.tolist() == [0.0 if equality else 1.0]
    assert found.converged


@pytest.mark.parametrize("equality", [False, True])
def test_rows_of_one_class(equality: bool, magic: Rows) -> None:
    X, y = magic[0][:200], np.ones(200)
    dual, K = Classification().dual(y, np.full(200, 1.0)), matrix(RBF, magic[0][:200])
    found, _ = solve_parallel(RBF, X, dual, equality=equality, tol=1e-6, size=40, shares=2)
    assert found.converged
    if equality:
        assert not found.beta.any()
    else:
        best = value(K, dual, solve_smo(K, dual, tol=1e-8).beta)
        assert value(K, dual, found.beta) == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("equality", [False, True])
def test_equal_rows(equality: bool) -> None:
    X, y = np.ones((100, 2), np.float32), np.tile([1.0, 1.0, -1.0, 1.0], 25)
    dual, K = Classification().dual(y, np.full(100, 1.0)), np.ones((100, 100))
    found, _ = solve_parallel(RBF, X, dual, equality=equality, tol=1e-6, size=8, shares=3)
    assert found.converged
    best = value(K, dual, solve_smo(K, dual, equality=equality, tol=1e-8).beta)
    assert value(K, dual, found.beta) == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize(
    ("size", "entering"),
    [(2, None), (2, 2), (3, None), (3, 3), (6, None), (10, 2), (60, 3), (5000, None), (5000, 5000)],
)
@pytest.mark.parametrize("equality", [False, True])
def test_small_and_large_sets(size: int, entering: int | None, equality: bool, magic: Rows) -> None:
    X, y = magic[0][:150], magic[1][:150]
    dual, K = Classification().dual(y, np.full(150, 1.0)), matrix(RBF, X)
    best = value(K, dual, solve_smo(K, dual, equality=equality, tol=1e-8).beta)
    found, _ = solve_parallel(
        RBF, X, dual, equality=equality, tol=1e-4, size=size, entering=entering, shares=2
    )
    assert found.converged
    assert value(K, dual, found.beta) == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("how", [{"size": 1}, {"size": 4, "entering": 5}, {"entering": 1}])
def test_sets_that_cannot_be_are_refused(how: dict[str, int], magic: Rows) -> None:
    dual = Classification().dual(magic[1], np.ones(len(magic[1])))
    with pytest.raises(InputError, match=r"(size|entering) is \d+: give"):
        solve_parallel(RBF, magic[0], dual, **how)


def test_the_answer_is_a_start_without_steps(magic: Rows) -> None:
    X, y = magic
    dual = Classification().dual(y, np.full(len(y), 4.0))
    how: dict[str, Any] = {"equality": True, "size": SIZE, "shares": 2}
    found, _ = solve_parallel(RBF, X, dual, tol=1e-4, **how)
    again, last = solve_parallel(RBF, X, dual, beta=found.beta, tol=2e-4, **how)
    assert last.steps == 0
    np.testing.assert_array_equal(found.beta, again.beta)


def test_a_callback_can_stop(magic: Rows) -> None:
    X, y = magic
    dual = Classification().dual(y, np.full(len(y), 4.0))
    found, last = solve_parallel(RBF, X, dual, size=SIZE, callback=lambda one: one.steps == 2)
    assert not found.converged
    assert last.steps == 2
