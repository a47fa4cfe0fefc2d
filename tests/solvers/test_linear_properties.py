"""Properties of the solver of linear SVMs that hold for every problem, and its odd cases."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from dcsvm_dask.errors import InputError
from dcsvm_dask.solvers import solve_linear, solve_linear_chunks, warm_up_linear
from dcsvm_dask.solvers.linear import loops as linear_loops

SETTINGS = settings(max_examples=40, deadline=None)
ENOUGH = 1_000_000


@st.composite
def problems(draw: st.DrawFn) -> dict[str, Any]:
    """Return a small problem; some have equal rows, rows of zeros, rows without weight."""
    n, d = draw(st.integers(1, 40)), draw(st.integers(1, 20))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = rng.standard_normal((n, d)).astype(np.float32)
    if draw(st.booleans()):
        X = np.round(X)
    X[rng.random(n) < draw(st.sampled_from([0.0, 0.2]))] = 0.0
    scale = 2.0 ** draw(st.integers(-6, 3))
    C = np.full(n, scale) if draw(st.booleans()) else scale * rng.random(n)
    C[rng.random(n) < draw(st.sampled_from([0.0, 0.3]))] = 0.0
    return {
        "X": X,
        "y": np.where(rng.random(n) < draw(st.floats(0.0, 1.0)), 1.0, -1.0),
        "C": C,
        "loss": draw(st.sampled_from(["hinge", "squared_hinge"])),
        "constant": draw(st.sampled_from([0.0, 1.0, 3.0])),
        "seed": draw(st.integers(0, 1000)),
    }


def _violation(problem: dict[str, Any], alpha: Any) -> tuple[float, float]:
    """Return violation and objective of a point, by the whole matrix Q."""
    y, C = problem["y"], problem["C"]
    X = np.c_[problem["X"].astype(np.float64), np.full(len(y), problem["constant"])] * y[:, None]
    Q, upper = X @ X.T, C
    if problem["loss"] == "squared_hinge":
        weighty = C > 0.0
        Q += np.diag(0.5 / np.where(weighty, C, 1.0))
        upper = np.where(weighty, np.inf, 0.0)
    assert (alpha >= 0.0).all()
    assert (alpha <= upper).all()
    gradient = Q @ alpha - 1.0
    high = np.max(gradient, where=alpha > 0.0, initial=0.0)
    low = np.min(gradient, where=alpha < upper, initial=0.0)
    return float(high - low), float(0.5 * alpha @ Q @ alpha - alpha.sum())


@SETTINGS
@given(problems(), st.sampled_from([1e-1, 1e-3, 1e-6]), st.integers(1, 5))
def test_answer_is_feasible_and_meets_the_tolerance(
    problem: dict[str, Any], tol: float, parts: int
) -> None:
    X = problem["X"]
    cuts = np.linspace(0, len(X), parts + 1).astype(int)
    for rows in (X, sparse.csr_array(X)):
        chunks = [rows[a:b] for a, b in itertools.pairwise(cuts)]
        arguments = {key: value for key, value in problem.items() if key != "X"}
        found = solve_linear_chunks(chunks, **arguments, tol=tol, max_iter=ENOUGH)
        violation, objective = _violation(problem, found.alpha)
        size = 1.0 + found.alpha.sum() * np.max(X**2, initial=1.0) * (1 + X.shape[1])
        assert found.converged
        assert violation == pytest.approx(found.violation, abs=1e-12 * size)
        assert found.violation <= tol
        assert found.objective == pytest.approx(objective, rel=1e-9, abs=1e-12 * size)
        assert found.history.shape == (found.n_iter, 2)


@SETTINGS
@given(problems(), st.integers(1, 3))
def test_objective_falls_with_every_pass(problem: dict[str, Any], parts: int) -> None:
    rows = np.array_split(problem.pop("X"), parts)
    found = solve_linear_chunks(rows, **problem, tol=1e-6, max_iter=50)
    values = [0.0, *found.history[:, 0]]
    scale = 1e-12 * (1.0 + abs(values[-1]))
    assert all(after <= before + scale for before, after in itertools.pairwise(values))
    assert values[-1] == pytest.approx(found.objective, rel=1e-9, abs=1e-12)


@SETTINGS
@given(problems())
def test_dense_and_sparse_agree(problem: dict[str, Any]) -> None:
    X = problem.pop("X")
    dense = solve_linear(X, **problem, tol=1e-7, max_iter=ENOUGH)
    wide = sparse.csr_array(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    for rows in (sparse.csr_array(X), wide, X.astype(np.float64)):
        other = solve_linear(rows, **problem, tol=1e-7, max_iter=ENOUGH)
        assert other.objective == pytest.approx(dense.objective, rel=1e-6, abs=1e-9)


@SETTINGS
@given(problems())
def test_equal_rows_are_one_with_the_sum_of_their_costs(problem: dict[str, Any]) -> None:
    X, y, C = problem.pop("X"), problem.pop("y"), problem.pop("C")
    twice = solve_linear(
        np.r_[X, X], np.r_[y, y], np.r_[C, C], **problem, tol=1e-7, max_iter=ENOUGH
    )
    once = solve_linear(X, y, 2.0 * C, **problem, tol=1e-7, max_iter=ENOUGH)
    assert twice.objective == pytest.approx(once.objective, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("label", [1.0, -1.0])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_labels_of_one_sign(label: float, loss: Any) -> None:
    X = np.random.default_rng(0).standard_normal((30, 3)).astype(np.float32)
    found = solve_linear(
        X, np.full(30, label), 10.0, loss=loss, constant=1.0, tol=1e-7, max_iter=ENOUGH
    )
    assert found.converged
    assert (label * (X @ found.w + found.b) > 0.9).all()


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
def test_a_row_of_zeros_is_at_its_bound(storage: Any) -> None:
    X = storage(np.array([[0.0, 0.0], [1.0, 2.0], [0.0, 0.0]], np.float32))
    hinge = solve_linear(X, [1, 1, -1], 0.5, tol=1e-9)
    assert hinge.converged
    np.testing.assert_array_equal(hinge.alpha[[0, 2]], 0.5)
    squared = solve_linear(X, [1, 1, -1], 0.5, loss="squared_hinge", tol=1e-9)
    np.testing.assert_allclose(squared.alpha[[0, 2]], 1.0)


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
def test_no_rows_or_no_features(storage: Any) -> None:
    empty = solve_linear(storage(np.zeros((0, 3), np.float32)), [], 1.0)
    assert empty.converged
    assert empty.objective == 0.0
    assert empty.w.shape == (3,)
    bare = solve_linear(storage(np.zeros((3, 0), np.float32)), [1, 1, -1], 2.0, constant=1.0)
    assert bare.converged
    assert bare.b == pytest.approx(1.0, abs=1e-3)


def test_limits_are_kept_and_reported() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 20))
    y = np.where(rng.random(200) < 0.5, 1.0, -1.0)
    none = solve_linear(X, y, 10.0, max_iter=0)
    assert (none.n_iter, none.converged, none.objective) == (0, False, 0.0)
    assert none.violation == 1.0
    few = solve_linear(X, y, 10.0, tol=1e-9, max_iter=3)
    assert (few.n_iter, few.converged) == (3, False)
    calls: list[tuple[int, float]] = []

    def stop_at_two(n_iter: int, violation: float) -> bool:
        calls.append((n_iter, violation))
        return n_iter == 2

    stopped = solve_linear_chunks([X[:90], X[90:]], y, 10.0, tol=1e-9, callback=stop_at_two)
    assert stopped.n_iter == 2
    assert not stopped.converged
    assert [call[0] for call in calls] == [1, 2]


def test_chunks_at_rest_are_not_asked_for() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 10)).astype(np.float32)
    y = np.where(X[:, 0] + rng.standard_normal(300) > 0.0, 1.0, -1.0)
    far = X.copy()
    far[:, 0] = 100.0 * y  # beyond the margin once the first rows are learnt
    asked = [0, 0]

    class Counted:
        def __len__(self) -> int:
            return 2

        def __getitem__(self, i: int) -> Any:
            asked[i] += 1
            return (X, far)[i]

    found = solve_linear_chunks(Counted(), np.r_[y, y], 1.0, tol=1e-6)
    assert found.converged
    assert asked[1] < 0.5 * asked[0]


def test_what_does_not_fit_is_refused() -> None:
    X, y = np.eye(3, dtype=np.float32), np.array([1.0, -1.0, 1.0])
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"loss": "log"}, "loss is 'log'"),
        ({"constant": -1.0}, "constant is -1"),
        ({"y": [1, 2, 1]}, "label other than"),
        ({"y": [1, -1]}, "3 rows and y 2 labels"),
        ({"y": [1, -1, 1, 1]}, "3 rows and y 4 labels"),
        ({"C": -1.0}, "negative"),
        ({"C": [1.0, 2.0]}, "shape"),
        ({"alpha": [0.0, 2.0, 0.0]}, "outside"),
        ({"alpha": [0.0, -2.0, 0.0], "loss": "squared_hinge"}, "outside"),
        ({"X": np.array([[np.nan], [0.0], [1.0]])}, "not finite"),
    ]
    for change, text in wrong:
        with pytest.raises(InputError, match=text):
            solve_linear(**{"X": X, "y": y, "C": 1.0, **change})
    with pytest.raises(InputError, match="no chunks"):
        solve_linear_chunks([], y, 1.0)
    with pytest.raises(InputError, match="chunk 1 has 2 features"):
        solve_linear_chunks([X[:2], X[2:, :2]], y, 1.0)
    with pytest.raises(InputError, match="chunk 1 is stored otherwise"):
        solve_linear_chunks([X[:2], sparse.csr_array(X[2:])], y, 1.0)


def test_nothing_is_compiled_after_warm_up() -> None:
    warm_up_linear()
    compiled = (linear_loops.descend, linear_loops.measure, linear_loops.squares)
    before = [len(function.signatures) for function in compiled]
    X = np.random.default_rng(0).standard_normal((50, 4)).astype(np.float32)
    for rows in (X, sparse.csr_array(X), sparse.csr_matrix(X)):
        solve_linear(rows, np.where(X[:, 0] > 0.0, 1.0, -1.0), 1.0, loss="squared_hinge")
        solve_linear_chunks([rows[:20], rows[20:]], np.sign(X[:, 0]), 1.0, constant=1.0)
    assert [len(function.signatures) for function in compiled] == before


def test_orders_are_permutations_and_spread() -> None:
    order, state = np.arange(50, dtype=np.int32), np.array([1], np.uint64)
    places = np.zeros((40, 40), int)
    for _ in range(8000):
        linear_loops.shuffle(order, 40, state)
        places[order[:40], np.arange(40)] += 1
    np.testing.assert_array_equal(np.sort(order[:40]), np.arange(40))
    np.testing.assert_array_equal(order[40:], np.arange(40, 50))
    # 200 expected in each of 1,600 places: chi-square has 1,521 degrees of freedom.
    assert abs(((places - 200.0) ** 2 / 200.0).sum() - 1521.0) < 6.0 * np.sqrt(2.0 * 1521.0)
