"""Solutions along C beside those from the beginning, and beside SVC."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from dcsvm_dask import solvers
from dcsvm_dask.kernels import Kernel
from dcsvm_dask.tasks import Classification
from tests.marks import long
from tests.svc import objective, solve_blocks, solve_next, solve_whole, stretch, stretched

COSTS = (2.0**-10, 2.0**-4, 2.0, 2.0**6)


@settings(deadline=None, derandomize=True, max_examples=60)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(2, 30),
    equality=st.booleans(),
    factor=st.floats(1.0, 1e4),
    gamma=st.floats(1e-4, 1e2),
)
def test_a_start_is_feasible_and_no_worse(
    seed: int, n: int, equality: bool, factor: float, gamma: float
) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)).astype(np.float32)
    y = np.where(rng.random(n) < 0.5, -1.0, 1.0)
    y[:2] = -1.0, 1.0
    before_C = rng.uniform(0.1, 2.0, n)
    C = factor * before_C * rng.uniform(1.0, 2.0, n)
    how: dict[str, Any] = {"equality": equality, "tol": 1e-6}
    kernel = Kernel("rbf", gamma)
    before, _ = solve_whole(kernel, X, y, before_C, **how)
    start = stretched(before.alpha, before.gradient, C)
    assert (start >= 0).all()
    assert (start <= C).all()
    if equality:
        assert abs(y @ start) <= 1e-9 * max(1.0, start.sum())
    Q = rbf_kernel(X.astype(np.float64), gamma=gamma) * np.outer(y, y)
    at = [objective(one, Q @ one - 1.0) for one in (before.alpha, start)]
    assert at[1] <= at[0] + 1e-9 * (1.0 + abs(at[0]))
    found, _ = solve_next(kernel, X, y, C, before, **how)
    wanted, _ = solve_whole(kernel, X, y, C, **how)
    assert found.converged == wanted.converged
    assert found.objective == pytest.approx(wanted.objective, rel=1e-6, abs=1e-6)


def test_a_path_of_a_squared_loss_has_the_ridge_of_each_c(
    shared_data: Callable[[str], Any],
) -> None:
    """As SVC has it, with 1 / (2 C) on the diagonal of its kernel matrix and a C without end."""
    data, n = shared_data("ijcnn1"), 300
    X, y = data["X_train"][:n].astype(np.float32), np.where(data["y_train"][:n] > 0, 1.0, -1.0)
    kernel, task, before = Kernel("rbf", 2.0), Classification(squared=True), None
    K = rbf_kernel(X.astype(np.float64), gamma=2.0)
    for C in (0.05, 1.0, 20.0):
        dual = task.dual(y, np.full(n, C))
        how: dict[str, Any] = {"equality": True, "tol": 1e-5}
        if before is None:
            found, _ = solvers.solve_whole(kernel, X, dual, **how)
        else:
            found, _ = solvers.solve_next(kernel, X, dual, before, **how)
        assert found.converged
        before = found
        svc = SVC(C=1e9, kernel="precomputed", tol=1e-5).fit(K + np.eye(n) / (2.0 * C), y)
        theirs = K[:, svc.support_] @ svc.dual_coef_[0] + svc.intercept_
        np.testing.assert_allclose(K @ found.beta + found.bias, theirs, atol=1e-4)


def test_no_support_vectors_are_stretched_by_one() -> None:
    none = np.zeros(3)
    assert stretch(none, none - 1.0, np.ones(3)) == 1.0


@pytest.mark.one_quick
@pytest.mark.parametrize("gamma", [2.0**-6, 2.0**6])
@pytest.mark.parametrize("equality", [True, long(False)])
def test_a_path_ends_at_svc_s(
    shared_data: Callable[[str], Any], gamma: float, equality: bool
) -> None:
    """Of ijcnn1, by a kernel by which all rows see each other, and by one that is local."""
    data = shared_data("ijcnn1")
    X, y = (
        data["X_train"][:4000].astype(np.float32),
        np.where(data["y_train"][:4000] > 0, 1.0, -1.0),
    )
    kernel, before = Kernel("rbf", gamma), None
    K = rbf_kernel(X.astype(np.float64), gamma=gamma)
    for C in COSTS:
        how: dict[str, Any] = {"equality": equality, "tol": 1e-4, "working_size": 1500}
        bounds = np.full(len(y), C)
        found: Any
        if before is None:
            found, _ = solve_whole(kernel, X, y, bounds, **how)
        else:
            found, values = solve_next(kernel, X, y, bounds, before, **how)
            quick, fewer = solve_next(kernel, X, y, bounds, before, verify=False, **how)
            assert quick.converged
            assert fewer <= values
            assert quick.objective == pytest.approx(found.objective, rel=1e-4)
        assert found.converged
        before = found
        if equality:
            svc = SVC(C=C, kernel="precomputed", tol=1e-5).fit(K, y)
            ours = K @ (y * found.alpha) + found.bias
            theirs = svc.decision_function(K)
            assert np.abs(ours - theirs).max() <= 1e-4 + 1e-3 * np.ptp(theirs)
        else:
            other, _ = solve_whole(kernel, X, y, bounds, equality=False, tol=1e-5)
            assert found.objective == pytest.approx(other.objective, rel=1e-6)


def test_a_bound_on_steps_is_kept(shared_data: Callable[[str], Any]) -> None:
    data = shared_data("ijcnn1")
    X, y = (
        data["X_train"][:3000].astype(np.float32),
        np.where(data["y_train"][:3000] > 0, 1.0, -1.0),
    )
    kernel = Kernel("rbf", 2.0)
    before, _ = solve_whole(kernel, X, y, np.ones(len(y)), equality=True)
    found, _ = solve_next(
        kernel, X, y, np.full(len(y), 1e5), before, equality=True, max_iter=50, working_size=2900
    )
    assert found.n_iter <= 50
    assert not found.converged


@pytest.mark.parametrize("equality", [True, False])
@pytest.mark.parametrize("gamma", [2.0**-6, 2.0**6])
def test_blocks_are_a_feasible_start(
    shared_data: Callable[[str], Any], gamma: float, equality: bool
) -> None:
    data = shared_data("ijcnn1")
    X, y = (
        data["X_train"][:2000].astype(np.float32),
        np.where(data["y_train"][:2000] > 0, 1.0, -1.0),
    )
    blocks = np.array_split(np.random.default_rng(0).permutation(2000), 7)
    blocks = [np.sort(rows) for rows in blocks]
    kernel, C = Kernel("rbf", gamma), np.full(2000, 4.0)
    alpha, steps, values = solve_blocks(kernel, X, y, C, blocks, equality=equality)
    assert steps > 0
    assert values >= sum(len(rows) * (len(rows) + 1) // 2 for rows in blocks)
    K = rbf_kernel(X.astype(np.float64), gamma=gamma)
    own, whole = 0.0, np.zeros(2000)
    for rows in blocks:  # each is the machine of its rows
        svc, _ = solve_whole(kernel, X[rows], y[rows], C[rows], equality=equality, tol=1e-2)
        own += svc.objective
        whole[rows] = svc.alpha
    together = objective(whole, y * (K @ (y * whole)) - 1.0)
    if alpha is None:  # random blocks of a kernel by which all rows see each other contradict
        assert together / own < 0.7
        return
    assert together / own > 0.3
    assert (alpha >= 0).all()
    assert (alpha <= C).all()
    if equality:
        assert abs(y @ alpha) < 1e-9 * alpha.sum()
    found = objective(alpha, y * (K @ (y * alpha)) - 1.0)
    assert found == pytest.approx(together, rel=0.02)
