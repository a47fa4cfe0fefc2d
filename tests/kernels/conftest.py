"""Real rows, and kernel matrices by scikit-learn in float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics.pairwise import pairwise_kernels

from dcsvm_dask.kernels import Kernel, kd_order

KERNELS = {
    "rbf": Kernel("rbf", gamma=0.5),
    "poly": Kernel("poly", gamma=0.1, degree=3, coef0=1.0),
    "linear": Kernel("linear"),
    "sigmoid": Kernel("sigmoid", gamma=0.02, coef0=-0.3),
    "laplacian": Kernel("laplacian", gamma=0.2),
}


@pytest.fixture(params=list(KERNELS))
def kernel(request: pytest.FixtureRequest) -> Kernel:
    return KERNELS[request.param]


@pytest.fixture(scope="session")
def exact() -> Callable[..., NDArray[np.float64]]:
    """scikit-learn's kernel matrix of the rows in float64."""

    def matrix(kernel: Kernel, X: Any, Z: Any) -> NDArray[np.float64]:
        if sparse.issparse(X):
            used = np.union1d(X.indices, Z.indices)
            X, Z = X[:, used].toarray(), Z[:, used].toarray()
        parameters: dict[str, Any] = {"gamma": kernel.gamma}
        if kernel.name in ("poly", "sigmoid"):
            parameters["coef0"] = kernel.coef0
        if kernel.name == "poly":
            parameters["degree"] = kernel.degree
        if kernel.name == "linear":
            parameters = {}
        X, Z = X.astype(np.float64), Z.astype(np.float64)
        return np.asarray(pairwise_kernels(X, Z, metric=kernel.name, **parameters))

    return matrix


@pytest.fixture(scope="session")
def covtype(shared_data: Callable[[str], Any]) -> NDArray[np.float32]:
    """6,000 rows of min-max scaled covtype, in k-d order."""
    X = shared_data("covtype")["X_train"].astype(np.float32)
    low, high = X.min(axis=0), X.max(axis=0)
    X = X[np.random.default_rng(0).permutation(len(X))[:6000]]
    X = (X - low) / np.where(high > low, high - low, 1)
    return np.ascontiguousarray(X[kd_order(X)])


@pytest.fixture(scope="session")
def a9a(shared_data: Callable[[str], Any]) -> sparse.csr_array:
    """2,000 rows of a9a: 123 binary features, 14 of them set."""
    return sparse.csr_array(shared_data("a9a")["X_train"][:2000].astype(np.float32))


@pytest.fixture(scope="session")
def news20(shared_data: Callable[[str], Any]) -> sparse.csr_array:
    """300 posts in 60,457 features."""
    file = shared_data("news20_tfidf")
    parts = (file["X_train_data"].astype(np.float32), file["X_train_indices"])
    shape = tuple(int(n) for n in file["X_train_shape"])
    return sparse.csr_array((*parts, file["X_train_indptr"]), shape=shape)[:300]


@pytest.fixture(params=["covtype", "a9a", "news20"])
def rows(request: pytest.FixtureRequest) -> Any:
    """300 to 680 rows, dense and sparse, with few features and with many."""
    return request.getfixturevalue(request.param)[:680]
