"""solve_whole against scikit-learn's SVC, with violations by a dense kernel in float64."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.svm import SVC

from dcsvm_dask import solvers
from dcsvm_dask.clustering.rows import block_rows
from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels import Kernel, counted_kernel_matrix, kd_order, product_error_bound
from dcsvm_dask.solvers import divide, large_problem, whole
from dcsvm_dask.solvers.doubt import BIAS_SLACK
from dcsvm_dask.solvers.optimality import violation as violation_of
from dcsvm_dask.tasks import Dual, Regression
from tests.marks import long, soak
from tests.svc import (
    bias,
    dual_of,
    duality_gap,
    objective,
    solve_blocks,
    solve_whole,
    violation_box,
    violation_pair,
)

REFERENCES = json.loads(
    (Path(__file__).resolve().parents[1] / "references" / "svc.json").read_text()
)
KERNELS = {
    "rbf": Kernel("rbf", gamma=0.05),
    "poly": Kernel("poly", gamma=0.1, degree=3, coef0=1.0),
    "linear": Kernel("linear"),
    "sigmoid": Kernel("sigmoid", gamma=0.01),
    "laplacian": Kernel("laplacian", gamma=0.05),
}


def dense(kernel: Kernel, X: Any, Z: Any) -> Any:
    """Return scikit-learn's kernel matrix in float64."""
    words = {
        "poly": ("gamma", "degree", "coef0"),
        "sigmoid": ("gamma", "coef0"),
        "rbf": ("gamma",),
        "laplacian": ("gamma",),
    }
    how = {word: getattr(kernel, word) for word in words.get(kernel.name, ())}
    X, Z = X.astype(np.float64), Z.astype(np.float64)
    return pairwise_kernels(X, Z, metric=kernel.name, **how)


def check(kernel: Kernel, X: Any, y: Any, C: Any, found: Any, tol: float, equality: bool) -> Any:
    """Check a solution against its definition in float64; return the gradient."""
    alpha, support = found.alpha, np.flatnonzero(found.alpha)
    assert found.converged
    assert (alpha >= 0.0).all()
    assert (alpha <= C).all()
    f = dense(kernel, X, X[support]) @ (y * alpha)[support]
    gradient = y * f - 1.0
    # Of rows at zero that are clear of violating float32 is enough.
    rounding = product_error_bound(kernel, X, X[support], (y * alpha)[support])
    # The bias that they were compared with was about that of the solution.
    margin = rounding + (0.5 * BIAS_SLACK if equality else 0.0)
    clear = (alpha == 0.0) & (gradient + y * found.bias > margin)
    allowed = np.where(clear, np.maximum(rounding, 0.1 * tol), 0.1 * tol)
    assert (np.abs(found.gradient - gradient) <= allowed).all()
    assert found.objective == pytest.approx(objective(alpha, gradient), rel=1e-6)
    violation = (
        violation_pair(gradient, alpha, y, C) if equality else violation_box(gradient, alpha, C)
    )
    assert violation <= 1.1 * tol
    assert found.violation == pytest.approx(violation, abs=0.1 * tol)
    if equality:
        assert abs(y @ alpha) <= 1e-9 * np.sum(np.broadcast_to(C, len(y)))
        assert found.bias == pytest.approx(bias(gradient, alpha, y, C), abs=0.2 * tol)
    else:
        assert found.bias == 0.0
    return gradient


@pytest.fixture(scope="module")
def tumours() -> Any:
    """569 standardised rows of two classes."""
    X, target = load_breast_cancer(return_X_y=True)
    X = ((X - X.mean(axis=0)) / X.std(axis=0)).astype(np.float32)
    return X, np.where(target == 1, 1.0, -1.0)


