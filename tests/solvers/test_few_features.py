"""Problems of few explicit features against scikit-learn's SVC and SVR, and where they are met."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC, SVR

from dcsvm_dask.estimators import DCSVC, DCSVR, DCSVMSearchCV, chain
from dcsvm_dask.kernels import Kernel, kernel_matrix
from dcsvm_dask.solvers import solve_next, solve_whole
from dcsvm_dask.solvers.inner import few_features
from dcsvm_dask.solvers.inner.few_features import FewFeatures
from dcsvm_dask.solvers.inner.interior_point import solve_interior_point
from dcsvm_dask.solvers.optimality import violation
from dcsvm_dask.tasks import Dual

LINEAR = Kernel("linear")
QUADRATIC = Kernel("poly", gamma=0.1, degree=2)
CUBIC = Kernel("poly", gamma=0.1, degree=3, coef0=1.0)


def solved(kernel: Kernel, X: Any, dual: Dual, **how: Any) -> Any:
    found = FewFeatures.of(kernel, X, dual, most_bytes=np.inf)
    assert found is not None
    return found.solve(**how)


def named(kernel: Kernel) -> dict[str, Any]:
    """Return scikit-learn's parameters of a kernel."""
    of = {name: getattr(kernel, name) for name in ("gamma", "degree", "coef0")}
    return {"kernel": kernel.name} | of


def standard(found: Any, rows: int) -> tuple[Any, Any]:
    """Return the first rows of a set, standardised, and its targets, or its classes as signs."""
    X, y = found["X_train"][:rows].astype(np.float64), found["y_train"][:rows].astype(np.float64)
    X = ((X - X.mean(axis=0)) / X.std(axis=0)).astype(np.float32)
    if len(np.unique(y)) == 2:
        return X, np.where(y == y.max(), 1.0, -1.0)
    return X, (y - y.mean()) / y.std()


def gram(X: Any, kernel: Kernel = LINEAR) -> Any:
    return kernel_matrix(kernel, X, X, dtype=np.float64)


@pytest.mark.parametrize("as_csr", [False, True])
@pytest.mark.parametrize(
    ("name", "kernel", "C"),
    [
        ("magic", LINEAR, 0.1),
        ("magic", LINEAR, 100.0),
        ("bank_marketing", LINEAR, 10.0),
        ("magic", QUADRATIC, 10.0),
        ("magic", CUBIC, 1.0),
    ],
)
def test_classes_as_scikit_learn(
    name: str, kernel: Kernel, C: float, as_csr: bool, shared_data: Callable[[str], Any]
) -> None:
    X, y = standard(shared_data(name), 1500)
    dual = Dual(-y, np.where(y > 0, 0.0, -C), np.where(y > 0, C, 0.0))
    found = solved(kernel, csr_array(X) if as_csr else X, dual, equality=True, tol=1e-6)
    peer = SVC(**named(kernel), C=C, tol=1e-6).fit(X.astype(np.float64), y)
    theirs = np.zeros(len(y))
    theirs[peer.support_] = peer.dual_coef_[0]
    assert found.converged
    assert abs(found.beta.sum()) <= 1e-9 * C * len(y)
    K = gram(X, kernel)
    np.testing.assert_allclose(found.gradient, K @ found.beta - y, atol=1e-6 * C)
    assert violation(K @ found.beta - y, found.beta, dual, equality=True) <= 2e-6
    assert found.objective == pytest.approx(0.5 * theirs @ K @ theirs - y @ theirs, rel=1e-7)
    np.testing.assert_allclose(K @ found.beta, K @ theirs, atol=3e-3 * np.abs(K @ theirs).max())
    assert found.bias == pytest.approx(peer.intercept_[0], abs=1e-3)


