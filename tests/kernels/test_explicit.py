"""Explicit features against the kernel's own values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from dcsvm_dask.kernels import (
    Kernel,
    count_explicit_features,
    explicit_features,
    kernel_matrix,
)


@pytest.mark.parametrize("as_csr", [False, True])
@pytest.mark.parametrize(
    ("kernel", "columns", "count"),
    [
        (Kernel("linear"), 8, 8),
        (Kernel("poly", gamma=0.3, degree=1, coef0=0.5), 8, 9),
        (Kernel("poly", gamma=0.3, degree=2), 8, 36),
        (Kernel("poly", gamma=2.0, degree=3, coef0=1.5), 8, 165),
        (Kernel("poly", gamma=0.5, degree=5, coef0=0.1), 3, 56),
    ],
)
def test_inner_products_are_kernel_values(
    kernel: Kernel, columns: int, count: int, as_csr: bool, shared_data: Callable[[str], Any]
) -> None:
    X = shared_data("cadata")["X_train"][:200, :columns].astype(np.float64)
    X = ((X - X.mean(axis=0)) / X.std(axis=0)).astype(np.float32)
    Z = explicit_features(kernel, csr_array(X) if as_csr else X)
    K = kernel_matrix(kernel, X, X, dtype=np.float64)
    assert Z.shape == (200, count) == (200, count_explicit_features(kernel, columns))
    np.testing.assert_allclose(Z @ Z.T, K, rtol=0.0, atol=1e-13 * np.abs(K).max())


def test_kernels_without_them() -> None:
    for kernel in (
        Kernel("rbf"),
        Kernel("sigmoid"),
        Kernel("laplacian"),
        Kernel("poly", coef0=-1.0),
        Kernel("poly", degree=2**30),
    ):
        assert count_explicit_features(kernel, 2) is None
