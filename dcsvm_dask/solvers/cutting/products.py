"""Products with all rows: outputs X w and sums X'c, in float64, by parts of rows side by side."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.kernels import Rows
from dcsvm_dask.kernels.rows import check_rows
from dcsvm_dask.kernels.threads import for_each
from dcsvm_dask.solvers.linear.products import combine, outputs
from dcsvm_dask.solvers.linear.rows import compiled_rows

Vector = NDArray[np.float64]
# Sums are made by parts, whose number is fixed by the rows so that threads do not change bits.
_PART_ROWS, _MOST_PARTS = 4096, 32


class Products:
    """Rows with an appended constant, and products with them.

    Parameters
    ----------
    X : array or CSR, shape (n, d), float32 or float64
    constant : float
        The value of the feature that is appended to every row.
    threads : int
        They change no bit of a product.
    """

    def __init__(self, X: Rows, constant: float, threads: int) -> None:
        X = check_rows(X, "X")
        n, d = X.shape
        self.rows, self.constant, self.threads = compiled_rows(X), constant, threads
        self.shape = (n, d + 1)
        parts = min(_MOST_PARTS, -(-n // _PART_ROWS))
        self._edges = [n * part // max(1, parts) for part in range(parts + 1)]

    def outputs(self, w: Vector) -> Vector:
        """Return w'x of each row, shape (n,); w has the constant's weight last, shape (d + 1,)."""
        out = np.empty(self.shape[0])

        def work(part: int) -> None:
            start, stop = self._edges[part : part + 2]
            outputs(self.rows, start, stop, self.constant, w, out)

        for_each(work, range(len(self._edges) - 1), self.threads)
        return out

    def sum(self, c: Vector) -> Vector:
        """Return sum_i c_i x_i, shape (d + 1,)."""
        sums = np.zeros((len(self._edges) - 1, self.shape[1]))

        def work(part: int) -> None:
            start, stop = self._edges[part : part + 2]
            combine(self.rows, start, stop, self.constant, c, sums[part])

        for_each(work, range(len(sums)), self.threads)
        return np.asarray(sums.sum(axis=0))
