"""The variables of pairs of classes, one pair after the other, and what solvers write into them.

Of tens of classes there are hundreds of pairs, of hundreds ten thousands, of which each is solved
in microseconds: what a solver of larger problems prepares for each of them would take longer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

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


def of_few_rows(codes: NDArray[np.integer], pairs: list[Pair], most_rows: int) -> list[Pair]:
    """Return those pairs that have rows of both classes, and at most so many of them.

    Parameters
    ----------
    codes : ndarray, shape (n,), integers
        The class of each row.
    pairs : list of (int, int)
    most_rows : int
    """
    count = dict(enumerate(np.bincount(codes).tolist()))
    sizes = [(count.get(a, 0), count.get(b, 0)) for a, b in pairs]
    return [
        pair for pair, (n, m) in zip(pairs, sizes, strict=True) if n and m and n + m <= most_rows
    ]


class Written(NamedTuple):
    """What a solver wrote of pairs, whose rows ascend."""

    pairs: list[Pair]
    parts: list[slice]
    """Where in `rows`, `y`, `beta` and `F` those of each pair are."""
    rows: Index
    y: Vector
    """The labels of the rows."""
    beta: Vector
    F: Vector
    steps: list[int]
    states: Vector
    """Of each pair its violation first."""

    def c_svcs(self, tol: float) -> Solved:
        """Return the rows and the solution of each C-SVC that is solved.

        Parameters
        ----------
        tol : float
            Violation up to which a pair is solved; its bias follows it in its state.
        """
        first = np.array([part.start for part in self.parts], dtype=np.int64)
        objectives = 0.5 * np.add.reduceat(self.beta * (self.F - self.y), first)
        found: Solved = {}
        for p in np.flatnonzero(self.states[:, 0] <= tol).tolist():
            mine, (violation, bias) = self.parts[p], self.states[p].tolist()
            point = self.beta[mine], self.F[mine], float(objectives[p])
            solution = Solution(*point, violation, self.steps[p], converged=True, bias=bias)
            found[self.pairs[p]] = self.rows[mine], solution
        return found


class PairVariables:
    """Rows of classes that lie one after the other, and pairs of these classes.

    Parameters
    ----------
    codes : ndarray, shape (n,), integers
        The class of each row.
    pairs : list of (int, int)
        Pairs of classes that have rows, one at least: the class whose labels are +1, and the other.

    Attributes
    ----------
    rows : ndarray, shape (m,), int64
        Those of all pairs, class after class, ascending in each.
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
        self,
        some: Callable[..., None],
        threads: int,
        *,
        numbers: Index | None = None,
        state_size: int = 2,
    ) -> Written:
        """Solve pairs, several at a time on each thread.

        Parameters
        ----------
        some : callable
            Called with pairs, and what it is to write of these: their variables and gradients, one
            pair after the other, steps, and the state of each; on several threads.
        threads : int
        numbers : ndarray of int64, optional
            Which of the pairs; by default all.
        state_size : int
            Values of the state of a pair.
        """
        pairs, sizes = self._pairs, self.sizes
        if numbers is not None:
            pairs, sizes = pairs[numbers], sizes[numbers]
        end, total = np.cumsum(sizes), int(sizes.sum())
        beta, F = np.zeros(total), np.zeros(total)
        steps, states = np.zeros(len(end), np.int64), np.zeros((len(end), state_size))

        def solve(first: int) -> None:
            part = slice(first, first + at_a_time)
            begin = int(end[first - 1]) if first else 0
            some(pairs[part], beta[begin:], F[begin:], steps[part], states[part])

        at_a_time = AT_A_TIME if len(end) >= AT_A_TIME**2 else 1
        for_each(solve, range(0, len(end), at_a_time), threads, after=_JOIN_AFTER)
        own, place, y = np.empty(total, np.int64), np.empty(total, np.int64), np.empty(total)
        ascending(self.rows, self.start, pairs, own, place, y)
        classes = [(a, b) for a, b in pairs.tolist()]
        parts = [slice(*ends) for ends in zip((end - sizes).tolist(), end.tolist(), strict=True)]
        return Written(classes, parts, own, y, beta[place], F[place], steps.tolist(), states)