@pytest.mark.parametrize("equality", [False, True])
@pytest.mark.parametrize("name", KERNELS)
def test_few_rows_are_solved_as_the_optimality_conditions_say(
    name: str, equality: bool, tumours: Any
) -> None:
    X, y = tumours
    kernel = KERNELS[name]
    found, values = solve_whole(kernel, X, y, 1.0, equality=equality, tol=1e-5)
    gradient = check(kernel, X, y, 1.0, found, 1e-5, equality)
    if not equality:  # else some rows of the matrix may have been enough, or tried before
        assert len(y) * (len(y) + 1) // 2 <= values <= len(y) ** 2
    if kernel.is_psd:
        gap = duality_gap(gradient, found.alpha, 1.0, y if equality else None)
        assert gap <= 1e-5 * len(y)


@pytest.mark.parametrize("name", KERNELS)
def test_few_rows_have_the_answer_of_svc(name: str, tumours: Any) -> None:
    X, y = tumours
    kernel = KERNELS[name]
    C = np.where(y > 0, 0.5, 2.0)
    found, _ = solve_whole(kernel, X, y, C, equality=True, tol=1e-5)
    K = dense(kernel, X, X)
    svc = SVC(kernel="precomputed", C=1.0, tol=1e-5, class_weight={-1.0: 2.0, 1.0: 0.5}).fit(K, y)
    decision = K @ (y * found.alpha) + found.bias
    np.testing.assert_allclose(decision, svc.decision_function(K), rtol=0, atol=1e-3)
    theirs = np.zeros(len(y))
    theirs[svc.support_] = np.abs(svc.dual_coef_[0])
    assert found.objective == pytest.approx(
        objective(theirs, y * (K @ (y * theirs)) - 1.0), rel=1e-6
    )


def test_csr_rows_have_the_same_answer(tumours: Any) -> None:
    X, y = tumours
    X = np.where(np.abs(X) < 0.5, np.float32(0), X)
    found, _ = solve_whole(KERNELS["rbf"], sparse.csr_array(X), y, 1.0, equality=True, tol=1e-5)
    check(KERNELS["rbf"], X, y, 1.0, found, 1e-5, True)


@pytest.mark.one_quick
@pytest.mark.parametrize("name", ["rbf", "poly", "linear", "laplacian"])
@pytest.mark.parametrize("is_sparse", [False, True], ids=["dense", "csr"])
def test_more_rows_than_have_a_float64_matrix(
    name: str, is_sparse: bool, shared_data: Callable[[str], Any]
) -> None:
    data = shared_data("usps")
    X = data["X_train"][:3000].astype(np.float32)
    y = np.where(data["y_train"][:3000] % 2 == 0, 1.0, -1.0)
    C = np.where(np.arange(len(y)) % 3 == 0, 2.0, 1.0)
    kernel = Kernel(name, gamma=0.02 if name != "laplacian" else 0.01, coef0=1.0)
    rows = sparse.csr_array(X) if is_sparse else X
    found, values = solve_whole(kernel, rows, y, C, equality=True, working_size=1500)
    check(kernel, X, y, C, found, 1e-3, True)
    assert values > 0


