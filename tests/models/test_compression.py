"""Smaller models against dense float64 algebra."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.svm import SVC

from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels import Kernel
from dcsvm_dask.models import compression
from dcsvm_dask.models.compression import (
    Compressed,
    choose,
    compress,
    distinct,
    shares,
    squared_distance,
)
from dcsvm_dask.models.elimination import Path, eliminate, project

Array = np.ndarray
KERNELS = [
    Kernel("rbf", gamma=2.0),
    Kernel("laplacian", gamma=0.3),
    Kernel("poly", gamma=0.5, degree=3, coef0=1.0),
    Kernel("linear"),
]
BOUND = 0.05


def values(kernel: Kernel, X: Any, Z: Any) -> Array:
    """Return the kernel matrix in float64."""
    given = {"rbf": "gamma", "laplacian": "gamma", "poly": "gamma degree coef0", "linear": ""}
    how = {name: getattr(kernel, name) for name in given[kernel.name].split()}
    return np.asarray(pairwise_kernels(full(X), full(Z), kernel.name, **how))


def full(X: Any) -> Array:
    return np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)


def rows(n: int, seed: int) -> Array:
    rng = np.random.default_rng(seed)
    X = rng.random((n, 4)).astype(np.float32)
    X[:, 3] *= rng.random(n) < 0.3
    return X


def machine(kernel: Kernel, n: int = 900) -> tuple[Array, Array]:
    """Return an SVC's support vectors and coefficients, labels in part at random."""
    X = rows(n, 0)
    rng = np.random.default_rng(1)
    y = np.where((np.sin(6 * X[:, 0]) > 2 * X[:, 1] - 1) ^ (rng.random(n) < 0.1), 1, -1)
    svc = SVC(C=5.0, kernel=lambda A, B: values(kernel, A, B)).fit(X, y)
    return X[svc.support_], svc.dual_coef_[0].copy()


def change_of(kernel: Kernel, X: Any, S: Any, coef: Array, found: Compressed) -> Array:
    before = values(kernel, X, S) @ coef
    return np.asarray(values(kernel, X, S[found.rows]) @ found.coef - before)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.name)
@pytest.mark.parametrize("is_sparse", [False, True])
def test_what_is_left_is_within_the_bound(kernel: Kernel, is_sparse: bool) -> None:
    S, coef = machine(kernel)
    form = sparse.csr_array if is_sparse else np.asarray
    support, fit, check = form(S), form(rows(300, 2)), form(rows(500, 3))
    found = compress(kernel, support, coef, fit, check, BOUND)
    assert (np.diff(found.rows) > 0).all()
    assert found.coef.shape == found.rows.shape
    assert len(found.rows) < 0.8 * len(coef)
    assert np.abs(change_of(kernel, check, support, coef, found)).max() <= BOUND
    # Not by leaving things as they are: it is used up.
    assert np.abs(change_of(kernel, check, support, coef, found)).max() >= 0.2 * BOUND or (
        kernel.name == "linear"
    )


@pytest.mark.one_quick
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.name)
def test_the_distance_bounds_the_change_on_any_row(kernel: Kernel) -> None:
    S, coef = machine(kernel)
    found = compress(kernel, S, coef, rows(300, 2), rows(500, 3), BOUND)
    change = -coef
    change[found.rows] += found.coef
    squared = sum(squared_distance(kernel, S, change, start) for start in shares(len(coef)))
    K = values(kernel, S, S)
    scale = float(coef @ K @ coef)
    assert squared == pytest.approx(change @ K @ change, abs=1e-9 * scale)
    unseen = 3.0 * rows(4000, 4) - 1.0  # also where no row was
    length = np.sqrt(values(kernel, unseen, unseen).diagonal())
    changed = np.abs(change_of(kernel, unseen, S, coef, found))
    assert (changed <= (np.sqrt(max(squared, 0.0)) + 1e-6 * np.sqrt(scale)) * length).all()
    assert changed.max() > 0


def test_a_distance_is_the_sum_of_its_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = Kernel("rbf", gamma=2.0)
    S, change = rows(300, 0), np.random.default_rng(1).standard_normal(300)
    change[100:150] = 0.0
    monkeypatch.setattr(compression, "_DISTANCE_ROWS", 50)
    assert len(shares(300)) == 6
    squared = sum(squared_distance(kernel, S, change, start) for start in shares(300))
    assert squared == pytest.approx(change @ values(kernel, S, S) @ change, rel=1e-9)


