"""Distances between rows, as a shift-invariant kernel takes them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.kernels.kernel import Kernel
from dcsvm_dask.kernels.kinds import EXPONENTIAL, KERNELS, L1_DISTANCE
from dcsvm_dask.kernels.matrix import kernel_matrix
from dcsvm_dask.kernels.rows import Rows, is_sparse


def distances_apart(kernel: Kernel, X: Rows) -> NDArray[np.float64]:
    """Return the distances of all pairs of rows that are not equal.

    Parameters
    ----------
    kernel : Kernel
        Shift-invariant: squared distances, or L1 distances, are its argument.
    X : ndarray or CSR, shape (m, d), float32
        A few hundred rows; the cost is m^2.

    Returns
    -------
    ndarray, float64
        Empty if all rows are equal.
    """
    l1 = kernel.kind.argument == L1_DISTANCE
    magnitude = abs(X) if l1 else X.multiply(X) if is_sparse(X) else X * X
    reach = 4 * float(np.max(magnitude.sum(axis=1), initial=0.0))
    if reach == 0:
        return np.empty(0)
    exponential = next(
        kind.name
        for kind in KERNELS.values()
        if (kind.argument, kind.function) == (kernel.kind.argument, EXPONENTIAL)
    )
    # So wide that no value underflows: the distance is then read off the logarithm.
    flat = kernel_matrix(Kernel(exponential, 1 / reach), X, dtype=np.float64)
    distances = -np.log(flat[np.triu_indices(X.shape[0], 1)]) * reach
    return np.asarray(distances[distances > 1e-9 * reach])
