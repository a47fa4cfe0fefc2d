"""How local a kernel is: the probe that tells two regimes of training apart."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.clustering.quality import row_mass
from dcsvm_dask.kernels import Kernel, Rows


def locality(kernel: Kernel, X: Rows, labels: NDArray[np.integer]) -> float:
    """Return the share of the kernel's off-diagonal mass that lies inside blocks, in [0, 1].

    Near 1 the kernel is local: blocks hardly see each other, and levels pay. Near the share of
    pairs that lie inside blocks it is smooth: every row sees every other.

    Parameters
    ----------
    kernel : Kernel
    X : ndarray or CSR, shape (m, d), float32
        A random sample of some 2,000 rows, not those that a partition was clustered on.
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