@pytest.mark.parametrize("is_sparse", [False, True])
def test_a_linear_machine_has_no_more_support_vectors_than_features(is_sparse: bool) -> None:
    kernel = Kernel("linear")
    S, coef = machine(kernel)
    support = sparse.csr_array(S) if is_sparse else S
    check = sparse.csr_array(rows(200, 3)) if is_sparse else rows(200, 3)
    found = compress(kernel, support, coef, check[:0], check, 1e-3)
    assert len(found.rows) <= 4 < len(coef)
    np.testing.assert_allclose(
        found.coef @ full(support[found.rows]), coef @ full(support), atol=2e-3
    )


@pytest.mark.parametrize("kernel", KERNELS[:3], ids=lambda k: k.name)
def test_projection_is_least_squares_in_the_feature_space(kernel: Kernel) -> None:
    S, coef = machine(kernel, 300)
    Z = S[::5]
    found = project(kernel, Z, S, coef)
    # ||w - sum_j b_j phi(z_j)|| as a least squares problem, by a root of the kernel matrix of S.
    lengths, vectors = np.linalg.eigh(values(kernel, S, S))
    root = np.sqrt(np.maximum(lengths, 0.0))[:, None] * vectors.T
    best = np.linalg.lstsq(root[:, ::5], root @ coef, rcond=None)[0]

    def distance(b: Array) -> float:
        return float(np.linalg.norm(root[:, ::5] @ b - root @ coef))

    if kernel.name == "poly":  # more vectors than dimensions: many solutions are best
        assert np.count_nonzero(found) <= 35  # (4 + 3 over 3)
    else:
        np.testing.assert_allclose(found, best, rtol=1e-5, atol=1e-5 * np.abs(best).max())
    size = np.linalg.norm(root @ coef)
    assert distance(found) <= distance(best) + 1e-5 * size


def test_each_form_is_the_best_one_for_what_it_keeps() -> None:
    kernel = Kernel("rbf", gamma=2.0)
    S, coef = machine(kernel, 300)
    every = np.arange(len(coef))
    fit, check = rows(100, 2), rows(150, 3)
    path = eliminate(kernel, S, coef, every, every, coef, fit, check, 1.0)
    sizes = [len(kept) for kept in path.kept]
    assert sizes[0] == len(coef)
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] < 40
    assert (np.diff(path.cost) >= 0).all()
    K, seen = values(kernel, S, S), np.concatenate([S, fit])
    F = values(kernel, seen, S)
    weight = np.repeat(
        [
            500 * np.trace(K) / (F[: len(S)] ** 2).sum(),
            500 * np.trace(K) / (F[len(S) :] ** 2).sum(),
        ],
        [len(S), len(fit)],
    )
    root = np.linalg.cholesky(K + 1e-12 * np.eye(len(K))).T
    A = np.concatenate([root, np.sqrt(weight)[:, None] * F])
    for kept, found, change in zip(path.kept[::3], path.coef[::3], path.change[::3], strict=True):
        best = np.linalg.lstsq(A[:, kept], A @ coef, rcond=None)[0]
        errors = [np.linalg.norm(A[:, kept] @ b - A @ coef) for b in (found, best)]
        assert errors[0] <= 1.0001 * errors[1] + 1e-4
        changed = values(kernel, check, S[kept]) @ found - values(kernel, check, S) @ coef
        np.testing.assert_allclose(change, changed, atol=1e-5)


def test_what_goes_first_is_what_matters_least() -> None:
    kernel = Kernel("rbf", gamma=2.0)
    S, coef = machine(kernel, 200)
    every = np.arange(len(coef))
    none = S[:0]
    path = eliminate(kernel, S, coef, every, every, coef, none, S, 1.0)
    gone = sorted(set(every.tolist()) - set(path.kept[2].tolist()))
    assert len(gone) == 1
    # Without fitting rows but the support vectors themselves, tried one by one.
    K = values(kernel, S, S)
    A = np.concatenate([np.linalg.cholesky(K + 1e-12 * np.eye(len(K))).T, K])
    A[len(K) :] *= np.sqrt(1000 * np.trace(K) / (K**2).sum())
    worse = [np.linalg.lstsq(np.delete(A, j, 1), A @ coef, rcond=None)[1].sum() for j in every]
    assert gone == [int(np.argmin(worse))]


