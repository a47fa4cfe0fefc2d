"""Linear SVMs of real targets: against LIBLINEAR on real data, against SMO on the kernel matrix."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import sparse
from sklearn.svm import LinearSVR

from dcsvm_dask.errors import InputError
from dcsvm_dask.solvers import (
    LinearSolution,
    duality_gap,
    solve_linear_dual,
    solve_smo,
    warm_up_linear_dual,
)
from dcsvm_dask.solvers.linear import signed
from dcsvm_dask.tasks import Classification, Dual, Quantile, Regression

ENOUGH = 1_000_000
LOSSES = {"epsilon_insensitive": False, "squared_epsilon_insensitive": True}
TASKS: dict[str, Any] = {
    "tube": Regression(epsilon=0.1),
    "absolute": Regression(epsilon=0.0),
    "squared": Regression(epsilon=0.1, squared=True),
    "ridge": Regression(epsilon=0.0, squared=True),
    "quantile": Quantile(quantile=0.3),
}
each_task = pytest.mark.parametrize("task", TASKS)


def rows_of(
    shared_data: Callable[[str], Any], name: str, n: int
) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    """Return n rows of a real data set and their targets, both standardised."""
    found = shared_data(name)
    index = np.random.default_rng(0).permutation(len(found["X_train"]))[:n]
    X, z = (found[key].astype(np.float64)[index] for key in ("X_train", "y_train"))
    spread = X.std(axis=0)
    X = (X - X.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)
    return X.astype(np.float32), (z - z.mean()) / z.std()


def primal(X: Any, dual: Dual, constant: float, w: Any, weight: float) -> float:
    """Return the primal objective; `weight` is that of the constant."""
    losses = dual.losses(X.astype(np.float64) @ w + constant * weight + dual.p)
    return float(0.5 * (w @ w + weight**2) + losses.sum())


def check_certificate(found: LinearSolution, X: Any, dual: Dual, constant: float) -> None:
    """Check all that a solution says of itself, by the whole kernel matrix."""
    wide = X.astype(np.float64).toarray() if sparse.issparse(X) else X.astype(np.float64)
    wide = np.c_[wide, np.full(len(dual), constant)]
    beta = found.alpha
    np.testing.assert_array_equal(beta, dual.clip(beta))
    w = wide.T @ beta
    size = 1e-9 * (1.0 + np.abs(w).max())
    np.testing.assert_allclose(np.append(found.w, found.b / (constant or 1.0)), w, atol=size)
    gradient = dual.gradient(wide @ w, beta)
    up, down = dual.slopes(gradient, beta)
    high = np.max(down, where=beta > dual.lower, initial=0.0)
    low = np.min(up, where=beta < dual.upper, initial=0.0)
    assert found.violation == pytest.approx(high - low, abs=1e-8 * (1.0 + np.abs(wide @ w).max()))
    objective = 0.5 * float(w @ w) + dual.linear(beta)
    assert found.objective == pytest.approx(objective, rel=1e-9, abs=1e-12)
    gap = duality_gap(gradient, beta, dual, equality=False)
    assert found.gap == pytest.approx(gap, abs=1e-8 * (1.0 + abs(objective)))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("constant", [0.0, 1.0, 2.5])
@pytest.mark.parametrize("name", ["cadata", "cpusmall", "mv"])
def test_same_answer_as_liblinear_on_real_data(
    shared_data: Callable[[str], Any], name: str, loss: str, constant: float
) -> None:
    X, z = rows_of(shared_data, name, 800)
    C, epsilon = 0.05, 0.1
    dual = Regression(epsilon, LOSSES[loss]).dual(z, np.full(len(z), C))
    found = solve_linear_dual((X,), dual, constant=constant, tol=1e-7, max_iter=ENOUGH)
    assert found.converged
    check_certificate(found, X, dual, constant)
    assert found.gap < 1e-6 * -found.objective
    for primal_solver in (False, True) if LOSSES[loss] else (False,):
        peer = LinearSVR(
            C=C,
            epsilon=epsilon,
            loss=loss,
            dual=not primal_solver,
            fit_intercept=constant > 0.0,
            intercept_scaling=constant or 1.0,
            tol=1e-10 if primal_solver else 1e-8,
            max_iter=ENOUGH,
            random_state=0,
        ).fit(X.astype(np.float64), z)
        weight = float(np.ravel(peer.intercept_)[0]) / constant if constant else 0.0
        best = primal(X, dual, constant, peer.coef_, weight)
        assert -found.objective == pytest.approx(best, rel=1e-6)
        ours = primal(X, dual, constant, found.w, found.b / (constant or 1.0))
        assert ours <= best * (1.0 + 1e-6)
        np.testing.assert_allclose(found.w, peer.coef_, atol=1e-3)


@each_task
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
def test_same_answer_as_smo_on_the_kernel_matrix(
    shared_data: Callable[[str], Any], task: str, storage: Any
) -> None:
    X, z = rows_of(shared_data, "cpusmall", 250)
    X[np.abs(X) < 0.2] = 0.0
    C = np.random.default_rng(1).uniform(0.05, 0.5, len(z))
    dual = TASKS[task].dual(z, C)
    found = solve_linear_dual((storage(X),), dual, constant=1.0, tol=1e-7, max_iter=ENOUGH)
    K = X.astype(np.float64) @ X.T.astype(np.float64) + 1.0
    exact = solve_smo(K, dual, tol=1e-8)
    assert found.objective == pytest.approx(exact.objective, rel=1e-7)
    np.testing.assert_allclose(X @ found.w + found.b, K @ exact.beta, atol=1e-4)
    check_certificate(found, storage(X), dual, 1.0)


@pytest.mark.one_quick
@each_task
def test_chunks_agree_with_the_whole(shared_data: Callable[[str], Any], task: str) -> None:
    X, z = rows_of(shared_data, "cadata", 300)
    dual = TASKS[task].dual(z, np.full(len(z), 0.1))
    how: Any = {"constant": 1.0, "tol": 1e-6, "max_iter": ENOUGH}
    whole = solve_linear_dual((X,), dual, **how)
    chunks = [X[a:b] for a, b in itertools.pairwise([0, 100, 100, 300])]
    for rows in (chunks, [sparse.csr_array(one) for one in chunks]):
        found = solve_linear_dual(rows, dual, **how)
        assert found.converged
        assert found.objective == pytest.approx(whole.objective, rel=1e-6)
        check_certificate(found, X, dual, 1.0)


@each_task
def test_few_passes_from_the_answer(shared_data: Callable[[str], Any], task: str) -> None:
    X, z = rows_of(shared_data, "mv", 600)
    dual = TASKS[task].dual(z, np.full(len(z), 0.1))
    how: Any = {"constant": 1.0, "max_iter": ENOUGH}
    cold = solve_linear_dual((X,), dual, tol=1e-4, **how)
    again = solve_linear_dual((X,), dual, tol=1e-3, beta=cold.alpha, **how)
    assert again.n_iter == 1
    assert again.objective <= cold.objective + 1e-9 * abs(cold.objective)
    larger = TASKS[task].dual(z, np.full(len(z), 0.11))
    near = solve_linear_dual((X,), larger, tol=1e-3, beta=larger.clip(cold.alpha), **how)
    far = solve_linear_dual((X,), larger, tol=1e-3, **how)
    assert near.n_iter < far.n_iter


@each_task
def test_a_weight_is_so_many_rows(shared_data: Callable[[str], Any], task: str) -> None:
    X, z = rows_of(shared_data, "cadata", 300)
    weights = np.random.default_rng(0).integers(1, 4, len(z))
    how: Any = {"constant": 1.0, "tol": 1e-8, "max_iter": ENOUGH}
    weighted = solve_linear_dual((X,), TASKS[task].dual(z, 0.1 * weights), **how)
    rows = np.repeat(np.arange(len(z)), weights)
    repeated = solve_linear_dual(
        (X[rows],), TASKS[task].dual(z[rows], np.full(len(rows), 0.1)), **how
    )
    assert weighted.objective == pytest.approx(repeated.objective, rel=1e-8)
    np.testing.assert_allclose(weighted.w, repeated.w, atol=1e-5)


@each_task
def test_rows_of_no_weight_take_no_part(shared_data: Callable[[str], Any], task: str) -> None:
    X, z = rows_of(shared_data, "cadata", 200)
    C = np.full(len(z), 0.1)
    C[::3] = 0.0
    with np.errstate(divide="ignore"):
        dual = TASKS[task].dual(z, C)
    how: Any = {"constant": 1.0, "tol": 1e-7, "max_iter": ENOUGH}
    found, fewer = solve_linear_dual((X,), dual, **how), C > 0.0
    wanted = solve_linear_dual((X[fewer],), TASKS[task].dual(z[fewer], C[fewer]), **how)
    assert (found.alpha[::3] == 0.0).all()
    assert found.objective == pytest.approx(wanted.objective, rel=1e-8)
    assert found.gap == pytest.approx(wanted.gap, abs=1e-8)


@pytest.mark.parametrize("unit", [2.0**-40, 2.0**40])
def test_the_unit_of_the_targets_does_not_matter(
    shared_data: Callable[[str], Any], unit: float
) -> None:
    X, z = rows_of(shared_data, "cadata", 300)
    C = np.full(len(z), 0.1)
    one = solve_linear_dual((X,), Regression(0.1).dual(z, C), tol=1e-5, max_iter=ENOUGH)
    other = solve_linear_dual(
        (X,), Regression(0.1 * unit).dual(z * unit, C * unit), tol=1e-5 * unit, max_iter=ENOUGH
    )
    np.testing.assert_array_equal(other.alpha, one.alpha * unit)
    assert other.n_iter == one.n_iter


def test_labels_are_solved_too(shared_data: Callable[[str], Any]) -> None:
    from dcsvm_dask.solvers import solve_linear

    X, z = rows_of(shared_data, "cpusmall", 300)
    y = np.sign(z)
    signs = solve_linear_dual(
        (X,), Classification().dual(y, np.full(len(y), 0.2)), tol=1e-7, max_iter=ENOUGH
    )
    alphas = solve_linear(X, y, 0.2, tol=1e-7, max_iter=ENOUGH)
    assert signs.objective == pytest.approx(alphas.objective, rel=1e-8)
    for found in (signs, alphas):
        assert 0.0 <= found.gap < 1e-6 * -found.objective
    squared = solve_linear(X, y, 0.2, loss="squared_hinge", constant=1.0, tol=1e-7, max_iter=ENOUGH)
    assert 0.0 <= squared.gap < 1e-6 * -squared.objective


@st.composite
def problems(draw: st.DrawFn) -> tuple[NDArray[np.float32], Dual]:
    """Return a small problem; some have equal rows, rows of zeros, targets within the tube."""
    n, d = draw(st.integers(1, 30)), draw(st.integers(1, 10))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = rng.standard_normal((n, d)).astype(np.float32)
    if draw(st.booleans()):
        X = np.round(X)
    X[rng.random(n) < draw(st.sampled_from([0.0, 0.2]))] = 0.0
    z = draw(st.sampled_from([0.05, 1.0, 30.0])) * rng.standard_normal(n)
    C = 2.0 ** draw(st.integers(-6, 3)) * rng.uniform(0.1, 1.0, n)
    return X, TASKS[draw(st.sampled_from(list(TASKS)))].dual(z, C)


@settings(max_examples=20, deadline=None)
@given(problems(), st.sampled_from([0.0, 1.0, 3.0]), st.integers(1, 3))
def test_any_answer_is_feasible_and_the_objective_falls(
    problem: tuple[NDArray[np.float32], Dual], constant: float, parts: int
) -> None:
    X, dual = problem
    cuts = np.linspace(0, len(X), parts + 1).astype(int)
    for rows in (X, sparse.csr_array(X)):
        chunks = [rows[a:b] for a, b in itertools.pairwise(cuts)]
        found = solve_linear_dual(chunks, dual, constant=constant, tol=1e-4, max_iter=ENOUGH)
        assert found.converged
        check_certificate(found, X, dual, constant)
        values = [0.0, *found.history[:, 0]]
        slack = 1e-12 * (1.0 + abs(values[-1]))
        assert all(after <= before + slack for before, after in itertools.pairwise(values))
        assert values[-1] == pytest.approx(found.objective, rel=1e-8, abs=1e-11)


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
def test_a_row_of_zeros_is_at_its_bound(storage: Any) -> None:
    X = storage(np.array([[0.0, 0.0], [1.0, 2.0], [0.0, 0.0], [0.0, 0.0]], np.float32))
    z, C = np.array([1.0, 1.0, -1.0, 0.05]), np.full(4, 0.5)
    found = solve_linear_dual((X,), Regression(0.1).dual(z, C), tol=1e-9)
    assert found.converged
    np.testing.assert_array_equal(found.alpha[[0, 2, 3]], [0.5, -0.5, 0.0])
    empty = solve_linear_dual(
        (storage(np.zeros((0, 3), np.float32)),), Regression().dual(z[:0], C[:0])
    )
    assert empty.converged
    assert (empty.objective, empty.gap, empty.w.shape) == (0.0, 0.0, (3,))


def test_what_does_not_fit_is_refused() -> None:
    X, dual = np.eye(3, dtype=np.float32), Regression().dual(np.ones(3), np.ones(3))
    nowhere = Regression().dual(np.array([1.0, np.nan, 1.0]), np.ones(3))
    wrong: list[tuple[Any, Dual, dict[str, Any], str]] = [
        (X, dual, {"constant": -1.0}, "constant is -1"),
        (X[:2], dual, {}, "2 rows and y 3 targets"),
        (X, dual, {"beta": [0.0, 2.0, 0.0]}, "outside"),
        (X, dual, {"beta": [0.0, 0.0]}, "shape"),
        (X, nowhere, {}, "not finite"),
        (np.full((3, 1), np.nan), dual, {}, "not finite"),
    ]
    for rows, problem, how, text in wrong:
        with pytest.raises(InputError, match=text):
            solve_linear_dual((rows,), problem, **how)


def test_nothing_is_compiled_after_warm_up() -> None:
    warm_up_linear_dual()
    compiled = (signed.descend_signed, signed.measure_signed)
    before = [len(function.signatures) for function in compiled]
    X = np.random.default_rng(0).standard_normal((50, 4)).astype(np.float32)
    for task, rows in itertools.product(TASKS.values(), (X, sparse.csr_array(X))):
        dual = task.dual(X[:, 0].astype(np.float64), np.ones(50))
        solve_linear_dual((rows,), dual)
        solve_linear_dual((rows[:20], rows[20:]), dual, constant=1.0)
    assert [len(function.signatures) for function in compiled] == before
