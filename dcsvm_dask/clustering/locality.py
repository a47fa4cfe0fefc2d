"""The locality of a kernel, which distinguishes two regimes of training."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.clustering.quality import row_mass
from dcsvm_dask.kernels import Kernel, Rows


def locality(kernel: Kernel, X: Rows, labels: NDArray[np.integer]) -> float:
    """Return the share of the kernel's off-diagonal mass inside blocks, in [0, 1].

    Near 1 the kernel is local: there is little mass between blocks, and levels save time. Near the
    share of pairs inside blocks it is smooth: kernel values are similar for all pairs.

    Parameters
    ----------
    kernel : Kernel
    X : ndarray or CSR, shape (m, d), float32
        A random sample of some 2,000 rows, other than those that a partition was clustered on.
    labels : ndarray, shape (m,), integers
        Their blocks.

    Returns
    -------
    float
        1 where the kernel is zero off the diagonal.
    """
    rows = row_mass(kernel, X, labels)
    total = float(rows.total.sum())
    return 1.0 - float(rows.between.sum()) / total if total > 0 else 1.0
