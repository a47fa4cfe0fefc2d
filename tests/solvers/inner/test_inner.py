"""Inner solvers against SMO, scikit-learn and each other: classes, kinks, sums, ridges."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.svm import SVC, SVR, NuSVC, OneClassSVM

from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels import Kernel
from dcsvm_dask.pipeline.parameters import TrainingParameters
from dcsvm_dask.solvers import (
    INNER_SOLVERS,
    solve_decomposition,
    solve_inner,
    solve_nu_matrix,
    solve_smo,
    solve_whole,
    solve_working_sets,
    whole,
)
from dcsvm_dask.solvers.inner import newton
from dcsvm_dask.solvers.inner import overtake as overtaking
from dcsvm_dask.solvers.inner import solve as inner_solve
from dcsvm_dask.solvers.inner.bordered import BorderedFactor
from dcsvm_dask.solvers.inner.interior_point import solve_interior_point
from dcsvm_dask.solvers.inner.newton import solve_newton
from dcsvm_dask.solvers.inner.overtake import Overtake
from dcsvm_dask.solvers.inner.projected_gradient import solve_projected_gradient
from dcsvm_dask.solvers.inner.projection import project
from dcsvm_dask.solvers.optimality import violation
from dcsvm_dask.tasks import Classification, Dual, NuRegression, Regression
from dcsvm_dask.tasks.dual import UNBOUNDED

OTHERS = tuple(name for name in INNER_SOLVERS if name not in ("auto", "smo"))
SOLVERS = {
    "newton": solve_newton,
    "interior-point": solve_interior_point,
    "projected-gradient": solve_projected_gradient,
}
every = pytest.mark.parametrize("inner", OTHERS)


def rbf(X: np.ndarray, gamma: float) -> np.ndarray:
    squares = (X**2).sum(axis=1)
    return np.exp(-gamma * np.maximum(squares[:, None] + squares - 2.0 * X @ X.T, 0.0))


def objective(K: np.ndarray, dual: Dual, beta: np.ndarray) -> float:
    value = 0.5 * beta @ K @ beta + dual.p @ beta
    if dual.epsilon is not None:
        value += dual.epsilon @ np.abs(beta)
    if dual.ridge is not None:
        value += 0.5 * dual.ridge @ beta**2
    return float(value)


def standard(shared_data: Callable[[str], Any], name: str, rows: int) -> tuple[Any, Any]:
    """Return the first rows of a set, features standardised; targets too, classes as signs."""
    found = shared_data(name)
    X, y = found["X_train"][:rows].astype(np.float64), found["y_train"][:rows].astype(np.float64)
    X = (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0.0, X.std(axis=0), 1.0)
    if len(np.unique(y)) == 2:
        return X, np.where(y == y.max(), 1.0, -1.0)
    return X, (y - y.mean()) / y.std()


@pytest.mark.one_quick
@every
@pytest.mark.parametrize(("name", "C"), [("ijcnn1", 1.0), ("magic", 100.0), ("german_numer", 10.0)])
def test_classes_as_scikit_learn(
    inner: str, name: str, C: float, shared_data: Callable[[str], Any]
) -> None:
    X, y = standard(shared_data, name, 400)
    gamma = 1.0 / X.shape[1]
    peer = SVC(C=C, gamma=gamma, tol=1e-8).fit(X, y)
    theirs = np.zeros(len(y))
    theirs[peer.support_] = peer.dual_coef_[0]
    K, dual = rbf(X, gamma), Dual(-y, np.where(y > 0, 0.0, -C), np.where(y > 0, C, 0.0))
    found = solve_inner(K, dual, inner=inner, equality=True, tol=1e-6)
    assert found.converged
    assert found.inner[0] == inner
    assert abs(found.beta.sum()) <= 1e-9 * C * len(y)
    assert found.objective == pytest.approx(objective(K, dual, theirs), rel=1e-6)
    assert found.bias == pytest.approx(peer.intercept_[0], abs=1e-4)


@every
@pytest.mark.parametrize("name", ["cadata", "cpusmall", "mv"])
def test_kinks_as_scikit_learn(inner: str, name: str, shared_data: Callable[[str], Any]) -> None:
    X, y = standard(shared_data, name, 300)
    n, C, gamma = len(y), 1.0, 1.0 / X.shape[1]
    peer = SVR(C=C, epsilon=0.1, gamma=gamma, tol=1e-8).fit(X, y)
    theirs = np.zeros(n)
    theirs[peer.support_] = peer.dual_coef_[0]
    K = rbf(X, gamma)
    dual = Dual(-y, np.full(n, -C), np.full(n, C), epsilon=np.full(n, 0.1))
    found = solve_inner(K, dual, inner=inner, equality=True, tol=1e-6)
    assert found.converged
    assert found.objective == pytest.approx(objective(K, dual, theirs), rel=1e-6)


@every
def test_two_sums_and_a_sum_that_is_not_zero(inner: str, shared_data: Callable[[str], Any]) -> None:
    X, y = standard(shared_data, "magic", 400)
    order = np.argsort(y, kind="stable")
    X, y = X[order], y[order]
    K, nu, n = rbf(X, 0.5), 0.4, len(y)
    peer = NuSVC(nu=nu, gamma=0.5, tol=1e-8).fit(X, y)
    # LIBSVM's a / rho: the margin is 1 and the variables are up to 1 / rho.
    bound = np.abs(peer.dual_coef_[0]).max()
    theirs = np.zeros(n)
    theirs[peer.support_] = peer.dual_coef_[0] / bound
    group = (y > 0).astype(np.int8)
    dual = Dual(np.zeros(n), np.where(y > 0, 0.0, -1.0), np.where(y > 0, 1.0, 0.0), group=group)
    start = np.zeros(n)
    for sign in (-1.0, 1.0):
        start[y == sign] = sign * nu * n / 2.0 / np.count_nonzero(y == sign)
    found = solve_inner(K, dual, inner=inner, beta=start, equality=True, tol=1e-7)
    assert found.converged
    for mine in dual.groups:
        assert found.beta[mine].sum() == pytest.approx(start[mine].sum(), rel=1e-9)
    assert found.objective == pytest.approx(objective(K, dual, theirs), rel=1e-6)
    novelty = OneClassSVM(nu=nu, gamma=0.5, tol=1e-8).fit(X)
    theirs = np.zeros(n)
    theirs[novelty.support_] = novelty.dual_coef_[0]
    dual = Dual(np.zeros(n), np.zeros(n), np.ones(n))
    found = solve_inner(K, dual, inner=inner, beta=np.full(n, nu), equality=True, tol=1e-7)
    assert found.objective == pytest.approx(objective(K, dual, theirs), rel=1e-6)


@every
@pytest.mark.parametrize("epsilon", [0.0, 0.1])
def test_squared_losses_whose_variables_have_no_bounds(
    inner: str, epsilon: float, shared_data: Callable[[str], Any]
) -> None:
    X, y = standard(shared_data, "cadata", 250)
    n, K = len(y), rbf(X, 0.1)
    dual = Dual(
        -y,
        np.full(n, -UNBOUNDED),
        np.full(n, UNBOUNDED),
        epsilon=np.full(n, epsilon) if epsilon else None,
        ridge=np.full(n, 0.05),
    )
    diagonal = K.diagonal().copy()
    found = solve_inner(K, dual, inner=inner, tol=1e-7)
    np.testing.assert_array_equal(K.diagonal(), diagonal)
    assert found.converged
    if epsilon == 0.0:  # ridge regression, in closed form
        exact = np.linalg.solve(K + np.diag(dual.ridge), y)
        np.testing.assert_allclose(found.beta, exact, rtol=0, atol=1e-5)
    else:
        exact = solve_smo(K, dual, tol=1e-9).beta
    assert found.objective == pytest.approx(objective(K, dual, exact), rel=1e-8)


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("equality", [False, True])
@pytest.mark.parametrize(
    ("data", "task"),
    [
        ("german_numer", Classification(squared=True)),
        ("cadata", Regression(0.1, squared=True)),
        ("cadata", Regression(0.0, squared=True)),
    ],
    ids=["squared hinge", "squared tube", "ridge regression"],
)
def test_variables_without_bounds_are_solved_by_each_solver_alone(
    name: str, equality: bool, data: str, task: Any, shared_data: Callable[[str], Any]
) -> None:
    X, y = standard(shared_data, data, 250)
    n, K = len(y), rbf(X, 0.1)
    dual = task.dual(y, np.full(n, 2.0))
    start = dual.clip(np.where(np.arange(n) < 9, 0.1 * np.sign(y), 0.0))
    how: dict[str, Any] = {"beta": start, "equality": equality}
    exact = solve_smo(K, dual, tol=1e-9, **how)
    found = SOLVERS[name](K, dual, tol=1e-7, **how)
    assert found.converged
    assert found.objective == pytest.approx(exact.objective, rel=1e-9)
    np.testing.assert_allclose(found.beta, exact.beta, rtol=0, atol=1e-5)
    if equality:
        assert found.beta.sum() == pytest.approx(start.sum(), abs=1e-9)


@pytest.mark.one_quick
@given(
    seed=st.integers(0, 2**16),
    n=st.integers(1, 40),
    equality=st.booleans(),
    kinked=st.booleans(),
    single=st.booleans(),
)
@settings(max_examples=60, deadline=None)
@every
def test_any_bounds_and_any_start(
    inner: str, seed: int, n: int, equality: bool, kinked: bool, single: bool
) -> None:
    rng = np.random.default_rng(seed)
    K = rbf(rng.standard_normal((n, 2)), 0.5).astype(np.float32 if single else np.float64)
    upper, lower = rng.uniform(0.0, 3.0, n), -rng.uniform(0.0, 3.0, n)
    lower[rng.random(n) < 0.3] = 0.0
    upper[rng.random(n) < 0.2] = 0.0
    epsilon = rng.choice([0.0, 0.2], n) if kinked else None
    dual = Dual(2.0 * rng.standard_normal(n), lower, upper, epsilon=epsilon)
    start = dual.clip(rng.uniform(-1.0, 1.0, n))
    found = solve_inner(K, dual, inner=inner, beta=start, equality=equality, tol=1e-4)
    assert found.converged
    assert (lower <= found.beta).all()
    assert (found.beta <= upper).all()
    if equality:
        assert found.beta.sum() == pytest.approx(start.sum(), abs=1e-8)
    F = K.astype(np.float64) @ found.beta + dual.p
    assert violation(F, found.beta, dual, equality=equality) <= 1.01e-4
    exact = solve_smo(K, dual, beta=start, equality=equality, tol=1e-6)
    slack = 1e-4 * np.abs(upper - lower).sum()
    assert abs(found.objective - exact.objective) <= slack


@pytest.mark.long
@pytest.mark.parametrize(("C", "most"), [(1.0, 12), (1e4, 24)])
def test_an_interior_point_method_begins_near_enough(
    C: float, most: int, shared_data: Callable[[str], Any]
) -> None:
    """From the middle of the bounds it takes 17 and 29 steps."""
    X, y = standard(shared_data, "ijcnn1", 500)
    dual = Classification().dual(y, np.full(len(y), C))
    found = solve_interior_point(rbf(X, 1.0 / X.shape[1]), dual, equality=True)
    assert found.converged
    assert found.n_iter <= most


@pytest.mark.parametrize("name", SOLVERS)
def test_the_gradient_may_be_that_of_a_larger_problem(name: str) -> None:
    rng = np.random.default_rng(3)
    K = rbf(rng.standard_normal((60, 2)), 0.5)
    y = np.where(rng.random(60) < 0.5, -1.0, 1.0)
    dual = Dual(-y, np.where(y > 0, 0.0, -1.0), np.where(y > 0, 1.0, 0.0))
    beta = dual.clip(0.3 * y)
    F, rows = K @ beta + dual.p, np.arange(10, 45)
    found = SOLVERS[name](
        K[np.ix_(rows, rows)], dual[rows], beta=beta[rows], gradient=F[rows], tol=1e-8
    )
    exact = solve_smo(
        K[np.ix_(rows, rows)], dual[rows], beta=beta[rows], gradient=F[rows], tol=1e-10
    )
    assert found.converged
    np.testing.assert_allclose(found.beta, exact.beta, rtol=0, atol=1e-6)
    np.testing.assert_allclose(found.gradient, exact.gradient, rtol=0, atol=1e-6)


def test_rows_of_a_larger_matrix_are_solved_without_a_copy() -> None:
    rng = np.random.default_rng(5)
    K = rbf(rng.standard_normal((700, 2)), 0.5).astype(np.float32)
    y = np.where(rng.random(700) < 0.5, -1.0, 1.0)
    dual = Dual(-y, np.where(y > 0, 0.0, -1.0), np.where(y > 0, 1.0, 0.0))
    rows = np.sort(rng.choice(700, 400, replace=False))
    found = solve_interior_point(K, dual[rows], rows=rows, tol=1e-6)
    copied = solve_interior_point(K[np.ix_(rows, rows)], dual[rows], tol=1e-6)
    np.testing.assert_allclose(found.beta, copied.beta, rtol=0, atol=1e-9)


def test_a_factor_is_brought_up_to_date() -> None:
    rng = np.random.default_rng(0)
    n = 50
    K = rbf(rng.standard_normal((n, 3)), 0.5)
    sums = [np.arange(n) < 20]
    free = rng.random(n) < 0.6
    factor = BorderedFactor(K, np.flatnonzero(free), sums, 2.0, 30)
    g = rng.standard_normal(n)
    for _ in range(3):
        free[rng.choice(n, 5)] ^= True
        Q = K + factor.delta * np.eye(n) + 2.0 * np.outer(sums[0], sums[0])
        step = np.zeros(n)
        step[free] = np.linalg.solve(Q[np.ix_(free, free)], -g[free])
        np.testing.assert_allclose(factor.step(g, free), step, rtol=0, atol=1e-8)


@given(seed=st.integers(0, 2**16), n=st.integers(1, 30))
@settings(max_examples=60, deadline=None)
def test_a_projection_is_the_nearest_point_with_its_sums(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    upper, lower = rng.uniform(0.0, 1.0, n), -rng.uniform(0.0, 1.0, n)
    inside = rng.uniform(lower, upper)
    first = rng.random(n) < 0.5
    sums = [flags for flags in (first, ~first) if flags.any()]
    totals = [float(inside[flags].sum()) for flags in sums]
    point = rng.standard_normal(n)
    nearest = project(point, lower, upper, sums, totals)
    assert (lower <= nearest).all()
    assert (nearest <= upper).all()
    for flags, total in zip(sums, totals, strict=True):
        assert nearest[flags].sum() == pytest.approx(total, abs=1e-10)
    # The angle at the nearest point of a convex set is not acute, whatever the other point is.
    assert (point - nearest) @ (inside - nearest) <= 1e-9


def test_an_interior_point_method_goes_on_where_smo_needs_many_steps(
    shared_data: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = standard(shared_data, "electricity", 500)
    K = rbf(X, 0.03).astype(np.float32)
    C = 2.0**15
    dual = Dual(-y, np.where(y > 0, 0.0, -C), np.where(y > 0, C, 0.0))
    alone = solve_inner(K, dual, inner="smo", equality=True)
    assert alone.inner == ("smo",)
    monkeypatch.setattr(overtaking, "_OVERHEAD", 0)
    found = solve_inner(K, dual, equality=True)
    again = solve_inner(K, dual, equality=True)
    assert found.converged
    assert found.inner == ("smo", "interior-point")
    assert found.n_iter < alone.n_iter / 2
    assert found.objective == pytest.approx(alone.objective, rel=1e-6)
    np.testing.assert_array_equal(found.beta, again.beta)


def test_an_interior_point_method_goes_on_where_rounding_ends_smo() -> None:
    """Of one feature far from 0 and a linear kernel; with a bias the peer's is the same problem."""
    rng = np.random.default_rng(1)
    n, C, epsilon = 60, 100.0, 0.01
    x = 100.0 + 2.0 * rng.random(n)
    z = np.sin(3.0 * x) + 0.3 * rng.standard_normal(n)
    dual = Dual(-z, np.full(n, -C), np.full(n, C), np.full(n, epsilon))
    found = solve_inner(np.outer(x, x), dual, equality=True, tol=1e-6)
    assert found.converged
    assert found.inner == ("smo", "interior-point")
    centred = (x - x.mean())[:, None]
    peer = SVR(kernel="linear", C=C, epsilon=epsilon, tol=1e-6).fit(centred, z)
    beta = np.zeros(n)
    beta[peer.support_] = peer.dual_coef_[0]
    expected = objective(centred @ centred.T, dual, beta)
    assert found.objective == pytest.approx(expected, rel=1e-8)


