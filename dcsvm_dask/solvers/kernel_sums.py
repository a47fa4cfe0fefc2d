"""Sums of kernel values that are as exact as a tolerance needs, and their count."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.kernels import Kernel, Rows, kernel_product
from dcsvm_dask.kernels.sampled_errors import in_question, sample, seen_share
from dcsvm_dask.solvers.known_matrix import KnownMatrix
from dcsvm_dask.solvers.shared_rows import SharedRows

Index = NDArray[np.int64]
Vector = NDArray[np.float64]
# Share of the tolerance that a product may lose by leaving out far pairs of tiles.
_FAR = 0.01


class KernelSums:
    """Products of the kernel matrix of some rows, without the matrix.

    Parameters
    ----------
    kernel : Kernel
    X : ndarray or CSR, shape (n, d), float32
    tol : float
        Violation to which the dual problem is solved.
    error : float
        Estimated error of a sum of float32 kernel values, above which it is in float64.
    threads : int
    shared : SharedRows, optional
        The same rows in shares, whose products may be computed elsewhere.

    Attributes
    ----------
    kernel_values : int
        Number of kernel values computed so far.
    """

    def __init__(
        self,
        kernel: Kernel,
        X: Rows,
        *,
        tol: float,
        error: float,
        threads: int,
        shared: SharedRows | None = None,
    ) -> None:
        self.kernel, self.X, self.threads = kernel, X, threads
        self._tol, self._error, self._shared = tol, error, shared
        self.kernel_values = 0

    def of(self, weights: Vector, rows: Index) -> Vector:
        """Return K[rows] @ weights."""
        columns = np.flatnonzero(weights)
        return self.of_columns(rows, columns, weights[columns])

    def of_columns(
        self,
        rows: Index,
        columns: Index,
        weights: Vector,
        range_of_doubt: tuple[Vector, Vector] | None = None,
    ) -> Vector:
        """Return K[rows, columns] @ weights.

        Parameters
        ----------
        rows, columns : ndarray of int64
        weights : ndarray, shape (len(columns),), float64
        range_of_doubt : pair of ndarray, shape (len(rows),), optional
            Sums outside of it need not be exact; see `kernel_product`.
        """
        if len(columns) == 0 or len(rows) == 0:
            return np.zeros(len(rows))
        how: dict[str, Any] = {
            "budget": _FAR * self._tol,
            "tol": self._error,
            "doubt": range_of_doubt,
        }
        if self._shared is not None:
            sums, values = self._shared.product(self.kernel, rows, columns, weights, **how)
        else:
            X, Z = self.X[rows], self.X[columns]
            sums, values = kernel_product(self.kernel, X, Z, weights, threads=self.threads, **how)
        self.kernel_values += values
        return np.asarray(sums)

    def of_all(
        self,
        beta: Vector,
        range_of_doubt: tuple[Vector, Vector] | None,
        matrix: KnownMatrix | None,
    ) -> Vector:
        """Return K beta, by the matrix of a working set where that is exact enough.

        Parameters
        ----------
        beta : ndarray, shape (n,), float64
        range_of_doubt : pair of ndarray, shape (n,), or None
            As for `of_columns`.
        matrix : KnownMatrix or None
        """
        columns = np.flatnonzero(beta)
        known = None if matrix is None else matrix.sums(beta)
        sums, bound = np.zeros(len(beta)), np.full(len(beta), np.inf)
        if matrix is not None and known is not None:
            sums[matrix.rows], bound[matrix.rows] = known
            some = sample(in_question(sums, bound, self._error, range_of_doubt), bound)
            exact = self._exact(some, columns, beta[columns])
            bound *= seen_share(bound[some], np.abs(sums[some] - exact))
            sums[some], bound[some] = exact, 0.0
        rows = in_question(sums, bound, self._error, range_of_doubt)
        if range_of_doubt is not None:
            range_of_doubt = range_of_doubt[0][rows], range_of_doubt[1][rows]
        sums[rows] = self.of_columns(rows, columns, beta[columns], range_of_doubt)
        return sums

    def _exact(self, rows: Index, columns: Index, weights: Vector) -> Vector:
        """Return K[rows, columns] @ weights in float64."""
        X, Z = self.X[rows], self.X[columns]
        sums, values = kernel_product(self.kernel, X, Z, weights, dtype=np.float64)
        self.kernel_values += values
        return np.asarray(sums)
