"""nu-SVCs of pairs of classes of a few rows: what LIBSVM and the general solver say of them."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_blobs
from sklearn.preprocessing import StandardScaler
from sklearn.svm import NuSVC

from dcsvm_dask.errors import InfeasibleError
from dcsvm_dask.estimators import DCNuSVC
from dcsvm_dask.estimators import nu_svc as estimator
from dcsvm_dask.kernels import Kernel, kernel_matrix
from dcsvm_dask.solvers import small_pairs, solve_nu_matrix
from dcsvm_dask.solvers.small_pairs import solve_small_nu_pairs
from dcsvm_dask.tasks import NuClassification

DIGITS, NUMBERS = load_digits(return_X_y=True)
X, CODES = (DIGITS[:900] / 16.0).astype(np.float32), NUMBERS[:900]
PAIRS = [(a, b) for a in range(10) for b in range(a + 1, 10)]


@pytest.mark.parametrize("kernel", [Kernel("rbf", 0.05), Kernel("linear"), Kernel("poly", 0.1)])
@pytest.mark.parametrize("nu", [0.05, 0.3, 0.8])
def test_they_are_solved_as_by_the_general_solver(kernel: Kernel, nu: float) -> None:
    tol, C = 1e-6, np.random.default_rng(0).uniform(0.5, 2.0, len(X))
    found = solve_small_nu_pairs(kernel, X, CODES, C, PAIRS, nu, tol=tol, threads=2)
    assert list(found) == PAIRS
    K = kernel_matrix(kernel, X, dtype=np.float64)
    for pair, (own, one) in found.items():
        np.testing.assert_array_equal(own, np.flatnonzero(np.isin(CODES, pair)))
        y = np.where(CODES[own] == pair[0], 1.0, -1.0)
        near, task = K[np.ix_(own, own)], NuClassification(nu=nu)
        other = solve_nu_matrix(near, y, C[own], task, tol=1e-9)
        rho, solution = one.multiplier, one.solution
        alpha = y * solution.beta * rho
        assert solution.violation <= tol
        assert ((alpha >= 0.0) & (alpha <= C[own] * (1.0 + 1e-12))).all()
        for sign in (-1.0, 1.0):
            assert alpha[y == sign].sum() == pytest.approx(0.5 * nu * C[own].sum(), rel=1e-12)
        least = other.solution.objective * other.multiplier**2
        excess = solution.objective * rho**2 - least
        assert -1e-12 * (1.0 + least) <= excess <= tol * alpha.sum()
        assert rho == pytest.approx(other.multiplier, abs=2.0 * tol)
        assert solution.bias * rho == pytest.approx(other.solution.bias * rho, abs=4.0 * tol)
        np.testing.assert_allclose(solution.gradient, near @ solution.beta, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("nu", [0.11, 0.33, 0.51])
def test_an_estimator_is_nu_svc(
    load: object, kernel: str, nu: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, codes = load(return_X_y=True)  # type: ignore[operator]
    rows = StandardScaler().fit_transform(rows).astype(np.float32).astype(float)
    monkeypatch.setattr(estimator, "solve_nu", None)
    ours = DCNuSVC(kernel=kernel, nu=nu, gamma=0.05, tol=1e-6).fit(rows, codes)
    theirs = NuSVC(kernel=kernel, nu=nu, gamma=0.05, tol=1e-9).fit(rows, codes)
    shape = {"decision_function_shape": "ovo"}
    found, wanted = (one.set_params(**shape).decision_function(rows) for one in (ours, theirs))
    np.testing.assert_allclose(found, wanted, atol=1e-6 / ours.rho_.min() * 20.0)
    np.testing.assert_array_equal(ours.predict(rows), theirs.predict(rows))


def test_variables_of_balanced_classes_are_all_at_their_bounds() -> None:
    rows = np.array([[0.0, 1.0], [1.0, 0.0], [3.0, 4.0], [4.0, 3.0]], np.float32)
    codes, pair = np.array([0, 0, 1, 1]), (0, 1)
    _, one = solve_small_nu_pairs(Kernel("linear"), rows, codes, np.ones(4), [pair], 1.0)[pair]
    y = np.array([1.0, 1.0, -1.0, -1.0])
    np.testing.assert_allclose(one.solution.beta * one.multiplier, y)
    K = (rows @ rows.T).astype(float)
    other = solve_nu_matrix(K, y, np.ones(4), NuClassification(nu=1.0))
    assert one.multiplier == pytest.approx(other.multiplier)
    assert one.solution.bias == pytest.approx(other.solution.bias)


def test_a_nu_that_two_classes_do_not_allow_is_lowered() -> None:
    kernel, codes = Kernel("rbf", 0.05), np.minimum(CODES, 1)
    codes = codes[:300]
    found = solve_small_nu_pairs(kernel, X[:300], codes, np.ones(300), [(0, 1)], 0.9)[0, 1][1]
    alpha = np.abs(found.solution.beta) * found.multiplier
    np.testing.assert_allclose(alpha[codes == 0], 1.0)
    assert alpha[codes == 1].sum() == pytest.approx((codes == 0).sum())


def test_what_steps_do_not_solve_is_left_to_the_general_solver(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fitted = DCNuSVC(nu=0.2).fit(X[:200], CODES[:200])

    def without(*given: np.ndarray) -> None:
        given[-1].fill(np.inf)

    monkeypatch.setattr(small_pairs, "solve_nu_pairs", without)
    other = DCNuSVC(nu=0.2).fit(X[:200], CODES[:200])
    np.testing.assert_allclose(other.rho_, fitted.rho_, atol=2e-3)


def test_classes_that_overlap_are_refused() -> None:
    rows, codes = make_blobs(100, centers=[[0.0, 0.0], [0.1, 0.0]], random_state=1)
    pair = (0, 1)
    assert not solve_small_nu_pairs(
        Kernel("linear"), rows.astype(np.float32), codes, np.ones(100), [pair], 0.1
    )
    with pytest.raises(InfeasibleError, match="give a larger nu"):
        DCNuSVC(kernel="linear", nu=0.1).fit(rows, codes)
