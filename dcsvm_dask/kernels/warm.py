"""Compilation at a moment of one's choosing."""

from __future__ import annotations

import numpy as np
from scipy import sparse as scipy_sparse

from dcsvm_dask.kernels.block_diagonal import block_diagonal_product
from dcsvm_dask.kernels.boxes import Boxes
from dcsvm_dask.kernels.columns import ALWAYS_DIFFERENCES
from dcsvm_dask.kernels.kernel import Kernel
from dcsvm_dask.kernels.matrix import counted_kernel_matrix, kernel_matrix
from dcsvm_dask.kernels.order import kd_order
from dcsvm_dask.kernels.product import kernel_product
from dcsvm_dask.kernels.rows import Rows

FEW, MANY = ALWAYS_DIFFERENCES // 4, 2 * ALWAYS_DIFFERENCES
"""Features of dense rows that meet by differences, and of those that meet by products."""


def warm_up_matrix() -> None:
    """Compile, or load from Numba's cache, dense kernel matrices in float32."""
    for features in (FEW, MANY):
        kernel_matrix(Kernel("rbf"), _rows(features), dtype=np.float32)


def warm_up_products(*, blocks: bool) -> None:
    """Compile, or load from Numba's cache, what predicts: dense products in float32 and float64.

    Parameters
    ----------
    blocks : bool
        Whether those of blocks of rows, by early models, are included.
    """
    kernel = Kernel("rbf")
    kd_order(_rows(FEW), leaf=1)
    for features in (FEW, MANY):
        _products(kernel, _rows(features))
    if blocks:
        X, one = _rows(FEW), np.array([0, 4])
        block_diagonal_product(kernel, X, np.arange(4), one, X, one, np.ones(4))


def warm_up_l1() -> None:
    """Compile, or load from Numba's cache, dense products and matrices of L1 distances."""
    _products(Kernel("laplacian"), _rows(FEW))


def warm_up(*, sparse: bool) -> None:
    """Compile, or load from Numba's cache, what runs on float32 rows, dense or CSR.

    For dense rows but for L1 distances. Rows in float64, or in arrays that may not be written to,
    compile once more when they first come.
    """
    kernel = Kernel("rbf")
    if sparse:
        X: Rows = scipy_sparse.csr_array(_rows(FEW))
        _products(kernel, X)
    else:
        warm_up_products(blocks=True)
        X = _rows(FEW)
        counted_kernel_matrix(kernel, X, least=1e-9)
        Boxes.of(X, np.array([4])).near(kernel, np.arange(4), np.arange(4), np.ones(4), 1e-9)
    for dtype in (np.float32, np.float64):
        kernel_matrix(kernel, X, dtype=dtype)


def _rows(features: int) -> Rows:
    """Return four rows all of whose features vary."""
    return np.random.default_rng(0).random((4, features), dtype=np.float32)


def _products(kernel: Kernel, X: Rows) -> None:
    for dtype in (np.float32, np.float64):
        kernel_product(kernel, X, X, np.ones(4), dtype=dtype, budget=1e-9)
