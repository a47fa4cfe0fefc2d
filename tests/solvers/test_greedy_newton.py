"""Newton's method by sums over rows, against the primal problem solved by SciPy."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels import Kernel, kernel_matrix
from dcsvm_dask.solvers import Newton, RowSums
from tests.rounding import at_most

N, CUTS = 400, (0, 130, 131, 400)


class Problem:
    """Rows, kernel values with a basis of 30 of them, and the state of their sums."""

    def __init__(self, intercept: bool) -> None:
        rng = np.random.default_rng(0)
        X = rng.standard_normal((N, 4)).astype(np.float32)
        self.y = np.where(X[:, 0] * X[:, 1] + 0.3 * rng.standard_normal(N) > 0, 1.0, -1.0)
        self.C = 10.0 * rng.integers(0, 3, N)
        ones = np.ones((N, int(intercept)), np.float32)
        kernel = Kernel("rbf", 0.5)
        columns = kernel_matrix(kernel, X, X[:30], tile_dtype=np.float64)
        self.columns = np.concatenate([ones, columns], axis=1)
        self.gram = np.zeros((30 + intercept, 30 + intercept))
        self.gram[intercept:, intercept:] = kernel_matrix(kernel, X[:30], dtype=np.float64)
        self.active = np.zeros(N, np.bool_)

    def value(self, weights: Any) -> tuple[float, Any]:
        m = len(weights)
        K, G = self.columns[:, :m].astype(np.float64), self.gram[:m, :m]
        left = np.maximum(0.0, 1.0 - self.y * (K @ weights))
        gradient = G @ weights - K.T @ (self.C * self.y * left)
        return float(0.5 * weights @ G @ weights + 0.5 * self.C @ left**2), gradient

    def best(self, m: int) -> float:
        how = {"ftol": 1e-15, "gtol": 1e-9, "maxiter": 100_000, "maxfun": 100_000}
        return float(
            minimize(self.value, np.zeros(m), jac=True, method="L-BFGS-B", options=how).fun
        )

    def advance(self, at: Newton) -> Newton:
        """Take a step, by the sums of three shares of the rows."""
        m, shares = len(at.weights), []
        for start, stop in pairwise(CUTS):
            sums = RowSums(at.weights, at.step, len(at.hessian))
            rows = slice(start, stop)
            self.active[rows] = sums.add(
                self.columns[rows, :m], self.y[rows], self.C[rows], self.active[rows]
            )
            shares.append(sums.total)
        return at.advance(self.gram[:m, :m], np.sum(shares, axis=0))

    def start(self, m: int) -> Newton:
        zero = np.zeros(m)
        return Newton(zero, zero, 0.5 * float(self.C.sum()), np.zeros((0, 0)))

    def end(self, at: Newton) -> Newton:
        for _ in range(30):
            before, at = at, self.advance(at)
            assert at_most(at.objective, before.objective)
            if at.decrement <= 1e-13 * at.objective:
                return at
        raise AssertionError("it did not end")


@pytest.mark.parametrize("intercept", [False, True])
def test_it_ends_at_the_minimum_and_goes_on_from_there_with_more_columns(intercept: bool) -> None:
    problem = Problem(intercept)
    few = problem.end(problem.start(12 + intercept))
    assert few.objective == pytest.approx(problem.best(12 + intercept), rel=1e-8)
    assert few.objective == pytest.approx(problem.value(few.weights)[0], rel=1e-12)
    more = np.zeros(18)
    weights = np.append(few.weights, more)
    all_of_them = problem.end(
        Newton(weights, np.append(0.0 * few.weights, more), few.objective, few.hessian)
    )
    assert all_of_them.objective == pytest.approx(problem.best(30 + intercept), rel=1e-8)
    # The Hessian was only ever changed, never summed anew.
    K, rows = problem.columns.astype(np.float64), problem.active
    whole = (K[rows] * problem.C[rows, None]).T @ K[rows]
    np.testing.assert_allclose(all_of_them.hessian, whole, rtol=1e-10, atol=1e-8)


def test_a_step_that_leads_too_far_is_cut_and_a_wrong_one_is_dropped() -> None:
    problem = Problem(False)
    start = problem.start(30)
    best = problem.end(start)
    far = Newton(start.weights, 8.0 * best.weights, start.objective, start.hessian)
    cut = problem.advance(far)
    assert not cut.taken
    assert 0.0 < cut.step @ best.weights < far.step @ best.weights
    assert problem.value(cut.step)[0] < start.objective
    assert problem.end(cut).objective == pytest.approx(best.objective, rel=1e-12)
    problem = Problem(False)
    wrong = problem.advance(Newton(start.weights, -best.weights, start.objective, start.hessian))
    assert not wrong.step.any()
    assert problem.end(wrong).objective == pytest.approx(best.objective, rel=1e-12)


def test_values_that_are_not_finite_are_refused() -> None:
    problem = Problem(False)
    problem.columns[3, 0] = np.nan
    with pytest.raises(InputError, match="not finite"):
        problem.advance(problem.start(30))
