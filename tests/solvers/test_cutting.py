"""Cutting planes against dual coordinate descent and LIBLINEAR on real data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import astuple, replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse
from sklearn.svm import LinearSVC

from dcsvm_dask.errors import InputError
from dcsvm_dask.solvers import CuttingSolution, solve_cutting, solve_linear_dual
from dcsvm_dask.solvers.cutting.state import State, Step
from dcsvm_dask.tasks import Classification, Quantile, Regression
from tests.marks import long

Data = tuple[NDArray[np.float32], NDArray[np.float64]]
CPA = {"best": False, "line_search": False, "share": 1.0}


def rows_of(shared_data: Callable[[str], Any], name: str, n: int) -> Data:
    """Return n rows of a real data set; targets that are no labels are standardised with them."""
    found = shared_data(name)
    index = np.random.default_rng(0).permutation(found["X_train"].shape[0])[:n]
    X, y = found["X_train"][index], found["y_train"][index].astype(np.float64)
    if name == "cadata":
        X = (X - X.mean(axis=0)) / X.std(axis=0)
        return X.astype(np.float32), (y - y.mean()) / y.std()
    return X, np.where(y > 0.0, 1.0, -1.0)


@pytest.mark.parametrize(
    ("name", "n", "task", "C", "constant"),
    [
        ("a9a", 500, Classification(), 0.02, 0.0),
        long("a9a", 2000, Classification(), 0.1, 1.0),
        long("a9a", 3000, Classification(squared=True), 0.5, 0.0),
        long("w8a", 1500, Classification(), 0.1, 0.0),
        long("w8a", 1500, Classification(squared=True), 0.1, 1.0),
        long("cadata", 1500, Regression(epsilon=0.1), 1.0, 0.0),
        long("cadata", 1500, Regression(epsilon=0.1, squared=True), 0.1, 1.0),
        long("cadata", 1500, Quantile(quantile=0.3), 0.1, 1.0),
    ],
)
def test_the_objective_is_that_of_coordinate_descent(
    shared_data: Callable[[str], Any], name: str, n: int, task: Any, C: float, constant: float
) -> None:
    X, y = rows_of(shared_data, name, n)
    weights = np.random.default_rng(1).choice([0.0, 0.5, 1.0, 2.0], n)
    with np.errstate(divide="ignore"):  # the ridge of rows without weight
        dual = task.dual(y, C * weights)
    reference = solve_linear_dual([X], dual, constant=constant, tol=1e-5)
    best = -reference.objective
    for rows in (X, sparse.csr_array(X)):
        found = solve_cutting(rows, dual, constant=constant, tol=5e-7, unit="objective")
        assert found.converged
        assert found.objective == pytest.approx(best, rel=1e-6)
        assert found.bound <= best * (1.0 + 1e-9)
        # F is strongly convex: the gap bounds the distance from the best w.
        off = np.append(found.w - reference.w, 0.0 if not constant else (found.b - reference.b))
        assert np.linalg.norm(off) <= np.sqrt(2.0 * found.gap) + 1e-3 * np.linalg.norm(found.w)
        objectives, bounds = (
            [getattr(s, f) for s in found.history] for f in ("objective", "bound")
        )
        assert (np.diff(objectives) <= 0.0).all()
        assert (np.diff(bounds) >= 0.0).all()


@pytest.mark.long
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_the_weights_are_those_of_liblinear(shared_data: Callable[[str], Any], loss: str) -> None:
    X, y = rows_of(shared_data, "a9a", 2000)
    theirs = LinearSVC(loss=loss, C=0.1, fit_intercept=False, dual=True, tol=1e-6, max_iter=100_000)
    theirs.fit(X.astype(np.float64), y)
    dual = Classification(squared=loss != "hinge").dual(y, np.full(len(y), 0.1))
    ours = solve_cutting(X, dual, tol=1e-8, unit="objective")
    w = theirs.coef_[0]
    value = 0.5 * w @ w + dual.losses(X.astype(np.float64) @ w + dual.p).sum()
    assert ours.objective == pytest.approx(value, rel=1e-6)
    np.testing.assert_allclose(ours.w, w, atol=2e-3)


@pytest.mark.long
def test_each_change_saves_iterations(shared_data: Callable[[str], Any]) -> None:
    X, y = rows_of(shared_data, "a9a", 2000)
    dual = Classification().dual(y, np.full(len(y), 1.0))

    def run(**switches: bool) -> CuttingSolution:
        found = solve_cutting(X, dual, tol=1e-3, max_iter=2000, **switches)
        assert found.converged
        return found

    plain, whole = run(**CPA), run()
    searched = run(share=1.0)
    assert whole.n_iter < searched.n_iter < plain.n_iter
    assert plain.n_iter > 1.5 * whole.n_iter
    assert (np.diff([step.objective for step in plain.history]) > 0.0).any()


@pytest.mark.parametrize("switches", [{}, long(CPA, id="CPA")])
def test_a_stored_state_goes_on_with_the_same_bits(
    shared_data: Callable[[str], Any], switches: dict[str, bool]
) -> None:
    X, y = rows_of(shared_data, "a9a", 500)
    dual = Classification().dual(y, np.full(len(y), 0.1))
    states: list[State] = []

    def keep(step: Step, state: State) -> None:
        assert step.iteration == state.iteration
        states.append(state)

    whole = solve_cutting(X, dual, callback=keep, **switches)
    early = solve_cutting(X, dual, tol=0.1, **switches)
    assert 1 < early.n_iter < whole.n_iter
    for state in (states[0], states[len(states) // 2], early.state):
        again = solve_cutting(X, dual, state=state, threads=2, **switches)
        ends = (replace(one.state.planes, stack=None) for one in (again, whole))
        pairs = zip(*map(astuple, ends), strict=True)
        for one, other in [*pairs, (again.state.outputs, whole.state.outputs)]:
            np.testing.assert_array_equal(one, other)
        assert again.objective == whole.objective


def test_what_does_not_fit_is_refused(shared_data: Callable[[str], Any]) -> None:
    X, y = rows_of(shared_data, "a9a", 100)
    dual = Classification().dual(y, np.ones(100))
    with pytest.raises(InputError, match="give best=True"):
        solve_cutting(X, dual, best=False)
    with pytest.raises(InputError, match="no line is searched"):
        solve_cutting(X, dual, line_search=False)
    with pytest.raises(InputError, match="share is nan"):
        solve_cutting(X, dual, share=np.nan)
    with pytest.raises(InputError, match="unit is 'C'"):
        solve_cutting(X, dual, unit="C")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="tol is nan"):
        solve_cutting(X, dual, tol=np.nan)
    with pytest.raises(InputError, match="100 rows and X 99"):
        solve_cutting(X[:99], dual)
    with pytest.raises(InputError, match="not finite"):
        solve_cutting(np.where(X > 0.0, np.inf, X), dual)
    with pytest.raises(InputError, match="keeps sums"):
        solve_cutting(X, replace(dual, spare=1.0))
    state = solve_cutting(X, dual, max_iter=3).state
    for rows, other in ((X[:, ::-1].copy(), dual), (X, dual.scaled(2.0)), (X[:50], dual[:50])):
        with pytest.raises(InputError, match="of another problem"):
            solve_cutting(rows, other, state=state)


def test_nothing_to_learn() -> None:
    X = np.ones((5, 2), dtype=np.float32)
    dual = Classification().dual(np.ones(5), np.zeros(5))
    found = solve_cutting(X, dual)
    assert found.converged
    assert found.objective == 0.0
    assert not found.w.any()


@pytest.mark.long
def test_a_large_cost_does_not_hold_up_the_reduced_problem(
    shared_data: Callable[[str], Any],
) -> None:
    X, y = rows_of(shared_data, "a9a", 300)
    dual = Classification().dual(y, np.full(len(y), 1e5))
    found = solve_cutting(X, dual, tol=5e-2)
    assert found.converged
    assert 0.0 < found.bound <= found.objective <= found.bound + 5e-2 * 300e5


def test_planes_of_one_state_may_be_gone_on_with_twice(shared_data: Callable[[str], Any]) -> None:
    X, y = rows_of(shared_data, "w8a", 400)
    dual = Classification().dual(y, np.ones(len(y)))
    state = solve_cutting(X, dual, max_iter=5, tol=0.0).state
    kept = state.planes.planes.copy()
    first = solve_cutting(X, dual, max_iter=9, tol=0.0, state=state).state.planes
    as_it_was = first.planes.copy()
    second = solve_cutting(X, dual, max_iter=9, tol=0.0, state=state, share=0.5).state.planes
    assert not np.array_equal(second.planes, first.planes)
    np.testing.assert_array_equal(first.planes, as_it_was)
    np.testing.assert_array_equal(state.planes.planes, kept)
