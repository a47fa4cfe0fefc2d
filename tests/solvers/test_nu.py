"""Problems with given sums: feasibility, dense references, and large ones against small ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels import Kernel, kernel_matrix
from dcsvm_dask.solvers import nu as nu_solvers
from dcsvm_dask.solvers import solve_decomposition, solve_inner, solve_smo
from dcsvm_dask.solvers.inner.signs import by_signs
from dcsvm_dask.solvers.nu import solve_nu
from dcsvm_dask.solvers.optimality import multipliers, violation
from dcsvm_dask.solvers.sums import brought_to_size, brought_to_sums
from dcsvm_dask.tasks import Dual, NuClassification, NuRegression, OneClass
from tests.marks import long
from tests.rounding import at_most


def grouped(rng: np.random.Generator, n: int) -> tuple[np.ndarray, Dual]:
    """Return a kernel matrix and a problem of two groups with bounds of their own."""
    X = rng.standard_normal((n, 2))
    K = np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(axis=2))
    group = np.sort(rng.integers(0, 2, n)).astype(np.int8)
    upper, lower = rng.uniform(0.0, 2.0, n), -rng.uniform(0.0, 1.0, n)
    return K, Dual(rng.standard_normal(n), lower, upper, group=group)


@given(seed=st.integers(0, 2**16), n=st.integers(2, 40))
@settings(max_examples=40, deadline=None)
def test_both_sums_are_kept_and_the_violation_is_that_of_each_group(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    K, dual = grouped(rng, n)
    start = dual.clip(rng.uniform(-0.5, 0.5, n))
    found = solve_smo(K, dual, beta=start, equality=True, tol=1e-8)
    assert found.converged
    assert (dual.lower <= found.beta).all()
    assert (found.beta <= dual.upper).all()
    for mine in dual.groups:
        assert found.beta[mine].sum() == pytest.approx(start[mine].sum(), abs=1e-9)
    F = K @ found.beta + dual.p
    assert violation(F, found.beta, dual, equality=True) <= 1e-7
    # Optimal for each group with its own multiplier: no feasible direction falls.
    for mine, bias in zip(dual.groups, multipliers(F, found.beta, dual), strict=True):
        slope, beta = F[mine] + bias, found.beta[mine]
        assert np.where(beta < dual.upper[mine], slope >= -2e-7, slope <= 2e-7).all()


@given(seed=st.integers(0, 2**16))
@settings(max_examples=15, deadline=None)
def test_the_objective_never_rises(seed: int) -> None:
    rng = np.random.default_rng(seed)
    K, dual = grouped(rng, 30)
    beta = dual.clip(rng.uniform(-0.5, 0.5, 30))
    before = np.inf
    for _ in range(20):
        beta = solve_smo(K, dual, beta=beta, equality=True, tol=1e-9, max_iter=1).beta
        now = 0.5 * beta @ K @ beta + dual.p @ beta
        assert at_most(now, before + 1e-12)
        before = now


def test_variables_move_to_their_sums_where_it_costs_least() -> None:
    dual = Dual(
        np.zeros(6),
        np.array([-1.0, -1.0, -1.0, 0.0, 0.0, 0.0]),
        np.array([0.0, 0.0, 0.0, 1.0, 1.0, 1.0]),
        group=np.array([0, 0, 0, 1, 1, 1], np.int8),
    )
    gradient = np.array([0.3, -0.2, 0.1, 0.5, -0.5, 0.0])
    found = brought_to_sums(np.zeros(6), dual, [-1.5, 1.25], gradient)
    np.testing.assert_allclose(found, [-1.0, 0.0, -0.5, 0.0, 1.0, 0.25])
    back = brought_to_sums(found, dual, [-0.5, 1.0], gradient)
    assert back[:3].sum() == pytest.approx(-0.5)
    assert back[3:].sum() == pytest.approx(1.0)
    with pytest.raises(InputError, match="nu is too large"):
        brought_to_sums(np.zeros(6), dual, [-3.5, 1.0], gradient)


@pytest.fixture(scope="module")
def kin40k(shared_data: Callable[[str], Any]) -> Any:
    """2,500 standardised rows of kin40k, and their targets."""
    file = shared_data("kin40k")
    some = np.random.default_rng(0).permutation(len(file["X_train"]))[:2500]
    X, z = file["X_train"][some].astype(np.float64), file["y_train"][some].astype(np.float64)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return X.astype(np.float32), (z - z.mean()) / z.std()


@pytest.mark.one_quick
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("kind", ["one_class", "svc", "svr"])
@pytest.mark.parametrize("divided", [False, True])
def test_the_way_of_many_rows_leads_to_the_solution_of_few(
    kin40k: Any,
    kind: str,
    divided: bool,
    storage: Callable[[Any], Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X, z = kin40k
    blocks = np.arange(len(z)) // 500 if divided else None
    objectives = iter([(1.0, 0), (0.0, 0)])  # the start of the blocks is taken
    monkeypatch.setattr(nu_solvers, "estimated_objective", lambda *_, **__: next(objectives))
    # The one-class SVM of few outliers has a way of its own.
    monkeypatch.setattr(nu_solvers, "solve_few_outliers", lambda *_, **__: (None, 0))
    kernel, weights = Kernel("rbf", 0.1), np.random.default_rng(1).uniform(0.5, 2.0, len(z))
    task, targets = {
        "one_class": (OneClass(nu=0.2), np.zeros(len(z))),
        "svr": (NuRegression(nu=0.3), z),
        "svc": (NuClassification(nu=0.2), np.where(z > 0.5, 1.0, -1.0)),
    }[kind]
    C = 5.0 * weights if kind == "svr" else weights

    def solve() -> Any:
        return solve_nu(kernel, storage(X), targets, C, task, blocks=blocks, tol=1e-5)

    many = solve()
    monkeypatch.setattr(nu_solvers, "SMALL", 1 << 20)
    few = solve()
    assert many.solution.converged
    assert few.solution.converged
    # The tolerance is that before the division by rho.
    before = [one.multiplier**2 if kind == "svc" else 1.0 for one in (many, few)]
    value = few.solution.objective * before[1]
    assert many.solution.objective * before[0] == pytest.approx(value, rel=1e-6)
    assert many.multiplier == pytest.approx(few.multiplier, rel=1e-3)
    assert many.solution.bias == pytest.approx(few.solution.bias, rel=1e-3, abs=1e-3)
    assert (next(objectives, None) is None) == divided


def test_a_size_is_met_where_rows_change_their_sign() -> None:
    n, start = 8, np.array([1.0, 1.0, 1.0, 0.0, 0.0, -1.0, -1.0, -1.0])
    dual = NuRegression(nu=0.5).dual(np.zeros(n), np.ones(n))
    # The rows that are to rise are negative, those that are to fall are positive.
    found = brought_to_size(0.5 * start, dual, 6.0, start)
    assert found.sum() == pytest.approx(0.0, abs=1e-12)
    assert np.abs(found).sum() == pytest.approx(6.0, rel=1e-12)
    assert (np.abs(found) <= 1.0).all()


def test_a_single_row_has_nothing_to_balance_it() -> None:
    dual = NuRegression(nu=0.5).dual(np.zeros(1), np.ones(1))
    assert brought_to_size(np.zeros(1), dual, 0.5, dual.p).tolist() == [0.0]


def test_decomposition_keeps_both_sums(kin40k: Any) -> None:
    X, z = kin40k
    kernel, n = Kernel("rbf", 0.1), len(z)
    K = kernel_matrix(kernel, X, dtype=np.float64)
    dual = Dual(-z, np.full(n, -1.0), np.full(n, 1.0), group=(np.arange(n) >= 900).astype(np.int8))
    start = brought_to_sums(np.zeros(n), dual, [100.0, -50.0], dual.p)
    exact = solve_smo(K, dual, beta=start, equality=True, tol=1e-7)
    found, _ = solve_decomposition(
        kernel, X, dual, beta=start, equality=True, tol=1e-5, working_size=300
    )
    assert found.converged
    assert found.objective == pytest.approx(exact.objective, rel=1e-7)
    assert found.beta[:900].sum() == pytest.approx(100.0, abs=1e-8)
    assert found.beta[900:].sum() == pytest.approx(-50.0, abs=1e-8)


@pytest.mark.parametrize("nu", [0.3, long(0.95)])
def test_decomposition_keeps_the_sums_of_both_signs(kin40k: Any, nu: float) -> None:
    X, z = kin40k[0][:1200], kin40k[1][:1200]
    kernel, C = Kernel("rbf", 0.1), np.full(1200, 0.2 if nu > 0.5 else 1.0)
    task = NuRegression(nu=nu)
    dual, size = task.dual(z, C), task.size(C)
    K = kernel_matrix(kernel, X, dtype=np.float64)
    start = brought_to_size(np.zeros(len(z)), dual, size, dual.p)
    exact = solve_inner(K, dual, beta=start, equality=True, tol=1e-7)
    found, _ = solve_decomposition(
        kernel, X, dual, beta=start, equality=True, tol=1e-5, working_size=200
    )
    assert found.converged
    assert found.objective == pytest.approx(exact.objective, rel=1e-7)
    assert found.beta.sum() == pytest.approx(0.0, abs=1e-8)
    assert at_most(np.abs(found.beta).sum(), size)


@given(seed=st.integers(0, 2**16), share=st.floats(0.01, 2.0), filled=st.booleans())
@settings(max_examples=40, deadline=None)
def test_a_size_may_bind_or_not(seed: int, share: float, filled: bool) -> None:
    rng = np.random.default_rng(seed)
    n = 30
    X, p = rng.standard_normal((n, 2)), rng.standard_normal(n)
    K = np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(axis=2)) + 0.1 * np.eye(n)
    box = Dual(p, np.full(n, -2.0), np.full(n, 2.0))
    size = share * float(np.abs(solve_smo(K, box, equality=True, tol=1e-8).beta).sum())
    size = min(size, 2.0 * n)
    index, of_signs = by_signs(box)
    halves = brought_to_sums(np.zeros(2 * n), of_signs, [-0.5 * size, 0.5 * size], p[index])
    expected = solve_smo(K[np.ix_(index, index)], of_signs, beta=halves, equality=True, tol=1e-8)
    start = brought_to_size(np.zeros(n), box, size, p) if filled else np.zeros(n)
    found = solve_inner(K, box.with_size(start, size), beta=start, equality=True, tol=1e-8)
    assert found.converged
    assert found.objective == pytest.approx(expected.objective, rel=1e-6, abs=1e-7)
    assert at_most(float(np.abs(found.beta).sum()), size * (1.0 + 1e-8))
    assert (np.abs(found.beta) <= 2.0).all()
    assert found.beta.sum() == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("divided", [False, True])
def test_a_size_that_does_not_bind_leaves_a_tube_without_width(
    monkeypatch: pytest.MonkeyPatch, divided: bool
) -> None:
    rng = np.random.default_rng(3)
    X = rng.standard_normal((500, 10)).astype(np.float32)
    y = X[:, 0] + np.sin(X[:, 1].astype(np.float64))
    kernel, C = Kernel("rbf", 0.5), np.full(500, 100.0)
    box = Dual(-y, -C, C)
    K = kernel_matrix(kernel, X, dtype=np.float64)
    expected = solve_smo(K, box, equality=True, tol=1e-6)
    monkeypatch.setattr(nu_solvers, "SMALL", 100)
    blocks = np.arange(500) // 125 if divided else None
    found = solve_nu(kernel, X, y, C, NuRegression(nu=0.1), blocks=blocks, tol=1e-4)
    assert found.solution.converged
    assert found.multiplier == 0.0
    assert np.abs(found.solution.beta).sum() < 0.1 * C.sum()
    assert found.solution.objective == pytest.approx(expected.objective, rel=1e-6)


def test_sums_that_are_met_but_for_rounding_are_kept() -> None:
    # What is missing is more than the first variables have room for, and less than the last digit
    # of the sum of all room.
    near = np.nextafter(1.0, 0.0)
    beta = np.concatenate([np.full(3, near), np.zeros(5), np.ones(4)])
    dual = Dual(np.zeros(12), np.zeros(12), np.ones(12))
    for missing in (4e-16, 8.881784197001252e-16, 1.8e-15):
        wanted = float(beta.sum()) + missing
        found = brought_to_sums(beta, dual, [wanted], np.arange(12.0))
        np.testing.assert_allclose(found, beta, rtol=0, atol=1e-12)


def test_only_the_violation_of_all_rows_is_told(
    shared_data: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """That of a subset falls to a tolerance of its own first, and would be taken for the end."""
    found = shared_data("magic")
    X = (found["X_train"][:5000] / found["X_train"].std(axis=0)).astype(np.float32)
    y = np.where(found["y_train"][:5000] == found["y_train"].max(), 1.0, -1.0)
    told, subsets = list[int](), list[int]()
    solve = nu_solvers._Large._solve_subset

    def counted(self: Any, rows: Any, start: Any, size: Any) -> Any:
        solved = solve(self, rows, start, size)
        subsets.append(self.steps)
        return solved

    monkeypatch.setattr(nu_solvers._Large, "_solve_subset", counted)
    solve_nu(
        Kernel("rbf", 0.1),
        X,
        y,
        np.ones(len(y)),
        NuClassification(nu=0.3),
        working_size=400,  # a subset takes several sets, each of which tells
        callback=lambda steps, _: told.append(steps),
    )
    assert 0 < subsets[-1] <= told[0]
