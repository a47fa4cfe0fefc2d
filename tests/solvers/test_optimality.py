"""Measures of optimality against their definitions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from tests.svc import (
    bias,
    duality_gap,
    multiplier_interval,
    objective,
    violation_box,
    violation_pair,
)


def _point(seed: int, n: int = 12) -> tuple[Any, ...]:
    rng = np.random.default_rng(seed)
    C = rng.uniform(0.5, 2.0, n)
    alpha = np.where(rng.random(n) < 0.5, rng.random(n) * C, rng.integers(0, 2, n) * C)
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    return rng.standard_normal(n), alpha, y, C


@given(st.integers(0, 10_000))
def test_violation_box_is_the_projected_gradient(seed: int) -> None:
    gradient, alpha, _, C = _point(seed)
    projected = np.where(alpha <= 0.0, np.minimum(gradient, 0.0), gradient)
    projected = np.where(alpha >= C, np.maximum(projected, 0.0), projected)
    assert violation_box(gradient, alpha, C) == np.abs(projected).max()


@given(st.integers(0, 10_000))
def test_violation_pair_is_the_largest_over_pairs(seed: int) -> None:
    gradient, alpha, y, C = _point(seed)
    up = ((y > 0) & (alpha < C)) | ((y < 0) & (alpha > 0.0))
    low = ((y < 0) & (alpha < C)) | ((y > 0) & (alpha > 0.0))
    pairs = [
        y[j] * gradient[j] - y[i] * gradient[i]
        for i in np.flatnonzero(up)
        for j in np.flatnonzero(low)
    ]
    assert violation_pair(gradient, alpha, y, C) == max([0.0, *pairs])


@given(st.integers(0, 10_000))
def test_gap_with_an_equality_is_a_linear_program(seed: int) -> None:
    # The gap is the most by which the linear model of the objective can fall.
    gradient, alpha, y, C = _point(seed)
    found = linprog(gradient, A_eq=y[None], b_eq=[y @ alpha], bounds=np.c_[0.0 * C, C])
    gap = duality_gap(gradient, alpha, C, y)
    assert gap == pytest.approx(gradient @ alpha - found.fun, abs=1e-9)
    assert gap <= duality_gap(gradient, alpha, C) + 1e-9


def test_gap_is_primal_minus_dual() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 2))
    y = np.where(X[:, 0] > 0.0, 1.0, -1.0)
    K = np.exp(-((X[:, None] - X) ** 2).sum(axis=2))
    alpha, C = rng.random(20), 1.5
    f = K @ (y * alpha)
    primal = 0.5 * (y * alpha) @ f + C * np.maximum(0.0, 1.0 - y * f).sum()
    gradient = y * f - 1.0
    assert duality_gap(gradient, alpha, C) == pytest.approx(primal + objective(alpha, gradient))


def test_bias_is_the_mean_over_free_rows() -> None:
    y = np.array([1.0, -1.0, 1.0, -1.0])
    alpha, gradient = np.array([0.5, 0.5, 0.0, 1.0]), np.array([0.2, -0.4, 3.0, -3.0])
    assert bias(gradient, alpha, y, 1.0) == pytest.approx((-0.2 - 0.4) / 2.0)


def test_bias_without_free_rows_is_the_middle_of_the_interval() -> None:
    y = np.array([1.0, 1.0, -1.0, -1.0])
    alpha, gradient = np.array([0.0, 1.0, 1.0, 0.0]), np.array([1.0, -2.0, -0.5, 3.0])
    m, M = multiplier_interval(gradient, alpha, y, 1.0)
    assert (m, M) == (-0.5, 2.0)
    assert bias(gradient, alpha, y, 1.0) == 0.75


def test_no_rows() -> None:
    none = np.empty(0)
    assert violation_box(none, none, 1.0) == 0.0
    assert violation_pair(none, none, none, 1.0) == 0.0
    assert bias(none, none, none, 1.0) == 0.0
    assert duality_gap(none, none, 1.0) == duality_gap(none, none, 1.0, none) == 0.0
