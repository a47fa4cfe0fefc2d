"""Pairs of classes by a few kernel rows each: the same answers as SVC, without a kernel matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits, make_blobs
from sklearn.svm import SVC

from dcsvm_dask.estimators import DCSVC
from dcsvm_dask.kernels import Kernel, kernel_matrix
from dcsvm_dask.solvers import (
    class_blocks,
    machines_of,
    machines_of_rows,
    pair_row_loops,
    pairs_on_demand,
    small_pairs,
    violation_pair,
)
from dcsvm_dask.solvers.pair_points import TO_FINISH
from dcsvm_dask.solvers.pairs_on_demand import solve_pairs_on_demand
from dcsvm_dask.tasks import svc_dual


def blobs(n: int, classes: int, spread: float, features: int = 2) -> tuple[Any, Any]:
    """Return rows around a centre for each class."""
    X, y = make_blobs(n, features, centers=classes, cluster_std=spread, random_state=3)
    return (X / 4.0).astype(np.float32), y


def pairs_of(classes: int) -> list[tuple[int, int]]:
    """Return all pairs."""
    return [(a, b) for a in range(classes) for b in range(a + 1, classes)]


@pytest.fixture(autouse=True)
def _few_rows_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairs_on_demand, "FEWEST_ROWS", 0)


@pytest.fixture
def no_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let whoever computes a kernel matrix fail."""
    for module in (small_pairs, class_blocks, machines_of_rows):
        monkeypatch.delattr(module, "kernel_matrix")


@pytest.mark.parametrize("n", [400, 2400])
@pytest.mark.parametrize("C", [3.0, 100.0, 1e4])
@pytest.mark.parametrize(
    "kernel", [Kernel("rbf", 1.0), Kernel("linear"), Kernel("poly", 0.2, coef0=1.0)]
)
def test_they_are_solved_within_the_tolerance(kernel: Kernel, C: float, n: int) -> None:
    X, y = blobs(n, 6, 0.4, features=3)
    weight = C * np.random.default_rng(0).uniform(0.2, 1.0, n)
    found = solve_pairs_on_demand(kernel, X, y, weight, pairs_of(6))
    assert len(found) >= 12
    K = kernel_matrix(kernel, X, dtype=np.float64)
    for (a, _), (rows, one) in found.items():
        sign = np.where(y[rows] == a, 1.0, -1.0)
        dual = svc_dual(sign, weight[rows])
        near = K[np.ix_(rows, rows)]
        gradient = near @ one.beta - sign
        assert (np.diff(rows) > 0).all()
        assert ((dual.lower <= one.beta) & (one.beta <= dual.upper)).all()
        assert abs(one.beta.sum()) <= 1e-9 * np.abs(one.beta).sum()
        np.testing.assert_allclose(one.gradient, gradient, atol=1e-9 * max(1.0, C))
        assert violation_pair(gradient, one.beta, dual) <= 1e-3 + 1e-9 * max(1.0, C)
        theirs = SVC(C=1.0, kernel="precomputed", tol=1e-8)
        coef = theirs.fit(near, sign, sample_weight=weight[rows]).dual_coef_[0]
        own = theirs.support_
        least = 0.5 * coef @ near[np.ix_(own, own)] @ coef - np.abs(coef).sum()
        size = np.abs(one.beta).sum()
        assert -1e-7 * size <= one.objective - least <= 1e-3 * size


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize(("n", "classes"), [(3000, 5), (1500, 30)])
@pytest.mark.usefixtures("no_matrix")
def test_an_estimator_is_svc_without_a_kernel_matrix(n: int, classes: int, is_sparse: bool) -> None:
    X, y = blobs(n, classes, 0.3, features=4)
    rows = sparse.csr_array(X) if is_sparse else X
    ours = DCSVC(C=1000.0).fit(rows, y)
    theirs = SVC(C=1000.0, tol=1e-10).fit(X.astype(np.float64), y)
    np.testing.assert_array_equal(ours.support_, theirs.support_)
    shape = {"decision_function_shape": "ovo"}
    found, wanted = (one.set_params(**shape).decision_function(X) for one in (ours, theirs))
    np.testing.assert_allclose(found, wanted, atol=2e-4)
    assert (ours.violation_ < 1e-8).all()


def test_threads_change_nothing() -> None:
    X, y = blobs(3000, 20, 0.6)
    how = {"C": np.full(3000, 100.0), "pairs": pairs_of(20)}
    one, two = (
        solve_pairs_on_demand(Kernel("rbf", 1.0), X, y, threads=threads, **how)
        for threads in (1, 2)
    )
    assert list(one) == list(two)
    for (rows, mine), (others, its) in zip(one.values(), two.values(), strict=True):
        np.testing.assert_array_equal(rows, others)
        np.testing.assert_array_equal(mine.beta, its.beta)
        assert mine.bias == its.bias