def test_steps_that_grow_without_bounds_are_taken_back() -> None:
    """A ridge is lost in curvatures of float32 where the kernel's values are 1e5."""
    rng = np.random.default_rng(0)
    X, n = 100.0 + rng.random((80, 11)), 80
    z = np.sin(3.0 * X[:, 0])
    dual = Regression(0.03, squared=True).dual(z, rng.uniform(4.0, 1000.0, n))
    found = solve_inner(X @ X.T, dual, equality=True, tol=1e-6)
    centred = X - X.mean(axis=0)
    K = centred @ centred.T + np.diag(dual.ridge)
    peer = SVR(kernel="precomputed", C=1e9, epsilon=0.03, tol=1e-7).fit(K, z)
    beta = np.zeros(n)
    beta[peer.support_] = peer.dual_coef_[0]
    assert found.converged
    expected = objective(centred @ centred.T, dual, beta)
    assert found.objective == pytest.approx(expected, rel=1e-6)


def test_more_spare_than_rows_have_room_for_lets_them_move() -> None:
    """A part of a nu-SVR's rows; no tube is left, so that it is an epsilon-SVR without one."""
    rng = np.random.default_rng(0)
    X, n = rng.standard_normal((30, 2)), 30
    z = X[:, 0] + 0.1 * rng.standard_normal(n)
    dual = Dual(-z, np.full(n, -2.0), np.full(n, 2.0), spare=200.0)
    found = solve_inner(rbf(X, 0.5), dual, equality=True, tol=1e-8)
    peer = SVR(gamma=0.5, C=2.0, epsilon=0.0, tol=1e-8).fit(X, z)
    beta = np.zeros(n)
    beta[peer.support_] = peer.dual_coef_[0]
    assert found.converged
    assert found.objective == pytest.approx(objective(rbf(X, 0.5), dual, beta), rel=1e-6)


