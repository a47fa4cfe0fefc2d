"""Kernel rows on demand: what the whole matrix says, by a part of its values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import make_moons
from sklearn.svm import SVC, SVR

from dcsvm_dask.estimators import DCSVC, DCSVR
from dcsvm_dask.kernels import Kernel, kernel_matrix
from dcsvm_dask.solvers import (
    machines_of_rows,
    on_demand,
    pairs_on_demand,
    solve_inner,
    solve_smo,
    whole,
)
from dcsvm_dask.solvers.on_demand import solve_on_demand
from dcsvm_dask.solvers.optimality import violation
from dcsvm_dask.tasks import Classification, Dual, Quantile, Regression

KERNELS = {
    "rbf": Kernel("rbf", 0.3),
    "laplacian": Kernel("laplacian", 0.2),
    "poly": Kernel("poly", 0.3, 2, 1.0),
    "linear": Kernel("linear"),
}


def standard(X: Any) -> Any:
    X = np.asarray(X, np.float64)
    return ((X - X.mean(axis=0)) / X.std(axis=0)).astype(np.float32)


@pytest.fixture(scope="module")
def colours(shared_data: Callable[[str], Any]) -> Any:
    """9,000 colours, skin or not, separated by few support vectors; distinct rows."""
    data = shared_data("skin_nonskin")
    X, y = data["X_train"], np.where(data["y_train"] == data["y_train"].max(), 1, -1)
    X, first = np.unique(X, axis=0, return_index=True)
    some = np.random.default_rng(0).permutation(len(X))[:9000]
    return standard(X[some]), y[first[some]]


@pytest.fixture(scope="module")
def skin(colours: Any) -> Any:
    return colours[0][:3000], colours[1][:3000]


@pytest.fixture
def solved(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """What comes of each time that rows on demand are tried."""
    found: list[bool] = []

    def counted(kernel: Kernel, X: Any, dual: Dual, **how: Any) -> Any:
        solution, values = solve_on_demand(kernel, X, dual, **how)
        found.append(solution is not None)
        return solution, values

    monkeypatch.setattr(machines_of_rows, "solve_on_demand", counted)
    monkeypatch.setattr(whole, "solve_on_demand", counted)
    return found


@pytest.fixture
def _to_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Go on, however many rows are asked for."""
    monkeypatch.setattr(on_demand, "LOOKS", ((1.0, 1.0),))
    monkeypatch.setattr(on_demand, "LATER", ((1.0, 1.0),))
    monkeypatch.setattr(on_demand, "MOST_ASKED", 2.0)
    monkeypatch.setattr(on_demand, "MOST_WORK", 10_000)


def dual_of(name: str, X: Any, y: Any) -> Dual:
    C = np.random.default_rng(1).uniform(0.5, 5.0, len(y))
    if name == "classes":
        return Classification().dual(y.astype(np.float64), C)
    z = np.sin(X[:, 0].astype(np.float64)) + 0.3 * X[:, 1] ** 2
    return Regression(0.1, False).dual(z, C) if name == "epsilon" else Quantile(0.3).dual(z, C)


@pytest.mark.usefixtures("_to_the_end")
@pytest.mark.parametrize("kernel", list(KERNELS))
@pytest.mark.parametrize("name", ["classes", "epsilon", "quantile"])
def test_the_solution_is_that_of_the_whole_matrix(name: str, kernel: str, skin: Any) -> None:
    X, y = (part[:600] for part in skin)
    dual = dual_of(name, X, y)
    K = kernel_matrix(KERNELS[kernel], X, dtype=np.float64)
    found, values = solve_on_demand(KERNELS[kernel], X, dual, tol=1e-6)
    assert found is not None
    assert found.converged
    assert values % 600 == 0
    assert np.count_nonzero(found.beta) <= values // 600 <= 600
    assert (found.beta >= dual.lower).all()
    assert (found.beta <= dual.upper).all()
    assert abs(found.beta.sum()) <= 1e-10 * np.abs(found.beta).sum()
    gradient = dual.gradient(K @ found.beta, found.beta)
    np.testing.assert_allclose(found.gradient, gradient, atol=1e-9 * np.abs(gradient).max())
    assert violation(gradient, found.beta, dual, equality=True) <= 1e-6 + 1e-9
    other = solve_smo(K, dual, equality=True, tol=1e-6)
    assert found.objective == pytest.approx(other.objective, rel=1e-6)
    assert found.bias == pytest.approx(other.bias, abs=1e-5)


@pytest.mark.parametrize("C", [1.0, 10.0, 100.0])
def test_few_rows_are_asked_for(C: float, skin: Any) -> None:
    X, y = skin
    dual = Classification().dual(y.astype(np.float64), np.full(len(y), C))
    found, values = solve_on_demand(Kernel("rbf", 1 / 3), X, dual, exact=True)
    assert found is not None
    support = np.count_nonzero(found.beta)
    assert 0 < support <= values // len(X) <= 2 * support + on_demand.FIRST_LOOK < len(X) / 4
    other = solve_smo(kernel_matrix(Kernel("rbf", 1 / 3), X, dtype=np.float64), dual, equality=True)
    assert found.objective == pytest.approx(other.objective, rel=1e-3)
    if np.count_nonzero(dual.is_free(found.beta)) <= 48:
        assert found.violation < 1e-12


