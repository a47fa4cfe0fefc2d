"""Kernels that are inner products of few features, and these features."""

from __future__ import annotations

from itertools import combinations_with_replacement
from math import comb, factorial, prod, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.kernels.kernel import Kernel
from dcsvm_dask.kernels.rows import Rows, is_sparse

Features = NDArray[np.float64]

MOST_DEGREE = 16
"""Monomials of a higher degree are too large or too small, or too many."""


def count_explicit_features(kernel: Kernel, n_columns: int) -> int | None:
    """Return the number of features z with K(x, x') = z(x)'z(x'); None if there are none.

    Parameters
    ----------
    kernel : Kernel
    n_columns : int
        Of the rows x.
    """
    if kernel.kind.power is None:
        return None
    power = kernel.kind.power(kernel)
    if power.coef0 < 0.0 or power.degree > MOST_DEGREE:
        return None
    return comb(n_columns + (power.coef0 > 0.0) + power.degree - 1, power.degree)


def explicit_features(kernel: Kernel, X: Rows) -> Features:
    """Return features whose inner products are the kernel's values.

    For (gamma x'z + coef0)^p these are the monomials of degree p in sqrt(gamma) x and sqrt(coef0),
    each times the root of its multinomial coefficient (Schoelkopf, Smola, Learning with Kernels,
    MIT Press, 2002, Proposition 2.1).

    Parameters
    ----------
    kernel : Kernel
        One for which `count_explicit_features` is not None.
    X : ndarray or CSR, shape (n, d)

    Returns
    -------
    ndarray, shape (n, count_explicit_features(kernel, d)), float64
        Infinite where a value is too large.
    """
    assert kernel.kind.power is not None
    gamma, coef0, degree = kernel.kind.power(kernel)
    dense: Any = X.toarray() if is_sparse(X) else X
    n, d = X.shape
    n_columns = d + (coef0 > 0.0)
    Z = np.empty((n, comb(n_columns + degree - 1, degree)))
    with np.errstate(over="ignore", invalid="ignore"):
        for place, chosen in enumerate(combinations_with_replacement(range(n_columns), degree)):
            times = (factorial(chosen.count(column)) for column in set(chosen))
            monomial = np.full(n, sqrt(factorial(degree) // prod(times)))
            for column in chosen:
                monomial *= sqrt(gamma) if column < d else sqrt(coef0)
                if column < d:
                    monomial *= dense[:, column]
            Z[:, place] = monomial
    return Z
