"""Linear machines on real data against LIBLINEAR, as scikit-learn's LinearSVC runs it."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from importlib import resources
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.svm import LinearSVC

from dcsvm_dask.solvers import LinearSolution, solve_linear, solve_linear_chunks
from tests.marks import half

LOSSES = ("hinge", "squared_hinge")
losses = pytest.mark.parametrize("loss", LOSSES)
constants = pytest.mark.parametrize("constant", [0.0, 1.0, 2.5])


@pytest.fixture(scope="module")
def covtype() -> tuple[Any, Any]:
    """Return 3,000 rows of the demo, scaled by their range."""
    with resources.as_file(resources.files("dcsvm_dask.demo") / "covtype.csv.xz") as path:
        table = np.loadtxt(path, delimiter=",", skiprows=1, max_rows=3000, dtype=np.float32)
    low, high = table.min(axis=0), table.max(axis=0)
    X = (table - low) / np.where(high > low, high - low, 1)
    return np.ascontiguousarray(X[:, :-1]), table[:, -1].astype(np.float64)


@pytest.fixture(scope="module")
def text(shared_data: Callable[[str], Any]) -> tuple[Any, Any]:
    return _sparse(shared_data, "reuters_money_fx")


def _sparse(shared_data: Callable[[str], Any], name: str) -> tuple[Any, Any]:
    found = shared_data(name)
    if "X_train" in found:
        return sparse.csr_array(found["X_train"].astype(np.float32)), found["y_train"]
    parts = tuple(found[f"X_train_{key}"] for key in ("data", "indices", "indptr"))
    parts = (parts[0], parts[1].astype(np.int32), parts[2].astype(np.int32))  # as LIBLINEAR's
    X = sparse.csr_array(parts, shape=tuple(found["X_train_shape"])).astype(np.float32)
    return X, found["y_train"]


def _primal(X: Any, y: Any, C: Any, loss: str, constant: float, w: Any, weight: float) -> float:
    """Return the primal objective; `weight` is that of the constant."""
    lost = np.maximum(0.0, 1.0 - y * (X @ w + constant * weight))
    lost = lost**2 if loss == "squared_hinge" else lost
    return float(0.5 * (w @ w + weight**2) + np.sum(C * lost))


def _liblinear(X: Any, y: Any, C: float, loss: str, constant: float) -> float:
    """Return the primal objective that LIBLINEAR reaches: minus the best dual one."""
    machine = LinearSVC(
        loss=loss,
        C=C,
        dual=True,
        tol=1e-7,
        max_iter=10_000_000,
        fit_intercept=constant > 0.0,
        intercept_scaling=constant or 1.0,
        random_state=0,
    ).fit(X.astype(np.float64), y)
    weight = float(machine.intercept_[0] / constant) if constant else 0.0
    return _primal(X.astype(np.float64), y, C, loss, constant, machine.coef_[0], weight)


def _agrees(
    found: LinearSolution, X: Any, y: Any, C: Any, loss: str, constant: float, best: float
) -> None:
    assert found.converged
    assert -found.objective == pytest.approx(best, rel=1e-6)
    X = X.astype(np.float64)
    np.testing.assert_allclose(found.w, X.T @ (y * found.alpha), atol=1e-9)
    weight = constant * float(y @ found.alpha)
    assert found.b == pytest.approx(constant * weight, abs=1e-9)
    # Weak duality: minus the dual objective lies below every primal one, at the answer on it.
    assert _primal(X, y, C, loss, constant, found.w, weight) == pytest.approx(best, rel=1e-6)
    assert -found.objective <= best * (1.0 + 1e-9)
    # The reported violation is that of the returned point.
    ridge = 0.5 / np.asarray(C) if loss == "squared_hinge" else 0.0
    upper = np.inf if loss == "squared_hinge" else C
    gradient = y * (X @ found.w + found.b) - 1.0 + ridge * found.alpha
    high = np.max(gradient, where=found.alpha > 0.0, initial=0.0)
    low = np.min(gradient, where=found.alpha < upper, initial=0.0)
    assert high - low == pytest.approx(found.violation, abs=1e-9)


@pytest.mark.one_quick
@losses
@constants
def test_same_answer_as_liblinear_on_text(
    text: tuple[Any, Any], loss: Any, constant: float
) -> None:
    X, y = text
    found = solve_linear(X, y, 1.0, loss=loss, constant=constant, tol=1e-6)
    _agrees(found, X, y, 1.0, loss, constant, _liblinear(X, y, 1.0, loss, constant))


@losses
@constants
def test_same_answer_as_liblinear_on_dense_rows(
    covtype: tuple[Any, Any], loss: Any, constant: float
) -> None:
    X, y = covtype
    best = _liblinear(X, y, 0.25, loss, constant)
    for rows in (X, X.astype(np.float64), sparse.csr_array(X)):
        found = solve_linear(
            rows, y, 0.25, loss=loss, constant=constant, tol=1e-5, max_iter=1_000_000
        )
        _agrees(found, X, y, 0.25, loss, constant, best)


@pytest.mark.long
@pytest.mark.parametrize(("name", "loss"), half(["news20_tfidf", "a9a"], [*LOSSES]))
def test_same_answer_as_liblinear_on_many_rows(
    shared_data: Callable[[str], Any], name: str, loss: Any
) -> None:
    X, y = _sparse(shared_data, name)
    found = solve_linear(X, y, 0.5, loss=loss, constant=1.0, tol=1e-4, max_iter=1_000_000)
    _agrees(found, X, y, 0.5, loss, 1.0, _liblinear(X, y, 0.5, loss, 1.0))


@pytest.mark.one_quick
@losses
@pytest.mark.parametrize("inner_passes", [1, 4])
def test_chunks_agree_with_the_whole(
    text: tuple[Any, Any], covtype: tuple[Any, Any], loss: Any, inner_passes: int
) -> None:
    for (X, y), cuts in ((text, [0, 3000, 3001, 7770]), (covtype, [0, 700, 700, 3000])):
        chunks = [X[a:b] for a, b in itertools.pairwise(cuts)]
        how: Any = {"loss": loss, "constant": 1.0, "tol": 1e-5, "max_iter": 1_000_000}
        whole = solve_linear(X, y, 0.02, **how)
        found = solve_linear_chunks(chunks, y, 0.02, **how, inner_passes=inner_passes)
        _agrees(found, X, y, 0.02, loss, 1.0, -whole.objective)


@losses
def test_chunks_are_read_about_as_often_as_a_whole_is_passed(
    text: tuple[Any, Any], loss: Any
) -> None:
    X, y = text
    cuts = np.linspace(0, len(y), 11).astype(int)
    chunks = [X[a:b] for a, b in itertools.pairwise(cuts)]
    whole = solve_linear(X, y, 1.0, loss=loss, constant=1.0, tol=1e-2)
    found = solve_linear_chunks(chunks, y, 1.0, loss=loss, constant=1.0, tol=1e-2)
    assert found.converged
    assert found.n_iter < 1.5 * whole.n_iter


@losses
def test_few_passes_from_the_answer(text: tuple[Any, Any], loss: Any) -> None:
    X, y = text
    cold = solve_linear(X, y, 1.0, loss=loss, constant=1.0, tol=1e-3)
    again = solve_linear(X, y, 1.0, loss=loss, constant=1.0, tol=1e-2, alpha=cold.alpha)
    assert again.n_iter == 1
    assert again.objective <= cold.objective + 1e-9 * abs(cold.objective)
    upper = 1.1 if loss == "hinge" else np.inf
    near = solve_linear(
        X, y, 1.1, loss=loss, constant=1.0, tol=1e-1, alpha=np.clip(cold.alpha, 0.0, upper)
    )
    far = solve_linear(X, y, 1.1, loss=loss, constant=1.0, tol=1e-1)
    assert near.n_iter < 0.6 * far.n_iter
    halves = [X[:4000], X[4000:]]
    in_chunks = solve_linear_chunks(
        halves, y, 1.0, loss=loss, constant=1.0, tol=1e-2, alpha=cold.alpha
    )
    assert in_chunks.n_iter == 1


@losses
def test_a_weight_is_so_many_rows(covtype: tuple[Any, Any], loss: Any) -> None:
    X, y = covtype[0][:400], covtype[1][:400]
    weights = np.random.default_rng(0).integers(0, 4, 400)
    how: Any = {"loss": loss, "constant": 1.0, "tol": 1e-7, "max_iter": 1_000_000}
    weighted = solve_linear(X, y, 0.5 * weights, **how)
    rows = np.repeat(np.arange(400), weights)
    repeated = solve_linear(X[rows], y[rows], 0.5, **how)
    assert weighted.converged
    assert repeated.converged
    assert weighted.objective == pytest.approx(repeated.objective, rel=1e-8)
    np.testing.assert_allclose(weighted.w, repeated.w, atol=1e-5)
    assert (weighted.alpha[weights == 0] == 0.0).all()


def test_the_same_seed_gives_the_same_bits(text: tuple[Any, Any]) -> None:
    X, y = text
    one, two = (solve_linear(X, y, 1.0, seed=3) for _ in range(2))
    np.testing.assert_array_equal(one.alpha, two.alpha)
    np.testing.assert_array_equal(one.w, two.w)
    other = solve_linear(X, y, 1.0, seed=4)
    assert (one.alpha != other.alpha).any()
    assert other.objective == pytest.approx(one.objective, rel=1e-4)
