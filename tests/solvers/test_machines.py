"""Machines of many classes against scikit-learn's SVC."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels import Kernel
from dcsvm_dask.solvers import (
    Machine,
    SolvedMachine,
    class_blocks,
    coefficient_rows,
    labels_of_classes,
    machines_of,
    solve_machines,
)
from dcsvm_dask.solvers.class_blocks import ClassBlocks
from dcsvm_dask.solvers.machines import places_of

KERNEL = Kernel("rbf", gamma=0.02)


@pytest.fixture(scope="module")
def usps(shared_data: Callable[[str], Any]) -> Any:
    data = shared_data("usps")
    return data["X_train"][:3000].astype(np.float32), data["y_train"][:3000].astype(np.int64)


@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_pairs_stand_in_the_order_of_libsvm(n_classes: int) -> None:
    found = [(one.positive, one.negative) for one in machines_of(n_classes)]
    assert found == list(combinations(range(n_classes), 2))


def test_one_against_the_rest_is_one_for_each_class_and_one_for_two() -> None:
    assert machines_of(4, "ovr") == [Machine(c, None) for c in range(4)]
    assert machines_of(2, "ovr") == [Machine(1, None)]
    with pytest.raises(InputError, match=r"scheme is 'all'; give one of ovo, ovr"):
        machines_of(3, "all")


def test_rows_of_a_machine() -> None:
    codes = np.array([2, 0, 1, 2, 0])
    rows, y = Machine(0, 2).rows(codes)
    np.testing.assert_array_equal(rows, [0, 1, 3, 4])
    np.testing.assert_array_equal(y, [-1, 1, -1, 1])
    rows, y = Machine(2, None).rows(codes)
    np.testing.assert_array_equal(rows, np.arange(5))
    np.testing.assert_array_equal(y, [1, -1, -1, 1, -1])


def dual_coef(solved: list[SolvedMachine], codes: Any) -> Any:
    """Return the coefficients of pairs as SVC lays them out, for all rows."""
    coef = np.zeros((codes.max(), len(codes)))
    for one in solved:
        a, b = one.machine.positive, one.machine.negative
        assert b is not None
        full = np.zeros(len(codes))
        full[one.rows] = one.solution.beta
        coef[b - 1, codes == a] = full[codes == a]
        coef[a, codes == b] = full[codes == b]
    return coef


@pytest.mark.one_quick
@pytest.mark.parametrize("is_sparse", [False, True], ids=["dense", "csr"])
@pytest.mark.parametrize("load", [load_iris, load_wine, load_digits])
def test_all_pairs_have_the_coefficients_of_svc(load: Any, is_sparse: bool) -> None:
    X, y = load(return_X_y=True)
    X = (X / X.max(axis=0).clip(1)).astype(np.float32)
    C = np.where(y == 1, 3.0, 1.0)
    # poly with coef0: the matrix has full rank, so that coefficients are unique
    kernel = Kernel("rbf", gamma=1.0)
    svc = SVC(gamma=1.0, tol=1e-7, class_weight={1: 3.0}, decision_function_shape="ovo").fit(X, y)
    rows = sparse.csr_array(X) if is_sparse else X
    solved = solve_machines(kernel, rows, y, C, machines_of(y.max() + 1), equality=True, tol=1e-7)
    theirs = np.zeros((y.max(), len(y)))
    theirs[:, svc.support_] = svc.dual_coef_
    mine = dual_coef(solved, y)
    # Equal rows may share their coefficients otherwise.
    _, first, equal = np.unique(
        np.column_stack([X, y]), axis=0, return_index=True, return_inverse=True
    )
    merged = [np.zeros((y.max(), len(first))) for _ in range(2)]
    for out, coef in zip(merged, (theirs, mine), strict=True):
        np.add.at(out.T, equal.ravel(), coef.T)
    np.testing.assert_allclose(merged[1], merged[0], rtol=0, atol=1e-4)
    bias = [one.solution.bias for one in solved]
    np.testing.assert_allclose(bias, svc.intercept_, rtol=0, atol=1e-5)


def test_each_class_against_the_rest(wine: Any) -> None:
    X, y = wine
    solved = solve_machines(KERNEL, X, y, 10.0, machines_of(3, "ovr"), equality=True, tol=1e-6)
    for c, one in enumerate(solved):
        assert one.machine == Machine(c, None)
        svc = SVC(C=10.0, gamma=KERNEL.gamma, tol=1e-6).fit(X, np.where(y == c, 1, -1))
        np.testing.assert_array_equal(np.flatnonzero(one.solution.beta), np.sort(svc.support_))
        theirs = np.zeros(len(y))
        theirs[svc.support_] = svc.dual_coef_[0]
        np.testing.assert_allclose(one.solution.beta, theirs, rtol=0, atol=1e-3)
        assert one.solution.bias == pytest.approx(svc.intercept_[0], abs=1e-5)


def test_pairs_of_thousands_of_rows(usps: Any) -> None:
    X, y = usps
    solved = solve_machines(KERNEL, X, y, 10.0, machines_of(10), equality=True, tol=1e-4, threads=2)
    svc = SVC(C=10.0, gamma=KERNEL.gamma, tol=1e-4, decision_function_shape="ovo").fit(X, y)
    bias = [one.solution.bias for one in solved]
    np.testing.assert_allclose(bias, svc.intercept_, rtol=0, atol=1e-3)
    support = np.unique(np.concatenate([one.rows[one.solution.beta != 0.0] for one in solved]))
    assert len(np.setxor1d(support, svc.support_)) <= 0.002 * len(support)
    for one in solved:
        a, b = one.machine.positive, one.machine.negative
        np.testing.assert_array_equal(one.rows, np.flatnonzero((y == a) | (y == b)))
        assert one.solution.converged
        assert abs(one.solution.beta.sum()) <= 1e-9 * len(one.rows)


@pytest.mark.one_quick
@pytest.mark.parametrize("n", [None, 2400], ids=["one matrix", "a matrix each"])
@pytest.mark.parametrize("scheme", ["ovo", "ovr"])
def test_threads_do_not_change_a_bit(
    n: int | None, scheme: str, request: pytest.FixtureRequest
) -> None:
    X, y = request.getfixturevalue("usps" if n else "wine")
    X, y = X[:n], y[:n] if n is None else y[:n] % 3
    machines = machines_of(3, scheme)
    one, *others = (
        solve_machines(KERNEL, X, y, 5.0, machines, equality=True, threads=threads, seed=4)
        for threads in (1, 2, 5)
    )
    for other in others:
        for mine, theirs in zip(one, other, strict=True):
            np.testing.assert_array_equal(mine.rows, theirs.rows)
            np.testing.assert_array_equal(mine.solution.beta, theirs.solution.beta)
            assert mine.solution.bias == theirs.solution.bias


@pytest.mark.parametrize("is_sparse", [False, True], ids=["dense", "csr"])
def test_pairs_share_what_each_would_compute_for_itself(wine: Any, is_sparse: bool) -> None:
    X, y = wine
    X = sparse.csr_array(X) if is_sparse else X
    how: dict[str, Any] = {"equality": True, "tol": 1e-9}
    shared = solve_machines(KERNEL, X, y, 5.0, machines_of(3), **how)
    alone = solve_machines(KERNEL, X, y, 5.0, machines_of(3), most_shared=0, **how)
    for one, other in zip(shared, alone, strict=True):
        np.testing.assert_array_equal(one.rows, other.rows)
        np.testing.assert_allclose(one.solution.beta, other.solution.beta, rtol=0, atol=1e-7)
        np.testing.assert_allclose(one.solution.gradient, other.solution.gradient, atol=1e-7)


@pytest.mark.parametrize("strip_bytes", [0, class_blocks.STRIP_BYTES])
def test_what_pairs_share_is_bounded(
    wine: Any, strip_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(class_blocks, "STRIP_BYTES", strip_bytes)
    X, y = wine
    pairs = [(0, 1), (0, 2), (1, 2)]
    bytes_held = 8 * (np.bincount(y) ** 2).sum()
    assert ClassBlocks.of(KERNEL, X, y, pairs, bytes_held - 1) is None
    blocks = ClassBlocks.of(KERNEL, X, y, pairs, bytes_held)
    assert blocks is not None
    for a, b in pairs:
        rows = np.concatenate([X[y == a], X[y == b]]).astype(np.float64)
        K = rbf_kernel(rows, gamma=KERNEL.gamma)
        with blocks.pair(a, b) as found:
            np.testing.assert_allclose(found, K, rtol=0, atol=1e-12)
            np.testing.assert_array_equal(found, found.T)
    assert len(blocks._strips) <= class_blocks.STRIPS
    assert ClassBlocks.of(KERNEL, X, y, pairs[:1], np.inf) is None  # nobody to share with
    assert ClassBlocks.of(KERNEL, X, y, [(0, 1), (0, 9)], np.inf) is None  # no rows of class 9


@pytest.mark.parametrize("strip_bytes", [0, class_blocks.STRIP_BYTES])
def test_rows_of_the_negative_class_may_come_first(
    wine: Any, strip_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(class_blocks, "STRIP_BYTES", strip_bytes)
    X, y = wine
    pairs = [(0, 1), (0, 2), (1, 2)]
    blocks = ClassBlocks.of(KERNEL, X, y, pairs, np.inf, most_rows=130, negative_first=True)
    assert blocks is not None
    assert blocks.pairs == {(0, 2), (1, 2), (0, 1)}
    for a, b in pairs:
        rows, labels = blocks.variables(a, b)
        np.testing.assert_array_equal(y[rows], np.sort(y[rows])[::-1])
        np.testing.assert_array_equal(labels, np.where(y[rows] == a, 1.0, -1.0))
        K = rbf_kernel(X[rows].astype(np.float64), gamma=KERNEL.gamma)
        with blocks.pair(a, b) as found:
            np.testing.assert_allclose(found, K, rtol=0, atol=1e-12)
    few = ClassBlocks.of(KERNEL, X, y, pairs, np.inf, most_rows=120)
    assert few is not None
    assert few.pairs == {(0, 2), (1, 2)}  # (0, 1) has 130 rows


@pytest.mark.parametrize("machines", [machines_of(5), machines_of(5, "ovr"), [Machine(3, 1)]])
def test_places_of_many_machines_are_those_of_each(machines: list[Machine]) -> None:
    codes = np.random.default_rng(0).integers(0, 5, 200)
    numbers, rows, expected = [], [], []
    for number, one in enumerate(machines):
        mine, _ = one.rows(codes)
        numbers.append(np.full(len(mine), number))
        rows.append(mine)
        expected.append(one.place(codes[mine]))
    found = places_of(machines, np.concatenate(numbers), codes[np.concatenate(rows)])
    np.testing.assert_array_equal(found, np.concatenate(expected))


def test_a_machine_whose_rows_are_of_one_class_decides_for_it(wine: Any) -> None:
    X, y = wine
    X, codes = X[y > 0], 2 * (y[y > 0] - 1)  # classes 0 and 2; 1 and 3 have no rows
    solved = solve_machines(KERNEL, X, codes, 1.0, machines_of(4), equality=True)
    for one in solved:
        a, b = one.machine.positive, one.machine.negative
        present = (a in (0, 2)), (b in (0, 2))
        if all(present):
            assert np.count_nonzero(one.solution.beta) > 0
            continue
        assert one.solution.converged
        assert one.solution.violation == 0.0
        assert not one.solution.beta.any()
        assert len(one.solution.beta) == len(one.rows) == np.count_nonzero(np.isin(codes, [a, b]))
        assert one.solution.bias == float(present[0]) - float(present[1])


@pytest.mark.parametrize("equality", [False, True])
def test_rows_of_zero_bound_are_as_if_absent(equality: bool, wine: Any) -> None:
    X, y = wine
    C = np.where(np.arange(len(y)) % 4 == 0, 0.0, 2.0)
    how: dict[str, Any] = {"equality": equality, "tol": 1e-9}
    kept = np.flatnonzero(C)
    with_them = solve_machines(KERNEL, X, y, C, machines_of(3), **how)
    without = solve_machines(KERNEL, X[kept], y[kept], 2.0, machines_of(3), **how)
    for one, other in zip(with_them, without, strict=True):
        full = np.zeros(len(y))
        full[kept[other.rows]] = other.solution.beta
        np.testing.assert_allclose(one.solution.beta, full[one.rows], rtol=0, atol=1e-6)
        assert one.solution.bias == pytest.approx(other.solution.bias, abs=1e-7)
        assert one.solution.converged


def test_a_class_of_zero_bounds_leaves_the_decision_to_the_other(wine: Any) -> None:
    X, y = wine
    solved = solve_machines(KERNEL, X, y, np.where(y == 1, 0.0, 1.0), machines_of(3), equality=True)
    assert [one.solution.converged for one in solved] == [True] * 3
    assert solved[0].solution.bias > 0.0  # (0, 1)
    assert solved[2].solution.bias < 0.0  # (1, 2)
    assert not solved[0].solution.beta.any()
    assert not solved[2].solution.beta.any()


@pytest.mark.parametrize("scheme", ["ovo", "ovr"])
def test_places_of_coefficients_are_those_of_svc(scheme: str) -> None:
    machines, labels = machines_of(4, scheme), labels_of_classes(4, scheme)
    taken = set()
    for number, machine in enumerate(machines):
        codes = np.arange(4)[labels[:, number] != 0]
        rows, y = machine.rows(np.arange(4))
        np.testing.assert_array_equal(codes, rows)
        np.testing.assert_array_equal(labels[codes, number], y)
        places = machine.place(codes)
        assert places.max() < coefficient_rows(4, scheme)
        taken |= set(zip(codes.tolist(), places.tolist(), strict=True))
        if scheme == "ovo":
            others = [[c for c in range(4) if c != code] for code in codes]
            pair = [codes[1], codes[0]]
            assert [list.index(*one) for one in zip(others, pair, strict=True)] == places.tolist()
    assert len(taken) == 4 * coefficient_rows(4, scheme)
