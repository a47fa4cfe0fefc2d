"""Folds of a kernel matrix for many C, beside SVC."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from dcsvm_dask.kernels import Kernel
from dcsvm_dask.models.grid import decide_point, decide_rows, model_of, solve_fold, solve_point
from dcsvm_dask.solvers import machines_of

COSTS = np.array([0.1, 3.0, 100.0])


@pytest.mark.parametrize("n_class", [2, 4])
def test_every_c_is_svc_s(n_class: int) -> None:
    X, y = load_digits(n_class=n_class, return_X_y=True)
    K = rbf_kernel(X / 16, gamma=0.05)
    rng = np.random.default_rng(0)
    order, weight = rng.permutation(len(y)), rng.choice([0.0, 1.0, 2.5], len(y))
    train, test = np.sort(order[60:]), np.sort(order[:60])
    held = solve_fold(K, y, weight, train, test, COSTS, machines_of(n_class), tol=1e-6)
    assert held.solved.all()
    assert (held.seconds > 0).all()
    train = train[weight[train] > 0]
    for place, C in enumerate(COSTS):
        svc = SVC(C=C, kernel="precomputed", tol=1e-6, decision_function_shape="ovo")
        svc.fit(K[np.ix_(train, train)], y[train], weight[train])
        wanted = svc.decision_function(K[np.ix_(test, train)])
        # Of two classes SVC has the second one positive.
        wanted = -wanted[:, None] if n_class == 2 else wanted
        np.testing.assert_allclose(held.values[place], wanted, atol=1e-4)


def test_one_class_decides_for_itself_and_none_for_nobody() -> None:
    K, codes = np.eye(6), np.array([0, 0, 0, 1, 2, 2])
    train, test = np.arange(4), np.array([4, 5])
    held = solve_fold(K, codes, np.ones(6), train[:3], test, COSTS, machines_of(3))
    assert held.values[:, :, 0].tolist() == [[1.0, 1.0]] * 3  # of 0 and 1 there is 0
    assert held.values[:, :, 2].tolist() == [[0.0, 0.0]] * 3  # of 1 and 2 neither


def test_a_bound_on_steps_is_reported() -> None:
    X, y = load_digits(n_class=2, return_X_y=True)
    K = rbf_kernel(X / 16, gamma=0.05)
    rows = np.arange(len(y))
    held = solve_fold(
        K, y, np.ones(len(y)), rows, rows, COSTS, machines_of(2), most_steps=lambda _: 3
    )
    assert not held.solved.any()


@pytest.mark.parametrize("n_class", [2, 4])
def test_points_are_svc_s(n_class: int) -> None:
    X, y = load_digits(n_class=n_class, return_X_y=True)
    X = (X / 16).astype(np.float32)
    order = np.random.default_rng(1).permutation(len(y))
    train, test = order[80:], order[:80]
    kernel, machines, before = Kernel("rbf", 0.05), machines_of(n_class), None
    for C in COSTS:
        bounds = np.full(len(train), C)
        how: dict[str, Any] = {"tol": 1e-5, "working_size": 512}
        point = solve_point(kernel, X[train], y[train], bounds, machines, before, **how)
        assert point.solved
        before = point.solutions
        values = decide_point(kernel, X[train], y[train], machines, before, X[test])
        svc = SVC(C=C, gamma=0.05, tol=1e-6, decision_function_shape="ovo")
        wanted = svc.fit(X[train], y[train]).decision_function(X[test])
        wanted = -wanted[:, None] if n_class == 2 else wanted
        np.testing.assert_allclose(values, wanted, atol=1e-3 * np.ptp(wanted))


@pytest.mark.parametrize("equality", [True, False])
def test_a_start_from_blocks_changes_nothing(equality: bool) -> None:
    X, y = load_digits(n_class=3, return_X_y=True)
    X = (X / 16).astype(np.float32)
    how: dict[str, Any] = {"tol": 1e-5, "equality": equality}
    bounds, machines = np.full(len(y), 3.0), machines_of(3)
    blocks = np.random.default_rng(0).integers(0, 4, len(y))
    for gamma in (0.005, 0.5):
        kernel = Kernel("rbf", gamma)
        found = solve_point(kernel, X, y, bounds, machines, blocks=blocks, **how)
        wanted = solve_point(kernel, X, y, bounds, machines, **how)
        assert found.solved
        for one, other in zip(found.solutions, wanted.solutions, strict=True):
            assert one.objective == pytest.approx(other.objective, rel=1e-6)


def test_a_model_has_support_vectors_alone_and_their_coefficients_once() -> None:
    X, y = load_digits(n_class=5, return_X_y=True)
    X = (X / 16).astype(np.float32)
    kernel, machines = Kernel("rbf", 0.05), machines_of(5)
    point = solve_point(kernel, X, y, np.full(len(y), 3.0), machines)
    used = np.zeros(len(y), dtype=np.bool_)
    for machine, found in zip(machines, point.solutions, strict=True):
        used[machine.rows(y)[0][found.beta != 0]] = True
    model = model_of(kernel, X, y, machines, point.solutions)
    assert model.coef.shape == (4, np.count_nonzero(used))
    np.testing.assert_array_equal(model.counts[0], np.bincount(y[used]))
    np.testing.assert_array_equal(
        decide_rows(model, X[:50]), decide_point(kernel, X, y, machines, point.solutions, X[:50])
    )


def test_points_of_one_class_and_of_none() -> None:
    X, codes = np.eye(4, dtype=np.float32), np.array([0, 0, 0, 1])
    point = solve_point(Kernel("rbf", 1.0), X, codes, np.ones(4), machines_of(3))
    values = decide_point(Kernel("rbf", 1.0), X, codes, machines_of(3), point.solutions, X)
    assert point.solved
    assert values[:, 1].tolist() == [1.0] * 4  # of classes 0 and 2 there is 0
    assert values[:, 2].tolist() == [1.0] * 4


def test_a_point_ends_at_its_budget() -> None:
    X, y = load_digits(n_class=2, return_X_y=True)
    rows = (X / 16).astype(np.float32)
    how: dict[str, Any] = {"most_steps": lambda _: 3}
    first = solve_point(Kernel("rbf", 0.05), rows, y, np.ones(len(y)), machines_of(2), **how)
    assert not first.solved
    bounds = np.full(len(y), 10.0)
    second = solve_point(
        Kernel("rbf", 0.05), rows, y, bounds, machines_of(2), first.solutions, **how
    )
    assert not second.solved
