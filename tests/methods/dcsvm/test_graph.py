"""The exact model, through levels and conquer, against scikit-learn's SVC and dense float64."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.svm import SVC

from dcsvm_dask import api
from dcsvm_dask.runtime.execution import Execution
from dcsvm_dask.storage.dataset import DataSet
from tests.marks import long, soak

pytestmark = pytest.mark.usefixtures("few_rows_a_task")

ROWS = 5000
TOL = 1e-5
RELATIVE = 1e-6
KERNELS: dict[str, dict[str, Any]] = {
    "rbf": {"gamma": 2.0, "C": 4.0},
    "poly": {"gamma": 0.2, "degree": 3, "coef0": 1.0, "C": 1.0},
    "linear": {"C": 0.1},
    "sigmoid": {"gamma": 0.02, "coef0": -0.5, "C": 1.0},
    "laplacian": {"gamma": 0.5, "C": 4.0},
}


@dataclass
class Trained:
    """A run and the problem that it solved, row by row in float64."""

    run: api.Run
    X: Any
    y: np.ndarray
    alpha: np.ndarray
    C: float
    K: np.ndarray

    @property
    def gradient(self) -> np.ndarray:
        return np.asarray(self.y * (self.K @ (self.y * self.alpha)) - 1.0)

    @property
    def objective(self) -> float:
        return float(0.5 * self.alpha @ (self.gradient - 1.0))

    def violation_box(self) -> float:
        """Return the largest absolute projected gradient."""
        g, a = self.gradient, self.alpha
        g = np.where(a <= 0.0, np.minimum(g, 0.0), np.where(a >= self.C, np.maximum(g, 0.0), g))
        return float(np.abs(g).max())

    def violation_pair(self) -> float:
        """Return m(alpha) - M(alpha), which LIBSVM's -e bounds."""
        pull, a, y = -self.y * self.gradient, self.alpha, self.y
        up = ((y > 0) & (a < self.C)) | ((y < 0) & (a > 0.0))
        low = ((y < 0) & (a < self.C)) | ((y > 0) & (a > 0.0))
        return float(pull[up].max() - pull[low].min())


def dense_kernel(name: str, X: Any, parameters: dict[str, Any]) -> np.ndarray:
    """Return the kernel matrix in float64 as others compute it."""
    X = X.astype(np.float64)
    if name == "laplacian" and not sparse.issparse(X):  # scikit-learn's takes one row at a time
        return np.exp(-parameters["gamma"] * cdist(X, X, "cityblock"))
    words = {key: parameters[key] for key in ("gamma", "degree", "coef0") if key in parameters}
    return np.asarray(pairwise_kernels(X, metric=name, **words))


@pytest.fixture
def trained(tmp_path: Path) -> Callable[..., Trained]:
    """Return a function that ingests, trains in process, and reads back what was solved."""

    def call(source: Any, kernel: str, **parameters: Any) -> Trained:
        data = api.ingest(source, tmp_path / "data.zarr")
        run = api.train(
            tmp_path / "data.zarr",
            tmp_path / "run",
            kernel=kernel,
            tol=TOL,
            execution=Execution(workers=0),
            quiet=True,
            **parameters,
        )
        found = run.status()
        assert found["state"] == "complete"
        assert found["converged"]
        X = data.rows.read(0, data.n_rows)
        y = np.where(data.read_codes(0, data.n_rows) == 1, 1.0, -1.0)
        alpha = run.folder.node(found["model"], "commit").read("alpha")[0]
        C = parameters["C"]
        assert alpha.shape == y.shape
        assert alpha.min() >= 0.0
        assert alpha.max() <= C
        return Trained(run, X, y, alpha, C, dense_kernel(kernel, X, parameters))

    return call


@pytest.fixture
def rows(shared_data: Callable[[str], Any]) -> Callable[[str, int], tuple[Any, np.ndarray]]:
    """Return the first rows of a real set in the scaling that is usual for it."""

    def call(name: str, n: int) -> tuple[Any, np.ndarray]:
        file = shared_data(name)
        y = file["y_train"]
        if name == "covtype":
            X = file["X_train"].astype(np.float32)
            X = (X - X.min(0)) / np.maximum(X.max(0) - X.min(0), 1e-9)
            order = np.random.default_rng(0).permutation(len(y))[:n]
            return X[order].astype(np.float32), y[order]
        return file["X_train"][:n].astype(np.float32), y[:n]

    return call


def check_status(one: Trained) -> None:
    """Check that the run says of its answer what dense float64 says."""
    found = one.run.status()
    assert found["objective"] == pytest.approx(one.objective, rel=RELATIVE)
    assert found["violation"] <= TOL
    assert found["n_support"] == np.count_nonzero(one.alpha)


def check_with_bias(one: Trained, kernel: str) -> None:
    """Compare with SVC, which solves the same problem with a bias."""
    svc = SVC(kernel="precomputed", C=one.C, tol=TOL, cache_size=500).fit(one.K, one.y)
    theirs = np.zeros(len(one.y))
    theirs[svc.support_] = np.abs(svc.dual_coef_[0])
    best = Trained(one.run, one.X, one.y, theirs, one.C, one.K).objective
    assert one.objective == pytest.approx(best, rel=RELATIVE)
    assert abs(one.y @ one.alpha) <= 1e-9 * one.alpha.sum()
    assert one.violation_pair() <= 1.2 * TOL
    bias = one.run.status()["stages"][one.run.status()["model"]]["bias"]
    assert bias == pytest.approx(float(svc.intercept_[0]), abs=20 * TOL)


