"""Problems with a kink, as epsilon-SVR has: against scikit-learn's SVR and doubled variables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.svm import SVC, SVR

from dcsvm_dask.kernels import Kernel, kernel_matrix
from dcsvm_dask.solvers import solve_decomposition, solve_smo, solve_whole
from dcsvm_dask.solvers.optimality import bias, duality_gap, multiplier_interval, violation
from dcsvm_dask.tasks import Dual, Regression
from dcsvm_dask.tasks.dual import UNBOUNDED
from tests.marks import soak
from tests.rounding import at_most

CASES = [(1.0, 0.1, 0.1), (10.0, 0.5, 1.0), (100.0, 0.01, 0.05), (0.3, 0.0, 0.1), (1.0, 5.0, 0.1)]
"""C, epsilon and gamma; the last epsilon is wider than most targets are spread."""


def svr(z: np.ndarray, C: Any, epsilon: Any) -> Dual:
    """Return the dual problem of epsilon-SVR."""
    bounds = np.broadcast_to(np.asarray(C, np.float64), z.shape)
    return Dual(-z, -bounds, bounds, np.broadcast_to(np.asarray(epsilon, np.float64), z.shape))


def doubled(K: np.ndarray, dual: Dual, **how: Any) -> np.ndarray:
    """Return beta by two variables a row, without a kink: beta = u + v with u >= 0 >= v."""
    assert dual.epsilon is not None
    nothing = np.zeros(len(dual))
    both = Dual(
        np.concatenate([dual.p + dual.epsilon, dual.p - dual.epsilon]),
        np.concatenate([nothing, dual.lower]),
        np.concatenate([dual.upper, nothing]),
    )
    found = solve_smo(np.tile(K, (2, 2)), both, **how).beta
    return np.asarray(found[: len(dual)] + found[len(dual) :])


def objective(K: np.ndarray, dual: Dual, beta: np.ndarray) -> float:
    assert dual.epsilon is not None
    return float(0.5 * beta @ K @ beta + dual.p @ beta + dual.epsilon @ np.abs(beta))


@pytest.fixture(scope="module")
def cpusmall(shared_data: Callable[[str], Any]) -> Any:
    """3,000 standardised rows of cpusmall, and their targets."""
    file = shared_data("cpusmall")
    X, z = file["X_train"].astype(np.float64), file["y_train"].astype(np.float64)
    some = np.random.default_rng(0).permutation(len(X))[:3000]
    X, z = (X - X.mean(axis=0)) / X.std(axis=0), (z - z.mean()) / z.std()
    return X[some].astype(np.float32), z[some]


@pytest.mark.one_quick
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("C", "epsilon", "gamma"), CASES)
def test_svr_of_scikit_learn(
    cpusmall: Any, C: float, epsilon: float, gamma: float, dtype: Any
) -> None:
    X, z = cpusmall[0][:1000], cpusmall[1][:1000]
    peer = SVR(C=C, epsilon=epsilon, gamma=gamma, tol=1e-6, cache_size=1000)
    peer.fit(X.astype(np.float64), z)
    K = kernel_matrix(Kernel("rbf", gamma), X, dtype=np.float64)
    dual = svr(z, C, epsilon)
    theirs = np.zeros(len(z))
    theirs[peer.support_] = peer.dual_coef_[0]
    tol = 1e-6 if dtype is np.float64 else 1e-4
    found = solve_smo(K.astype(dtype), dual, equality=True, tol=tol)
    assert found.converged
    best = objective(K, dual, theirs)
    assert objective(K, dual, found.beta) == pytest.approx(best, rel=1e-6, abs=1e-9)
    if dtype is np.float64:
        assert found.objective == pytest.approx(best, rel=1e-6, abs=1e-9)
    assert abs(found.beta.sum()) < 1e-9
    m, M = multiplier_interval(found.gradient, found.beta, dual)
    assert min(m, M) - 1e-9 <= found.bias <= max(m, M) + 1e-9
    if dual.is_free(found.beta).any():
        assert found.bias == pytest.approx(peer.intercept_[0], abs=2e-3)
    decision = K @ found.beta + found.bias
    spread = max(np.ptp(peer.predict(X)), 1.0)
    tolerated = 1e-4 if dual.is_free(found.beta).any() else 2 * epsilon
    np.testing.assert_allclose(decision, peer.predict(X), atol=max(tolerated, tol) * 10 * spread)
    gap = duality_gap(found.gradient, found.beta, dual, equality=True)
    assert -1e-6 * abs(best) <= gap <= tol * C * len(z)


@pytest.mark.parametrize(("C", "epsilon", "gamma"), CASES)
def test_without_a_bias_the_doubled_problem_has_the_same_solution(
    cpusmall: Any, C: float, epsilon: float, gamma: float
) -> None:
    X, z = cpusmall[0][:500], cpusmall[1][:500]
    K = kernel_matrix(Kernel("rbf", gamma), X, dtype=np.float64)
    dual = svr(z, C, epsilon)
    found = solve_smo(K, dual, tol=1e-6)
    beta = doubled(K, dual, tol=1e-6)
    assert found.converged
    assert found.objective == pytest.approx(objective(K, dual, beta), rel=1e-6, abs=1e-9)
    gap = duality_gap(found.gradient, found.beta, dual)
    primal = (
        0.5 * found.beta @ K @ found.beta
        + C * np.maximum(0.0, np.abs(z - K @ found.beta) - epsilon).sum()
    )
    assert gap == pytest.approx(primal + found.objective, abs=1e-6 * max(1.0, primal))
    assert gap >= -1e-9 * max(1.0, primal)


@pytest.mark.one_quick
@pytest.mark.parametrize("equality", [False, True])
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
def test_all_rows_by_working_sets(
    cpusmall: Any, equality: bool, storage: Callable[[Any], Any]
) -> None:
    X, z = cpusmall
    kernel, dual = Kernel("rbf", 0.1), svr(z, 1.0, 0.1)
    K = kernel_matrix(kernel, X, dtype=np.float64)
    exact = solve_smo(K, dual, equality=equality, tol=1e-6)
    how: dict[str, Any] = {"equality": equality, "tol": 1e-4}
    for found, _ in (
        solve_decomposition(kernel, storage(X), dual, working_size=512, **how),
        solve_whole(kernel, storage(X), dual, working_size=1024, **how),
    ):
        assert found.converged
        assert found.objective == pytest.approx(exact.objective, rel=1e-6)
        assert violation(K @ found.beta + dual.p, found.beta, dual, equality=equality) <= 1.2e-4


def test_an_epsilon_beyond_all_targets_has_the_solution_zero(cpusmall: Any) -> None:
    X, z = cpusmall[0][:300], cpusmall[1][:300]
    K = kernel_matrix(Kernel("rbf", 0.1), X, dtype=np.float64)
    dual = svr(z, 1.0, 1.01 * np.abs(z).max())
    for equality in (False, True):
        found = solve_smo(K, dual, equality=equality)
        assert not found.beta.any()
        assert found.n_iter == 0
    # All constant predictions within the tube are optimal: the bias is the middle of these.
    assert bias(found.gradient, found.beta, dual) == pytest.approx((z.max() + z.min()) / 2)


@given(
    seed=st.integers(0, 2**16),
    n=st.integers(2, 40),
    epsilon=st.sampled_from([0.0, 0.05, 0.3, 1.0]),
    C=st.sampled_from([0.1, 1.0, 30.0]),
    equality=st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_solutions_are_those_of_the_doubled_problem(
    seed: int, n: int, epsilon: float, C: float, equality: bool
) -> None:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2))
    K = np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(axis=2))
    # Rows of their own epsilon and bounds, some of them without a kink, some with one sign only.
    each = np.where(rng.random(n) < 0.2, 0.0, epsilon)
    dual = svr(rng.standard_normal(n), C * rng.uniform(0.5, 1.0, n), each)
    one_sided = rng.random(n) < 0.2
    dual = Dual(dual.p, np.where(one_sided, 0.0, dual.lower), dual.upper, dual.epsilon)
    start = dual.clip(rng.uniform(-0.1, 0.1, n)) if seed % 2 else np.zeros(n)
    found = solve_smo(K, dual, beta=start, equality=equality, tol=1e-8)
    assert found.converged
    assert (dual.lower <= found.beta).all()
    assert (found.beta <= dual.upper).all()
    if equality:
        assert found.beta.sum() == pytest.approx(start.sum(), abs=1e-9)
        return
    beta = doubled(K, dual, tol=1e-8)
    assert found.objective == pytest.approx(objective(K, dual, beta), rel=1e-7, abs=1e-7)


@given(seed=st.integers(0, 2**16), equality=st.booleans())
@settings(max_examples=20, deadline=None)
def test_the_objective_never_rises(seed: int, equality: bool) -> None:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((30, 2))
    K = np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(axis=2))
    dual, beta = svr(rng.standard_normal(30), 2.0, 0.2), np.zeros(30)
    before = 0.0
    for _ in range(25):
        beta = solve_smo(K, dual, beta=beta, equality=equality, tol=1e-9, max_iter=1).beta
        now = objective(K, dual, beta)
        assert at_most(now, before)
        before = now


@pytest.mark.one_quick
@pytest.mark.parametrize("equality", [False, True])
@pytest.mark.parametrize("epsilon", [soak(0.0), 0.2])
def test_squared_losses_have_a_ridge(cpusmall: Any, epsilon: float, equality: bool) -> None:
    X, z = cpusmall
    kernel, C = Kernel("rbf", 0.1), 3.0
    K = kernel_matrix(kernel, X, dtype=np.float64)
    dual = Regression(epsilon, squared=True).dual(z, np.full(len(z), C))
    given = K.copy()
    exact = solve_smo(K, dual, equality=equality, tol=1e-7)
    np.testing.assert_array_equal(K, given)
    ridge = np.eye(len(z)) / (2 * C)
    beta = exact.beta
    value = 0.5 * beta @ (K + ridge) @ beta - z @ beta + epsilon * np.abs(beta).sum()
    assert exact.objective == pytest.approx(value, rel=1e-9)
    if not epsilon and not equality:
        np.testing.assert_allclose(K @ beta, K @ np.linalg.solve(K + ridge, z), atol=1e-4)
    # The primal value at the solution is minus the dual one.
    f = K @ beta + exact.bias
    far = np.maximum(0.0, np.abs(z - f) - epsilon)
    primal = 0.5 * beta @ K @ beta + C * float(far @ far)
    assert primal == pytest.approx(-value, rel=1e-6)
    gap = duality_gap(exact.gradient, beta, dual, equality=equality)
    assert gap == pytest.approx(primal + value, abs=1e-6 * primal)
    how: dict[str, Any] = {"equality": equality, "tol": 1e-5}
    for found, _ in (
        solve_decomposition(kernel, X, dual, working_size=512, **how),
        solve_whole(kernel, X, dual, working_size=1024, **how),
    ):
        assert found.converged
        assert found.objective == pytest.approx(exact.objective, rel=1e-7)


def test_the_squared_hinge_loss_is_a_hard_margin_with_a_ridge(cpusmall: Any) -> None:
    X, z = cpusmall[0][:600], cpusmall[1][:600]
    y, C = np.where(z > 0.3, 1.0, -1.0), 2.0
    K = kernel_matrix(Kernel("rbf", 0.1), X, dtype=np.float64)
    far = y * UNBOUNDED
    dual = Dual(-y, np.minimum(far, 0.0), np.maximum(far, 0.0), ridge=np.full(len(y), 0.5 / C))
    found = solve_smo(K, dual, equality=True, tol=1e-7)
    peer = SVC(kernel="precomputed", C=1e10, tol=1e-7).fit(K + np.eye(len(y)) / (2 * C), y)
    decision = K[:, peer.support_] @ peer.dual_coef_[0] + peer.intercept_
    np.testing.assert_allclose(K @ found.beta + found.bias, decision, atol=1e-5)
