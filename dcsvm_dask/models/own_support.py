"""Models of several SVMs whose support vectors are their own: no two SVMs share one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dcsvm_dask.kernels import Kernel, Rows
from dcsvm_dask.models.model import Model
from dcsvm_dask.models.schemes import SINGLE, Scheme
from dcsvm_dask.solvers import Machine


def model_of_own(
    kernel: Kernel,
    points: Sequence[NDArray[np.float32]],
    coefs: Sequence[NDArray[np.float64]],
    bias: NDArray[np.float64],
    scheme: Scheme | None,
    machines: Sequence[Any],
    *,
    as_sparse: bool,
) -> Model:
    """Return the model of SVMs that have made their own support vectors.

    Parameters
    ----------
    kernel : Kernel
    points : sequence of ndarray, shape (n_support of the SVM, n_features), float32
        One for each SVM, in the order of the scheme.
    coefs : sequence of ndarray, shape (n_support of the SVM,), float64
    bias : ndarray, shape (n_svms,), float64
    scheme : Scheme or None
        How the SVMs decide; None: there is one.
    machines : sequence of Machine or Output
        The SVMs of the scheme; not used where there is one.
    as_sparse : bool
        Whether rows to decide are sparse.
    """
    scheme = scheme or SINGLE
    ends = np.cumsum([0, *map(len, coefs)])
    coef = np.zeros((scheme.n_coefficients, int(ends[-1])))
    counts = np.zeros((1, scheme.n_groups), dtype=np.int64)
    for i, own in enumerate(coefs):
        group = row = 0
        if scheme is not SINGLE:
            machine, row = machines[i], i
            if isinstance(machine, Machine):
                # Of its two classes the first one has the support vectors, whatever their sign.
                group = machine.positive
                row = int(machine.place(np.array([group]))[0])
        coef[row, ends[i] : ends[i + 1]] = own
        counts[0, group] += len(own)
    support: Rows = np.ascontiguousarray(np.concatenate(points), dtype=np.float32)
    support = sparse.csr_array(support) if as_sparse else support
    return Model(kernel, support, coef, counts, bias[None, :], scheme)