@pytest.mark.parametrize(
    ("name", "kernel", "C"),
    [("cadata", LINEAR, 1.0), ("cpusmall", LINEAR, 10.0), ("cadata", QUADRATIC, 10.0)],
)
def test_targets_as_scikit_learn(
    name: str, kernel: Kernel, C: float, shared_data: Callable[[str], Any]
) -> None:
    X, y = standard(shared_data(name), 600)
    n = len(y)
    dual = Dual(-y, np.full(n, -C), np.full(n, C), epsilon=np.full(n, 0.1))
    found = solved(kernel, X, dual, equality=True, tol=1e-6)
    peer = SVR(**named(kernel), C=C, epsilon=0.1, tol=1e-6).fit(X.astype(np.float64), y)
    theirs = np.zeros(n)
    theirs[peer.support_] = peer.dual_coef_[0]
    K = gram(X, kernel)
    value = 0.5 * theirs @ K @ theirs - y @ theirs + 0.1 * np.abs(theirs).sum()
    assert found.converged
    assert found.objective == pytest.approx(value, rel=1e-7)


@settings(deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    size=st.floats(-3.0, 6.0),
    equality=st.booleans(),
    is_dependent=st.booleans(),
)
def test_any_bounds(seed: int, size: float, equality: bool, is_dependent: bool) -> None:
    """As the method whose factor is of the whole kernel matrix."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(20, 60)), int(rng.integers(1, 5))
    X = rng.standard_normal((n, d)).astype(np.float32)
    if is_dependent:
        X[:, -1] = X[:, 0]
    y = np.where(rng.random(n) < 0.5, -1.0, 1.0)
    C = 10.0**size * rng.choice([0.5, 1.0, 3.0], n)
    dual = Dual(-y, np.where(y > 0, 0.0, -C), np.where(y > 0, C, 0.0))
    found = solved(LINEAR, X, dual, equality=equality, tol=1e-4)
    if found is None:  # rounding ended it
        return
    whole_matrix = solve_interior_point(gram(X), dual, equality=equality, tol=1e-4)
    assert (found.beta >= dual.lower).all()
    assert (found.beta <= dual.upper).all()
    if equality:
        assert abs(found.beta.sum()) <= 1e-9 * C.sum()
    if whole_matrix.converged:
        off = 2e-4 * C.sum()
        assert found.objective == pytest.approx(whole_matrix.objective, rel=1e-6, abs=off)


@pytest.mark.parametrize("kernel", [LINEAR, CUBIC])
def test_pieces_and_threads(
    kernel: Kernel, shared_data: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = standard(shared_data("magic"), 1200)
    dual = Dual(-y, np.where(y > 0, 0.0, -10.0), np.where(y > 0, 10.0, 0.0))
    how = {"equality": True, "tol": 1e-6}
    whole = solved(kernel, X, dual, **how)
    monkeypatch.setattr(few_features, "_PIECE", 250 * (10 if kernel.is_linear else 286))
    one, three = (solved(kernel, X, dual, threads=threads, **how) for threads in (1, 3))
    np.testing.assert_array_equal(one.beta, three.beta)
    assert one.objective == pytest.approx(whole.objective, rel=1e-10)


def test_wide_rows_other_kernels_and_losses_are_left_to_others() -> None:
    X, n = np.ones((5000, 8), np.float32), 5000
    dual = Dual(np.ones(n), np.zeros(n), np.ones(n))

    def few(kernel: Kernel, X: Any, dual: Dual, most_bytes: float = np.inf) -> FewFeatures | None:
        return FewFeatures.of(kernel, X, dual, most_bytes=most_bytes)

    linear, quadratic = few(LINEAR, X, dual, 16.0 * X.size), few(QUADRATIC, X, dual)
    cubic = few(CUBIC, X, dual)
    assert linear is not None
    assert quadratic is not None
    assert cubic is not None
    assert (linear.n_features, quadratic.n_features, cubic.n_features) == (8, 36, 165)
    assert (linear.is_quick, quadratic.is_quick, cubic.is_quick) == (True, True, False)
    assert linear.patience(n) < quadratic.patience(n) < cubic.patience(n)
    assert few(LINEAR, X, dual, 16.0 * X.size - 1.0) is None
    assert few(LINEAR, X[:31], dual[np.arange(31)]) is None
    assert few(Kernel("rbf", gamma=1.0), X, dual) is None
    assert few(LINEAR, X, replace(dual, ridge=np.ones(n))) is None
    assert few(LINEAR, X[:, :0], dual) is None


def test_features_that_are_too_large() -> None:
    X, n = np.full((400, 2), 1e30, np.float32), 400
    dual = Dual(np.ones(n), np.zeros(n), np.ones(n))
    assert solved(Kernel("poly", gamma=1.0, degree=16), X, dual, equality=False, tol=1e-3) is None


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("as_csr", [False, True])
def test_estimators_solve_large_bounds_within_the_tolerance(
    as_csr: bool, fit_intercept: bool, shared_data: Callable[[str], Any]
) -> None:
    X, y = standard(shared_data("magic"), 19020)
    rng = np.random.default_rng(0).permutation(len(y))[:4000]
    X, y, C = X[rng], y[rng], 1e4
    fitted = DCSVC(kernel="linear", C=C, fit_intercept=fit_intercept, class_weight={1.0: 2.0})
    fitted.fit(csr_array(X) if as_csr else X, y)
    beta = np.zeros(len(y))
    coefficients = fitted.dual_coef_.toarray() if as_csr else fitted.dual_coef_
    beta[fitted.support_] = coefficients[0]
    limit = np.where(y > 0, 2.0 * C, C)
    dual = Dual(-y, np.where(y > 0, 0.0, -limit), np.where(y > 0, limit, 0.0))
    gradient = gram(X) @ beta - y
    equality = fit_intercept
    assert violation(gradient, beta, dual, equality=equality) <= 1.1e-3
    assert fitted.violation_ <= 1e-3


@pytest.mark.parametrize("rows", [1500, 3000])
@pytest.mark.parametrize(("kernel", "name"), [(QUADRATIC, "magic"), (CUBIC, "cadata")])
def test_estimators_end_where_smo_takes_long(
    rows: int,
    kernel: Kernel,
    name: str,
    shared_data: Callable[[str], Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X, y = standard(shared_data(name), rows)
    estimator = DCSVC if name == "magic" else DCSVR
    inners = []
    solve = FewFeatures.solve

    def noted(self: FewFeatures, **how: Any) -> Any:
        inners.append(how["after"].inner)
        return solve(self, **how)

    monkeypatch.setattr(FewFeatures, "is_quick", False)
    monkeypatch.setattr(FewFeatures, "solve", noted)
    fitted = estimator(**named(kernel), C=100.0).fit(X, y)
    assert inners == [("smo",)]
    beta = np.zeros(len(y))
    beta[fitted.support_] = fitted.dual_coef_[0]
    gradient = gram(X, kernel) @ beta - y
    dual = (
        Dual(-y, np.where(y > 0, 0.0, -100.0), np.where(y > 0, 100.0, 0.0))
        if estimator is DCSVC
        else Dual(-y, np.full(rows, -100.0), np.full(rows, 100.0), np.full(rows, 0.1))
    )
    assert violation(gradient, beta, dual, equality=True) <= 1.1e-3


@pytest.mark.parametrize("rows", [1500, 3000])
@pytest.mark.parametrize("at_once", [True, False])
def test_what_does_not_converge_is_solved_as_before(
    rows: int,
    at_once: bool,
    monkeypatch: pytest.MonkeyPatch,
    shared_data: Callable[[str], Any],
) -> None:
    X, y = standard(shared_data("magic"), 19020)
    rng = np.random.default_rng(0).permutation(len(y))[:rows]
    X, y = X[rng], y[rng]
    exact = DCSVC(kernel="linear", C=10.0).fit(X, y)
    called: list[int] = []

    def unsolved(self: FewFeatures, **how: Any) -> None:
        called.append(len(self.dual))

    monkeypatch.setattr(FewFeatures, "is_quick", at_once)
    monkeypatch.setattr(FewFeatures, "patience", lambda self, rows: 1000)
    monkeypatch.setattr(FewFeatures, "solve", unsolved)
    other = DCSVC(kernel="linear", C=10.0).fit(X, y)
    assert len(called) == 1
    assert other.objective_[0] == pytest.approx(exact.objective_[0], rel=1e-6)
    np.testing.assert_allclose(other.coef_, exact.coef_, atol=2e-2)


@pytest.mark.parametrize("rows", [1500, 3000])
@pytest.mark.parametrize("at_once", [True, False])
def test_a_callback_ends_it(
    rows: int,
    at_once: bool,
    monkeypatch: pytest.MonkeyPatch,
    shared_data: Callable[[str], Any],
) -> None:
    """Also where it answers SMO when that has used up its patience."""
    X, y = standard(shared_data("magic"), rows)
    dual = Dual(-y, np.where(y > 0, 0.0, -100.0), np.where(y > 0, 100.0, 0.0))
    monkeypatch.setattr(FewFeatures, "is_quick", at_once)
    monkeypatch.setattr(FewFeatures, "patience", lambda self, rows: 1000)
    for last in range(1, 5):
        calls: list[float] = []

        def asked(_: int, violation: float, calls: list[float] = calls, last: int = last) -> bool:
            calls.append(violation)
            return len(calls) == last

        found, _ = solve_whole(LINEAR, X, dual, equality=True, callback=asked)
        assert len(calls) == last
        assert not found.converged
        assert (found.beta >= dual.lower).all()
        assert (found.beta <= dual.upper).all()
        assert abs(found.beta.sum()) <= 1e-9 * 100.0 * rows


def test_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two copies of the features, and little else."""
    rng = np.random.default_rng(0)
    n, d = 3000, 300
    X = rng.standard_normal((n, d)).astype(np.float32)
    y = np.where(X[:, 0] + rng.standard_normal(n) > 0, 1.0, -1.0)
    dual = Dual(-y, np.where(y > 0, 0.0, -1.0), np.where(y > 0, 1.0, 0.0))
    monkeypatch.setattr(few_features, "_PIECE", 1 << 10)
    few = FewFeatures.of(LINEAR, X, dual, most_bytes=16.0 * n * d)
    assert few is not None
    tracemalloc.start()
    try:
        found = few.solve(equality=True, tol=1e-3)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found is not None
    assert peak <= 1.3 * 16.0 * n * d