@pytest.mark.parametrize(
    ("gamma", "tol", "size", "float64"),
    [
        (0.3, 1e-3, 8192, True),
        (0.3, 1e-3, 2200, False),
        (0.001, 1e-3, 8192, False),
        (0.01, 1e-6, 8192, True),
    ],
    ids=["large values", "no room", "small values", "small tolerance"],
)
def test_products_too_inexact_in_float32_have_a_float64_matrix_of_more_rows(
    gamma: float,
    tol: float,
    size: int,
    float64: bool,
    shared_data: Callable[[str], Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data = shared_data("usps")
    X = data["X_train"][:2200].astype(np.float32)
    y = np.where(data["y_train"][:2200] % 2 == 0, 1.0, -1.0)
    kernel, of_all = Kernel("poly", gamma=gamma, coef0=1.0), []

    def matrix(*rows: Any, dtype: Any = np.float32, **how: Any) -> Any:
        of_all.append(dtype)
        return counted_kernel_matrix(*rows, dtype=dtype, **how)

    monkeypatch.setattr(whole, "counted_kernel_matrix", matrix)
    found, _ = solve_whole(kernel, X, y, 1.0, tol=tol, working_size=size)
    check(kernel, X, y, 1.0, found, tol, False)
    assert of_all == [np.float64] * float64


@pytest.mark.one_quick
@pytest.mark.parametrize("name", ["usps", "a9a"])
def test_the_gap_of_thousands_of_rows_is_small(
    name: str, make_svc: ModuleType, problem: Callable[[str], Any]
) -> None:
    X, y = problem(name)
    X, y = X[:4000], y[:4000]
    kernel = Kernel("rbf", gamma=2.0**-6)
    for equality in (False, True):
        found, _ = solve_whole(kernel, X, y, 4.0, equality=equality, tol=1e-5)
        gradient = check(kernel, X, y, 4.0, found, 1e-5, equality)
        gap = duality_gap(gradient, found.alpha, 4.0, y if equality else None)
        assert 0.0 <= gap <= 1e-5 * abs(found.objective)


def _of_ten_thousand() -> list[Any]:
    return [
        (soak if (entry["data"], entry["log2_C"]) == ("covtype", 0) else pytest.param)(
            entry, id=f"{entry['data']}-C{entry['log2_C']}-gamma{entry['log2_gamma']}"
        )
        for entry in REFERENCES["entries"]
        if entry["data"] in ("ijcnn1", "covtype") and entry["log2_C"] in (0, 6)
    ]


@pytest.mark.long
@pytest.mark.parametrize("entry", _of_ten_thousand())
def test_what_a_subset_foresaw_ends_at_the_answer_of_svc(
    entry: dict[str, Any], make_svc: ModuleType, problem: Callable[[str], Any]
) -> None:
    X, y = problem(entry["data"])
    assert len(y) > 6000
    C, kernel = 2.0 ** entry["log2_C"], Kernel("rbf", gamma=2.0 ** entry["log2_gamma"])
    found, _ = solve_whole(kernel, X, y, C, equality=True, tol=1e-5, threads=2)
    check(kernel, X, y, C, found, 1e-5, True)
    assert found.objective == pytest.approx(entry["objective"], rel=1e-6)
    assert np.count_nonzero(found.alpha) == pytest.approx(entry["n_support"], rel=0.01)
    rows = entry["rows"]
    decision = y[rows] * (found.gradient[rows] + 1.0) + found.bias
    np.testing.assert_allclose(decision, entry["decision"], rtol=1e-3, atol=1e-3)


def test_above_six_thousand_rows(make_svc: ModuleType, problem: Callable[[str], Any]) -> None:
    X, y = problem("ijcnn1")
    kernel = Kernel("rbf", gamma=1.0)
    entry = next(
        e
        for e in REFERENCES["entries"]
        if (e["data"], e["log2_C"], e["log2_gamma"]) == ("ijcnn1", 0, 0)
    )
    found, _ = solve_whole(kernel, X, y, 1.0, equality=True)
    check(kernel, X, y, 1.0, found, 1e-3, True)
    assert found.objective == pytest.approx(entry["objective"], rel=1e-3)
    # Another random subset, more threads and less memory lead to the same answer ...
    other, _ = solve_whole(kernel, X, y, 1.0, equality=True, seed=1, working_size=2500, threads=2)
    check(kernel, X, y, 1.0, other, 1e-3, True)
    assert other.objective == pytest.approx(found.objective, rel=1e-4)
    # ... and threads alone to the same bits.
    again, _ = solve_whole(kernel, X, y, 1.0, equality=True, threads=2)
    np.testing.assert_array_equal(again.alpha, found.alpha)


def test_a_known_matrix_and_a_start_are_used(tumours: Any) -> None:
    X, y = tumours
    kernel = KERNELS["rbf"]
    K = dense(kernel, X, X)
    found, values = solve_whole(kernel, X, y, 1.0, equality=True, tol=1e-6, K=K)
    assert values == 0
    again, _ = solve_whole(kernel, X, y, 1.0, equality=True, tol=1e-5, alpha=found.alpha)
    np.testing.assert_array_equal(again.alpha, found.alpha)
    assert again.n_iter == 0


@pytest.mark.one_quick
@pytest.mark.parametrize("equality", [False, True])
def test_thousands_of_rows_start_warm(equality: bool, shared_data: Callable[[str], Any]) -> None:
    data = shared_data("usps")
    X = data["X_train"][:3000].astype(np.float32)
    y = np.where(data["y_train"][:3000] % 2 == 0, 1.0, -1.0)
    kernel, how = Kernel("rbf", gamma=0.02), {"equality": equality, "working_size": 1500}
    cold, of_cold = solve_whole(kernel, X, y, 1.0, **how)
    # The heavier class is brought down to the other one.
    start = np.where(y > 0, cold.alpha, 0.97 * cold.alpha)
    warm, of_warm = solve_whole(kernel, X, y, 1.0, alpha=start, **how)
    check(kernel, X, y, 1.0, warm, 1e-3, equality)
    assert warm.objective == pytest.approx(cold.objective, rel=1e-5)
    assert warm.n_iter < 0.7 * cold.n_iter
    assert of_warm < 1.5 * of_cold
    # All at the bound: worse than nothing.
    none, _ = solve_whole(kernel, X, y, 1.0, alpha=np.ones(3000), **how)
    check(kernel, X, y, 1.0, none, 1e-3, equality)
    assert none.objective == pytest.approx(cold.objective, rel=1e-5)


@pytest.fixture
def noise() -> Callable[[int], Any]:
    """Labels without reason: nearly every row becomes a support vector, many of them free."""

    def make(n: int) -> Any:
        rng = np.random.default_rng(0)
        return rng.standard_normal((n, 5)).astype(np.float32), rng.choice([-1.0, 1.0], n)

    return make


@pytest.mark.parametrize("n", [500, 2500], ids=["matrix", "working sets"])
def test_steps_are_counted_and_can_be_limited(n: int, noise: Any) -> None:
    X, y = noise(n)
    how: dict[str, Any] = {"equality": True, "tol": 1e-4}
    whole, _ = solve_whole(Kernel("rbf", 0.5), X, y, 100.0, **how)
    assert whole.n_iter > n / 2  # each step moves two variables
    few, _ = solve_whole(Kernel("rbf", 0.5), X, y, 100.0, max_iter=7, **how)
    assert not few.converged
    assert few.n_iter <= 7
    assert few.violation > 1e-3


@pytest.mark.parametrize("cap", [700, 2000])
def test_a_callback_stops_between_working_sets(cap: int, noise: Any) -> None:
    X, y = noise(2500)
    reported: list[tuple[int, float]] = []

    def stop(n_iter: int, violation: float) -> bool:
        reported.append((n_iter, violation))
        return len(reported) == 2

    kernel = Kernel("rbf", 0.5)
    found, _ = solve_whole(
        kernel, X, y, 100.0, equality=True, tol=1e-5, working_size=cap, callback=stop
    )
    assert len(reported) == 2
    assert not found.converged
    # What is returned is the point it stopped at, with its own gradient.
    gradient = y * (dense(kernel, X, X) @ (y * found.alpha)) - 1.0
    assert found.violation == pytest.approx(
        violation_pair(gradient, found.alpha, y, 100.0), abs=1e-5
    )
    assert found.violation == pytest.approx(reported[-1][1], rel=0.5)


@pytest.mark.parametrize("n", [4, 2100], ids=["matrix", "working sets"])
@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"p": np.nan}, "p holds a value that is not finite"),
        ({"lower": 0.5}, "bounds exclude 0"),
        ({"upper": -0.5}, "bounds exclude 0"),
        ({"upper": np.nan}, "upper holds a value that is not finite"),
        ({"lower": np.zeros(3)}, "lower has the shape"),
    ],
)
def test_bad_arguments_are_refused(n: int, changed: dict[str, Any], why: str) -> None:
    X = np.random.default_rng(0).random((n, 3), dtype=np.float32)
    dual = Dual(np.ones(n), np.full(n, -1.0), np.ones(n))
    with pytest.raises(InputError, match=why):
        solvers.solve_whole(Kernel(), X, replace(dual, **changed))