def test_what_smo_solves_with_few_steps_stays_its_own() -> None:
    rng = np.random.default_rng(1)
    K = rbf(rng.standard_normal((800, 3)), 1.0).astype(np.float32)
    y = np.where(rng.random(800) < 0.5, -1.0, 1.0)
    dual = Dual(-y, np.where(y > 0, 0.0, -1.0), np.where(y > 0, 1.0, 0.0))
    found, alone = solve_inner(K, dual), solve_smo(K, dual)
    assert found.inner == ("smo",)
    np.testing.assert_array_equal(found.beta, alone.beta)


def test_a_kernel_that_is_not_definite_leaves_all_to_smo() -> None:
    rng = np.random.default_rng(2)
    X = rng.standard_normal((60, 3))
    K = np.tanh(X @ X.T - 1.0)
    y = np.where(rng.random(60) < 0.5, -1.0, 1.0)
    dual = Dual(-y, np.where(y > 0, 0.0, -1.0), np.where(y > 0, 1.0, 0.0))
    for inner in OTHERS:
        found = solve_inner(K, dual, inner=inner, equality=True)
        assert found.converged
    problem_of = Overtake(1e-3)
    assert problem_of.tried == []


def test_a_method_that_does_not_converge_says_so_and_smo_ends_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(4)
    K = rbf(rng.standard_normal((300, 4)), 0.02)
    y = np.where(rng.random(300) < 0.5, -1.0, 1.0)
    dual = Dual(-y, np.where(y > 0, 0.0, -1e3), np.where(y > 0, 1e3, 0.0))
    alone = solve_smo(K, dual, equality=True)
    assert alone.fallbacks == solve_inner(K, dual, equality=True).fallbacks == 0
    for name, solver in SOLVERS.items():
        few = partial(solver, max_iter=2)
        assert not few(K, dual, equality=True).converged, name
        monkeypatch.setitem(inner_solve._NAMED, name, few)
        found = solve_inner(K, dual, inner=name, equality=True)
        assert found.converged
        assert found.inner == (name, "smo")
        assert found.fallbacks == 1
        assert found.objective == pytest.approx(alone.objective, rel=1e-5)


