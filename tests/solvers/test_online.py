"""solve_online against solve_smo on the whole matrix and scikit-learn's SVC."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.svm import SVC

from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels import Kernel, kernel_matrix
from dcsvm_dask.solvers.online import arrays as online_arrays
from dcsvm_dask.solvers.online.slots import OnlineExpansion
from tests.svc import objective, solve_online, solve_smo, violation_box, violation_pair

# Data set, gamma, C.
PROBLEMS = [("covtype", 32.0, 32.0), ("ijcnn1", 2.0, 32.0), ("a9a", 2.0**-5, 4.0)]
ROWS = 1000


@pytest.mark.one_quick
@pytest.mark.parametrize("equality", [False, True])
@pytest.mark.parametrize(("name", "gamma", "C"), PROBLEMS)
def test_passes_and_a_finish_reach_the_answer_of_the_whole_matrix(
    name: str,
    gamma: float,
    C: float,
    equality: bool,
    make_svc: ModuleType,
    problem: Callable[[str], Any],
) -> None:
    X, y = problem(name)
    fresh, labels = X[ROWS : 3 * ROWS], y[ROWS : 3 * ROWS]
    X, y = X[:ROWS], y[:ROWS]
    K = make_svc.rbf(X, X, gamma)
    whole = solve_smo(K, y, C, equality=equality, tol=1e-5)
    found = solve_online(Kernel("rbf", gamma), X, y, C, equality=equality, passes=20)
    gradient = y * (K @ (y * found.alpha)) - 1.0
    assert found.converged
    assert found.sweeps < 20
    if equality:
        assert violation_pair(gradient, found.alpha, y, C) <= 2e-3
    else:
        assert violation_box(gradient, found.alpha, C) <= 2e-3
    assert found.objective == pytest.approx(objective(found.alpha, gradient), rel=1e-5)
    assert found.objective == pytest.approx(whole.objective, rel=1e-4)

    once = solve_online(Kernel("rbf", gamma), X, y, C, equality=equality)
    assert once.sweeps == 1 < found.sweeps
    # Of few rows nearly all are support vectors, and one pass may keep them all.
    assert found.objective < once.objective + 1e-6 * abs(once.objective) < 0.8 * whole.objective
    values = make_svc.rbf(fresh, X, gamma)
    best = np.mean(np.sign(values @ (y * whole.alpha) + whole.bias) == labels)
    near = np.mean(np.sign(values @ (y * once.alpha) + once.bias) == labels)
    assert near > best - 0.03


@pytest.mark.parametrize("sparse", [False, True])
def test_with_a_bias_the_answer_is_scikit_learns(
    sparse: bool, problem: Callable[[str], Any], make_svc: ModuleType
) -> None:
    X, y = problem("a9a")
    X, y = X[:800], y[:800]
    weight = np.where(y > 0, 3.0, 1.0)
    theirs = SVC(C=2.0, gamma=2.0**-5, tol=1e-6).fit(X, y, sample_weight=weight)
    found = solve_online(
        Kernel("rbf", 2.0**-5),
        csr_array(X) if sparse else X,
        y,
        2.0 * weight,
        equality=True,
        tol=1e-4,
        passes=30,
    )
    decisions = make_svc.rbf(X, X, 2.0**-5) @ (y * found.alpha) + found.bias
    np.testing.assert_allclose(decisions, theirs.decision_function(X), atol=2e-3)


@pytest.mark.parametrize("equality", [False, True])
def test_a_small_cache_costs_kernel_values_and_nothing_else(
    equality: bool, problem: Callable[[str], Any]
) -> None:
    X, y = problem("a9a")
    X, y = X[:800], y[:800]

    def run(**how: Any) -> Any:
        return solve_online(
            Kernel("rbf", 2.0**-5), X, y, 4.0, equality=equality, passes=30, tol=1e-4, **how
        )

    roomy, tight = run(), run(cache_bytes=100_000)
    assert roomy.fetched == 0 < tight.fetched
    assert tight.kernel_values > roomy.kernel_values
    assert tight.objective == pytest.approx(roomy.objective, rel=1e-6)


def test_the_cache_keeps_to_its_bytes_and_holds_kernel_values(
    problem: Callable[[str], Any],
) -> None:
    X, y = problem("ijcnn1")
    X, y, C = X[:1200], y[:1200], np.full(1200, 32.0)
    kernel = Kernel("rbf", 2.0)
    K = kernel_matrix(kernel, X)
    expansion = OnlineExpansion(
        kernel, X, y, C, np.zeros(1200), equality=True, tol=1e-3, cache_bytes=400_000
    )
    for rows in np.split(np.random.default_rng(0).permutation(1200), 6):
        expansion.learn(rows, 1)
        S, live = expansion.slots, expansion.live
        assert S.cache.nbytes <= 400_000
        cached = np.flatnonzero(S.holder >= 0)
        assert len(cached) > 10
        np.testing.assert_array_equal(S.where[S.holder[cached]], cached)
        expected = K[np.ix_(S.rows[S.holder[cached]], S.rows[live])]
        np.testing.assert_allclose(S.cache[np.ix_(cached, live)], expected, atol=1e-5)
        np.testing.assert_array_equal(S.slot_of[S.rows[live]], live)
        slopes = y[S.rows[live]] - K[np.ix_(S.rows[live], S.rows[live])] @ S.beta[live]
        np.testing.assert_allclose(S.g[live], slopes, atol=1e-3)


def test_the_most_misclassified_of_a_sample_teach_more(problem: Callable[[str], Any]) -> None:
    X, y = problem("ijcnn1")
    X, y = X[:3000], y[:3000]
    kernel = Kernel("rbf", 2.0)

    def after(samples: int) -> float:
        expansion = OnlineExpansion(
            kernel,
            X,
            y,
            np.full(3000, 32.0),
            np.zeros(3000),
            equality=False,
            tol=1e-3,
            cache_bytes=2**28,
        )
        rows = np.random.default_rng(0).permutation(3000)
        for start in range(0, 60 * samples, 60):
            expansion.learn(rows[start : start + 60], samples)
        S = expansion.slots
        return float(-0.5 * (S.beta @ S.g + np.abs(S.beta).sum()))

    assert after(20) < after(1) < 0.0
    chosen = solve_online(kernel, X[:600], y[:600], 32.0, samples=20, passes=2, equality=True)
    whole = solve_smo(kernel_matrix(kernel, X[:600]), y[:600], 32.0, equality=True)
    assert chosen.objective == pytest.approx(whole.objective, rel=1e-3)


def test_a_start_is_gone_on_from_and_its_sum_kept(problem: Callable[[str], Any]) -> None:
    X, y = problem("a9a")
    X, y = X[:800], y[:800]
    kernel = Kernel("rbf", 2.0**-5)
    first = solve_online(kernel, X, y, 4.0, equality=True, passes=30)
    again = solve_online(kernel, X, y, 4.0, alpha=first.alpha, equality=True, passes=30)
    assert again.n_iter < 0.1 * first.n_iter
    assert again.objective <= first.objective + 1e-6 * abs(first.objective)
    start = np.where(y > 0, 1.0, 0.25)
    shifted = solve_online(kernel, X, y, 4.0, alpha=start, equality=True, passes=30)
    assert y @ shifted.alpha == pytest.approx(y @ start, abs=1e-9)
    whole = solve_smo(kernel_matrix(kernel, X), y, 4.0, alpha=start, equality=True)
    assert shifted.objective == pytest.approx(whole.objective, rel=1e-4)


def test_progress_is_reported(problem: Callable[[str], Any]) -> None:
    X, y = problem("a9a")
    reported: list[tuple[int, dict[str, Any]]] = []
    found = solve_online(
        Kernel("rbf", 2.0**-5), X[:800], y[:800], 4.0, solved=lambda *news: reported.append(news)
    )
    assert [rows for rows, _ in reported[:4]] == [256, 512, 768, 800]
    # The rest tell of the finish.
    assert {rows for rows, _ in reported[4:]} == {800}
    assert reported[-1][1]["n_iter"] == found.n_iter > reported[3][1]["n_iter"]
    last = reported[-1][1]
    assert last["rows"] == 800
    assert 0 < last["support"] <= last["expansion"]
    assert found.objective - 1e-9 <= last["objective"] < reported[0][1]["objective"] < 0.0


@pytest.mark.parametrize("equality", [False, True])
def test_one_class_is_answered(equality: bool) -> None:
    X = np.random.default_rng(0).standard_normal((300, 3)).astype(np.float32)
    kernel = Kernel("rbf", 0.1)
    found = solve_online(kernel, X, -np.ones(300), 10.0, equality=equality, passes=20)
    f = kernel_matrix(kernel, X) @ -found.alpha + found.bias
    assert found.converged
    if equality:
        assert not found.alpha.any()
        assert found.bias == -1.0
    else:
        assert (f <= -1.0 + 2e-3).all()


def test_rows_without_a_kernel_value_of_their_own() -> None:
    y = np.array([1.0, -1.0, 1.0, -1.0])
    found = solve_online(Kernel("linear"), np.zeros((4, 2), np.float32), y, 2.0, passes=3)
    np.testing.assert_array_equal(found.alpha, 2.0)
    assert found.converged


@settings(max_examples=25, deadline=None)
@example(seed=1, n=10, C=0.01, equality=True, samples=50, cache=0, repeats=False)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 120),
    C=st.sampled_from([0.01, 1.0, 100.0]),
    equality=st.booleans(),
    samples=st.sampled_from([1, 7, 50]),
    cache=st.sampled_from([0, 3000, 2**28]),
    repeats=st.booleans(),
)
def test_every_answer_is_feasible_and_converged_ones_are_optimal(
    seed: int, n: int, C: float, equality: bool, samples: int, cache: int, repeats: bool
) -> None:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    X = (np.round(X) if repeats else X).astype(np.float32)
    y = np.where(X[:, 0] + rng.standard_normal(n) > 0, 1.0, -1.0)
    bound = C * rng.integers(0, 3, n)
    kernel = Kernel("rbf", 0.5)
    how: dict[str, Any] = {"equality": equality, "samples": samples, "cache_bytes": cache}
    once = solve_online(kernel, X, y, bound, seed=seed, **how)
    found = solve_online(kernel, X, y, bound, seed=seed, passes=50, **how)
    for answer in (once, found):
        assert (answer.alpha >= 0.0).all()
        assert (answer.alpha <= bound).all()
        assert answer.violation <= 1e-3
        assert not equality or abs(y @ answer.alpha) <= 1e-10 * C * n
    assert found.converged
    gradient = y * (kernel_matrix(kernel, X, dtype=np.float64) @ (y * found.alpha)) - 1.0
    if equality:
        assert violation_pair(gradient, found.alpha, y, bound) <= 2.5e-3
    else:
        assert violation_box(gradient, found.alpha, bound) <= 2.5e-3


def test_equal_rows_of_both_classes_with_a_diagonal_below_0_stay_within_the_bounds() -> None:
    """The values of the sigmoid kernel are kept in float32: some curvatures round to below 0."""
    random, kernel = np.random.default_rng(1), Kernel("sigmoid", gamma=0.04, coef0=-1.0)
    X = np.repeat(random.random((150, 3)).astype(np.float32), 2, axis=0)
    y = np.where(random.random(300) < 0.5, 1.0, -1.0)
    found = solve_online(kernel, X, y, 5.0, equality=True, passes=20)
    assert found.converged
    assert found.alpha.min() >= 0.0
    assert found.alpha.max() <= 5.0
    gradient = y * (kernel_matrix(kernel, X, dtype=np.float64) @ (y * found.alpha)) - 1.0
    assert violation_pair(gradient, found.alpha, y, 5.0) <= 2e-3


def test_what_cannot_be_used_is_refused() -> None:
    X, y = np.eye(4, dtype=np.float32), np.array([1.0, -1.0, 1.0, -1.0])
    with pytest.raises(InputError, match="passes is 0"):
        solve_online(Kernel("rbf"), X, y, 1.0, passes=0)
    with pytest.raises(InputError, match="beta lies outside"):
        solve_online(Kernel("rbf"), X, y, 1.0, alpha=np.full(4, 2.0))
    X[2, 1] = np.nan
    with pytest.raises(InputError, match="finite"):
        solve_online(Kernel("rbf"), X, y, 1.0)


def test_a_release_leaves_no_trace() -> None:
    rng = np.random.default_rng(5)
    X = rng.standard_normal((400, 2)).astype(np.float32)
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    expansion = OnlineExpansion(
        Kernel("rbf", 1.0),
        X,
        y,
        np.full(400, 5.0),
        np.zeros(400),
        equality=False,
        tol=1e-3,
        cache_bytes=2**20,
    )
    expansion.learn(np.arange(256), 1)
    S = expansion.slots
    counts = S.counts
    assert expansion.taken > counts[online_arrays.LIVE] == len(expansion.live)
    assert counts[online_arrays.HIGH] == counts[online_arrays.LIVE] + counts[online_arrays.FREE]
    assert np.count_nonzero(S.slot_of >= 0) == counts[online_arrays.LIVE]
    idle = np.flatnonzero(S.rows < 0)
    assert not S.beta[idle].any()
    assert (S.where[idle] == -1).all()
