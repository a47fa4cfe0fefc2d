"""solve_decomposition against solve_smo on the whole kernel matrix."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import make_classification
from sklearn.svm import SVC

from dcsvm_dask import solvers
from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels import Kernel
from dcsvm_dask.solvers import decomposition
from tests.svc import solve_decomposition, solve_smo, solve_whole, violation_box, violation_pair


@pytest.mark.parametrize("equality", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
def test_same_answer_as_with_the_whole_matrix(
    equality: bool, sparse: bool, make_svc: ModuleType, problem: Callable[[str], Any]
) -> None:
    X, y = problem("a9a")
    X, y = X[:1500], y[:1500]
    K = make_svc.rbf(X, X, 2.0**-5)
    rows = csr_array(X) if sparse else X
    whole = solve_smo(K, y, 4.0, equality=equality, tol=1e-5)
    found, values = solve_decomposition(
        Kernel("rbf", gamma=2.0**-5),
        rows,
        y,
        4.0,
        equality=equality,
        tol=1e-4,
        working_size=300,
    )
    assert found.converged
    assert found.objective == pytest.approx(whole.objective, rel=1e-6)
    gradient = y * (K @ (y * found.alpha)) - 1.0
    measure = (
        violation_pair(gradient, found.alpha, y, 4.0)
        if equality
        else violation_box(gradient, found.alpha, 4.0)
    )
    assert measure <= 1.2e-4
    if equality:
        assert abs(y @ found.alpha) < 1e-9
        assert found.bias == pytest.approx(whole.bias, abs=1e-3)
    assert values > 300**2


def test_rounds_that_undo_each_other_end(make_svc: ModuleType) -> None:
    """Rows on a line are nearly dependent: float32 matrices lead to and fro between two points."""
    X, labels = make_classification(
        3000,
        1,
        n_informative=1,
        n_redundant=0,
        n_repeated=0,
        n_clusters_per_class=1,
        flip_y=0.2,
        random_state=1,
    )
    X, y = X.astype(np.float32), np.where(labels == 1, 1.0, -1.0)
    C = 100.0 * 1500 / np.where(y > 0, (y > 0).sum(), (y < 0).sum())
    kernel, tol = Kernel("rbf", gamma=1.0), 1e-6
    found, _ = solve_whole(kernel, X, y, C, equality=True, tol=tol)
    assert found.converged
    gradient = y * (make_svc.rbf(X, X, 1.0) @ (y * found.alpha)) - 1.0
    assert violation_pair(gradient, found.alpha, y, C) <= 1.2 * tol


def test_warm_start_with_a_known_gradient_computes_little(
    make_svc: ModuleType, problem: Callable[[str], Any]
) -> None:
    X, y = problem("german_numer")
    kernel = Kernel("rbf", gamma=2.0**-4)
    first, values = solve_decomposition(kernel, X, y, 4.0, tol=1e-4, working_size=200)
    again, rest = solve_decomposition(
        kernel,
        X,
        y,
        4.0,
        alpha=first.alpha,
        gradient=first.gradient,
        tol=1e-3,
        working_size=200,
    )
    assert again.n_iter == 0
    assert rest < values
    np.testing.assert_array_equal(again.alpha, first.alpha)
    assert again.objective == pytest.approx(first.objective, rel=1e-7)


def test_bounds_and_linear_term_of_each_row(
    make_svc: ModuleType, problem: Callable[[str], Any]
) -> None:
    X, y = problem("heart_scale")
    rng = np.random.default_rng(0)
    C, p = rng.uniform(0.0, 4.0, len(y)), rng.uniform(-2.0, 0.0, len(y))
    C[:5] = 0.0
    whole = solve_smo(make_svc.rbf(X, X, 0.5), y, C, p=p, tol=1e-7)
    found, _ = solve_decomposition(
        Kernel("rbf", gamma=0.5), X, y, C, p=p, tol=1e-5, working_size=50
    )
    assert found.objective == pytest.approx(whole.objective, rel=1e-6)


def test_smallest_working_sets(make_svc: ModuleType, problem: Callable[[str], Any]) -> None:
    X, y = problem("heart_scale")
    X, y = X[:60], y[:60]
    for equality in (False, True):
        whole = solve_smo(make_svc.rbf(X, X, 0.5), y, 1.0, equality=equality, tol=1e-6)
        found, _ = solve_decomposition(
            Kernel("rbf", gamma=0.5), X, y, 1.0, equality=equality, tol=1e-4, working_size=2
        )
        assert found.converged
        assert found.objective == pytest.approx(whole.objective, rel=1e-5)


def test_the_matrices_of_all_sets_lie_in_the_memory_of_one(
    problem: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = problem("a9a")
    matrices: list[Any] = []  # those that are kept cannot lie where others did by chance

    def solved(K: Any, *arguments: Any, **how: Any) -> Any:
        matrices.append(K)
        return solvers.solve_inner(K, *arguments, **how)

    monkeypatch.setattr(decomposition, "solve_inner", solved)
    solve_decomposition(
        Kernel("rbf", gamma=2.0**-5), X[:1500], y[:1500], 4.0, tol=1e-3, working_size=300
    )
    assert len(matrices) > 2
    assert len({K.ctypes.data for K in matrices}) == 1


def test_callback_can_stop(problem: Callable[[str], Any]) -> None:
    X, y = problem("german_numer")
    found, _ = solve_decomposition(
        Kernel("rbf", gamma=0.1), X, y, 4.0, working_size=50, callback=lambda *_: True
    )
    assert not found.converged
    assert found.n_iter > 0


@pytest.mark.long
def test_sets_whose_values_are_too_coarse_in_float32_are_solved_in_float64(digits: Any) -> None:
    """Of large variables and kernel values: in float32 alone they take 4.6 million steps."""
    X, label = digits
    X = np.ascontiguousarray(X[:, :8], np.float32)  # the upper edge, of which one pixel says little
    y, C, gamma = np.where(label % 2, 1.0, -1.0), 1000.0, 1.0 / (8 * X.var())
    kernel = Kernel("poly", gamma=gamma, degree=3, coef0=0.0)
    how: dict[str, Any] = {"equality": True, "working_size": len(y), "max_iter": 3_000_000}
    found, _ = solve_decomposition(kernel, X, y, C, **how)
    K = (gamma * (X.astype(np.float64) @ X.T.astype(np.float64))) ** 3
    assert found.converged
    assert violation_pair(y * (K @ (y * found.alpha)) - 1.0, found.alpha, y, C) <= 1e-3
    svc = SVC(kernel="precomputed", C=C, tol=1e-3).fit(K, y)
    alpha = np.zeros(len(y))
    alpha[svc.support_] = np.abs(svc.dual_coef_[0])
    theirs = 0.5 * (y * alpha) @ K @ (y * alpha) - alpha.sum()
    assert found.objective <= theirs + 1e-6 * abs(theirs)


def test_working_set_of_one_row_is_refused() -> None:
    with pytest.raises(InputError, match="working_size"):
        solve_decomposition(Kernel(), np.eye(2, dtype=np.float32), [1, -1], 1.0, working_size=1)


@pytest.mark.long
@pytest.mark.parametrize("equality", [False, True])
def test_many_free_rows(
    equality: bool, make_svc: ModuleType, problem: Callable[[str], Any]
) -> None:
    X, y = problem("covtype")
    X, y = X[:5000], y[:5000]
    K = make_svc.rbf(X, X, 32.0).astype(np.float32)
    whole = solve_smo(K, y, 32.0, equality=equality, tol=1e-4)
    found, _ = solve_decomposition(
        Kernel("rbf", gamma=32.0), X, y, 32.0, equality=equality, tol=1e-3, working_size=1500
    )
    assert found.converged
    assert found.objective == pytest.approx(whole.objective, rel=1e-5)