def test_where_labels_are_noise_it_ends_early(skin: Any) -> None:
    X, y = skin
    noise = np.random.default_rng(0).permutation(y).astype(np.float64)
    dual = Classification().dual(noise, np.full(len(y), 1.0))
    found, values = solve_on_demand(Kernel("rbf", 1 / 3), X, dual)
    assert found is None
    assert values <= len(X) * (len(X) / 32 + 2)


@pytest.mark.parametrize("n", [1500, 3000])
def test_what_ends_early_is_solved_as_without(
    n: int, skin: Any, solved: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = (part[:n] for part in skin)
    noise = np.random.default_rng(0).permutation(y).astype(np.float64)
    dual = Classification().dual(noise, np.full(len(y), 1.0))
    one, values = whole.solve_whole(Kernel("rbf", 1 / 3), X, dual, equality=True)
    assert solved == [False]
    _, tried = solve_on_demand(Kernel("rbf", 1 / 3), X, dual)
    monkeypatch.setattr(whole, "suits", lambda *_: False)
    other, fewer = whole.solve_whole(Kernel("rbf", 1 / 3), X, dual, equality=True)
    np.testing.assert_array_equal(one.beta, other.beta)
    assert values == fewer + tried


@pytest.mark.parametrize(
    ("kernel", "C", "tol"),
    [
        (Kernel("rbf", 0.01), 1e6, 1e-10),
        (Kernel("poly", 1 / 3, 3, 1.0), 1e4, 1e-12),
        (Kernel("rbf", 1 / 3), 1e4, 1e-13),
    ],
)
def test_a_tolerance_below_the_rounding_is_given_up(
    kernel: Kernel, C: float, tol: float, skin: Any
) -> None:
    X, y = (part[:1500] for part in skin)
    dual = Classification().dual(y.astype(np.float64), np.full(len(y), C))
    calls: list[float] = []
    found, _ = solve_on_demand(
        kernel, X, dual, tol=tol, callback=lambda _, violation: calls.append(violation)
    )
    assert found is None or found.converged
    assert len(calls) < 40


def test_what_takes_too_many_steps_is_given_up(skin: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = (part[:1500] for part in skin)
    dual, work = Classification().dual(y.astype(np.float64), np.full(len(y), 1e5)), []

    def counted(K: Any, *given: Any, **how: Any) -> Any:
        found = solve_inner(K, *given, **how)
        work.append(found.n_iter * len(K))
        return found

    monkeypatch.setattr(on_demand, "solve_inner", counted)
    monkeypatch.setattr(on_demand, "LOOKS", ((1.0, 1.0),))
    monkeypatch.setattr(on_demand, "LATER", ((1.0, 1.0),))  # rows are not what ends it
    assert solve_on_demand(Kernel("linear"), X, dual)[0] is None
    most = on_demand.MOST_WORK * len(y) ** 2
    assert 0.5 * most < sum(work) <= most


def test_a_callback_stops_it(skin: Any) -> None:
    X, y = skin
    dual = Classification().dual(y.astype(np.float64), np.full(len(y), 100.0))
    calls: list[tuple[int, float]] = []

    def stop(steps: int, violation: float) -> bool:
        calls.append((steps, violation))
        return len(calls) == 2

    found, _ = solve_on_demand(Kernel("rbf", 1 / 3), X, dual, callback=stop)
    assert found is not None
    assert not found.converged
    assert found.violation > 1e-3
    assert len(calls) == 2
    assert found.n_iter == calls[-1][0]
    K = kernel_matrix(Kernel("rbf", 1 / 3), X, dtype=np.float64)
    np.testing.assert_allclose(found.gradient, dual.gradient(K @ found.beta, found.beta), atol=1e-9)


def test_values_that_are_not_finite_are_left_to_the_whole_matrix(skin: Any) -> None:
    X, y = skin
    dual = Classification().dual(y.astype(np.float64), np.full(len(y), 1.0))
    assert solve_on_demand(Kernel("poly", 1e30, 12), X, dual)[0] is None


def test_which_problems_suit(skin: Any) -> None:
    X, y = skin
    dual = Classification().dual(y.astype(np.float64), np.full(len(y), 1.0))
    assert on_demand.suits(X, dual)
    assert not on_demand.suits(X[:400], dual[:400])
    assert not on_demand.suits(X, dual, most_features=2)
    assert not on_demand.suits(X, Classification(squared=True).dual(y, np.full(len(y), 1.0)))


@pytest.mark.parametrize("kind", ["dense", "sparse", "threads", "verbose"])
def test_an_estimator_is_svc(
    kind: str, skin: Any, solved: list[bool], capsys: pytest.CaptureFixture[str]
) -> None:
    X, y = skin
    theirs = SVC(C=1.0, gamma=0.5, tol=1e-10).fit(X.astype(np.float64), y)
    rows = sparse.csr_array(X) if kind == "sparse" else X
    ours = DCSVC(gamma=0.5, n_jobs=2 if kind == "threads" else 1, verbose=kind == "verbose")
    ours.fit(rows, y)
    assert solved == [True]
    np.testing.assert_array_equal(ours.support_, theirs.support_)
    # SVC's kernel values are float32.
    np.testing.assert_allclose(_dense(ours.dual_coef_), theirs.dual_coef_, atol=1e-3)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-4)
    assert ours.violation_[0] < 1e-12
    assert (capsys.readouterr().out != "") == (kind == "verbose")
    K = kernel_matrix(Kernel("rbf", 0.5), X, dtype=np.float64)
    known = DCSVC(kernel="precomputed").fit(K, y)
    np.testing.assert_allclose(_dense(ours.dual_coef_), known.dual_coef_, atol=1e-9)


def _dense(values: Any) -> Any:
    return values.toarray() if sparse.issparse(values) else values


def test_an_infinite_value_is_refused_in_words(skin: Any) -> None:
    with pytest.raises(ValueError, match="not finite"):
        DCSVC(kernel="poly", gamma=1e30, degree=12).fit(*skin)


def test_pairs_of_classes_are_those_of_svc(
    shared_data: Callable[[str], Any], solved: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pairs_on_demand, "MOST_ROWS", 0)  # pairs of few rows have their own solver
    data = shared_data("shuttle")
    X, y = standard(data["X_train"][:3000]), data["y_train"][:3000]
    ours = DCSVC(C=100.0, gamma=0.5).fit(X, y)
    theirs = SVC(C=100.0, gamma=0.5, tol=1e-10).fit(X.astype(np.float64), y)
    assert sum(solved) >= 3
    alone = DCSVC(C=100.0, gamma=0.5, n_jobs=1).fit(X, y)
    np.testing.assert_array_equal(ours.dual_coef_, alone.dual_coef_)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=2e-3)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


