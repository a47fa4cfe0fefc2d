"""What fits to the same rows with the same kernel hand on to each other."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.estimators.known_kernel import KnownRows
from dcsvm_dask.kernels import Kernel, Rows, kernel_matrix
from dcsvm_dask.solvers import Solution
from dcsvm_dask.solvers.whole import SMALL


@dataclass
class Chain:
    """Fits to the same rows with the same kernel, as those of a search along C.

    The kernel matrix is computed once, and each solution may start from the one before. A fit on
    its own is a chain of one, without a matrix.

    Attributes
    ----------
    most_rows : int
        Up to so many rows there is a kernel matrix.
    before : dict of Solution
        The last solution of each SVM, by its number.
    """

    most_rows: int = 0
    before: dict[int, Solution] = field(default_factory=dict)
    _matrices: dict[int, NDArray[np.floating]] = field(default_factory=dict)

    def matrix(
        self, kernel: Kernel, X: Rows, threads: int, number: int = 0
    ) -> NDArray[np.floating] | None:
        """Return the kernel matrix of an SVM's rows; None: they are too many.

        Parameters
        ----------
        kernel : Kernel
        X : ndarray or CSR, shape (n, d), float32; or KnownRows
            The same rows in every fit.
        threads : int
        number : int, default 0
            Of the SVM.
        """
        if isinstance(X, KnownRows):
            return X.matrix()
        n = X.shape[0]
        if n > self.most_rows:
            return None
        if number not in self._matrices:
            dtype = np.float64 if n <= SMALL else np.float32
            self._matrices[number] = kernel_matrix(kernel, X, dtype=dtype, threads=threads)
        return self._matrices[number]
