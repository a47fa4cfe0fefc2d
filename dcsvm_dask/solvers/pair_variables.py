"""The variables of pairs of classes, one pair after the other, and what solvers write into them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.kernels.threads import for_each
from dcsvm_dask.solvers.pair_loops import ascending
from dcsvm_dask.solvers.solution import Solution

Index = NDArray[np.int64]
Vector = NDArray[np.float64]
Pair: TypeAlias = tuple[int, int]
Solved: TypeAlias = dict[Pair, tuple[Index, Solution]]

LARGEST = 1e18
"""Kernel values of rows with themselves are below this, whose square float32 still holds."""
AT_A_TIME = 8
"""Pairs that a thread solves before it looks for others."""
# Seconds: what takes less is done sooner by one thread.
_JOIN_AFTER = 0.001


class PairVariables:
    """Rows of classes that lie one after the other, and pairs of these classes.

    Parameters
    ----------
    codes : ndarray, shape (n,), integers
        The class of each row.
    pairs : list of (int, int)
        Pairs of classes that have rows, one at least.

    Attributes
    ----------
    rows : ndarray, shape (m,), int64
        Those of all pairs, class after class.
    start : ndarray, shape (n_classes + 1,), int64
        Where the rows of each class begin.
    sizes : ndarray, shape (n_pairs,), int64
        Rows of each pair.
    largest : int
        Those of the largest.
    """

    def __init__(self, codes: NDArray[np.integer], pairs: list[Pair]) -> None:
        count = np.bincount(codes, minlength=1 + max(max(pair) for pair in pairs))
        taken = np.zeros(len(count), dtype=np.bool_)
        taken[[c for pair in pairs for c in pair]] = True
        rows = np.flatnonzero(taken[codes])
        self.rows = rows[np.argsort(codes[rows], kind="stable")]
        self.start = np.searchsorted(codes[self.rows], np.arange(len(count) + 1))
        self._pairs = np.array(pairs, dtype=np.int64)
        self.sizes = count[self._pairs].sum(axis=1)
        self.largest = int(self.sizes.max())

    def solve(
        self, some: Callable[..., None], tol: float, threads: int, numbers: Index | None = None
    ) -> Solved:
        """Return the rows, ascending, and the solution of each pair that is solved.

        Parameters
        ----------
        some : callable
            Called with pairs, and what it is to write of these: their variables and gradients, one
            pair after the other, steps, and violation and bias; on several threads.
        tol : float
            Violation up to which a pair is solved.
        threads : int
        numbers : ndarray of int64, optional
            Which of the pairs; by default all.
        """
        pairs, sizes = self._pairs, self.sizes
        if numbers is not None:
            pairs, sizes = pairs[numbers], sizes[numbers]
        if not len(pairs):
            return {}
        end = np.cumsum(sizes)
        beta, F = np.zeros(end[-1]), np.zeros(end[-1])
        steps, states = np.zeros(len(end), np.int64), np.zeros((len(end), 2))

        def solve(first: int) -> None:
            part = slice(first, first + at_a_time)
            begin = int(end[first - 1]) if first else 0
            some(pairs[part], beta[begin:], F[begin:], steps[part], states[part])

        at_a_time = AT_A_TIME if len(end) >= AT_A_TIME**2 else 1
        for_each(solve, range(0, len(end), at_a_time), threads, after=_JOIN_AFTER)
        own, place, y = np.empty(end[-1], np.int64), np.empty(end[-1], np.int64), np.empty(end[-1])
        ascending(self.rows, self.start, pairs, own, place, y)
        beta, F = beta[place], F[place]
        objectives = 0.5 * np.add.reduceat(beta * (F - y), end - sizes)
        found: Solved = {}
        for number in np.flatnonzero(states[:, 0] <= tol).tolist():
            mine = slice(end[number] - sizes[number], end[number])
            (violation, bias), (first, second) = states[number].tolist(), pairs[number].tolist()
            value, work = float(objectives[number]), int(steps[number])
            solution = Solution(beta[mine], F[mine], value, violation, work, True, bias)
            found[first, second] = own[mine], solution
        return found
