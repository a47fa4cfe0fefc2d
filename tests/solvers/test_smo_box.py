"""solve_smo without an equality against dense float64 answers."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels.helpers import Ending
from dcsvm_dask.kernels.team import Ended, working_for
from tests.svc import duality_gap, solve_smo, violation_box


def _dense_answer(Q: Any, p: Any, C: Any) -> tuple[Any, float]:
    """Minimise 0.5 a'Qa + p'a over [0, C]: L-BFGS-B, then exactly on the free variables."""
    n = len(p)
    upper = np.broadcast_to(C, (n,))
    a = np.zeros(n)
    for _ in range(100):
        found = minimize(
            lambda a: (0.5 * a @ (Q @ a) + p @ a, Q @ a + p),
            a,
            jac=True,
            method="L-BFGS-B",
            bounds=list(zip(np.zeros(n), upper, strict=True)),
            options={"maxiter": 5000, "maxfun": 10000, "ftol": 0.0, "gtol": 1e-9, "maxcor": 30},
        )
        a = found.x
        free = (a > 1e-9 * upper) & (a < (1.0 - 1e-9) * upper)
        trial = np.where(a >= (1.0 - 1e-9) * upper, upper, 0.0)
        rest = p[free] + Q[np.ix_(free, ~free)] @ trial[~free]
        trial[free] = np.linalg.lstsq(Q[np.ix_(free, free)], -rest, rcond=1e-13)[0]
        if ((trial >= 0.0) & (trial <= upper)).all():
            g = Q @ trial + p
            if violation_box(g, trial, upper) < 1e-8:
                return trial, float(0.5 * trial @ (g + p))
    pytest.fail("the dense answer was not found")


@pytest.mark.parametrize("gamma", [2.0**-6, 1.0, 2.0**6])
@pytest.mark.parametrize("C", [2.0**-6, 1.0, 2.0**6])
def test_same_answer_as_a_dense_solver(
    C: float, gamma: float, make_svc: ModuleType, problem: Callable[[str], Any]
) -> None:
    X, y = problem("heart_scale")
    K = make_svc.rbf(X, X, gamma)
    alpha, objective = _dense_answer(y[:, None] * K * y, -np.ones(len(y)), C)
    found = solve_smo(K, y, C, tol=1e-8)
    assert found.converged
    assert found.objective == pytest.approx(objective, rel=1e-8)
    difference = y * (found.alpha - alpha)
    assert difference @ K @ difference <= 1e-8 * abs(objective)


@pytest.mark.long
@pytest.mark.parametrize("C", [1.0, 64.0])
def test_same_answer_as_a_dense_solver_on_1500_rows(
    C: float, make_svc: ModuleType, problem: Callable[[str], Any]
) -> None:
    X, y = problem("covtype")
    X, y = X[:1500], y[:1500]
    K = make_svc.rbf(X, X, 32.0)
    found = solve_smo(K, y, C, tol=1e-8)
    assert found.objective == pytest.approx(
        _dense_answer(y[:, None] * K * y, -np.ones(len(y)), C)[1], rel=1e-8
    )


def test_linear_term_and_bounds_of_each_row(blobs: Callable[..., Any]) -> None:
    K, y = blobs(80, seed=3)
    rng = np.random.default_rng(1)
    p, C = rng.standard_normal(80), rng.uniform(0.0, 3.0, 80)
    C[::7] = 0.0
    _, objective = _dense_answer(y[:, None] * K * y, p, C)
    found = solve_smo(K, y, C, p=p, tol=1e-9)
    assert found.objective == pytest.approx(objective, rel=1e-8)
    assert (found.alpha[::7] == 0.0).all()


def test_gradient_of_variables_outside_of_the_block(blobs: Callable[..., Any]) -> None:
    K, y = blobs(90, seed=4)
    whole = solve_smo(K, y, 2.0, tol=1e-10)
    mine = np.arange(90) < 60
    start = np.where(mine, 0.0, whole.alpha)
    gradient = y * (K @ (y * start)) - 1.0
    found = solve_smo(K[np.ix_(mine, mine)], y[mine], 2.0, gradient=gradient[mine], tol=1e-10)
    np.testing.assert_allclose(found.alpha, whole.alpha[mine], atol=1e-7)
    np.testing.assert_allclose(found.gradient, whole.gradient[mine], atol=1e-8)


@pytest.mark.long
def test_reported_violation_is_of_the_true_gradient(
    make_svc: ModuleType, problem: Callable[[str], Any]
) -> None:
    X, y = problem("covtype")
    X, y = X[:3000], y[:3000]
    K = make_svc.rbf(X, X, 32.0).astype(np.float32)
    found = solve_smo(K, y, 32.0, tol=1e-4)
    gradient = y * (K.astype(np.float64) @ (y * found.alpha)) - 1.0
    np.testing.assert_allclose(found.gradient, gradient, atol=1e-10)
    assert found.violation == pytest.approx(violation_box(gradient, found.alpha, 32.0), abs=1e-10)
    assert found.violation <= 1e-4
    assert duality_gap(gradient, found.alpha, 32.0) <= 1e-4 * 32.0 * 3000


def test_float32_and_float64_agree(blobs: Callable[..., Any]) -> None:
    K, y = blobs(400, seed=5)
    single = solve_smo(K.astype(np.float32), y, 4.0, tol=1e-6)
    double = solve_smo(K, y, 4.0, tol=1e-6)
    assert single.objective == pytest.approx(double.objective, rel=1e-6)


def test_tolerance_below_the_rounding_ends(blobs: Callable[..., Any]) -> None:
    K, y = blobs(200, seed=6)
    for equality in (False, True):
        found = solve_smo(K, y, 10.0, tol=1e-300, equality=equality)
        assert not found.converged
        assert found.violation < 1e-12


def test_callback_sees_progress_and_can_stop(
    make_svc: ModuleType, problem: Callable[[str], Any]
) -> None:
    X, y = problem("german_numer")
    K = make_svc.rbf(X, X, 2.0**-6)
    calls: list[tuple[int, float]] = []

    def stop_after_two(n_iter: int, violation: float) -> bool:
        calls.append((n_iter, violation))
        return len(calls) == 2

    found = solve_smo(K, y, 1024.0, tol=1e-6, callback=stop_after_two)
    assert len(calls) == 2
    assert calls[0][0] < calls[1][0] == found.n_iter
    assert not found.converged
    gradient = y * (K @ (y * found.alpha)) - 1.0
    np.testing.assert_allclose(found.gradient, gradient, atol=1e-8)


def test_an_interruption_comes_through(blobs: Callable[..., Any]) -> None:
    K, y = blobs(300, seed=7)

    def interrupt(n_iter: int, violation: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        solve_smo(K, y, 10.0, tol=1e-9, callback=interrupt)


def test_it_ends_where_nobody_waits_for_it(blobs: Callable[..., Any]) -> None:
    K, y = blobs(300, seed=7)
    with working_for(Ending(is_given_up=True)), pytest.raises(Ended):
        solve_smo(K, y, 10.0, tol=1e-9)


def test_empty_block() -> None:
    found = solve_smo(np.empty((0, 0)), np.empty(0), 1.0)
    assert found.converged
    assert found.alpha.shape == (0,)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"K": np.zeros((2, 3))}, "square"),
        ({"K": np.zeros((2, 2), np.float16)}, "float32 or float64"),
        ({"y": [1.0, 0.0]}, "label"),
        ({"y": [1.0, -1.0, 1.0]}, "shape"),
        ({"C": -1.0}, "negative"),
        ({"C": np.inf}, "finite"),
        ({"alpha": [0.0, 2.0]}, "outside"),
        ({"gradient": [0.0, np.nan]}, "finite"),
    ],
)
def test_what_does_not_fit_is_refused(arguments: dict[str, Any], message: str) -> None:
    good = {"K": np.eye(2), "y": [1.0, -1.0], "C": 1.0}
    with pytest.raises(InputError, match=message):
        solve_smo(**(good | arguments))


def test_kernel_that_is_not_finite_is_refused() -> None:
    K = np.eye(3)
    K[0, 1] = K[1, 0] = np.nan
    with pytest.raises(InputError, match="not finite"):
        solve_smo(K, [1.0, -1.0, 1.0], 1.0)


@pytest.mark.parametrize("n", [1000, 2204])
@pytest.mark.parametrize("equality", [False, True])
def test_the_last_step_of_a_budget_may_be_the_last_of_all(n: int, equality: bool) -> None:
    # Two rows reach their bounds in a step, and looks at the whole come every so many steps.
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    found = solve_smo(np.eye(n, dtype=np.float32), y, 2.0**-10, equality=equality)
    assert found.converged
    assert (found.alpha == 2.0**-10).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [1e-25, 1e-35, 1e-60, 1e-300])
@pytest.mark.parametrize("equality", [False, True])
def test_a_matrix_of_next_to_nothing_leaves_all_rows_at_their_bounds(
    dtype: Any, size: float, equality: bool
) -> None:
    X = np.random.default_rng(0).standard_normal((40, 5))
    y = np.where(np.arange(40) % 2, 1.0, -1.0)
    found = solve_smo((X @ X.T * size).astype(dtype), y, 3.0, equality=equality)
    assert found.converged
    np.testing.assert_array_equal(found.alpha, 3.0)