def check_without_bias(one: Trained) -> None:
    """Check optimality by dense float64: no violation, and a duality gap that is nearly closed."""
    assert one.violation_box() <= 1.1 * TOL
    g = one.gradient
    gap = float(one.alpha @ g + one.C * np.maximum(0.0, -g).sum())
    # The objective lies within the gap of the best one.
    assert gap <= max(RELATIVE * abs(one.objective), 2 * TOL * one.C * len(g))
    polished = polish(one)
    assert one.objective == pytest.approx(polished, rel=RELATIVE)


def polish(one: Trained, sweeps: int = 200) -> float:
    """Return the objective after sweeps of coordinate descent in float64 from the answer."""
    Q = one.K * np.outer(one.y, one.y)
    a, g = one.alpha.copy(), one.gradient.copy()
    diagonal = Q.diagonal().copy()
    for _ in range(sweeps):
        projected = np.where(a <= 0, np.minimum(g, 0), np.where(a >= one.C, np.maximum(g, 0), g))
        for i in np.argsort(-np.abs(projected))[:50]:
            new = min(max(a[i] - g[i] / diagonal[i], 0.0), one.C)
            if new != a[i]:
                g += (new - a[i]) * Q[i]
                a[i] = new
    return float(0.5 * a @ (g - 1.0))


def test_a_small_set_with_a_bias_is_svc_s(
    rows: Callable[..., Any], trained: Callable[..., Trained]
) -> None:
    one = trained(
        rows("ijcnn1", 1000), "rbf", fit_intercept=True, clusters=(6, 2), **KERNELS["rbf"]
    )
    check_status(one)
    check_with_bias(one, "rbf")


def test_a_small_set_without_a_bias_is_optimal(
    rows: Callable[..., Any], trained: Callable[..., Trained]
) -> None:
    one = trained(rows("ijcnn1", 800), "rbf", clusters=(6, 2), block_cap=100, gamma=8.0, C=8.0)
    check_status(one)
    check_without_bias(one)


@pytest.mark.long
@pytest.mark.parametrize(
    ("fit_intercept", "name"),
    [(True, "covtype"), (False, "ijcnn1"), soak(True, "ijcnn1"), soak(False, "covtype")],
)
@pytest.mark.parametrize("kernel", list(KERNELS))
def test_every_kernel_through_two_levels(
    name: str,
    kernel: str,
    fit_intercept: bool,
    rows: Callable[..., Any],
    trained: Callable[..., Trained],
) -> None:
    one = trained(
        rows(name, ROWS),
        kernel,
        fit_intercept=fit_intercept,
        clusters=(16, 4),
        **KERNELS[kernel],
    )
    check_status(one)
    if kernel == "sigmoid":  # not positive semi-definite: a stationary point is all there is
        violation = one.violation_pair() if fit_intercept else one.violation_box()
        assert violation <= 1.2 * TOL
    elif fit_intercept:
        check_with_bias(one, kernel)
    else:
        check_without_bias(one)


@pytest.mark.long
@pytest.mark.parametrize("form", ["csr", "dense"])
@pytest.mark.parametrize("fit_intercept", [True, False], ids=["bias", "no bias"])
def test_sparse_rows(
    form: str,
    fit_intercept: bool,
    rows: Callable[..., Any],
    trained: Callable[..., Trained],
) -> None:
    X, y = rows("a9a", 3000)
    source = (sparse.csr_array(X) if form == "csr" else X, y)
    one = trained(source, "rbf", fit_intercept=fit_intercept, clusters=(8, 2), gamma=2.0**-5, C=4.0)
    assert DataSet.open(one.run.folder.header["data"]["url"]).is_sparse == (form == "csr")
    check_status_merged(one)
    if fit_intercept:
        check_with_bias(one, "rbf")
    else:
        check_without_bias(one)


@pytest.mark.parametrize("fit_intercept", [True, long(False)], ids=["bias", "no bias"])
def test_repeated_rows_are_one_variable_and_share_its_alpha(
    fit_intercept: bool, rows: Callable[..., Any], trained: Callable[..., Trained]
) -> None:
    X, y = rows("phishing", 1500)
    one = trained((X, y), "rbf", fit_intercept=fit_intercept, clusters=(4, 2), gamma=0.1, C=2.0)
    _, group = np.unique(np.column_stack([X, y]), axis=0, return_inverse=True)
    record = one.run.status()["stages"]["arrange"]
    assert record["variables"] == group.max() + 1 < 1300
    group = group.ravel()
    shares = np.bincount(group, one.alpha) / np.bincount(group)
    np.testing.assert_allclose(one.alpha, shares[group], rtol=1e-12)
    check_status_merged(one)
    if fit_intercept:
        check_with_bias(one, "rbf")
    else:
        check_without_bias(one)


def check_status_merged(one: Trained) -> None:
    """Check the objective that a run states where support vectors stand for several rows."""
    found = one.run.status()
    assert found["objective"] == pytest.approx(one.objective, rel=RELATIVE)
    assert found["violation"] <= TOL


@pytest.mark.one_quick
@pytest.mark.parametrize("clusters", [(6, 2), long((3,)), None])
def test_levels_do_not_change_the_answer(
    clusters: tuple[int, ...] | None,
    rows: Callable[..., Any],
    trained: Callable[..., Trained],
) -> None:
    levels = {"levels": 0} if clusters is None else {"clusters": clusters}
    one = trained(rows("ijcnn1", 600), "rbf", **levels, **KERNELS["rbf"])
    check_without_bias(one)
