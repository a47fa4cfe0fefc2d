"""SVMs of pairs of classes of a few rows each, on one kernel matrix of all of their rows.

Of tens of classes there are hundreds of pairs, of hundreds ten thousands, of which each is solved
in microseconds: what a solver of larger problems prepares for each of them would take longer.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.kernels import Kernel, Rows, kernel_matrix
from dcsvm_dask.kernels.threads import for_each
from dcsvm_dask.solvers.matrix_memory import MatrixMemory
from dcsvm_dask.solvers.pair_loops import ascending, solve_pairs
from dcsvm_dask.solvers.solution import Solution

Index = NDArray[np.int64]
Vector = NDArray[np.float64]
Pair = tuple[int, int]

PAIR_ROWS = 640
"""Rows of such a pair, at most."""
LARGEST = 1e18
"""Kernel values of rows with themselves are below this, whose square float32 still holds."""
AT_A_TIME = 8
"""Pairs that a thread solves before it looks for others."""
# Seconds: what takes less is done sooner by one thread.
_JOIN_AFTER = 0.001


def solve_small_pairs(
    kernel: Kernel,
    X: Rows,
    codes: NDArray[np.integer],
    C: Vector,
    pairs: list[Pair],
    *,
    tol: float = 1e-3,
    most: float = 2.0**28,
    threads: int = 1,
) -> dict[Pair, tuple[Index, Solution]]:
    """Solve the C-SVCs, with a bias, of those pairs of classes that have a few rows each.

    Sequential minimal optimisation by pairs of the second order (Fan, Chen, Lin, JMLR 6, 2005,
    WSS 2), to the tolerance in float64; free variables are exact if they are few (as by
    `finished`). The float64 kernel matrix of all their rows is in memory.

    Parameters
    ----------
    kernel : Kernel
    X : ndarray or CSR, shape (n, d), float32
    codes : ndarray, shape (n,), integers
        The class of each row.
    C : ndarray, shape (n,), float64
        Upper bounds, 0 or more.
    pairs : list of (int, int)
        The class whose labels are +1, and the other.
    tol : float, default 1e-3
    most : float, default 2**28
        Bytes that the kernel matrix may take; where it would take more, or has values that float32
        does not hold, nothing is solved.
    threads : int, default 1
        Threads that share the kernel matrix, and pairs; the result is the same.

    Returns
    -------
    dict
        The rows, ascending, and the solution of each pair that was solved: pairs of larger classes,
        or of a class without rows, are missing, and such as are not solved in a number of steps.
    """
    count = np.bincount(codes, minlength=1 + max((max(pair) for pair in pairs), default=0))
    each = count.tolist()
    chosen = [(a, b) for a, b in pairs if each[a] and each[b] and each[a] + each[b] <= PAIR_ROWS]
    taken = np.zeros(len(count), dtype=np.bool_)
    taken[[c for pair in chosen for c in pair]] = True
    rows = np.flatnonzero(taken[codes])
    if not chosen or 8.0 * len(rows) ** 2 > most:
        return {}
    rows = rows[np.argsort(codes[rows], kind="stable")]  # class after class
    K = kernel_matrix(kernel, X[rows], dtype=np.float64, threads=threads)
    if not K.diagonal().max() < LARGEST:
        return {}
    start = np.searchsorted(codes[rows], np.arange(len(count) + 1))
    bounds, of_pairs = C[rows], np.array(chosen, dtype=np.int64)
    sizes = count[of_pairs].sum(axis=1)
    end = np.cumsum(sizes)
    beta, F = np.zeros(end[-1]), np.zeros(end[-1])
    steps, states = np.zeros(len(chosen), np.int64), np.zeros((len(chosen), 2))
    memory = MatrixMemory(int(sizes.max()))

    def solve(first: int) -> None:
        some = slice(first, first + AT_A_TIME)
        begin = int(end[first - 1]) if first else 0
        copy = memory.take()
        solve_pairs(
            *(K, bounds, start, of_pairs[some], tol, copy),
            *(beta[begin:], F[begin:], steps[some], states[some]),
        )
        memory.give_back(copy)

    for_each(solve, range(0, len(chosen), AT_A_TIME), threads, after=_JOIN_AFTER)
    own, place, y = np.empty(end[-1], np.int64), np.empty(end[-1], np.int64), np.empty(end[-1])
    ascending(rows, start, of_pairs, own, place, y)
    beta, F = beta[place], F[place]
    found: dict[Pair, tuple[Index, Solution]] = {}
    for number in np.flatnonzero(states[:, 0] <= tol).tolist():
        mine = slice(end[number] - sizes[number], end[number])
        b, f = beta[mine], F[mine]
        objective = 0.5 * float(b @ (f - y[mine]))
        violation, bias = states[number].tolist()
        work = int(steps[number])
        solution = Solution(b, f, objective, violation, work, converged=True, bias=bias)
        found[chosen[number]] = own[mine], solution
    return found
