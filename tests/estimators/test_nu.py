"""nu-SVC, nu-SVR and the one-class SVM on real rows, against scikit-learn's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_moons
from sklearn.metrics import roc_auc_score
from sklearn.svm import SVC, NuSVC, NuSVR, OneClassSVM

from dcsvm_dask.errors import InputError
from dcsvm_dask.estimators import DCSVR, DCNuSVC, DCNuSVR, DCOneClassSVM
from tests.marks import long


@pytest.fixture(scope="module")
def rows(shared_data: Callable[[str], Any]) -> Callable[..., Any]:
    """Return a loader of some standardised rows of a data set, and their labels or targets."""

    def load(name: str, n: int, classes: list[int] | None = None) -> Any:
        file = shared_data(name)
        y = file["y_train"]
        known = np.arange(len(y)) if classes is None else np.flatnonzero(np.isin(y, classes))
        some = np.random.default_rng(0).permutation(known)[:n]
        X = file["X_train"][some].astype(np.float64)
        spread = X.std(axis=0)
        X = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
        return X.astype(np.float32).astype(np.float64), y[some].astype(np.float64)

    return load


def kernel_of(X: np.ndarray, gamma: float) -> np.ndarray:
    squares = (X * X).sum(axis=1)
    return np.exp(-gamma * np.maximum(0.0, squares[:, None] + squares - 2 * X @ X.T))


def beta_of(model: Any, n: int) -> np.ndarray:
    found = np.zeros(n)
    found[model.support_] = model.dual_coef_[0]
    return found


@pytest.mark.parametrize(
    ("name", "n", "nu"),
    [
        ("ijcnn1", 1200, 0.1),
        ("magic", 1500, 0.4),
        ("german_numer", 1000, 0.5),
        long("ijcnn1", 6000, 0.05),
        long("magic", 6000, 0.4),
    ],
)
def test_nu_svc_is_that_of_scikit_learn(rows: Any, name: str, n: int, nu: float) -> None:
    X, y = rows(name, n)
    gamma = 0.5 / X.shape[1]
    ours = DCNuSVC(nu=nu, gamma=gamma, tol=1e-7).fit(X, y)
    theirs = NuSVC(nu=nu, gamma=gamma, tol=1e-7, cache_size=1000).fit(X, y)
    K = kernel_of(X, gamma)
    mine, other = beta_of(ours, n), beta_of(theirs, n)
    # In the scale of the solver: the coefficients times rho.
    value = 0.5 * mine @ K @ mine * ours.rho_[0] ** 2
    rho = nu * n / np.abs(other).sum()
    best = 0.5 * other @ K @ other * rho**2
    # Its kernel values are float32, so that its objective may be above ours.
    assert value <= best * (1.0 + 1e-6)
    assert value == pytest.approx(best, rel=2e-5)
    assert ours.objective_[0] == pytest.approx(0.5 * mine @ K @ mine, rel=1e-6)
    # Both sums are what nu says, within the bounds.
    alpha = np.abs(mine) * ours.rho_[0]
    assert alpha.sum() == pytest.approx(nu * n, rel=1e-9)
    assert mine.sum() == pytest.approx(0.0, abs=1e-6)
    assert alpha.max() <= 1.0 + 1e-9
    decision = theirs.decision_function(X)
    np.testing.assert_allclose(ours.decision_function(X), decision, atol=1e-4 * np.ptp(decision))
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


def test_the_nu_of_a_c_svc_gives_its_solution(rows: Any) -> None:
    X, y = rows("ijcnn1", 1500)
    svc = SVC(C=10.0, gamma=0.1, tol=1e-7).fit(X, y)
    nu = np.abs(svc.dual_coef_).sum() / (10.0 * len(y))
    ours = DCNuSVC(nu=nu, gamma=0.1, tol=1e-8).fit(X, y)
    assert 1.0 / ours.rho_[0] == pytest.approx(10.0, rel=1e-3)
    decision = svc.decision_function(X)
    np.testing.assert_allclose(ours.decision_function(X), decision, atol=1e-3 * np.ptp(decision))


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
def test_many_classes_vote(rows: Any, storage: Callable[[Any], Any]) -> None:
    X, y = rows("usps", 600, [1, 2, 3, 4])
    ours = DCNuSVC(nu=0.2, gamma=0.002, tol=1e-6, decision_function_shape="ovo")
    ours.fit(storage(X), y)
    theirs = NuSVC(nu=0.2, gamma=0.002, tol=1e-6, decision_function_shape="ovo").fit(X, y)
    expected = theirs.decision_function(X)
    np.testing.assert_allclose(
        ours.decision_function(storage(X)), expected, atol=2e-4 * np.ptp(expected)
    )
    np.testing.assert_array_equal(ours.predict(storage(X)), theirs.predict(X))
    assert ours.rho_.shape == (6,)


@pytest.mark.parametrize("n", [1200, 3600])
def test_classes_on_several_threads_are_those_on_one(rows: Any, n: int) -> None:
    """SVMs of 1,000 rows or fewer, and of more, are handed to threads in two ways."""
    X, y = rows("mnist", n, [0, 1, 4])
    one, two = (
        DCNuSVC(nu=0.1, gamma=1 / X.shape[1], n_jobs=threads).fit(X, y) for threads in (1, 3)
    )
    np.testing.assert_array_equal(one.support_, two.support_)
    np.testing.assert_array_equal(one.dual_coef_, two.dual_coef_)
    np.testing.assert_array_equal(one.intercept_, two.intercept_)
    np.testing.assert_array_equal(one.n_iter_, two.n_iter_)


@pytest.mark.parametrize(
    ("name", "n", "nu"), [("mv", 800, 0.3), ("cadata", 1000, 0.5), long("kin40k", 5000, 0.2)]
)
def test_nu_svr_is_that_of_scikit_learn(rows: Any, name: str, n: int, nu: float) -> None:
    X, y = rows(name, n)
    unit, gamma = y.std(), 0.5 / X.shape[1]
    ours = DCNuSVR(nu=nu, C=2.0 * unit, gamma=gamma, tol=1e-6 * unit).fit(X, y)
    theirs = NuSVR(nu=nu, C=2.0, gamma=gamma, tol=1e-6, cache_size=1000).fit(X, y / unit)
    K = kernel_of(X, gamma)
    mine, other = beta_of(ours, n) / unit, beta_of(theirs, n)
    best = 0.5 * other @ K @ other - other @ y / unit
    assert 0.5 * mine @ K @ mine - mine @ y / unit == pytest.approx(best, rel=1e-6)
    assert ours.objective_ == pytest.approx(best * unit**2, rel=1e-6)
    assert np.abs(mine).sum() <= 2.0 * nu * n * (1.0 + 1e-9)
    assert mine.sum() == pytest.approx(0.0, abs=1e-6)
    expected = theirs.predict(X) * unit
    np.testing.assert_allclose(ours.predict(X), expected, atol=1e-4 * np.ptp(expected))
    outside = np.abs(y - ours.predict(X)) > ours.epsilon_ + 2e-6 * unit
    assert outside.mean() <= nu + 1e-9
    assert len(ours.support_) >= nu * n - 1e-6


@pytest.mark.parametrize(
    ("name", "n", "nu"), [("ijcnn1", 1500, 0.1), ("cadata", 1000, 0.5), long("covtype", 5000, 0.05)]
)
def test_the_one_class_svm_is_that_of_scikit_learn(rows: Any, name: str, n: int, nu: float) -> None:
    X, _ = rows(name, n)
    gamma = 0.5 / X.shape[1]
    ours = DCOneClassSVM(nu=nu, gamma=gamma, tol=1e-7).fit(X)
    theirs = OneClassSVM(nu=nu, gamma=gamma, tol=1e-7, cache_size=1000).fit(X)
    K, mine, other = kernel_of(X, gamma), beta_of(ours, n), beta_of(theirs, n)
    assert 0.5 * mine @ K @ mine == pytest.approx(0.5 * other @ K @ other, rel=1e-6)
    assert mine.sum() == pytest.approx(nu * n)
    assert ours.offset_ == pytest.approx(theirs.offset_, rel=1e-4)
    expected = theirs.decision_function(X)
    np.testing.assert_allclose(ours.decision_function(X), expected, atol=1e-4 * np.ptp(expected))
    np.testing.assert_allclose(ours.score_samples(X), theirs.score_samples(X), rtol=1e-4, atol=1e-4)
    assert np.mean(ours.decision_function(X) < -1e-5) <= nu


def test_novelties_are_found(rows: Any) -> None:
    X, y = rows("usps", 2000)
    model = DCOneClassSVM(nu=0.1, gamma=0.002).fit(X[y == 1])
    scores = model.score_samples(X)
    assert roc_auc_score(y == 1, scores) > 0.95
    assert set(model.predict(X)) == {-1, 1}


def test_rows_on_the_border_are_outliers_as_those_of_sklearn() -> None:
    X = np.ones((4, 2))
    ours, theirs = DCOneClassSVM(nu=0.5).fit(X), OneClassSVM(nu=0.5).fit(X)
    np.testing.assert_array_equal(ours.decision_function(X), np.zeros(4))
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


@pytest.mark.parametrize("in_run", [False, long(True)])
def test_classes_that_overlap_are_refused_with_a_larger_nu_as_the_remedy(
    in_run: bool, rows: Any, tmp_path: Path
) -> None:
    X, y = rows("magic", 600)
    words: dict[str, Any] = {"kernel": "linear", "gamma": 1.0, "tol": 1e-5}
    said = r"nu is 0\.01, with which no margin separates .* give a larger nu"
    run = tmp_path / "run" if in_run else None
    with pytest.raises(InputError, match=said):
        DCNuSVC(nu=0.01, run=run, **words).fit(X, y)
    ours = DCNuSVC(nu=0.65, **words).fit(X, y)
    expected = NuSVC(nu=0.65, **words).fit(X, y).decision_function(X)
    np.testing.assert_allclose(ours.decision_function(X), expected, atol=1e-4 * np.ptp(expected))


@pytest.mark.parametrize("tol", [1e-3, 1e-5, 1e-7])
@pytest.mark.parametrize("n", [200, 2000])
def test_margins_that_are_rounding_are_none_at_any_tolerance(n: int, tol: float) -> None:
    X, y = make_moons(n, noise=0.2, random_state=0)
    with pytest.raises(InputError, match="with which no margin separates"):
        DCNuSVC(nu=0.1, kernel="linear", tol=tol).fit(X, y)


def test_a_larger_nu_is_no_remedy_of_the_largest_one() -> None:
    """Of the largest nu the means of the classes are set apart, and these are the same here."""
    X = np.array([[-1.0], [1.0], [-2.0], [2.0]])
    with pytest.raises(InputError, match=r"no margin separates .*: give a kernel that tells"):
        DCNuSVC(nu=1.0, kernel="linear").fit(X, [0, 0, 1, 1])


def test_nu_svr_refuses_infinite_penalties_as_the_peer(rows: Any) -> None:
    X, z = rows("cadata", 200)
    z = (z - z.mean()) / z.std()
    with pytest.raises(ValueError, match="not finite"):
        NuSVR(C=np.inf).fit(X, z)
    with pytest.raises(InputError, match=r"C is inf.*: give a finite C, or DCSVR with C=np\.inf"):
        DCNuSVR(C=np.inf).fit(X, z)
    tube = DCSVR(C=np.inf, epsilon=0.1, tol=1e-6).fit(X, z)
    assert np.abs(tube.predict(X) - z).max() <= 0.1 + 1e-5


def test_weights_are_repeats(rows: Any) -> None:
    X, y = rows("magic", 300)
    weights = np.random.default_rng(0).integers(1, 4, len(y))
    again = np.repeat(np.arange(len(y)), weights)
    words = {"nu": 0.3, "gamma": 0.1, "tol": 1e-6}
    for kind in (DCNuSVC, DCOneClassSVM):
        one = kind(**words).fit(X, y, sample_weight=weights)
        other = kind(**words).fit(X[again], y[again])
        found, expected = one.decision_function(X), other.decision_function(X)
        np.testing.assert_allclose(found, expected, atol=1e-6 * np.ptp(expected))
    z = X[:, 0] + y
    one = DCNuSVR(**words).fit(X, z, sample_weight=weights)
    other = DCNuSVR(**words).fit(X[again], z[again])
    np.testing.assert_allclose(one.predict(X), other.predict(X), atol=1e-5)


@pytest.mark.parametrize("nu", [0.0, -0.1, 1.5, np.nan, "0.5", True])
@pytest.mark.parametrize("kind", [DCNuSVC, DCNuSVR, DCOneClassSVM])
def test_a_nu_that_is_not_possible_is_refused(kind: Any, nu: Any) -> None:
    X, y = np.arange(8.0).reshape(4, 2), [0, 1, 0, 1]
    with pytest.raises(ValueError, match="nu must be a number above 0, at most 1"):
        kind(nu=nu).fit(X, y)


def test_a_nu_that_classes_do_not_allow_names_the_largest(rows: Any) -> None:
    X = np.arange(20.0).reshape(10, 2)
    y = np.array(["a"] * 2 + ["b"] * 8)
    with pytest.raises(
        ValueError, match=r"nu must be at most 0\.4, .* 'a' and 'b' allow, got 0\.5"
    ):
        DCNuSVC(nu=0.5).fit(X, y)
    assert DCNuSVC(nu=0.4).fit(X, y).rho_[0] > 0
    with pytest.raises(ValueError, match=r"at most 0\.2, "):
        DCNuSVC(nu=0.4).fit(X, y, sample_weight=np.where(y == "a", 0.44444444, 1.0))
