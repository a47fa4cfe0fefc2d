"""Primal solvers of linear SVMs, and that of all classes, on real data against LIBLINEAR."""

from __future__ import annotations

from collections.abc import Callable
from importlib import resources
from typing import Any

import numpy as np
import pytest
from scipy import linalg, sparse
from sklearn.datasets import load_digits, load_iris
from sklearn.svm import LinearSVC

from dcsvm_dask.errors import InputError
from dcsvm_dask.solvers import (
    solve_crammer_singer,
    solve_linear,
    solve_linear_dual,
    solve_linear_l1,
    solve_linear_primal,
)
from dcsvm_dask.tasks import Classification, Dual, Regression
from tests.marks import long

KINDS = pytest.mark.parametrize("kind", ["text", long("dense"), long("csr")])
TIGHT: Any = {"constant": 1.0, "tol": 1e-9, "max_iter": 100_000}


@pytest.fixture(scope="module")
def labelled(shared_data: Callable[[str], Any]) -> Callable[[str], tuple[Any, Any]]:
    """Return a maker of 3,000 rows of the demo, scaled by their range, or of news in CSR."""

    def make(kind: str) -> tuple[Any, Any]:
        if kind == "text":
            found = shared_data("reuters_money_fx")
            parts = tuple(found[f"X_train_{key}"] for key in ("data", "indices", "indptr"))
            parts = (parts[0], *(part.astype(np.int32) for part in parts[1:]))
            X = sparse.csr_array(parts, shape=tuple(found["X_train_shape"])).astype(np.float32)
            return X, found["y_train"].astype(np.float64)
        with resources.as_file(resources.files("dcsvm_dask.demo") / "covtype.csv.xz") as path:
            table = np.loadtxt(path, delimiter=",", skiprows=1, max_rows=3000, dtype=np.float32)
        low, high = table.min(axis=0), table.max(axis=0)
        X = ((table - low) / np.where(high > low, high - low, 1))[:, :-1]
        y = table[:, -1].astype(np.float64)
        return (sparse.csr_array(X) if kind == "csr" else np.ascontiguousarray(X)), y

    return make


def _squared(y: Any, C: Any) -> Dual:
    return Classification(squared=True).dual(y, C * np.ones(len(y)))


def _lost(X: Any, y: Any, w: Any, b: float) -> float:
    return float((np.maximum(0.0, 1.0 - y * (X @ w + b)) ** 2).sum())


def _peer(X: Any, y: Any, penalty: str) -> tuple[Any, float]:
    """Return LIBLINEAR's weights and offset at C = 0.5."""
    how: Any = {"penalty": penalty, "dual": False, "tol": 1e-8, "max_iter": 100_000}
    peer = LinearSVC(C=0.5, random_state=0, **how).fit(X.astype(np.float64), y)
    return peer.coef_[0], float(peer.intercept_[0])


@KINDS
def test_newton_has_the_answer_of_liblinear(
    labelled: Callable[[str], tuple[Any, Any]], kind: str
) -> None:
    X, y = labelled(kind)
    found = solve_linear_primal(X, _squared(y, 0.5), **TIGHT)
    X = X.astype(np.float64)
    w, b = _peer(X, y, "l2")
    best = 0.5 * (w @ w + b * b) + 0.5 * _lost(X, y, w, b)
    ours = 0.5 * (found.w @ found.w + found.b**2) + 0.5 * _lost(X, y, found.w, found.b)
    assert found.converged
    assert ours == pytest.approx(best, rel=1e-9)
    assert ours <= best * (1.0 + 1e-12)
    np.testing.assert_allclose(found.w, w, atol=1e-5)
    # The dual variables follow from the weights, and bound what is left.
    np.testing.assert_allclose(X.T @ found.alpha, found.w, atol=1e-6)
    assert -found.objective == pytest.approx(best, rel=1e-9)
    assert 0.0 <= found.gap <= 1e-9 * best
    assert found.history[-1, 0] == pytest.approx(-ours, rel=1e-12)
    assert (np.diff(found.history[:, 0]) >= 0.0).all()


