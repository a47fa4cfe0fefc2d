"""Far pairs are left out, and never more than the budget allows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dcsvm_dask.kernels import Kernel, kernel_product
from dcsvm_dask.kernels.far import affordable


@pytest.mark.parametrize("name", ["rbf", "laplacian"])
@pytest.mark.parametrize("budget", [1e-5, 1e-2, 10.0])
def test_the_error_stays_within_the_budget(
    covtype: Any, exact: Any, name: str, budget: float
) -> None:
    kernel = Kernel(name, 32.0)
    rng = np.random.default_rng(3)
    v = rng.uniform(0, 32, len(covtype)) * (rng.random(len(covtype)) < 0.25)
    X = covtype[::12]
    f, computed = kernel_product(kernel, X, covtype, v, budget=budget, dtype=np.float64)
    error = exact(kernel, X, covtype) @ v - f
    assert error.max() <= budget + 1e-9
    assert computed < 0.8 * len(X) * np.count_nonzero(v)


def test_a_larger_budget_computes_less(covtype: Any) -> None:
    v = np.ones(len(covtype))
    computed = [
        kernel_product(Kernel("rbf", 32.0), covtype, covtype, v, budget=budget)[1]
        for budget in (0.0, 1e-6, 1e-3, 1.0)
    ]
    assert computed[0] == len(covtype) ** 2
    assert computed == sorted(computed, reverse=True)
    assert computed[-1] < computed[1] < 0.5 * computed[0]


def test_kernels_that_do_not_decay_compute_everything(covtype: Any) -> None:
    X = covtype[:600]
    for name in ("poly", "sigmoid"):
        assert kernel_product(Kernel(name), X, X, np.ones(600), budget=1e9)[1] == 600 * 600
    assert kernel_product(Kernel("linear"), X, X, np.ones(600), budget=1e9)[1] == 0


@given(
    cost=st.lists(st.floats(0, 1e3), max_size=50).map(np.array),
    budget=st.floats(0, 1e4),
)
def test_the_cheapest_that_fit_are_chosen(cost: Any, budget: float) -> None:
    cost = cost.astype(np.float64)
    chosen = affordable(cost, budget)
    assert cost[chosen].sum() <= budget * (1 + 1e-12)
    if chosen.any() and not chosen.all():
        assert cost[chosen].max() <= cost[~chosen].min()
        assert cost[chosen].sum() + cost[~chosen].min() > budget * (1 - 1e-12)
