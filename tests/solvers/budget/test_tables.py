"""Tables of merges against SciPy's search, and what interpolation errs by."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from dcsvm_dask.compiled import njit
from dcsvm_dask.errors import InputError
from dcsvm_dask.solvers import MergeTables
from dcsvm_dask.solvers.budget.tables import exact, golden_section, looked_up, lost


@njit()
def merges(m: Any, kappa: Any, tol: float) -> Any:
    """Return h and its cost for many merges; tol 0: by bisection."""
    found = np.empty((2, len(m)))
    for i in range(len(m)):
        exponent = np.log2(kappa[i]) if kappa[i] > 0.0 else -np.inf
        h = golden_section(m[i], exponent, tol) if tol > 0.0 else exact(m[i], exponent)
        found[0, i], found[1, i] = h, lost(m[i], exponent, h)
    return found


@njit()
def interpolated(table: Any, m: Any, kappa: Any) -> Any:
    found = np.empty(len(m))
    for i in range(len(m)):
        found[i] = looked_up(table, m[i], kappa[i])
    return found


def best_merge(m: float, kappa: float, tol: float = 0.0) -> tuple[float, float]:
    h, cost = merges(np.array([m]), np.array([kappa]), tol)
    return float(h[0]), float(cost[0])


def s_of(h: float, m: float, kappa: float) -> float:
    return m * kappa ** ((1 - h) ** 2) + (1 - m) * kappa ** (h**2)


@pytest.mark.parametrize("kappa", [1e-6, 0.01, 0.1, np.exp(-2.0), 0.14, 0.5, 0.99])
@pytest.mark.parametrize("m", [1e-4, 0.1, 0.3, 0.45, 0.4999])
def test_the_best_merge_is_that_of_a_search_by_scipy(m: float, kappa: float) -> None:
    h, cost = best_merge(m, kappa)
    starts = [
        minimize_scalar(
            lambda h: -s_of(h, m, kappa), bounds=ends, method="bounded", options={"xatol": 1e-12}
        )
        for ends in ((0.0, 0.5), (0.5, 1.0))
    ]
    best = min(starts, key=lambda found: found.fun)
    assert best.x == pytest.approx(h, abs=1e-6)
    # On the heavier side, at a stationary point to far more digits than a search of values has.
    assert 0.0 <= h <= 0.5
    slope = (1 - h) * m * kappa ** ((1 - h) ** 2) - h * (1 - m) * kappa ** (h**2)
    assert abs(slope) < 1e-11
    expected = m**2 + (1 - m) ** 2 + 2 * m * (1 - m) * kappa - best.fun**2
    assert cost == pytest.approx(expected, abs=1e-12)


def test_what_is_lost_is_the_distance_in_feature_space() -> None:
    # On the line, with points x_i = 0 and x_j = 1, K(x, z) = kappa^((x - z)^2).
    a_i, a_j, kappa = 0.3, 0.9, 0.2
    m = a_i / (a_i + a_j)
    h, cost = best_merge(m, kappa)
    z = 1.0 - h  # h x_i + (1 - h) x_j
    coef = np.array([a_i, a_j, -(a_i + a_j) * s_of(h, m, kappa)])
    points = np.array([0.0, 1.0, z])
    K = kappa ** ((points[:, None] - points[None, :]) ** 2)
    assert (a_i + a_j) ** 2 * cost == pytest.approx(coef @ K @ coef, abs=1e-12)


@pytest.mark.long
def test_interpolation_errs_by_little_over_a_million_points() -> None:
    rng = np.random.default_rng(0)
    m, kappa = rng.uniform(0.0, 0.5, 1_000_000), rng.uniform(0.0, 1.0, 1_000_000)
    tables = MergeTables.of()
    best = merges(m, kappa, 0.0)
    h, wd = (interpolated(table, m, kappa) for table in (tables.h, tables.wd))
    wrong = np.abs(h - best[0])
    # h has a branch point at m = 1/2, kappa = e^-2, beside which no table is exact.
    beside = (m > 0.48) & (np.abs(kappa - np.exp(-2.0)) < 0.05)
    assert wrong.max() < 0.03
    assert wrong[~beside].max() < 3e-3
    assert np.median(wrong) < 1e-6
    assert np.abs(wd - best[1]).max() < 1e-4
    assert np.median(np.abs(wd - best[1])) < 1e-6


def test_golden_section_ends_within_its_tolerance() -> None:
    for m, kappa in ((0.2, 0.5), (0.49, 0.05), (0.4, 0.9)):
        h, _ = best_merge(m, kappa)
        for tol in (1e-2, 1e-6):
            assert best_merge(m, kappa, tol)[0] == pytest.approx(h, abs=tol)


def test_points_that_do_not_see_each_other_and_equal_ones() -> None:
    h, cost = best_merge(0.3, 0.0)
    assert h == pytest.approx(0.0, abs=1e-11)
    assert cost == pytest.approx(0.09)
    h, cost = best_merge(0.3, 1.0)
    assert h == pytest.approx(0.3)
    assert cost == pytest.approx(0.0, abs=1e-12)


def test_tables_need_two_points() -> None:
    with pytest.raises(InputError, match=r"table_size is 1: give at least 2"):
        MergeTables.make(1)
