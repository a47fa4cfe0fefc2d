"""Pairs of classes of a few rows each, on one kernel matrix of all of their rows.

Of tens of classes there are hundreds of pairs, of hundreds ten thousands, of which each is solved
in microseconds: what a solver of larger problems prepares for each of them would take longer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.kernels import Kernel, Rows, kernel_matrix
from dcsvm_dask.kernels.threads import for_each
from dcsvm_dask.solvers.matrix_memory import MatrixMemory
from dcsvm_dask.solvers.pair_loops import ascending

Index = NDArray[np.int64]
Vector = NDArray[np.float64]
Pair = tuple[int, int]

LARGEST = 1e18
"""Kernel values of rows with themselves are below this, whose square float32 still holds."""
AT_A_TIME = 8
"""Pairs that a thread solves before it looks for others."""
# Seconds: what takes less is done sooner by one thread.
_JOIN_AFTER = 0.001


@dataclass(frozen=True, slots=True)
class PairProblem:
    """Rows that lie class after class, their kernel matrix, and pairs of the classes.

    Attributes
    ----------
    chosen : list of (int, int)
        The pairs: the class whose labels are +1, and the other.
    K : ndarray, shape (n, n), float64
    rows : ndarray, shape (n,), int64
        Class after class, ascending in each.
    bounds : ndarray, shape (n,), float64
        Those of the rows.
    start : ndarray, shape (n_classes + 1,), int64
        Where the rows of each class begin.
    sizes : ndarray, shape (n_pairs,), int64
        Rows of each pair.
    """

    chosen: list[Pair]
    K: Vector
    rows: Index
    bounds: Vector
    start: Index
    sizes: Index

    @classmethod
    def of(
        cls,
        kernel: Kernel,
        X: Rows,
        codes: NDArray[np.integer],
        C: Vector,
        pairs: list[Pair],
        *,
        most_rows: int,
        most: float,
        threads: int,
    ) -> Self | None:
        """Return those pairs that have rows of both classes, but not too many.

        None without such pairs, or where their kernel matrix takes too much memory or has values
        that float32 does not hold.

        Parameters
        ----------
        kernel, X, codes, C, pairs, most, threads
            As for `solve_small_pairs`.
        most_rows : int
            Rows of a pair.
        """
        count = np.bincount(codes, minlength=1 + max((max(pair) for pair in pairs), default=0))
        each = count.tolist()
        chosen = [
            (a, b) for a, b in pairs if each[a] and each[b] and each[a] + each[b] <= most_rows
        ]
        taken = np.zeros(len(count), dtype=np.bool_)
        taken[[c for pair in chosen for c in pair]] = True
        rows = np.flatnonzero(taken[codes])
        if not chosen or 8.0 * len(rows) ** 2 > most:
            return None
        rows = rows[np.argsort(codes[rows], kind="stable")]
        K = kernel_matrix(kernel, X[rows], dtype=np.float64, threads=threads)
        if not K.diagonal().max() < LARGEST:
            return None
        start = np.searchsorted(codes[rows], np.arange(len(count) + 1))
        return cls(chosen, K, rows, C[rows], start, count[np.array(chosen)].sum(axis=1))

    def solved(
        self, solve: Callable[..., None], states: int, threads: int
    ) -> list[tuple[Pair, Index, Vector, Vector, Vector, int, list[float]]]:
        """Solve the pairs, several at a time on each thread.

        Parameters
        ----------
        solve : callable
            Called with the kernel matrix, bounds, the start of each class, some of the pairs as an
            array, memory for a float32 matrix of the largest one, and what it writes: variables
            and gradients, one pair after the other, steps, and the state of each pair.
        states : int
            Values of the state of a pair.
        threads : int

        Returns
        -------
        list of tuple
            Of each pair its classes, its rows, ascending, their labels, variables and gradient, the
            steps, and the values of its state.
        """
        pairs, end = np.array(self.chosen, dtype=np.int64), np.cumsum(self.sizes)
        beta, F = np.zeros(end[-1]), np.zeros(end[-1])
        steps, state = np.zeros(len(pairs), np.int64), np.zeros((len(pairs), states))
        memory = MatrixMemory(int(self.sizes.max()))

        def solve_some(first: int) -> None:
            some = slice(first, first + AT_A_TIME)
            begin = int(end[first - 1]) if first else 0
            copy = memory.take()
            given: tuple[Any, ...] = (self.K, self.bounds, self.start, pairs[some], copy)
            solve(*given, beta[begin:], F[begin:], steps[some], state[some])
            memory.give_back(copy)

        for_each(solve_some, range(0, len(pairs), AT_A_TIME), threads, after=_JOIN_AFTER)
        own, place, y = np.empty(end[-1], np.int64), np.empty(end[-1], np.int64), np.empty(end[-1])
        ascending(self.rows, self.start, pairs, own, place, y)
        beta, F, found, at = beta[place], F[place], [], 0
        for number, size in enumerate(self.sizes.tolist()):
            mine = slice(at, at + size)
            at += size
            end_of_pair = int(steps[number]), state[number].tolist()
            one = self.chosen[number], own[mine], y[mine], beta[mine], F[mine]
            found.append((*one, *end_of_pair))
        return found