@pytest.mark.long
def test_what_smo_ends_is_counted_once_a_working_set(
    monkeypatch: pytest.MonkeyPatch, shared_data: Callable[[str], Any]
) -> None:
    X, z = standard(shared_data, "cadata", 300)
    X, n, kernel = X.astype(np.float32), len(z), Kernel("rbf", gamma=0.5)
    monkeypatch.setitem(inner_solve._NAMED, "newton", partial(solve_newton, max_iter=0))
    task, C = NuRegression(nu=0.3), np.full(n, 1.0)
    assert solve_nu_matrix(rbf(X, 0.5), z, C, task, inner="newton").solution.fallbacks == 1
    dual, sets = Regression(0.1).dual(z, C), []
    how: dict[str, Any] = {"equality": True, "tol": 1e-2, "inner": "newton"}
    reported: dict[str, Any] = {"callback": lambda *_: sets.append(1)}
    found, _ = solve_decomposition(kernel, X, dual, working_size=64, **how, **reported)
    assert found.converged
    assert found.fallbacks == len(sets) > 1
    reported = {"beta": np.zeros(n), "f": np.zeros(n), "first": np.arange(64)}
    reached = solve_working_sets(kernel, X, dual, cap=64, **how, **reported)
    assert reached.fallbacks == reached.sets > 1
    monkeypatch.setattr(whole, "SMALL", 100)
    how |= {"working_size": 64, "verify": False}
    predicted, _ = solve_whole(kernel, X, dual, **how)
    assert predicted.converged
    assert predicted.fallbacks > 1


def test_newton_finds_the_free_variables_before_it_factors_their_block(
    monkeypatch: pytest.MonkeyPatch, shared_data: Callable[[str], Any]
) -> None:
    X, y = standard(shared_data, "a9a", 600)
    K, dual = rbf(X, 2.0**-7), Classification().dual(y, np.ones(len(y)))
    monkeypatch.setattr(newton, "_SOON", 0.0)
    found = solve_newton(K, dual, equality=True)
    assert found.converged
    assert found.objective == pytest.approx(solve_smo(K, dual, equality=True).objective, rel=1e-5)


def test_a_name_that_no_solver_has_is_refused() -> None:
    with pytest.raises(InputError, match="inner is 'qp': give one of auto, smo, newton"):
        solve_inner(np.eye(2), Dual(np.zeros(2), -np.ones(2), np.ones(2)), inner="qp")


def test_the_parameter_of_trainings_has_the_same_names() -> None:
    field = TrainingParameters.__dataclass_fields__["inner"]
    assert tuple(field.metadata["described"].choices) == INNER_SOLVERS