@pytest.mark.long
@KINDS
def test_few_weights_as_liblinear(labelled: Callable[[str], tuple[Any, Any]], kind: str) -> None:
    X, y = labelled(kind)
    found = solve_linear_l1(X, _squared(y, 0.5), **TIGHT | {"tol": 1e-6})
    X = X.astype(np.float64)
    w, b = _peer(X, y, "l1")
    best = np.abs(w).sum() + abs(b) + 0.5 * _lost(X, y, w, b)
    ours = np.abs(found.w).sum() + abs(found.b) + 0.5 * _lost(X, y, found.w, found.b)
    assert found.converged
    assert ours == pytest.approx(best, rel=1e-6)
    assert -found.history[-1, 0] == pytest.approx(ours, rel=1e-9)
    assert ((found.w == 0.0) == (w == 0.0)).mean() > 0.95
    assert np.count_nonzero(found.w) < 0.9 * X.shape[1]
    # A point of the dual problem: all correlations are within the penalty.
    assert np.abs(X.T @ found.alpha).max() <= 1.0 + 1e-9
    assert found.gap == pytest.approx(ours + found.objective, abs=1e-6 * best)
    assert 0.0 <= found.gap < 1e-2 * best


@pytest.mark.long
@pytest.mark.parametrize("is_sparse", [False, True])
def test_all_classes_as_liblinear(is_sparse: bool) -> None:
    X, codes = load_digits(return_X_y=True)
    X, C = (X / 16).astype(np.float32), np.where(codes == 3, 0.2, 0.1)
    rows = sparse.csr_array(X) if is_sparse else X
    found = solve_crammer_singer(rows, codes, C, 10, constant=1.0, tol=1e-5)
    how: Any = {"multi_class": "crammer_singer", "tol": 1e-7, "max_iter": 100_000}
    peer = LinearSVC(C=0.1, class_weight={3: 2.0}, random_state=0, **how).fit(X, codes)

    def primal(W: Any, b: Any) -> Any:
        F = X @ W.T + b + 1.0
        own = np.arange(len(codes)), codes
        F[own] -= 1.0
        return 0.5 * ((W * W).sum() + b @ b) + C @ (F.max(axis=1) - F[own])

    best = primal(peer.coef_, peer.intercept_)
    assert found.converged
    assert primal(found.W, found.b) == pytest.approx(best, rel=1e-6)
    assert -found.objective == pytest.approx(best, rel=1e-6)
    assert found.gap == pytest.approx(primal(found.W, found.b) + found.objective, abs=1e-6)
    np.testing.assert_allclose(found.alpha.sum(axis=1), 0.0, atol=1e-12)
    np.testing.assert_allclose(found.W, found.alpha.T @ X, atol=1e-9)
    assert found.history[-1, 0] == pytest.approx(found.objective, rel=1e-9)


def test_all_classes_go_on_from_a_start() -> None:
    X, codes = load_digits(return_X_y=True)
    X, C = (X / 16).astype(np.float32), np.where(codes == 3, 0.2, 0.1)
    short = solve_crammer_singer(X, codes, C, 10, constant=1.0, tol=1e-5, max_iter=3)
    assert not short.converged
    how: Any = {"constant": 1.0, "tol": 1e-5}
    on = solve_crammer_singer(X, codes, C, 10, alpha=short.alpha, **how)
    whole = solve_crammer_singer(X, codes, C, 10, **how)
    assert on.converged
    assert on.objective == pytest.approx(whole.objective, rel=1e-8)
    assert on.history[0, 0] < short.objective
    # A few visits of each row find nothing left to do.
    again = solve_crammer_singer(X, codes, C, 10, alpha=on.alpha, **how)
    assert again.converged
    assert again.n_iter < 4 < whole.n_iter
    assert again.objective == pytest.approx(on.objective, rel=1e-9)
    X[:5] = 0.0
    flat = solve_crammer_singer(X, codes, C, 10, alpha=short.alpha, tol=1e-5)
    assert flat.converged
    assert flat.gap < 1e-2
    uneven, high, odd = np.zeros((3, *short.alpha.shape))
    uneven[7, codes[7]] = 0.5 * C[7]
    high[7, [codes[7], codes[7] - 1]] = 2.0 * C[7], -2.0 * C[7]
    odd[7, 2] = np.nan
    for start in (uneven, high, odd):
        with pytest.raises(InputError, match="alpha is not feasible: give rows that sum to zero"):
            solve_crammer_singer(X, codes, C, 10, alpha=start)
    with pytest.raises(InputError, match=r"alpha has the shape \(5, 10\): give a value for each"):
        solve_crammer_singer(X, codes, C, 10, alpha=short.alpha[:5])


@pytest.mark.long
def test_two_solvers_of_a_problem_agree(labelled: Callable[[str], tuple[Any, Any]]) -> None:
    X, y = labelled("dense")
    one = solve_linear_primal(X, _squared(y, 0.1), **TIGHT)
    two = solve_linear(X, y, 0.1, loss="squared_hinge", **TIGHT | {"tol": 1e-6})
    assert one.objective == pytest.approx(two.objective, rel=1e-8)
    dual = Regression(0.2, True).dual(y, np.full(len(y), 0.1))
    one = solve_linear_primal(X, dual, **TIGHT)
    two = solve_linear_dual((X,), dual, **TIGHT | {"tol": 1e-6})
    assert one.objective == pytest.approx(two.objective, rel=1e-8)
    np.testing.assert_allclose(one.w, two.w, atol=1e-4)


