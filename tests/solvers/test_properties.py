"""Properties that hold for every problem."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.svc import duality_gap, objective, solve_smo, violation_box, violation_pair

SETTINGS = settings(max_examples=40, deadline=None)
equalities = st.booleans()


@st.composite
def problems(draw: st.DrawFn) -> dict[str, Any]:
    """Return K, y, C of a small problem; few distinct rows now and then, so K may be singular."""
    n = draw(st.integers(2, 40))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = rng.standard_normal((n, 3))
    if draw(st.booleans()):
        X = np.round(X)
    y = np.where(rng.random(n) < draw(st.floats(0.2, 0.8)), 1.0, -1.0)
    gamma, scale = 2.0 ** draw(st.integers(-6, 6)), 2.0 ** draw(st.integers(-6, 8))
    C = np.full(n, scale) if draw(st.booleans()) else scale * rng.random(n)
    squares = ((X[:, None] - X) ** 2).sum(axis=2)
    K = np.exp(-gamma * squares)
    return {"K": K.astype(np.float32) if draw(st.booleans()) else K, "y": y, "C": C}


def _gradient(problem: dict[str, Any], alpha: Any) -> Any:
    y = problem["y"]
    return y * (problem["K"].astype(np.float64) @ (y * alpha)) - 1.0


@SETTINGS
@given(problems(), equalities, st.sampled_from([1e-1, 1e-3, 1e-6]))
def test_answer_is_feasible_and_meets_the_tolerance(
    problem: dict[str, Any], equality: bool, tol: float
) -> None:
    y, C = problem["y"], problem["C"]
    found = solve_smo(**problem, equality=equality, tol=tol)
    alpha, gradient = found.alpha, _gradient(problem, found.alpha)
    assert found.converged
    assert (alpha >= 0.0).all()
    assert (alpha <= C).all()
    np.testing.assert_allclose(found.gradient, gradient, atol=1e-9 * max(1.0, C.max()))
    if equality:
        assert abs(y @ alpha) <= 1e-10 * max(1.0, C.max())
        assert violation_pair(found.gradient, alpha, y, C) == found.violation <= tol
    else:
        assert violation_box(found.gradient, alpha, C) == found.violation <= tol
    gap = duality_gap(gradient, alpha, C, y if equality else None)
    assert -1e-9 * C.sum() <= gap <= 1.001 * tol * C.sum() + 1e-9 * C.sum()
    assert found.objective == pytest.approx(objective(alpha, gradient), rel=1e-9, abs=1e-9)


@SETTINGS
@given(problems(), equalities)
def test_objective_falls_with_the_steps(problem: dict[str, Any], equality: bool) -> None:
    values = [
        solve_smo(**problem, equality=equality, tol=1e-6, max_iter=steps).objective
        for steps in (0, 1, 2, 3, 5, 8, 20, 100)
    ]
    scale = 1e-6 * (1.0 + abs(values[-1]))
    assert values[0] == 0.0
    assert all(after <= before + scale for before, after in itertools.pairwise(values))


@SETTINGS
@given(problems(), equalities)
def test_start_from_the_answer_takes_no_step(problem: dict[str, Any], equality: bool) -> None:
    first = solve_smo(**problem, equality=equality, tol=1e-4)
    for gradient in (None, first.gradient):
        again = solve_smo(
            **problem, equality=equality, tol=1e-4, alpha=first.alpha, gradient=gradient
        )
        assert again.n_iter == 0
        np.testing.assert_array_equal(again.alpha, first.alpha)
        assert again.objective == pytest.approx(first.objective, rel=1e-12, abs=1e-12)
        assert again.bias == pytest.approx(first.bias, rel=1e-9, abs=1e-9)


@SETTINGS
@given(problems(), st.integers(0, 1000), st.floats(0.0, 1.0))
def test_equality_keeps_the_value_of_the_start(
    problem: dict[str, Any], seed: int, share: float
) -> None:
    start = share * problem["C"] * np.random.default_rng(seed).random(len(problem["y"]))
    found = solve_smo(**problem, equality=True, alpha=start, tol=1e-6)
    kept = problem["y"] @ start
    assert problem["y"] @ found.alpha == pytest.approx(kept, abs=1e-9 * (1.0 + problem["C"].sum()))


@SETTINGS
@given(problems(), equalities, st.integers(0, 1000))
def test_order_of_rows_does_not_matter(problem: dict[str, Any], equality: bool, seed: int) -> None:
    order = np.random.default_rng(seed).permutation(len(problem["y"]))
    mixed = {
        "K": problem["K"][np.ix_(order, order)],
        "y": problem["y"][order],
        "C": problem["C"][order],
    }
    first = solve_smo(**problem, equality=equality, tol=1e-7)
    second = solve_smo(**mixed, equality=equality, tol=1e-7)
    assert first.objective == pytest.approx(second.objective, rel=1e-6, abs=1e-6)


@SETTINGS
@given(problems(), equalities)
def test_equal_rows_are_one_variable_with_the_sum_of_their_bounds(
    problem: dict[str, Any], equality: bool
) -> None:
    K, y, C = problem["K"], problem["y"], problem["C"]
    rows = np.r_[np.arange(len(y)), 0, 1, 0]
    doubled = solve_smo(K[np.ix_(rows, rows)], y[rows], C[rows], equality=equality, tol=1e-7)
    bound = C.copy()
    np.add.at(bound, [0, 1, 0], C[[0, 1, 0]])
    merged = solve_smo(K, y, bound, equality=equality, tol=1e-7)
    assert doubled.objective == pytest.approx(merged.objective, rel=1e-6, abs=1e-6)


@SETTINGS
@given(problems(), equalities)
def test_a_variable_without_room_stays_out(problem: dict[str, Any], equality: bool) -> None:
    K, y, C = problem["K"], problem["y"], problem["C"].copy()
    C[0] = 0.0
    found = solve_smo(K, y, C, equality=equality, tol=1e-7)
    without = solve_smo(K[1:, 1:], y[1:], C[1:], equality=equality, tol=1e-7)
    assert found.alpha[0] == 0.0
    assert found.objective == pytest.approx(without.objective, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("label", [1.0, -1.0])
def test_one_class(label: float) -> None:
    squares = np.subtract.outer(np.arange(6.0), np.arange(6.0)) ** 2
    K, y = np.exp(-squares), np.full(6, label)
    box = solve_smo(K, y, 0.5, tol=1e-8)
    assert box.converged
    assert box.alpha.max() == 0.5
    pair = solve_smo(K, y, 0.5, equality=True)
    assert pair.converged
    assert (pair.alpha == 0.0).all()
    assert pair.bias == label


def test_a_constant_feature_changes_nothing() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 4))
    y = np.where(X[:, 0] > 0.0, 1.0, -1.0)
    wide = np.c_[X, np.full(50, 7.0)]
    found = [
        solve_smo(np.exp(-((Z[:, None] - Z) ** 2).sum(axis=2)), y, 3.0, tol=1e-8) for Z in (X, wide)
    ]
    np.testing.assert_array_equal(found[0].alpha, found[1].alpha)


def test_rows_of_zeros_under_a_linear_kernel() -> None:
    X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 0.0], [-1.0, 0.5]])
    y = np.array([1.0, 1.0, -1.0, -1.0])
    found = solve_smo(X @ X.T, y, 2.0, tol=1e-9)
    assert found.converged
    np.testing.assert_array_equal(found.alpha[[0, 2]], 2.0)


@pytest.mark.parametrize("equality", [False, True])
def test_a_kernel_that_is_not_positive_semi_definite_still_ends(equality: bool) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 4))
    y = np.where(X[:, 0] > 0.0, 1.0, -1.0)
    K = np.tanh(0.5 * X @ X.T - 1.0)
    assert np.linalg.eigvalsh(K)[0] < -0.1
    start = solve_smo(K, y, 10.0, equality=equality, max_iter=0)
    found = solve_smo(K, y, 10.0, equality=equality)
    assert found.converged
    assert found.objective < start.objective
