"""DCSVR and DCQuantileSVR on real rows: against scikit-learn's SVR and dense references."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, minimize
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_ridge import KernelRidge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

from dcsvm_dask.errors import DcsvmWarning
from dcsvm_dask.estimators import DCSVR, DCNuSVR, DCQuantileSVR

SETS = ["mv", "fried", "cadata", "cpusmall", "kin40k", "protein"]
ROWS = 1500


@pytest.fixture(scope="module")
def table(shared_data: Callable[[str], Any]) -> Callable[..., Any]:
    """Return a loader of some standardised rows of a data set, and targets in their own units."""

    def load(name: str, n: int = ROWS) -> Any:
        file = shared_data(name)
        some = np.random.default_rng(0).permutation(len(file["X_train"]))[:n]
        X = file["X_train"][some].astype(np.float64)
        spread = X.std(axis=0)
        X = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
        return X.astype(np.float32).astype(np.float64), file["y_train"][some].astype(np.float64)

    return load


def objective(model: Any, K: np.ndarray, y: np.ndarray, epsilon: float) -> float:
    beta = np.zeros(len(y))
    beta[model.support_] = model.dual_coef_[0]
    return float(0.5 * beta @ K @ beta - y @ beta + epsilon * np.abs(beta).sum())


def rbf(X: np.ndarray, gamma: float) -> np.ndarray:
    squares = (X * X).sum(axis=1)
    return np.exp(-gamma * np.maximum(0.0, squares[:, None] + squares - 2 * X @ X.T))


@pytest.mark.one_quick
@pytest.mark.parametrize("name", SETS)
def test_the_solution_is_that_of_svr(table: Any, name: str) -> None:
    X, y = table(name)
    unit = y.std()
    words = {"C": 10.0 * unit, "epsilon": 0.1 * unit, "gamma": 0.1}
    ours = DCSVR(**words, tol=1e-6 * unit).fit(X, y)
    # Where targets have another unit than one, SVR's tolerance is another one, too.
    theirs = SVR(C=10.0, epsilon=0.1, gamma=0.1, tol=1e-6, cache_size=1000).fit(X, y / unit)
    K = rbf(X, 0.1)
    best = objective(theirs, K, y / unit, 0.1)
    assert objective(ours, K, y, 0.1 * unit) == pytest.approx(best * unit**2, rel=1e-6)
    shift = ours.dual_coef_.sum()
    assert abs(shift) < 1e-8 * unit * len(y)
    assert ours.objective_ == pytest.approx(best * unit**2, rel=1e-6)
    expected = theirs.predict(X) * unit
    np.testing.assert_allclose(ours.predict(X), expected, atol=1e-4 * np.ptp(expected))
    assert ours.intercept_[0] == pytest.approx(theirs.intercept_[0] * unit, abs=1e-4 * unit)
    assert ours.violation_ <= ours.tol
    assert ours.fit_status_ == 0


def test_the_unit_of_targets_does_not_matter(table: Any) -> None:
    X, y = table("cpusmall", 600)
    one = DCSVR(C=3.0, epsilon=0.5, gamma=0.1).fit(X, y)
    large = DCSVR(C=3e6, epsilon=0.5e6, gamma=0.1, tol=1e3).fit(X, y * 1e6)
    assert large.objective_ == pytest.approx(one.objective_ * 1e12, rel=1e-6)
    np.testing.assert_allclose(large.predict(X) / 1e6, one.predict(X), atol=2e-2)
    shifted = clone(one).fit(X, y + 1e6)
    np.testing.assert_allclose(shifted.predict(X) - 1e6, one.predict(X), atol=2e-2)


@pytest.mark.parametrize("kernel", ["linear", "poly", "laplacian"])
def test_other_kernels_dense_and_sparse(table: Any, kernel: str) -> None:
    X, y = table("cadata", 400)
    y = (y - y.mean()) / y.std()
    words: dict[str, Any] = {"kernel": kernel, "gamma": 0.2, "degree": 2, "coef0": 1.0, "tol": 1e-6}
    dense = DCSVR(**words).fit(X, y)
    stored = DCSVR(**words).fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(stored.predict(X), dense.predict(X), atol=1e-4)
    if kernel == "laplacian":
        distances = np.abs(X[:, None] - X).sum(axis=2)
        peer = SVR(kernel="precomputed", tol=1e-6).fit(np.exp(-0.2 * distances), y)
        expected = peer.predict(np.exp(-0.2 * distances))
    else:
        peer = SVR(**words).fit(X, y)
        expected = peer.predict(X)
    np.testing.assert_allclose(dense.predict(X), expected, atol=1e-4 * np.ptp(expected))
    if kernel == "linear":
        np.testing.assert_allclose(dense.coef_, peer.coef_, atol=1e-3)
        assert stored.coef_.shape == (1, X.shape[1])


def test_repeats_weights_and_order_are_one_problem(table: Any) -> None:
    X, y = table("kin40k", 300)
    words = {"C": 5.0, "gamma": 0.3, "tol": 1e-5}
    weights = np.random.default_rng(1).integers(0, 4, len(y))
    weighted = DCSVR(**words).fit(X, y, sample_weight=weights)
    rows = np.random.default_rng(2).permutation(np.repeat(np.arange(len(y)), weights))
    repeated = DCSVR(**words).fit(X[rows], y[rows])
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=0, atol=1e-12)
    # A row of weight w has what its w copies have together.
    of_rows = np.zeros(len(y))
    np.add.at(of_rows, rows[repeated.support_], repeated.dual_coef_[0])
    mine = np.zeros(len(y))
    mine[weighted.support_] = weighted.dual_coef_[0]
    np.testing.assert_allclose(mine, of_rows, atol=1e-12)


@pytest.mark.one_quick
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_quantiles_are_those_of_a_dense_quadratic_program(table: Any, fit_intercept: bool) -> None:
    X, y = table("cadata", 120)
    y, tau, C = (y - y.mean()) / y.std(), 0.3, 2.0
    K = rbf(X, 0.2)
    model = DCQuantileSVR(quantile=tau, C=C, gamma=0.2, tol=1e-7, fit_intercept=fit_intercept).fit(
        X, y
    )
    sums = [LinearConstraint(np.ones((1, len(y))), 0.0, 0.0)] if fit_intercept else []
    found = minimize(
        lambda b: 0.5 * b @ K @ b - y @ b,
        np.zeros(len(y)),
        jac=lambda b: K @ b - y,
        hess=lambda b: K,
        bounds=Bounds(np.full(len(y), C * (tau - 1)), np.full(len(y), C * tau)),
        constraints=sums,
        method="trust-constr",
        options={"gtol": 1e-10, "xtol": 1e-12, "maxiter": 3000},
    )
    assert objective(model, K, y, 0.0) == pytest.approx(found.fun, rel=1e-5)
    np.testing.assert_allclose(model.predict(X) - model.intercept_[0], K @ found.x, atol=2e-2)
    if fit_intercept:
        below = np.mean(y < model.predict(X) - 1e-6)
        at_most = np.mean(y < model.predict(X) + 1e-6)
        assert below <= tau <= at_most


@pytest.mark.parametrize("n", [400, 2600])
def test_the_squared_loss_without_a_tube_is_kernel_ridge_regression(table: Any, n: int) -> None:
    X, y = table("cadata", n)
    X, y = np.concatenate([X, X[:50]]), np.concatenate([y, y[:50]])
    unit = y.std()
    words = {"C": 3.0, "gamma": 0.1, "epsilon": 0.0, "loss": "squared_epsilon_insensitive"}
    ours = DCSVR(**words, tol=1e-5 * unit, fit_intercept=False).fit(X, y)
    theirs = KernelRidge(alpha=1 / 6.0, kernel="rbf", gamma=0.1).fit(X, y)
    expected = theirs.predict(X)
    np.testing.assert_allclose(ours.predict(X), expected, atol=1e-3 * unit)
    beta = np.zeros(len(y))
    beta[ours.support_] = ours.dual_coef_[0]
    np.testing.assert_allclose(beta, theirs.dual_coef_, atol=1e-2 * unit)
    # A row that is there twice has the same coefficient each time, beyond C as well.
    np.testing.assert_allclose(beta[:50], beta[-50:], rtol=1e-12)
    assert np.abs(beta).max() > 3.0


def test_the_squared_loss_with_a_tube(table: Any) -> None:
    X, y = table("cpusmall", 500)
    y = (y - y.mean()) / y.std()
    ours = DCSVR(C=2.0, epsilon=0.2, loss="squared_epsilon_insensitive", gamma=0.1, tol=1e-6)
    ours.fit(X, y)
    K = rbf(X, 0.1)
    peer = SVR(kernel="precomputed", C=1e8, epsilon=0.2, tol=1e-6).fit(K + np.eye(500) / 4, y)
    expected = K[:, peer.support_] @ peer.dual_coef_[0] + peer.intercept_[0]
    np.testing.assert_allclose(ours.predict(X), expected, atol=1e-3)


def test_a_warm_start_is_the_same_solution_in_fewer_steps(table: Any) -> None:
    X, y = table("fried", 2500)
    words = {"C": 10.0, "gamma": 0.1, "tol": 1e-4}
    cold = DCSVR(**words).fit(X, y)
    warm = DCSVR(**{**words, "C": 9.0}, warm_start=True).fit(X, y)
    warm.set_params(C=10.0).fit(X, y)
    assert warm.objective_ == pytest.approx(cold.objective_, rel=1e-6)
    assert warm.n_iter_ < cold.n_iter_
    other = clone(warm).fit(X[:50], y[:50]).fit(X, y)
    assert other.objective_ == pytest.approx(cold.objective_, rel=1e-6)


def test_targets_without_spread_and_a_wide_tube(table: Any) -> None:
    X, y = table("mv", 100)
    constant = DCSVR().fit(X, np.full(len(y), 7.5))
    assert len(constant.support_) == 0
    np.testing.assert_array_equal(constant.predict(X), 7.5)
    wide = DCSVR(epsilon=10 * np.ptp(y)).fit(X, y)
    assert len(wide.support_) == 0
    np.testing.assert_allclose(wide.predict(X), (y.min() + y.max()) / 2)


def test_a_limit_on_steps_is_warned_of(table: Any) -> None:
    X, y = table("fried", 300)
    with pytest.warns(ConvergenceWarning, match="1 of 1 SVMs are not solved"):
        model = DCSVR(C=100.0, max_iter=5).fit(X, y)
    assert model.fit_status_ == 1


@pytest.mark.parametrize(
    ("words", "y", "message"),
    [
        ({"epsilon": -0.1}, None, r"epsilon must be a number, 0 or more, got -0\.1"),
        ({"epsilon": np.nan}, None, "epsilon must be a number, 0 or more, got nan"),
        ({"C": 0.0}, None, "C must be"),
        ({"loss": "huber"}, None, "loss must be one of epsilon_insensitive, squared"),
        ({"cache_size": 0}, None, "cache_size is 0"),
        ({}, [0.0, np.inf, 1.0], "infinity"),
        ({}, [0.0, np.nan, 1.0], "NaN"),
        ({}, [0.0, 1e300, 1.0], r"a target of 1e\+300: 1e\+100 is the largest possible"),
        ({}, ["a", "b", "c"], "a regressor learns numbers"),
    ],
)
def test_what_cannot_be_used_is_refused(words: dict[str, Any], y: Any, message: str) -> None:
    X = np.arange(6.0).reshape(3, 2)
    with pytest.raises(ValueError, match=message):
        DCSVR(**words).fit(X, [0.0, 1.0, 2.0] if y is None else y)


@pytest.mark.parametrize("quantile", [0.0, 1.0, -1, "0.5", True])
def test_quantiles_outside_of_zero_and_one_are_refused(quantile: Any) -> None:
    with pytest.raises(ValueError, match="quantile must be a number between 0 and 1"):
        DCQuantileSVR(quantile=quantile).fit(np.eye(3), [0.0, 1.0, 2.0])


def test_in_a_pipeline(table: Any) -> None:
    X, y = table("cpusmall", 500)
    model = make_pipeline(StandardScaler(), DCSVR(C=10.0)).fit(X[:400], y[:400])
    assert model.score(X[400:], y[400:]) > 0.5


@pytest.mark.parametrize("model", [DCSVR(), DCNuSVR(), DCQuantileSVR()], ids=str)
def test_a_tolerance_above_all_targets_is_warned_of(
    model: Any, table: Callable[..., Any], recwarn: pytest.WarningsRecorder
) -> None:
    X, y = table("fried", 100)
    with pytest.warns(DcsvmWarning, match=r"tol=0.001 is in units of y, and no target is further"):
        clone(model).fit(X, y * 1e-6)
    clone(model).fit(X, y)
    clone(model).set_params(tol=1e-9).fit(X, y * 1e-6)
    clone(model).fit(X, np.full(len(X), 0.1))
    assert not recwarn.list
