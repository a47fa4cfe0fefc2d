"""Rows in shares: the sums are those of `kernel_product`, the solution that without shares."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from dcsvm_dask.kernels import Kernel, Rows, kernel_product
from dcsvm_dask.solvers import (
    CarryOut,
    Part,
    PartSums,
    Product,
    SharedRows,
    shared_rows,
    solve_decomposition,
)
from dcsvm_dask.solvers.parallel import solve
from tests.svc import dual_of

ROWS = 1200
KERNEL = Kernel("rbf", 0.5)


@pytest.fixture(autouse=True)
def _small_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solve, "SHARE_ROWS", 250)
    monkeypatch.setattr(shared_rows, "PART_VALUES", 1)


def elsewhere(shares: list[Rows]) -> CarryOut:
    """Return what carries out products on copies of all that would be sent, last share first."""
    copies = pickle.loads(pickle.dumps(shares))

    def carry_out(product: Product, parts: Sequence[Part]) -> list[PartSums]:
        sent = pickle.loads(pickle.dumps((product, list(parts))))
        found = [sent[0].sums(copies[part.share], part) for part in reversed(sent[1])]
        return [replace(one, is_elsewhere=True) for one in reversed(found)]

    return carry_out


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("budget", [0.0, 1e-4])
def test_sums_are_those_of_the_kernel_matrix(
    magic: tuple[Any, Any], form: Callable[[Any], Any], budget: float
) -> None:
    X, rng = form(magic[0]), np.random.default_rng(1)
    rows = np.flatnonzero(rng.random(ROWS) < 0.4)
    rows = rows[(rows < 250) | (rows > 700)]  # of one share there are none
    columns = np.flatnonzero(rng.random(ROWS) < 0.2)
    w = rng.standard_normal(len(columns))
    shared = SharedRows(X)
    sums, values = shared.product(KERNEL, rows, columns, w, budget=budget, tol=1e-6)
    expected, _ = kernel_product(KERNEL, X[rows], X[columns], w, dtype=np.float64)
    assert_allclose(sums, expected, atol=1e-6 + 2 * budget)
    assert values > 0
    assert (shared.count.products, shared.count.columns) == (1, len(columns))
    assert shared.count.seconds >= shared.count.elsewhere == 0.0


def test_rows_in_doubt_are_those_of_their_share(magic: tuple[Any, Any]) -> None:
    X, rows, columns = magic[0], np.arange(3, ROWS, 2), np.arange(0, ROWS, 3)
    w = np.random.default_rng(2).standard_normal(len(columns))
    exact, _ = kernel_product(KERNEL, X[rows], X[columns], w, dtype=np.float64)
    nobody = (np.full(len(rows), np.inf), np.full(len(rows), -np.inf))
    last = np.arange(len(rows)) >= len(rows) - 50
    some = (np.where(last, -np.inf, np.inf), np.where(last, np.inf, -np.inf))
    shared = SharedRows(X)
    asked: dict[str, Any] = {"budget": 0.0, "tol": 1e-12}
    rough, _ = shared.product(KERNEL, rows, columns, w, doubt=nobody, **asked)
    found, _ = shared.product(KERNEL, rows, columns, w, doubt=some, **asked)
    assert_array_equal(found[~last], rough[~last])
    assert_allclose(found[last], exact[last], atol=1e-12)
    assert np.abs(rough[last] - exact[last]).max() > 1e-9


def test_who_computes_changes_no_bit(magic: tuple[Any, Any]) -> None:
    X, y = magic
    dual, found = dual_of(y, 4.0), []
    for carry_out in (None, elsewhere):
        shared = SharedRows(X, carry_out)
        solution, values = solve_decomposition(
            KERNEL, X, dual, equality=True, working_size=200, shared=shared
        )
        found.append((solution, values, shared))
    (here, values, one), (there, others, other) = found
    assert_array_equal(here.beta, there.beta)
    assert_array_equal(here.gradient, there.gradient)
    assert values == others
    mine, theirs = one.count, other.count
    assert mine.products == theirs.products > 5
    assert mine.elsewhere == 0.0 < theirs.elsewhere == theirs.seconds
    apart, _ = solve_decomposition(KERNEL, X, dual, equality=True, working_size=200)
    assert here.violation <= 1e-3
    assert here.objective == pytest.approx(apart.objective, rel=1e-6)
