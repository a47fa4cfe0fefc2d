"""The joint step's box problem against its optimality conditions and SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from dcsvm_dask.errors import InputError
from dcsvm_dask.solvers import solve_box_qp


@settings(deadline=None)
@given(st.integers(1, 40), st.integers(1, 45), st.integers(0, 10_000), st.integers(-2, 4))
def test_conditions_hold_to_rounding(n: int, rank: int, seed: int, power: int) -> None:
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((rank, n)) * 10.0 ** rng.uniform(-2, power, n)
    M = A.T @ A
    c = -M @ rng.uniform(-0.5, 1.5, n) if seed % 2 else rng.standard_normal(n) * np.diag(M)
    b = solve_box_qp(M, c)
    gradient = M @ b + c
    scale = np.abs(c).max() + np.abs(M).sum(axis=1).max()
    assert ((b >= 0.0) & (b <= 1.0)).all()
    assert np.max(-gradient, where=b < 1.0, initial=0.0) <= 1e-12 * scale
    assert np.max(gradient, where=b > 0.0, initial=0.0) <= 1e-12 * scale


def test_same_value_as_scipy() -> None:
    rng = np.random.default_rng(0)
    A = rng.standard_normal((30, 20))
    M, c = A.T @ A, 20.0 * rng.standard_normal(20)
    found = minimize(
        lambda b: (0.5 * b @ M @ b + c @ b, M @ b + c),
        np.ones(20),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, 1.0)] * 20,
        options={"ftol": 0.0, "gtol": 1e-10},
    )
    b = solve_box_qp(M, c)
    assert 0.5 * b @ M @ b + c @ b <= found.fun + 1e-10
    np.testing.assert_allclose(b, found.x, atol=1e-7)


def test_independent_steps_are_taken_whole_or_scaled() -> None:
    b = solve_box_qp(np.diag([1.0, 2.0, 4.0, 0.0]), np.array([-3.0, -1.0, 1.0, -1.0]))
    np.testing.assert_array_equal(b, [1.0, 0.5, 0.0, 1.0])


def test_a_direction_without_curvature_goes_to_its_bound() -> None:
    M = np.array([[1.0, -1.0], [-1.0, 1.0]])
    np.testing.assert_array_equal(solve_box_qp(M, np.array([0.5, 0.5])), [0.0, 0.0])
    np.testing.assert_array_equal(solve_box_qp(M, np.array([-0.5, -0.5])), [1.0, 1.0])


def test_no_blocks_and_wrong_shapes() -> None:
    assert solve_box_qp(np.empty((0, 0)), np.empty(0)).shape == (0,)
    with pytest.raises(InputError, match="shape"):
        solve_box_qp(np.eye(2), np.zeros(3))
    with pytest.raises(InputError, match="finite"):
        solve_box_qp(np.eye(2), np.array([0.0, np.nan]))