@pytest.mark.one_quick
@pytest.mark.parametrize("equality", [long(False), True])
@pytest.mark.parametrize(
    ("name", "step", "gamma", "C", "fits"),
    [("covtype", 140, 4.0, 8.0, True), ("ijcnn1", 10, 0.05, 32.0, False)],
)
def test_blocks_give_a_start(
    equality: bool,
    name: str,
    step: int,
    gamma: float,
    C: float,
    fits: bool,
    shared_data: Callable[[str], Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Against SVC; where blocks contradict each other the random subset takes over."""
    data = shared_data(name)
    X, y = data["X_train"][::step].astype(np.float32), data["y_train"][::step].astype(float)
    X /= np.maximum(np.abs(X).max(axis=0), 1e-9)
    order = kd_order(X)
    X, y, n = X[order], y[order], len(y)
    monkeypatch.setattr(large_problem, "DIVIDED_FROM", n)
    blocks = np.arange(n) // 600
    kernel, how = Kernel("rbf", gamma), {"equality": equality, "tol": 1e-4}
    alpha, *_ = solve_blocks(kernel, X, y, np.full(n, C), block_rows(blocks), equality=equality)
    assert (alpha is not None) == fits
    found, _ = solve_whole(kernel, X, y, C, blocks=blocks, **how)
    check(kernel, X, y, C, found, 1e-4, equality)
    again, _ = solve_whole(kernel, X, y, C, blocks=blocks, threads=2, **how)
    np.testing.assert_array_equal(again.alpha, found.alpha)
    few, _ = solve_whole(kernel, X, y, C, blocks=blocks, max_iter=300, **how)
    assert few.n_iter <= 300
    assert not few.converged
    if equality:
        svc = SVC(C=C, gamma=gamma, tol=1e-4, cache_size=1000).fit(X, y)
        f = y * (found.gradient + 1.0) + found.bias
        np.testing.assert_allclose(f, svc.decision_function(X), atol=1e-3 * np.ptp(f))
    else:
        cold, _ = solve_whole(kernel, X, y, C, **how)
        assert found.objective == pytest.approx(cold.objective, rel=1e-6)


@pytest.mark.parametrize("real", [long(False, id="classes"), pytest.param(True, id="targets")])
def test_blocks_of_local_kernels_have_one_bias(
    real: bool, shared_data: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A start at which one bias serves all rows leaves little to do, and the same answer."""
    data = shared_data("kin40k" if real else "a9a")
    X = np.asarray(data["X_train"][:4000], dtype=np.float32)
    rows = np.unique(X, axis=0, return_index=True)[1]
    rows = rows[kd_order(X[rows])]
    X, y, n = X[rows], data["y_train"][rows].astype(np.float64), len(rows)
    C, gamma = 2.0, 60.0 if real else 6.0
    kernel = Kernel("rbf", gamma)
    if real:
        y = (y - y.mean()) / y.std() + 3.0  # far from a bias of zero
        dual = Regression(0.1).dual(y, np.full(n, C))
    else:
        dual = dual_of(y, np.full(n, C))
    blocks = np.arange(n) // 500
    starts = {}
    for one_bias in (False, True):
        beta, steps, values = divide.solve_blocks(
            kernel, X, dual, block_rows(blocks), equality=True, one_bias=one_bias
        )
        assert beta is not None
        assert steps > 0
        assert values > 0
        assert abs(beta.sum()) <= 1e-9 * np.abs(beta).sum()
        assert (beta >= dual.lower).all()
        assert (beta <= dual.upper).all()
        gradient = dual.gradient(dense(kernel, X, X) @ beta, beta)
        starts[one_bias] = violation_of(gradient, beta, dual, equality=True)
    monkeypatch.setattr(large_problem, "DIVIDED_FROM", n)
    monkeypatch.setattr(whole, "SMALL", 100)
    how: dict[str, Any] = {"equality": True, "tol": 1e-4, "blocks": blocks, "working_size": 1000}
    found, values = solvers.solve_whole(kernel, X, dual, **how)
    monkeypatch.setattr(large_problem, "ONE_BIAS", 2.0)
    other, more = solvers.solve_whole(kernel, X, dual, **how)
    assert found.converged
    assert found.objective == pytest.approx(other.objective, rel=1e-6)
    np.testing.assert_allclose(found.beta, other.beta, atol=1e-3)
    assert starts[True] < 0.5 * starts[False]
    assert values < more
    if not real:
        svc = SVC(C=C, gamma=gamma, tol=1e-4).fit(X, y)
        own = found.gradient - dual.p + found.bias
        np.testing.assert_allclose(own, svc.decision_function(X), atol=1e-3)


@pytest.mark.parametrize("equality", [False, True])
def test_small_sets_go_on_from_blocks_whose_variables_are_at_bounds(
    equality: bool, shared_data: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """covtype with a wide kernel and a small C: nearly all support vectors are at C."""
    data = shared_data("covtype")
    X = data["X_train"][:6000].astype(np.float32)
    X, y = X / np.maximum(np.abs(X).max(axis=0), 1e-9), data["y_train"][:6000].astype(float)
    y = np.where(y == y.max(), 1.0, -1.0)
    order = kd_order(X)
    X, y = X[order], y[order]
    for name, value in (("DIVIDED_FROM", len(y)), ("SMALL_SETS_ABOVE", 4000), ("SMALL_SET", 500)):
        monkeypatch.setattr(large_problem, name, value)
    monkeypatch.setattr(whole, "suits", lambda *_: False)
    kernel, how = Kernel("rbf", 0.5), {"equality": equality, "tol": 1e-3, "working_size": 1500}
    taken = []
    begin = large_problem.LargeProblem.many_sets

    def watched(self: Any, beta: Any = None) -> Any:
        taken.append(beta is not None)
        return begin(self, beta)

    monkeypatch.setattr(large_problem.LargeProblem, "many_sets", watched)
    found, _ = solve_whole(kernel, X, y, 1.0, blocks=np.arange(len(y)) // 600, **how)
    check(kernel, X, y, 1.0, found, 1e-3, equality)
    assert taken == [True]
    monkeypatch.setattr(large_problem, "FEW_FREE", 0.0)
    other, _ = solve_whole(kernel, X, y, 1.0, blocks=np.arange(len(y)) // 600, **how)
    assert taken == [True]
    assert found.objective == pytest.approx(other.objective, rel=1e-5)


def test_no_block_is_solved_where_support_vectors_are_few(
    monkeypatch: pytest.MonkeyPatch, shared_data: Callable[[str], Any]
) -> None:
    data = shared_data("mv")
    X, z = data["X_train"][:2000].astype(np.float64), data["y_train"][:2000].astype(np.float64)
    X = ((X - X.mean(axis=0)) / X.std(axis=0)).astype(np.float32)
    dual = Regression(0.1).dual((z - z.mean()) / z.std(), np.full(len(z), 10.0))
    monkeypatch.setattr(large_problem, "DIVIDED_FROM", len(z))
    monkeypatch.setattr(whole, "SMALL", 100)
    monkeypatch.setattr(whole, "suits", lambda *_: False)
    monkeypatch.setattr(large_problem, "solve_blocks", None)
    kernel, blocks = Kernel("rbf", 0.1), np.arange(len(z)) // 1000
    found, _ = solvers.solve_whole(kernel, X, dual, equality=True, blocks=blocks)
    assert found.converged
    with pytest.raises(TypeError):  # 250 rows are fewer than the support vectors
        solvers.solve_whole(kernel, X, dual, equality=True, blocks=np.arange(len(z)) // 250)


def test_digits_in_other_words() -> None:
    """The whole chain on images: one class against the rest, beside SVC on the same rows."""
    X, target = load_digits(return_X_y=True)
    y = np.where(target == 8, 1.0, -1.0)
    found, _ = solve_whole(
        Kernel("rbf", 1e-3), X.astype(np.float32), y, 1e3, equality=True, tol=1e-5
    )
    svc = SVC(C=1e3, gamma=1e-3, tol=1e-5).fit(X, y)
    np.testing.assert_array_equal(np.flatnonzero(found.alpha), np.sort(svc.support_))
    assert found.bias == pytest.approx(svc.intercept_[0], abs=1e-4)