def test_of_more_rows_it_is_tried_where_few_support_vectors_are_expected(
    colours: Any, solved: list[bool]
) -> None:
    X, y = colours
    ours = DCSVC(C=100.0, gamma=0.5).fit(X, y)
    assert solved == [True]
    assert len(ours.support_) < 200
    theirs = SVC(C=100.0, gamma=0.5, tol=1e-6).fit(X.astype(np.float64), y)
    np.testing.assert_allclose(
        ours.decision_function(X), theirs.decision_function(X.astype(np.float64)), atol=2e-3
    )
    noise = np.random.default_rng(0).permutation(y)
    DCSVC(gamma=0.5).fit(X, noise)
    assert solved == [True]


def test_a_regression_is_svr(skin: Any, solved: list[bool]) -> None:
    X = skin[0]
    z = np.sin(X[:, 0].astype(np.float64)) + 0.3 * X[:, 1] ** 2
    ours = DCSVR(C=10.0, epsilon=0.05, gamma=0.3).fit(X, z)
    assert solved == [True]
    theirs = SVR(C=10.0, epsilon=0.05, gamma=0.3, tol=1e-6).fit(X.astype(np.float64), z)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=2e-3)


@settings(max_examples=40, deadline=None)
@given(
    st.integers(4, 60), st.integers(0, 2**32 - 1), st.integers(-6, 6), st.integers(-6, 8),
    st.floats(0.1, 0.9), st.booleans(),
)  # fmt: skip
def test_what_it_finds_is_feasible_and_within_the_tolerance(
    n: int, seed: int, gamma: int, scale: int, positive: float, is_rounded: bool
) -> None:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3)).astype(np.float32)
    X = np.round(X) if is_rounded else X
    y = np.where(rng.random(n) < positive, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    dual, kernel = Classification().dual(y, 2.0**scale * rng.random(n)), Kernel("rbf", 2.0**gamma)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(on_demand, "LOOKS", ((1.0, 1.0),))
        patch.setattr(on_demand, "MOST_ASKED", 2.0)
        patch.setattr(on_demand, "MOST_WORK", 10_000)
        found, values = solve_on_demand(kernel, X, dual)
    assert found is not None
    assert values <= n**2
    assert (found.beta >= dual.lower).all()
    assert (found.beta <= dual.upper).all()
    assert abs(found.beta.sum()) <= 1e-10 * (1.0 + np.abs(found.beta).sum())
    K = kernel_matrix(kernel, X, dtype=np.float64)
    gradient = dual.gradient(K @ found.beta, found.beta)
    assert violation(gradient, found.beta, dual, equality=True) <= 1e-3 + 1e-9


@pytest.mark.parametrize("n", [1300, 1800])
def test_classes_that_overlap_may_need_few_rows(n: int, solved: list[bool]) -> None:
    X, y = make_moons(n, noise=0.2, random_state=0)
    X = standard(X)
    ours, theirs = DCSVC().fit(X, y), SVC(tol=1e-8).fit(X.astype(float), y)
    assert solved == [True]
    np.testing.assert_array_equal(ours.support_, theirs.support_)
    found, wanted = (one.decision_function(X) for one in (ours, theirs))
    np.testing.assert_allclose(found, wanted, atol=1e-5)
