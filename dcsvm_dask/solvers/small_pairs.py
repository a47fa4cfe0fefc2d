"""SVMs of pairs of classes of a few rows each, on one kernel matrix of all of their rows.

Of tens of classes there are hundreds of pairs, of hundreds ten thousands, of which each is solved
in microseconds: what a solver of larger problems prepares for each of them would take longer.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.kernels import Kernel, Rows, kernel_matrix
from dcsvm_dask.solvers.matrix_memory import MatrixMemory
from dcsvm_dask.solvers.pair_loops import solve_pairs
from dcsvm_dask.solvers.pair_variables import LARGEST, Pair, PairVariables, Solved

Vector = NDArray[np.float64]

PAIR_ROWS = 640
"""Rows of such a pair, at most."""


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
) -> Solved:
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
    count = dict(enumerate(np.bincount(codes).tolist()))
    sizes = [(count.get(a, 0), count.get(b, 0)) for a, b in pairs]
    chosen = [
        pair for pair, (n, m) in zip(pairs, sizes, strict=True) if n and m and n + m <= PAIR_ROWS
    ]
    if not chosen:
        return {}
    variables = PairVariables(codes, chosen)
    rows = variables.rows
    if 8.0 * len(rows) ** 2 > most:
        return {}
    K = kernel_matrix(kernel, X[rows], dtype=np.float64, threads=threads)
    if not K.diagonal().max() < LARGEST:
        return {}
    bounds, memory = C[rows], MatrixMemory(variables.largest)

    def solve(of_pairs: NDArray[np.int64], *written: Vector) -> None:
        copy = memory.take()
        solve_pairs(K, bounds, variables.start, of_pairs, tol, copy, *written)
        memory.give_back(copy)

    return variables.solve(solve, tol, threads)