@pytest.mark.long
def test_what_has_no_weight_takes_no_part(labelled: Callable[[str], tuple[Any, Any]]) -> None:
    X, y = labelled("text")
    X, y = X[:600], y[:600]
    C = np.where(np.arange(600) < 300, 1.0, 0.0)
    with np.errstate(divide="ignore"):
        dual = _squared(y, C)
    for solve, size in ((solve_linear_primal, 300), (solve_linear_l1, 300)):
        whole, part = solve(X, dual, **TIGHT), solve(X[:size], _squared(y[:size], 1.0), **TIGHT)
        assert whole.objective == pytest.approx(part.objective, rel=1e-6)
        assert (whole.alpha[size:] == 0.0).all()
    codes = (y > 0).astype(np.int64)
    pair = solve_crammer_singer(X, codes, C, 2, **TIGHT | {"tol": 1e-6})
    other = solve_crammer_singer(X[:300], codes[:300], 1.0, 2, **TIGHT | {"tol": 1e-6})
    assert pair.objective == pytest.approx(other.objective, rel=1e-6)


@pytest.mark.long
def test_rows_of_zeros_and_limits() -> None:
    X, codes = np.zeros((4, 2), np.float32), np.array([0, 1, 2, 1])
    X[0, 0] = X[1, 1] = 1.0
    found = solve_crammer_singer(X, codes, 2.0, 3, tol=1e-9)
    assert found.converged
    assert found.gap == pytest.approx(0.0, abs=1e-9)
    y = np.array([1.0, -1.0, 1.0, -1.0])
    flat = solve_linear_primal(0.0 * X, _squared(y, 1.0))
    assert flat.converged
    assert -flat.objective == pytest.approx(4.0)
    X = np.random.default_rng(0).normal(size=(50, 5)).astype(np.float32)
    y = np.where(X[:, 0] + 0.3 * X[:, 1] > 0.0, 1.0, -1.0)
    for solve in (solve_linear_primal, solve_linear_l1):
        short = solve(X, _squared(y, 9.0), max_iter=1, tol=1e-12)
        stopped = solve(X, _squared(y, 9.0), tol=1e-15, callback=lambda n, v: n > 0)
        assert (short.n_iter, short.converged) == (1, False)
        assert (stopped.n_iter, stopped.converged) == (1, False)


@pytest.mark.long
@pytest.mark.parametrize("solve", [solve_linear_primal, solve_linear_l1])
def test_what_is_impossible_is_refused(solve: Any) -> None:
    X, y = np.eye(2), np.array([1.0, -1.0])
    for rows, dual, said in (
        (X, Classification().dual(y, np.ones(2)), "no second derivative"),
        (X[:1], _squared(y, 1.0), "1 rows and y 2 targets"),
        (np.full((2, 2), np.inf), _squared(y, 1.0), "not finite"),
    ):
        with pytest.raises(InputError, match=said), np.errstate(invalid="ignore"):
            solve(rows, dual)
    with pytest.raises(InputError, match="constant is -1"):
        solve(X, _squared(y, 1.0), constant=-1.0)


@pytest.mark.long
def test_impossible_classes_are_refused() -> None:
    X = np.eye(2)
    for codes, C, said in (
        ([0, 2], 1.0, "from 0 to n_classes - 1"),
        ([0, -1], 1.0, "from 0 to n_classes - 1"),
        ([0.0, 1.0], 1.0, "2 whole numbers"),
        ([0], 1.0, "2 whole numbers"),
        ([0, 1], -1.0, "C holds a negative value"),
    ):
        with pytest.raises(InputError, match=said):
            solve_crammer_singer(X, codes, C, 2)


def test_few_features_are_factorised_by_lapack_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = load_iris(return_X_y=True)
    dual = Classification(squared=True).dual(np.where(y == 1, 1.0, -1.0), np.ones(len(y)))
    wanted = solve_linear_primal(X, dual, constant=1.0, tol=1e-8)
    with monkeypatch.context() as without:
        without.setattr(linalg, "solve", None)
        found = solve_linear_primal(X, dual, constant=1.0, tol=1e-8)
    np.testing.assert_array_equal(found.w, wanted.w)
    monkeypatch.setattr(linalg.lapack, "dposv", lambda H, g: (H, g, 1))
    found = solve_linear_primal(X, dual, constant=1.0, tol=1e-8)
    np.testing.assert_allclose(found.w, wanted.w, atol=1e-9)
