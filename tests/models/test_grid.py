"""Folds of a kernel matrix for many C, beside SVC."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from dcsvm_dask.models.grid import solve_fold
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


def test_a_bound_on_steps_is_told() -> None:
    X, y = load_digits(n_class=2, return_X_y=True)
    K = rbf_kernel(X / 16, gamma=0.05)
    rows = np.arange(len(y))
    held = solve_fold(K, y, np.ones(len(y)), rows, rows, COSTS, machines_of(2), max_iter=3)
    assert not held.solved.any()
