"""The machine of a random subset against scikit-learn's SVC on the rows that it saw."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.svm import SVC, SVR

from dcsvm_dask.kernels import Kernel
from dcsvm_dask.solvers.subsets import FIRST_ROWS, RATIO, extrapolated_support, subset_sizes
from dcsvm_dask.tasks import Regression
from tests.marks import long
from tests.svc import train_on_subsets

GAMMA = 2.0**-6


@pytest.mark.parametrize(("name", "share"), [("mv", 0.17), long("kin40k", 0.55)])
def test_the_number_of_support_vectors_is_extrapolated(
    name: str, share: float, shared_data: Callable[[str], Any]
) -> None:
    data, n = shared_data(name), 2000
    X, z = data["X_train"][:n].astype(np.float64), data["y_train"][:n].astype(np.float64)
    X = ((X - X.mean(axis=0)) / X.std(axis=0)).astype(np.float32)
    z = (z - z.mean()) / z.std()
    kernel, dual = Kernel("rbf", 0.1), Regression(0.1).dual(z, np.full(n, 10.0))
    count, steps, _ = extrapolated_support(kernel, X.__getitem__, dual, equality=True, seed=0)
    svr = SVR(C=10.0, gamma=0.1).fit(X, z)
    assert steps > 0
    assert count / len(svr.support_) == pytest.approx(1.0, abs=0.25)
    assert count / n == pytest.approx(share, rel=0.2)


@given(st.integers(1, 10**8), st.integers(256, 20_000))
def test_sizes_rise_by_a_ratio_from_what_is_solved_whole(n: int, cap: int) -> None:
    sizes = subset_sizes(n, cap)
    assert 1 <= sizes[0] <= min(cap, FIRST_ROWS)
    assert sizes[-1] <= max(1, n // RATIO)
    for small, large in pairwise(sizes):
        assert large // RATIO == small


@pytest.mark.parametrize("equality", [False, True])
@pytest.mark.parametrize("is_sparse", [False, True], ids=["dense", "csr"])
def test_it_knows_the_answer_of_its_rows(
    equality: bool, is_sparse: bool, make_svc: ModuleType, problem: Callable[[str], Any]
) -> None:
    X, y = problem("a9a")
    n, C = len(y), np.where(y > 0, 2.0, 1.0)
    rows = sparse.csr_array(X) if is_sparse else X
    kernel = Kernel("rbf", GAMMA)
    # The last of two subsets, so that the first has predicted its first set.
    machine, work = train_on_subsets(
        kernel, rows.__getitem__, y, C, equality=equality, cap=600, seed=3
    )
    assert work.sizes == subset_sizes(n, 600) == [312, 1250]
    assert len(machine.seen) == 1250
    assert (np.diff(machine.seen) > 0).all()
    assert np.isin(machine.rows, machine.seen).all()
    assert work.n_iter > 0
    assert work.kernel_values > 0
    # Its decision values, at rows seen and at others, are those of its coefficients.
    f = make_svc.rbf(X, X[machine.rows], GAMMA) @ machine.coef
    np.testing.assert_allclose(machine.f, f[machine.seen], rtol=0, atol=1e-3)
    some = np.arange(0, n, 7)
    decided, values = machine.decide(rows.__getitem__, some)
    np.testing.assert_allclose(decided, f[some], rtol=0, atol=1e-3)
    assert values == np.count_nonzero(~np.isin(some, machine.seen)) * len(machine.rows)
    # They are within its tolerance of the answer for boxes scaled to all rows of their class.
    alpha, part = np.abs(machine.coef), machine.seen
    assert (np.sign(machine.coef) == y[machine.rows]).all()
    weight = C[part].copy()
    for label in (-1, 1):
        weight[y[part] == label] *= np.sum(y == label) / np.sum(y[part] == label)
    assert (alpha <= weight[np.searchsorted(part, machine.rows)] * (1 + 1e-12)).all()
    if equality:
        svc = SVC(C=1.0, gamma=GAMMA, tol=1e-3).fit(X[part], y[part], sample_weight=weight)
        theirs = svc.decision_function(X[some])
        assert np.abs(decided + machine.bias - theirs).max() < 0.1
    else:
        assert machine.bias == 0.0


def test_a_seed_gives_the_same_machine_whatever_the_threads(
    make_svc: ModuleType, problem: Callable[[str], Any]
) -> None:
    X, y = problem("ijcnn1")
    how: dict[str, Any] = {"equality": True, "cap": 1000}
    one, two, other = (
        train_on_subsets(
            Kernel("rbf", 0.5), X.__getitem__, y, np.ones(len(y)), seed=seed, threads=threads, **how
        )[0]
        for seed, threads in ((0, 1), (0, 3), (1, 1))
    )
    np.testing.assert_array_equal(one.rows, two.rows)
    np.testing.assert_array_equal(one.coef, two.coef)
    assert not np.array_equal(one.seen, other.seen)