def test_classes_that_cannot_be_told_apart_are_left_to_others() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(3000, 2)).astype(np.float32), rng.integers(6, size=3000)
    assert not solve_pairs_on_demand(Kernel("rbf", 1.0), X, y, np.ones(3000), pairs_of(6))
    found = DCSVC(C=1.0, gamma=1.0, tol=1e-5).fit(X, y)
    theirs = SVC(C=1.0, gamma=1.0, tol=1e-5).fit(X, y)
    np.testing.assert_allclose(found.intercept_, theirs.intercept_, atol=1e-4)


@pytest.mark.parametrize("all_up_to", [0, 1024])
def test_a_few_pairs_of_many_support_vectors_may_ask_for_all_rows(
    all_up_to: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pairs_on_demand, "ALL_UP_TO", all_up_to)
    X, y = blobs(1600, 8, 0.2)
    X[y == 7] = X[y == 6]  # of equal rows none can be told apart
    found = solve_pairs_on_demand(Kernel("rbf", 1.0), X, y, np.ones(1600), pairs_of(8))
    missing = set(pairs_of(8)) - set(found)
    assert ((6, 7) in missing) == (all_up_to == 0)
    assert len(missing) <= (0 if all_up_to else 3)


def test_rows_of_many_features_and_single_pairs_are_left_to_others() -> None:
    X, y = load_digits(return_X_y=True)
    many = np.tile(X, (1, 16)).astype(np.float32)
    pairs = [one.pair for one in machines_of(10) if one.pair is not None]
    assert not solve_pairs_on_demand(Kernel("rbf", 1e-4), many, y, np.ones(len(y)), pairs)
    rows = X.astype(np.float32)
    assert not solve_pairs_on_demand(Kernel("rbf", 1e-3), rows, y, np.ones(len(y)), pairs[:1])


@pytest.mark.parametrize("size", [1e4, 1e9, 1e30])
def test_values_that_float32_does_not_hold_are_left_to_others(size: float) -> None:
    X, y = blobs(300, 3, 0.3)
    rows = (size * (X - X.min() + 1.0)).astype(np.float32)
    with np.errstate(over="ignore"):
        found = solve_pairs_on_demand(
            Kernel("poly", 1.0, degree=5), rows, y, np.ones(300), pairs_of(3)
        )
    assert not found


def test_what_is_not_solved_in_time_is_left_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = blobs(900, 9, 0.5)
    wanted = DCSVC(C=3.0, tol=1e-6).fit(X, y).decision_function(X)
    monkeypatch.setattr(
        pairs_on_demand, "solve_pairs_by_rows", lambda *given: given[-1].fill(np.inf)
    )
    found = DCSVC(C=3.0, tol=1e-6).fit(X, y).decision_function(X)
    np.testing.assert_allclose(found, wanted, atol=1e-5)


def test_of_few_rows_none_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = blobs(600, 6, 1.0)
    assert pairs_on_demand.suitable(X, y, pairs_of(6))
    monkeypatch.undo()
    assert not pairs_on_demand.suitable(X, y, pairs_of(6))


def test_no_more_rows_are_asked_for_than_there_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    size, share, tol = 320, 1 / 16, 10.0
    room, violations = pair_row_loops.room_for(size, share), [2.0 * tol, tol, tol]

    def asks(asked: Any, rows: int) -> None:
        asked.number[0] += rows
        assert asked.number[0] <= len(asked.order)

    def steps(*given: Any) -> tuple[int, float, float]:
        asked = given[-1]
        asks(asked, max(0, asked.most - 1 - int(asked.number[0])))
        return 1, 0.0, 0.0

    def equations(*given: Any) -> tuple[float, float, bool]:
        asks(given[1], TO_FINISH)
        return violations.pop(0), 0.0, False

    monkeypatch.setattr(pair_row_loops, "pair_steps", steps)
    monkeypatch.setattr(pair_row_loops, "nearer_point", equations)
    # Compiled code calls these; Python cannot.
    monkeypatch.setattr(pair_row_loops, "take_pair", lambda row, a, b, n, out: out.fill(row[a]))
    monkeypatch.setattr(pair_row_loops, "sum_gradient", lambda *_: None)
    monkeypatch.setattr(pair_row_loops, "state_of", lambda *_: (tol, 0.0, 0))
    monkeypatch.setattr(pair_row_loops, "settled_bias", lambda *_: 0.0)
    pair_row_loops.solve_pairs_by_rows.py_func(
        *(np.zeros((1, size), np.float32), np.ones(size), (0, 0, 1.0, 1, 0.0), np.ones(size)),
        *(np.array([0, size // 2, size]), np.array([[0, 1]]), tol, share, np.zeros(room * size)),
        *(np.zeros(size), np.zeros(size), np.zeros(1, np.int64), np.zeros((1, 2))),
    )
    assert not violations
