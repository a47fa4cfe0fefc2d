"""Rows that cluster, dense and sparse; distances and masses by their definitions in float64."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse
from scipy.spatial.distance import cdist

from dcsvm_dask.kernels import Kernel


@pytest.fixture(scope="session")
def blobs() -> NDArray[np.float32]:
    """1,500 rows in 12 clouds of different sizes, six features, a third of the numbers zero."""
    rng = np.random.default_rng(7)
    centres = rng.uniform(-4, 4, (12, 6)) * (rng.random((12, 6)) < 0.7)
    which = rng.choice(12, 1500, p=np.arange(1, 13) / 78)
    X = centres[which] + 0.4 * rng.standard_normal((1500, 6)) * (centres[which] != 0)
    return X.astype(np.float32)


@pytest.fixture(scope="session", params=["dense", "sparse"])
def rows(request: pytest.FixtureRequest, blobs: NDArray[np.float32]) -> Any:
    return blobs if request.param == "dense" else sparse.csr_array(blobs)


@pytest.fixture(scope="session")
def reference() -> SimpleNamespace:
    """Kernel values, mass between blocks and kernel-space distances without the package's code."""
    return SimpleNamespace(
        kernel_values=kernel_values,
        mass_between=mass_between,
        to_mean_in_kernel_space=to_mean_in_kernel_space,
    )


def dense(X: Any) -> NDArray[np.float64]:
    return np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)


def kernel_values(kernel: Kernel, X: Any, Z: Any) -> NDArray[np.float64]:
    X, Z = dense(X), dense(Z)
    if kernel.name == "rbf":
        return np.exp(-kernel.gamma * cdist(X, Z, "sqeuclidean"))
    if kernel.name == "laplacian":
        return np.exp(-kernel.gamma * cdist(X, Z, "cityblock"))
    if kernel.name == "linear":
        return X @ Z.T
    inner = kernel.gamma * X @ Z.T + kernel.coef0
    return inner**kernel.degree if kernel.name == "poly" else np.tanh(inner)


def mass_between(
    kernel: Kernel, X: Any, labels: NDArray[Any], weights: NDArray[np.float64]
) -> float:
    K = np.abs(kernel_values(kernel, X, X)) * weights[:, None] * weights
    return float(K[labels[:, None] != labels].sum())


def to_mean_in_kernel_space(
    kernel: Kernel, X: Any, members: Any, *, normalised: bool
) -> NDArray[np.float64]:
    """Squared distance of each row to the mean of some rows, all three sums written out."""
    own = np.diagonal(kernel_values(kernel, X, X))
    cross, inner = kernel_values(kernel, X, members), kernel_values(kernel, members, members)
    if normalised:
        theirs = np.sqrt(np.diagonal(inner))
        cross = cross / np.sqrt(own)[:, None] / theirs
        inner = inner / theirs[:, None] / theirs
        own = np.ones(len(own))
    return own - 2 * cross.mean(axis=1) + inner.mean()
