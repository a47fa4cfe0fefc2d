"""The dual problem of a linear kernel with few features, by an interior point method."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.sparse import issparse

from dcsvm_dask.kernels import Kernel, Rows
from dcsvm_dask.solvers.inner.interior_point import solve_block
from dcsvm_dask.solvers.solution import Solution
from dcsvm_dask.tasks import Dual

Vector = NDArray[np.float64]

# With fewer rows a feature the method costs more than SMO, where that needs few steps.
_ROWS_A_FEATURE = 100


class _FewFeatures:
    """The kernel matrix V V' of rows with few features, by products of these alone."""

    rounding = float(np.finfo(np.float64).eps)

    def __init__(self, V: Vector) -> None:
        self.V = V

    def __len__(self) -> int:
        return len(self.V)

    def diagonal(self) -> Vector:
        """Return the diagonal."""
        return np.asarray(np.einsum("ij,ij->i", self.V, self.V))

    def times(self, weights: Vector) -> Vector:
        """Return the product with some weights."""
        return np.asarray(self.V @ (self.V.T @ weights))

    def factored(self, diagonal: Vector) -> Callable[[Vector], Vector]:
        """Return what solves systems with V V' + D, by a factor of I + V' D^-1 V.

        That is the formula of Sherman, Morrison and Woodbury for the scaled rows D^-1/2 V.
        """
        root = np.sqrt(diagonal)
        W = self.V / root[:, None]
        small = W.T @ W
        small[np.diag_indices(len(small))] += 1.0
        factor = linalg.cho_factor(small, lower=True, overwrite_a=True, check_finite=False)

        def solve(right: Vector) -> Vector:
            scale = root if right.ndim == 1 else root[:, None]
            scaled = right / scale
            of_features = linalg.cho_solve(factor, W.T @ scaled, check_finite=False)
            return np.asarray((scaled - W @ of_features) / scale)

        return solve


def has_few_features(kernel: Kernel, X: Rows, dual: Dual, *, most_bytes: float) -> bool:
    """Return whether `solve_few_features` is for a problem: features are few beside the rows.

    Parameters
    ----------
    kernel : Kernel
    X : ndarray or CSR, shape (n, d)
    dual : Dual
    most_bytes : float
        Memory of the rows in float64, of which there are two copies.
    """
    plain = dual.ridge is None and dual.group is None and dual.spare is None
    n, d = X.shape
    return (
        kernel.is_linear and plain and 0 < d * _ROWS_A_FEATURE <= n and 16.0 * n * d <= most_bytes
    )


def solve_few_features(X: Rows, dual: Dual, *, equality: bool, tol: float) -> Solution:
    """Solve the dual problem of a linear kernel from zero, whatever the size of its bounds.

    The interior point method of `solve_interior_point`, whose systems have the rank of the
    features: a step costs n d^2 operations (Fine, Scheinberg, JMLR 2, 2001). SMO needs millions of
    steps where bounds are large and free variables no more than features.

    Parameters
    ----------
    X : ndarray or CSR, shape (n, d), float32
    dual : Dual
        See `has_few_features`.
    equality : bool
        Whether the problem has a bias.
    tol : float
        Violation to stop at.

    Returns
    -------
    Solution
        Its gradient is in float64. With `converged` False where rounding ended it early.
    """
    V = np.asarray(X.toarray() if issparse(X) else X, dtype=np.float64)
    found = solve_block(_FewFeatures(V), dual, equality=equality, tol=tol)
    found.inner = ("interior-point",)
    return found
