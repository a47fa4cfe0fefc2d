"""Kernel matrices of pairs of classes, of which each class's own block is computed once."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.kernels import Kernel, Rows, kernel_matrix, stacked
from dcsvm_dask.solvers.matrix_memory import MatrixMemory

Vector = NDArray[np.float64]

MOST_ROWS = 3072
"""Up to so many rows a pair shares what is computed within its classes."""
STRIPS, STRIP_BYTES = 2, 32 << 20
"""How many classes' values with all others are kept at a time, and bytes of one, at most."""
Strip: TypeAlias = tuple[Vector, dict[int, int]]
"""Values of all rows of other classes with those of one, and where each class begins."""


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
    negative_first : bool, default False
        Whether the rows of a pair are those of its second class, which is the negative one, then
        those of the first: where each sign has a sum of its own solvers have them in that order.

    Attributes
    ----------
    largest : int
        Rows of the largest pair.
    """

    def __init__(
        self,
        kernel: Kernel,
        X: Rows,
        codes: NDArray[np.integer],
        pairs: set[tuple[int, int]],
        negative_first: bool = False,
    ) -> None:
        self.pairs, self.negative_first = pairs, negative_first
        self.rows = {c: np.flatnonzero(codes == c) for c in sorted({c for p in pairs for c in p})}
        self._kernel = kernel
        self._X = {c: X[rows] for c, rows in self.rows.items()}
        self._own: dict[int, Vector] = {}
        self._strips: dict[int, Strip | None] = {}
        self._lock = threading.Lock()
        count = {c: len(rows) for c, rows in self.rows.items()}
        self.largest = max(count[a] + count[b] for a, b in pairs)
        self._memory = MatrixMemory(self.largest, np.float64)
        self._computing = {c: threading.Lock() for c in self.rows}

    @classmethod
    def of(
        cls,
        kernel: Kernel,
        X: Rows,
        codes: NDArray[np.integer],
        pairs: Iterable[tuple[int, int]],
        most: float,
        *,
        most_rows: int = MOST_ROWS,
        negative_first: bool = False,
    ) -> Self | None:
        """Return what the small ones of some pairs share.

        None where there are not several of them, or it would be more than so many bytes.
        """
        count = np.bincount(codes).tolist()
        rows = dict(enumerate(count))
        small = {
            (a, b)
            for a, b in pairs
            if rows.get(a) and rows.get(b) and rows[a] + rows[b] <= most_rows
        }
        needed = sum(8.0 * rows[c] ** 2 for c in {c for pair in small for c in pair})
        if len(small) < 2 or needed > most:
            return None
        return cls(kernel, X, codes, small, negative_first)

    def variables(self, a: int, b: int) -> tuple[NDArray[np.int64], Vector]:
        """Return the rows of two classes, in the order of `pair`, and their labels: a's are 1."""
        order = [(b, -1.0), (a, 1.0)] if self.negative_first else [(a, 1.0), (b, -1.0)]
        rows = [self.rows[c] for c, _ in order]
        return np.concatenate(rows), np.repeat([y for _, y in order], [len(one) for one in rows])

    @contextmanager
    def pair(self, a: int, b: int) -> Iterator[Vector]:
        """Give the kernel matrix of two classes, the rows of a, then those of b, for a while.

        Those of b, then those of a, if `negative_first`.
        """
        first, second = self._within(a), self._within(b)
        n, m = len(first), len(second)
        memory = self._memory.take()
        K = memory[: (n + m) ** 2].reshape(n + m, n + m)
        strip = self._strip(a)
        if strip is None:
            across = kernel_matrix(self._kernel, self._X[b], self._X[a], dtype=np.float64)
        else:
            values, start = strip
            across = values[start[b] : start[b] + m]
        if self.negative_first:
            K[:m, :m], K[m:, m:], K[:m, m:], K[m:, :m] = second, first, across, across.T
        else:
            K[:n, :n], K[n:, n:], K[:n, n:], K[n:, :n] = first, second, across.T, across
        try:
            yield K
        finally:
            self._memory.give_back(memory)

    def _within(self, c: int) -> Vector:
        """Return the values within a class, computed when a pair first asks for them."""
        with self._computing[c]:
            if c not in self._own:
                self._own[c] = kernel_matrix(self._kernel, self._X[c], dtype=np.float64)
            return self._own[c]

    def _strip(self, a: int) -> Strip | None:
        """Return the values of a class with all that it meets as the first of a pair.

        None where they are many. Pairs come in the order of their first classes: two are kept.
        """
        with self._lock:
            if a not in self._strips:
                if len(self._strips) == STRIPS:
                    del self._strips[next(iter(self._strips))]
                self._strips[a] = self._compute(a)
            return self._strips[a]

    def _compute(self, a: int) -> Strip | None:
        others = sorted(b for first, b in self.pairs if first == a)
        ends = np.cumsum([len(self.rows[b]) for b in others])
        if 8 * ends[-1] * len(self.rows[a]) > STRIP_BYTES:
            return None
        X = stacked([self._X[b] for b in others])
        values = kernel_matrix(self._kernel, X, self._X[a], dtype=np.float64)
        return values, dict(zip(others, [0, *ends[:-1].tolist()], strict=True))