def test_searches_need_no_kernel_matrix(
    monkeypatch: pytest.MonkeyPatch, shared_data: Callable[[str], Any]
) -> None:
    X, y = standard(shared_data("cadata"), 5000)

    def no_matrix(*given: Any, **how: Any) -> None:
        raise AssertionError("a kernel matrix was computed")

    monkeypatch.setattr(chain, "kernel_matrix", no_matrix)
    grid = {"C": [1.0, 100.0]}
    ours = DCSVMSearchCV(DCSVR(kernel="linear"), grid, cv=2, refit=False).fit(X, y)
    alone = GridSearchCV(DCSVR(kernel="linear"), grid, cv=2, refit=False).fit(X, y)
    expected = alone.cv_results_["mean_test_score"]
    np.testing.assert_allclose(ours.cv_results_["mean_test_score"], expected, atol=1e-4)


def test_the_path_along_the_cost_begins_anew(shared_data: Callable[[str], Any]) -> None:
    X, y = standard(shared_data("magic"), 19020)
    X, y = X[::6], y[::6]

    def dual(C: float) -> Dual:
        return Dual(-y, np.where(y > 0, 0.0, -C), np.where(y > 0, C, 0.0))

    how: dict[str, Any] = {"equality": True, "tol": 1e-4}
    first, _ = solve_whole(LINEAR, X, dual(1.0), **how)
    found, _ = solve_next(LINEAR, X, dual(1000.0), first, **how)
    assert found.inner == ("interior-point",)
    beta = found.beta
    assert violation(gram(X) @ beta - y, beta, dual(1000.0), equality=True) <= 1.1e-4
