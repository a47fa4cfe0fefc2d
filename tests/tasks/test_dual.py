"""Dual problems with bounds on both sides of 0, against SciPy and the definition of the loss."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from dcsvm_dask.kernels import Kernel, kernel_matrix
from dcsvm_dask.solvers import duality_gap, solve_decomposition, solve_smo, solve_whole
from dcsvm_dask.solvers.optimality import balanced, violation
from dcsvm_dask.tasks import Dual

KERNEL = Kernel("rbf", gamma=0.5)


def quantile(n: int, tau: float, C: float = 2.0, seed: int = 0) -> tuple[Any, Dual]:
    """Return rows, and the dual problem of a quantile of a noisy sine."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3.0, 3.0, (n, 1)).astype(np.float32)
    z = np.sin(2.0 * X[:, 0]) + rng.standard_normal(n) * (0.2 + 0.1 * np.abs(X[:, 0]))
    return X, Dual(-z, np.full(n, C * (tau - 1.0)), np.full(n, C * tau))


def by_scipy(K: Any, dual: Dual, *, equality: bool) -> float:
    """Return the least objective by sequential least squares programming."""
    n = len(dual)
    found = minimize(
        lambda b: 0.5 * b @ K @ b + dual.p @ b,
        np.zeros(n),
        jac=lambda b: K @ b + dual.p,
        bounds=np.c_[dual.lower, dual.upper],
        constraints={"type": "eq", "fun": np.sum, "jac": np.ones_like} if equality else (),
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 2000},
    )
    return float(found.fun)


# SciPy before 1.14 warns where its steps leave the bounds by a rounding error; it clips them.
@pytest.mark.filterwarnings("ignore:Values in x were outside bounds:RuntimeWarning")
@pytest.mark.parametrize("equality", [False, True])
@pytest.mark.parametrize("tau", [0.1, 0.5])
def test_bounds_on_both_sides_of_zero(equality: bool, tau: float) -> None:
    X, dual = quantile(60, tau)
    K = kernel_matrix(KERNEL, X, dtype=np.float64)
    found = solve_smo(K, dual, equality=equality, tol=1e-8)
    assert found.converged
    assert (found.beta > 0.0).any()
    assert (found.beta < 0.0).any()
    assert found.objective == pytest.approx(by_scipy(K, dual, equality=equality), rel=1e-6)
    assert duality_gap(found.gradient, found.beta, dual, equality=equality) < 1e-5
    if equality:
        below = np.mean(-dual.p < K @ found.beta + found.bias)
        assert below == pytest.approx(tau, abs=0.1)


@pytest.mark.parametrize("equality", [False, True])
def test_every_solver_comes_to_the_same_point(equality: bool) -> None:
    X, dual = quantile(2500, 0.3)
    K = kernel_matrix(KERNEL, X, dtype=np.float64)
    how: dict[str, Any] = {"equality": equality, "tol": 1e-4}
    exact = solve_smo(K, dual, **how)
    whole, _ = solve_whole(KERNEL, X, dual, working_size=600, **how)
    some, _ = solve_decomposition(KERNEL, X, dual, working_size=400, **how)
    blocks, _ = solve_whole(
        KERNEL, X, dual, blocks=(X[:, 0] > 0).astype(int), working_size=600, **how
    )
    for found in (whole, some, blocks):
        assert found.objective == pytest.approx(exact.objective, rel=1e-6)
        assert violation(found.gradient, found.beta, dual, equality=equality) <= 1e-4
        np.testing.assert_allclose(K @ found.beta + dual.p, found.gradient, atol=1e-4)


@given(st.integers(0, 10_000), st.floats(0.05, 0.95))
def test_a_loss_is_the_conjugate_of_the_bounds(seed: int, tau: float) -> None:
    rng = np.random.default_rng(seed)
    z, f = rng.standard_normal((2, 30))
    C = rng.uniform(0.5, 2.0, 30)
    dual = Dual(-z, C * (tau - 1.0), C * tau)
    pinball = C * np.where(z >= f, tau * (z - f), (1.0 - tau) * (f - z))
    np.testing.assert_allclose(dual.losses(f + dual.p), pinball, atol=1e-12)


@given(st.integers(0, 10_000))
def test_a_balanced_point_is_feasible(seed: int) -> None:
    rng = np.random.default_rng(seed)
    dual = Dual(np.zeros(20), -rng.uniform(0.0, 2.0, 20), rng.uniform(0.0, 2.0, 20))
    beta = dual.clip(rng.standard_normal(20) * 2.0)
    found = balanced(beta, dual)
    assert abs(found.sum()) <= 1e-12 * np.abs(beta).sum()
    assert (np.abs(found) <= np.abs(beta)).all()
    assert (found * beta >= 0.0).all()
