"""solve_working_sets against scikit-learn's SVC and against solve_smo on the whole matrix."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.svm import SVC

from dcsvm_dask import solvers
from dcsvm_dask.kernels import Kernel
from dcsvm_dask.solvers import first_set, working_sets
from tests.svc import (
    bias,
    objective,
    reach,
    select_set,
    solve_smo,
    solve_working_sets,
    violation_box,
    violation_pair,
)

GAMMA = 2.0**-5


def solve(X: Any, y: Any, C: float, *, first: Any = None, **how: Any) -> Any:
    n = len(y)
    return solve_working_sets(
        Kernel("rbf", gamma=GAMMA),
        X,
        y,
        np.full(n, C),
        alpha=np.zeros(n),
        f=np.zeros(n),
        first=np.arange(0, n, 5) if first is None else first,
        **how,
    )


@pytest.mark.parametrize("sparse", [False, True])
def test_without_a_bias_the_answer_is_that_of_the_whole_matrix(
    sparse: bool, make_svc: ModuleType, problem: Callable[[str], Any]
) -> None:
    X, y = problem("a9a")
    X, y = X[:2000], y[:2000]
    K = make_svc.rbf(X, X, GAMMA)
    whole = solve_smo(K, y, 4.0, tol=1e-6)
    found = solve(csr_array(X) if sparse else X, y, 4.0, tol=1e-4, cap=1200)
    f = K @ (y * found.alpha)
    np.testing.assert_allclose(found.f, f, atol=2e-4)
    assert violation_box(y * f - 1.0, found.alpha, 4.0) <= 3e-4
    assert objective(found.alpha, y * f - 1.0) == pytest.approx(whole.objective, rel=1e-7)
    assert found.sets > 1


def test_with_a_bias_the_answer_is_scikit_learns(problem: Callable[[str], Any]) -> None:
    X, y = problem("a9a")
    X, y = X[:2000], y[:2000]
    theirs = SVC(C=4.0, gamma=GAMMA, tol=1e-6).fit(X, y)
    found = solve(X, y, 4.0, tol=1e-4, equality=True, cap=1200)
    gradient = y * found.f - 1.0
    assert abs(y @ found.alpha) < 1e-9
    assert violation_pair(gradient, found.alpha, y, 4.0) <= 1e-4
    decisions = found.f + bias(gradient, found.alpha, y, 4.0)
    np.testing.assert_allclose(decisions, theirs.decision_function(X), atol=2e-3)


@pytest.mark.parametrize("equality", [False, True])
def test_shrinking_saves_work_and_leaves_no_violation(
    equality: bool, make_svc: ModuleType, problem: Callable[[str], Any]
) -> None:
    X, y = problem("ijcnn1")
    X, y = X[:3000], y[:3000]
    K = make_svc.rbf(X, X, GAMMA)
    how: dict[str, Any] = {"tol": 1e-4, "cap": 1200, "equality": equality}
    whole, found = solve(X, y, 32.0, **how), solve(X, y, 32.0, **how, shrinking=True)
    assert found.kernel_values < 0.95 * whole.kernel_values
    gradient = y * (K @ (y * found.alpha)) - 1.0
    if equality:
        assert violation_pair(gradient, found.alpha, y, 32.0) <= 4e-4
    else:
        assert violation_box(gradient, found.alpha, 32.0) <= 4e-4
    assert found.f[found.alpha > 0] == pytest.approx(
        (K @ (y * found.alpha))[found.alpha > 0], abs=4e-4
    )


def test_threads_change_nothing(problem: Callable[[str], Any]) -> None:
    X, y = problem("a9a")
    X, y = X[:1500], y[:1500]
    one, three = (solve(X, y, 4.0, tol=1e-3, threads=threads) for threads in (1, 3))
    np.testing.assert_array_equal(one.alpha, three.alpha)
    np.testing.assert_array_equal(one.f, three.f)
    assert one.kernel_values == three.kernel_values


def test_the_matrices_of_all_sets_lie_in_the_memory_of_one(
    problem: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Of a matrix for each set, the memory of those before may be lost to what lies above them.
    X, y = problem("a9a")
    seen: list[tuple[int, int]] = []

    def solved(K: Any, *arguments: Any, **how: Any) -> Any:
        seen.append((K.shape[0], K.ctypes.data))
        return solvers.solve_inner(K, *arguments, **how)

    monkeypatch.setattr(working_sets, "solve_inner", solved)
    found = solve(X[:1500], y[:1500], 4.0, cap=400, tol=1e-3)
    assert found.sets == len(seen) > 2
    assert len({size for size, _ in seen}) > 1
    assert len({address for _, address in seen}) == 1


def test_a_start_at_the_answer_is_left_as_it_is(problem: Callable[[str], Any]) -> None:
    X, y = problem("german_numer")
    found = solve(X, y, 4.0, tol=1e-4)
    again = solve_working_sets(
        Kernel("rbf", gamma=GAMMA),
        X,
        y,
        np.full(len(y), 4.0),
        alpha=found.alpha,
        f=found.f,
        first=np.arange(5),
        tol=1e-3,
    )
    assert again.sets == again.kernel_values == 0
    np.testing.assert_array_equal(again.alpha, found.alpha)


@pytest.mark.parametrize("equality", [False, True])
def test_sets_far_smaller_than_the_answer_get_there_too(
    equality: bool, make_svc: ModuleType, problem: Callable[[str], Any]
) -> None:
    X, y = problem("heart_scale")
    whole = solve_smo(make_svc.rbf(X, X, GAMMA), y, 4.0, equality=equality, tol=1e-6)
    start = np.arange(len(y))[:40]
    found = solve(X, y, 4.0, first=start, tol=1e-3, equality=equality, cap=40)
    mine = objective(found.alpha, y * found.f - 1.0)
    assert mine == pytest.approx(whole.objective, rel=1e-5)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    C=st.sampled_from([0.1, 1.0, 50.0]),
    equality=st.booleans(),
    cap=st.sampled_from([75, 100, 200]),
)
def test_every_answer_is_feasible_and_optimal(
    seed: int, C: float, equality: bool, cap: int
) -> None:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((150, 4)).astype(np.float32)
    y = np.where(X[:, 0] + rng.standard_normal(150) > 0, 1.0, -1.0)
    found = solve(X, y, C, first=np.arange(30), tol=1e-3, equality=equality, cap=cap)
    assert (found.alpha >= 0).all()
    assert (found.alpha <= C).all()
    gradient = y * found.f - 1.0
    if equality:
        assert abs(y @ found.alpha) < 1e-9 * C * 150
        assert violation_pair(gradient, found.alpha, y, C) <= 1e-3
    else:
        assert violation_box(gradient, found.alpha, C) <= 1e-3


@given(
    st.lists(st.tuples(st.sampled_from([0.0, 0.3, 1.0]), st.floats(-2, 2)), min_size=1),
    st.integers(1, 60),
)
def test_a_set_holds_what_must_move_or_the_worst_of_it(
    rows: list[tuple[float, float]], cap: int
) -> None:
    alpha, gradient = (np.array(column) for column in zip(*rows, strict=True))
    C = np.ones(len(alpha))
    far = reach(gradient, alpha, C)
    chosen = select_set(alpha, C, gradient, 1e-3, cap)
    assert (np.diff(chosen) > 0).all()
    assert len(chosen) <= cap
    needed = np.flatnonzero(((alpha > 0) & (alpha < 1)) | (far > 1e-3))
    if len(needed) <= cap:
        assert set(needed) <= set(chosen)
    elif far.max() > 1e-3:
        assert far[chosen].max() == far.max()


def test_the_first_set_is_what_is_expected_to_violate() -> None:
    expected = np.array([2.0, -0.05, -3.0, 0.5, -0.2])
    assert list(first_set(expected, 10)) == [0, 1, 3]
    assert list(first_set(expected, 2)) == [0, 3]


@pytest.mark.parametrize("has_room", [True, False])
def test_where_float32_sees_no_further_sums_are_in_float64(has_room: bool, digits: Any) -> None:
    """Of large variables and kernel values, of which float32 leaves f off by hundredths."""
    X, label = digits
    X = np.ascontiguousarray(X[:, :8], np.float32)
    y, n, gamma = np.where(label % 2, 1.0, -1.0), len(X), 1.0 / (8 * X.var())
    kernel, C = Kernel("poly", gamma=gamma, degree=3, coef0=0.0), np.full(n, 1000.0)
    how: dict[str, Any] = {"alpha": np.zeros(n), "f": np.zeros(n), "equality": True, "tol": 1e-4}
    first, cap = (np.arange(n), n) if has_room else (np.arange(0, n, 5), 400)
    counts: list[int] = []
    how["solved"] = lambda sets, _: counts.append(sets)
    found = solve_working_sets(kernel, X, y, C, first=first, cap=cap, inexact=True, **how)
    assert counts == list(range(1, found.sets + 1))
    f = (gamma * (X.astype(np.float64) @ X.T.astype(np.float64))) ** 3 @ (y * found.alpha)
    np.testing.assert_allclose(found.f, f, atol=1e-6)
    violation = violation_pair(y * f - 1.0, found.alpha, y, C)
    assert violation <= (1e-4 if has_room else 0.1)
    assert found.n_iter < 5_000_000
