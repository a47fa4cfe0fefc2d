"""The kernel matrix of a working set, and sums of its rows with the errors that they may have."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.kernels import Kernel, Rows, counted_kernel_matrix, matrix_sums_error
from dcsvm_dask.kernels.threads import for_each
from dcsvm_dask.solvers.matrix_memory import MatrixMemory, room_for_float64
from dcsvm_dask.solvers.smo.columns import kernel_times

Index = NDArray[np.int64]
Vector = NDArray[np.float64]


class KnownMatrix:
    """The kernel matrix of one working set after the other, in the same memory.

    Parameters
    ----------
    kernel : Kernel
    X : ndarray or CSR, shape (n, d), float32
    memory : MatrixMemory
        Of the rows of the largest set, or more.
    threads : int

    Attributes
    ----------
    rows : ndarray of int64
        Those of the last set, ascending; none before the first.
    """

    def __init__(self, kernel: Kernel, X: Rows, memory: MatrixMemory, threads: int) -> None:
        self._kernel, self._X, self._threads = kernel, X, threads
        self._source, self._memory = memory, memory.take()
        self.rows: Index = np.empty(0, np.int64)

    def of(self, rows: Index) -> tuple[NDArray[np.float32], int]:
        """Return the matrix of the next set, and how many kernel values were computed for it.

        Those of a part of the last set are there; the last matrix is gone then.

        Parameters
        ----------
        rows : ndarray of int64, shape (m,)
            Ascending.
        """
        last, self.rows = self.rows, rows
        if len(last) and np.isin(rows, last, assume_unique=True).all():
            K, places, m = self._square(len(last)), np.searchsorted(last, rows), len(rows)
            for new, old in enumerate(places):  # no row comes before it is taken: places ascend
                self._memory[new * m : (new + 1) * m] = K[old, places]
            return self._square(m), 0
        return counted_kernel_matrix(
            self._kernel, self._X[rows], threads=self._threads, memory=self._memory
        )

    def in_float64(self, rows: Index) -> tuple[NDArray[np.float64], int] | None:
        """Return the matrix of the next set in float64, in the same memory, and its kernel values.

        None where there is no room for it.

        Parameters
        ----------
        rows : ndarray of int64, shape (m,)
            Ascending.
        """
        memory = room_for_float64(self._memory, len(rows))
        if memory is None:
            return None
        self.rows = np.empty(0, np.int64)
        return counted_kernel_matrix(
            self._kernel, self._X[rows], dtype=np.float64, threads=self._threads, memory=memory
        )

    def forget(self) -> None:
        """Let go of the memory."""
        if len(self._memory):
            self._source.give_back(self._memory)
        self._memory, self.rows = np.empty(0, np.float32), np.empty(0, np.int64)

    def sums(self, beta: Vector) -> tuple[Vector, Vector] | None:
        """Return sum_j K(x_i, x_j) beta_j of the rows of the set, and bounds of their errors.

        Bounds are those of `matrix_sums_error`. None where variables of other rows are not zero.

        Parameters
        ----------
        beta : ndarray, shape (n,), float64
        """
        w = beta[self.rows]
        if not len(w) or np.count_nonzero(w) < np.count_nonzero(beta):
            return None
        error = matrix_sums_error(self._kernel, self._X[self.rows])
        K, both = self._square(len(w)), (w, np.abs(w))
        found: list[Vector] = [w, w]

        def multiply(i: int) -> None:
            found[i] = kernel_times(K, both[i])

        for_each(multiply, range(2), self._threads)
        return found[0], error(w, *found)

    def _square(self, rows: int) -> NDArray[np.float32]:
        return self._memory[: rows * rows].reshape(rows, rows)