def test_parts_become_one_where_little_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = Kernel("rbf", gamma=0.1)
    S, coef = machine(kernel)
    fit, check = rows(200, 2), rows(300, 3)
    whole = compress(kernel, S, coef, fit, check, BOUND)
    monkeypatch.setattr(compression, "BLOCK", 64)
    monkeypatch.setattr(compression, "MOST", 96)
    reported: list[str] = []
    found = compress(kernel, S, coef, fit, check, BOUND, report=reported.append)
    assert "in 1 part(s)" in reported[-1]
    assert np.abs(change_of(kernel, check, S, coef, found)).max() <= BOUND
    assert len(found.rows) <= 1.5 * len(whole.rows) + 2


def test_parts_stay_apart_where_all_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = Kernel("rbf", gamma=3000.0)
    S, coef = machine(kernel, 300)
    monkeypatch.setattr(compression, "BLOCK", 64)
    monkeypatch.setattr(compression, "MOST", 96)
    reported: list[str] = []
    found = compress(kernel, S, coef, S[:50], S, 0.01, report=reported.append)
    assert "in 5 part(s)" in reported[-1]
    assert np.abs(change_of(kernel, S, S, coef, found)).max() <= 0.01
    assert len(found.rows) > 0.9 * len(coef)


def test_forms_are_chosen_for_all_parts_together() -> None:
    none, b = np.arange(0), [np.zeros(0)] * 3

    def path(cost: list[float], change: list[list[float]]) -> Path:
        return Path(none, [none] * 3, b, np.array(cost), np.array(change, dtype=np.float32))

    one = path([0, 1, 2], [[0, 0], [0.5, 0], [0.9, 0]])
    other = path([0, 1, 3], [[0, 0], [0, 0.5], [0, 0.8]])
    opposite = path([0, 5, 6], [[0, 0], [-0.5, -0.5], [9, 9]])
    assert choose([one, other], 1.0) == [2, 2]
    assert sorted(choose([one, one], 1.0)) == [0, 2]
    assert choose([one, one], 1.01) == [1, 1]
    assert choose([one, one, opposite], 1.35) == [2, 2, 1]
    assert choose([opposite], 0.4) == [0]


@pytest.mark.parametrize("is_sparse", [False, True])
def test_repeats_are_one_support_vector(is_sparse: bool) -> None:
    X = np.array([[1, 2], [0, 3], [1, 2], [0, 3], [0, 3], [5, 5], [5, 5]], dtype=np.float32)
    coef = np.array([1.0, 2.0, 3.0, 4.0, -5.0, 6.0, -6.0])
    found, sums = distinct(sparse.csr_array(X) if is_sparse else X, coef)
    assert found.tolist() == [0, 1]
    assert sums.tolist() == [4.0, 1.0]


def test_kernels_that_are_no_scalar_product_are_refused() -> None:
    X = rows(10, 0)
    for kernel in (Kernel("sigmoid", gamma=0.1), Kernel("poly", coef0=-1.0)):
        with pytest.raises(InputError, match="not positive semi-definite"):
            compress(kernel, X, np.ones(10), X, X, 0.1)


def test_values_that_are_not_finite_are_refused() -> None:
    X = 1e10 * rows(10, 0)
    with pytest.raises(InputError, match="not finite"):
        compress(Kernel("poly", degree=40), X, np.ones(10), X, X, 0.1)


def test_a_choice_goes_on_from_what_is_given() -> None:
    none = np.arange(0)
    kept = [np.arange(9), np.arange(6), np.arange(3)]
    b = [np.zeros(len(k)) for k in kept]

    def path(change: list[float]) -> Path:
        # The first limit alone goes beyond the bound.
        cost = np.array([0.0, 1.0, 2.0])
        return Path(none, kept, b, cost, np.array(change, dtype=np.float32)[:, None])

    paths = [path([0.0, 3.0, 0.4]), path([0.0, 3.0, 0.4])]
    assert choose(paths, 1.0, [2, 2]) == [2, 2]
    joined = path([0.8, 0.1, 0.2])
    assert choose([joined, paths[0]], 1.0, [0, 0]) == [2, 2]
