"""Compilation at a moment of one's choosing."""

from __future__ import annotations

import numpy as np

from dcsvm_dask.kernels.block_diagonal import block_diagonal_product
from dcsvm_dask.kernels.boxes import Boxes
from dcsvm_dask.kernels.kernel import Kernel
from dcsvm_dask.kernels.matrix import counted_kernel_matrix, kernel_matrix
from dcsvm_dask.kernels.order import kd_order
from dcsvm_dask.kernels.product import kernel_product


def warm_up_matrix() -> None:
    """Compile, or load from Numba's cache, kernel matrices in float32, and products of them."""
    kernel_matrix(Kernel("rbf"), np.eye(4, dtype=np.float32), dtype=np.float32)


def warm_up_products(*, blocks: bool) -> None:
    """Compile, or load from Numba's cache, what predicts: products in float32 and float64.

    Parameters
    ----------
    blocks : bool
        Whether those of blocks of rows, by early models, are included.
    """
    X = np.eye(4, dtype=np.float32)
    kernel = Kernel("rbf")
    kd_order(X, leaf=1)
    for dtype in (np.float32, np.float64):
        kernel_product(kernel, X, X, np.ones(4), dtype=dtype, budget=1e-9)
    if blocks:
        one = np.array([0, 4])
        block_diagonal_product(kernel, X, np.arange(4), one, X, one, np.ones(4))


def warm_up() -> None:
    """Compile, or load from Numba's cache, all that this package runs on float32 rows.

    Takes about ten seconds the first time and well under one from the cache. Rows in float64,
    or in arrays that may not be written to, compile once more when they first come.
    """
    warm_up_products(blocks=True)
    X = np.eye(4, dtype=np.float32)
    kernel = Kernel("rbf")
    for dtype in (np.float32, np.float64):
        kernel_matrix(kernel, X, dtype=dtype)
    counted_kernel_matrix(kernel, X, least=1e-9)
    Boxes.of(X, np.array([4])).near(kernel, np.arange(4), np.arange(4), np.ones(4), 1e-9)
