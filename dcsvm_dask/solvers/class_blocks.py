"""Kernel matrices of pairs of classes, of which each class's own block is computed once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.kernels import Kernel, Rows, kernel_matrix
from dcsvm_dask.kernels.threads import for_each

Vector = NDArray[np.float64]

MOST_ROWS = 3072
"""Up to so many rows a pair shares what is computed within its classes."""


class ClassBlocks:
    """What pairs of classes share: no kernel value is computed twice.

    Each pair by itself would compute the values within a class once more for every other class.
    Matrices are in float64.

    Parameters
    ----------
    kernel : Kernel
    X : ndarray or CSR, shape (n, d), float32
    codes : ndarray, shape (n,), integers
        The class of each row.
    pairs : set of (int, int)
        Pairs of classes that have rows.
    threads : int, default 1
        Threads that share the classes; the result is the same.
    """

    def __init__(
        self,
        kernel: Kernel,
        X: Rows,
        codes: NDArray[np.integer],
        pairs: set[tuple[int, int]],
        threads: int = 1,
    ) -> None:
        self.pairs = pairs
        self._kernel = kernel
        self._X = {c: X[np.flatnonzero(codes == c)] for c in sorted({c for p in pairs for c in p})}
        self._own: dict[int, Vector] = {}

        def compute(c: int) -> None:
            self._own[c] = kernel_matrix(kernel, self._X[c], dtype=np.float64)

        for_each(compute, self._X, threads, after=0.01)

    @classmethod
    def of(
        cls,
        kernel: Kernel,
        X: Rows,
        codes: NDArray[np.integer],
        pairs: Iterable[tuple[int, int]],
        most: float,
        threads: int = 1,
    ) -> Self | None:
        """Return what the small ones of some pairs share.

        None where there are not several of them, or it would be more than so many bytes.
        """
        count = np.bincount(codes).tolist()
        rows = dict(enumerate(count))
        small = {
            (a, b)
            for a, b in pairs
            if rows.get(a) and rows.get(b) and rows[a] + rows[b] <= MOST_ROWS
        }
        needed = sum(8.0 * rows[c] ** 2 for c in {c for pair in small for c in pair})
        return cls(kernel, X, codes, small, threads) if len(small) > 1 and needed <= most else None

    @property
    def largest(self) -> int:
        """Rows of the largest pair."""
        return max(len(self._own[a]) + len(self._own[b]) for a, b in self.pairs)

    def pair(self, a: int, b: int) -> Vector:
        """Return the kernel matrix of two classes: the rows of a, then those of b."""
        first, second = self._own[a], self._own[b]
        n, m = len(first), len(second)
        K = np.empty((n + m, n + m))
        K[:n, :n], K[n:, n:] = first, second
        across = kernel_matrix(self._kernel, self._X[a], self._X[b], dtype=np.float64)
        K[:n, n:], K[n:, :n] = across, across.T
        return K
