"""solve_greedy against the primal problem solved by scikit-learn and SciPy."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.sparse import csr_array
from sklearn.svm import LinearSVC

from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels import Kernel, kernel_matrix
from dcsvm_dask.solvers import solve_greedy
from tests.rounding import never_rises

GAMMA = 2.0**-5


def value(K: Any, y: Any, C: Any, basis: Any, beta: Any, bias: float) -> float:
    """Return the primal objective of an expansion."""
    margin = np.maximum(0.0, 1.0 - y * (K[:, basis] @ beta + bias))
    return float(0.5 * beta @ K[np.ix_(basis, basis)] @ beta + 0.5 * np.sum(C * margin**2))


@pytest.mark.parametrize("C", [1.0, 32.0])
def test_with_every_row_in_the_basis_the_answer_is_that_of_the_primal(
    C: float, make_svc: ModuleType, problem: Callable[[str], Any]
) -> None:
    X, y = problem("heart_scale")
    n = len(y)
    K = make_svc.rbf(X, X, GAMMA)
    # The dual of the squared hinge in float64: min 0.5 a'(Q + I / C)a - e'a over a >= 0.
    Q = K * np.outer(y, y) + np.eye(n) / C
    best = minimize(
        lambda a: (0.5 * a @ Q @ a - a.sum(), Q @ a - 1.0),
        np.zeros(n),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, None)] * n,
        options={"maxiter": 100_000, "maxfun": 100_000, "ftol": 1e-15, "gtol": 1e-9},
    )
    found = solve_greedy(Kernel("rbf", GAMMA), X, y, C, most=n, basis=np.arange(n))
    assert found.objective == pytest.approx(-best.fun, rel=1e-6)
    assert value(K, y, C, found.basis, found.beta, 0.0) == pytest.approx(-best.fun, rel=1e-6)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
def test_the_weights_of_a_basis_are_those_of_a_linear_machine_on_its_features(
    intercept: bool, sparse: bool, make_svc: ModuleType, problem: Callable[[str], Any]
) -> None:
    X, y = problem("a9a")
    X, y, C = X[:1000], y[:1000], 4.0
    found = solve_greedy(
        Kernel("rbf", GAMMA),
        csr_array(X) if sparse else X,
        y,
        C,
        most=40,
        intercept=intercept,
        tol=0.0,
        chunk_rows=300,
    )
    assert len(found.basis) == len(set(found.basis)) == 40
    K = make_svc.rbf(X, X, GAMMA)
    root = np.linalg.cholesky(K[np.ix_(found.basis, found.basis)])
    features = np.linalg.solve(root, K[found.basis]).T
    if intercept:
        # LinearSVC penalises the bias: with a large constant feature, hardly.
        theirs = LinearSVC(C=C / 2, dual=False, tol=1e-10, max_iter=10_000, intercept_scaling=1e4)
        theirs.fit(features, y)
        f = theirs.decision_function(features)
    else:
        theirs = LinearSVC(C=C / 2, dual=False, tol=1e-10, max_iter=10_000, fit_intercept=False)
        theirs.fit(features, y)
        f = features @ theirs.coef_[0]
    best = 0.5 * np.sum(theirs.coef_**2) + 0.5 * C * np.sum(np.maximum(0.0, 1.0 - y * f) ** 2)
    mine = value(K, y, C, found.basis, found.beta, found.bias)
    assert mine == pytest.approx(best, rel=1e-6)
    assert found.objective == pytest.approx(mine, rel=1e-6)


def test_every_basis_vector_lowers_the_objective_and_few_do_much(
    problem: Callable[[str], Any],
) -> None:
    X, y = problem("ijcnn1")
    X, y, fresh, labels = X[:2000], y[:2000], X[2000:6000], y[2000:6000]
    kernel = Kernel("rbf", 2.0)
    reported: list[int] = []

    def hear(size: int, about: dict[str, Any]) -> None:
        reported.append(size)
        assert about["most"] == 100
        assert about["objective"] < about["start"]

    found = solve_greedy(kernel, X, y, 32.0, most=100, tol=0.0, solved=hear)
    assert np.count_nonzero(np.diff(found.objectives) < 0.0) >= 100
    assert never_rises(found.objectives)
    assert reported[-1] == 100
    assert reported == sorted(reported)
    few = solve_greedy(kernel, X, y, 32.0, most=25, tol=0.0)
    blind = [
        solve_greedy(
            kernel, X, y, 32.0, most=25, basis=np.random.default_rng(seed).permutation(2000)[:25]
        ).objective
        for seed in range(3)
    ]
    assert found.objective < few.objective < min(blind)
    f = kernel_matrix(kernel, fresh, X[found.basis]) @ found.beta + found.bias
    always = np.mean(labels < 0)
    assert np.mean(np.sign(f) == labels) > always + 0.5 * (1.0 - always)


def test_chunks_and_threads_share_the_rows_but_not_the_answer(
    problem: Callable[[str], Any],
) -> None:
    X, y = problem("a9a")
    X, y = X[:900], y[:900]
    C = np.where(y > 0, 8.0, 2.0)

    def run(**how: Any) -> Any:
        return solve_greedy(Kernel("rbf", GAMMA), X, y, C, most=30, tol=0.0, **how)

    whole, parts, threads = run(), run(chunk_rows=250), run(chunk_rows=250, threads=3)
    np.testing.assert_array_equal(parts.basis, whole.basis)
    np.testing.assert_allclose(parts.beta, whole.beta, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(parts.beta, threads.beta)
    assert parts.kernel_values == threads.kernel_values == whole.kernel_values


def test_it_stops_where_more_gains_too_little_and_goes_on_from_there(
    problem: Callable[[str], Any],
) -> None:
    X, y = problem("a9a")
    X, y = X[:900], y[:900]
    first = solve_greedy(Kernel("rbf", GAMMA), X, y, 1.0, most=500, tol=1e-2)
    assert 1 < len(first.basis) < 100
    more = solve_greedy(
        Kernel("rbf", GAMMA), X, y, 1.0, most=len(first.basis) + 20, tol=0.0, basis=first.basis
    )
    np.testing.assert_array_equal(more.basis[: len(first.basis)], first.basis)
    assert more.objective < first.objective
    all_but_three = np.arange(3, len(y))
    last = solve_greedy(
        Kernel("rbf", GAMMA), X, y, 1.0, most=len(y), tol=0.0, basis=all_but_three, intercept=True
    )
    assert last.objective < more.objective


@pytest.mark.parametrize("intercept", [False, True])
def test_it_goes_on_at_the_weights_and_with_the_candidates_of_before(
    intercept: bool, problem: Callable[[str], Any]
) -> None:
    X, y = problem("a9a")
    X, y = X[:900], y[:900]

    def run(most: int, **how: Any) -> Any:
        kernel = Kernel("rbf", GAMMA)
        return solve_greedy(kernel, X, y, 4.0, most=most, tol=0.0, intercept=intercept, **how)

    first = run(20)
    weights = np.append([first.bias] * intercept, first.beta)
    again = run(20, basis=first.basis, weights=weights)
    assert again.objectives[0] == pytest.approx(first.objective, rel=1e-9)
    assert again.n_iter <= 1
    np.testing.assert_allclose(again.beta, first.beta, rtol=1e-6, atol=1e-9)
    assert len(first.candidates) == 59
    how = {"basis": first.basis, "weights": weights, "candidates": first.candidates}
    more = run(21, pool=59, **how)
    assert more.basis[20] in first.candidates
    assert more.objective < first.objective


def test_float32_chooses_as_well(problem: Callable[[str], Any]) -> None:
    X, y = problem("a9a")
    X, y, kernel = X[:2000], y[:2000], Kernel("rbf", GAMMA)
    exact = solve_greedy(kernel, X, y, 4.0, most=40, tol=0.0)
    rough = solve_greedy(kernel, X, y, 4.0, most=40, tol=0.0, dtype=np.float32)
    refined = solve_greedy(kernel, X, y, 4.0, most=40, basis=rough.basis)
    assert refined.objective == pytest.approx(exact.objective, rel=1e-2)
    assert rough.objective == pytest.approx(refined.objective, rel=1e-4)


def test_rows_that_add_nothing_are_not_chosen() -> None:
    rng = np.random.default_rng(0)
    distinct = rng.standard_normal((12, 3)).astype(np.float32)
    X, y = np.tile(distinct, (5, 1)), np.tile(np.where(distinct[:, 0] > 0, 1.0, -1.0), 5)
    found = solve_greedy(Kernel("rbf", 1.0), X, y, 10.0, most=60, tol=0.0)
    repeated = solve_greedy(Kernel("rbf", 1.0), distinct, y[:12], 50.0, most=12, tol=0.0)
    assert found.objective == pytest.approx(repeated.objective, rel=1e-7)
    zero = solve_greedy(Kernel("linear"), np.zeros((20, 3), np.float32), y[:20], 1.0, most=5)
    assert len(zero.basis) == 0
    assert zero.objective == pytest.approx(10.0)


@pytest.mark.parametrize("intercept", [False, True])
def test_one_class_is_answered(intercept: bool) -> None:
    X = np.random.default_rng(0).standard_normal((50, 3)).astype(np.float32)
    found = solve_greedy(Kernel("rbf", 0.1), X, -np.ones(50), 10.0, most=20, intercept=intercept)
    f = kernel_matrix(Kernel("rbf", 0.1), X, X[found.basis]) @ found.beta + found.bias
    assert (f < 0.0).all()
    if intercept:
        assert found.objective < 1e-9
        assert found.bias == pytest.approx(-1.0)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 60),
    C=st.sampled_from([0.0, 0.01, 1.0, 1e4]),
    most=st.integers(1, 40),
    intercept=st.booleans(),
    repeats=st.booleans(),
)
def test_every_answer_is_an_expansion_that_is_optimal_on_its_basis(
    seed: int, n: int, C: float, most: int, intercept: bool, repeats: bool
) -> None:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4))
    X = (np.round(X) if repeats else X).astype(np.float32)
    y = np.where(X[:, 0] + rng.standard_normal(n) > 0, 1.0, -1.0)
    weights = C * rng.integers(0, 3, n)
    kernel = Kernel("rbf", 0.2)
    found = solve_greedy(
        kernel, X, y, weights, most=most, intercept=intercept, pool=5, seed=seed, chunk_rows=17
    )
    assert len(set(found.basis)) == len(found.basis) <= min(most, n)
    assert never_rises(found.objectives)
    # Columns are held in float32, which shows where C is huge.
    K = kernel_matrix(kernel, X, tile_dtype=np.float64).astype(np.float64)
    mine = value(K, y, weights, found.basis, found.beta, found.bias)
    assert found.objective == pytest.approx(mine, rel=1e-5, abs=1e-9)
    o = K[:, found.basis] @ found.beta + found.bias
    residual = weights * y * np.maximum(0.0, 1.0 - y * o)
    gradient = K[found.basis] @ (-residual) + K[np.ix_(found.basis, found.basis)] @ found.beta
    slack = 1e-4 * (1.0 + weights.sum())
    assert np.abs(gradient).max(initial=0.0) <= slack
    assert not intercept or abs(residual.sum()) <= slack


def test_what_cannot_be_used_is_refused() -> None:
    X, y = np.eye(4, dtype=np.float32), np.array([1.0, -1.0, 1.0, -1.0])
    with pytest.raises(InputError, match="most is 0"):
        solve_greedy(Kernel("rbf"), X, y, 1.0, most=0)
    with pytest.raises(InputError, match="repeat rows"):
        solve_greedy(Kernel("rbf"), X, y, 1.0, most=2, basis=np.array([1, 1]))
    with pytest.raises(InputError, match="give 1 finite numbers"):
        solve_greedy(Kernel("rbf"), X, y, 1.0, most=2, basis=np.array([1]), weights=np.ones(2))
    with pytest.raises(InputError, match="repeat rows"):
        solve_greedy(
            Kernel("rbf"), X, y, 1.0, most=2, basis=np.array([1]), candidates=np.array([1])
        )
    with pytest.raises(InputError, match="semi-definite"):
        solve_greedy(Kernel("sigmoid"), X, y, 1.0, most=2)
    X[2, 1] = np.nan
    with pytest.raises(InputError, match="finite"):
        solve_greedy(Kernel("rbf"), X, y, 1.0, most=2)
