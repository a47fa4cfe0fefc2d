"""SVMs of pairs of classes of a few rows each: all of them in one compiled loop.

Of hundreds of classes there are ten thousands of pairs, of which each is solved in microseconds:
what a solver of larger problems prepares for each of them would take a hundred times as long.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.compiled import njit
from dcsvm_dask.kernels import Kernel, Rows, kernel_matrix
from dcsvm_dask.solvers.solution import Solution

Index = NDArray[np.int64]
Vector = NDArray[np.float64]
Pair = tuple[int, int]

CLASS_ROWS = 32
"""Rows of such a class, at most."""
LEAST_PAIRS = 100
"""Of fewer pairs nothing is to be gained."""
FINER = 1e-7
"""Share of the tolerance to which they are solved: steps of so few rows cost next to nothing."""
STEPS_OF_ROW = 1000
"""Steps for each row after which a pair is left to another solver."""
TAU = 1e-12
"""Least curvature of a step, as a share of the diagonal's."""


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
    WSS 2), in float64, to far below the tolerance. The kernel matrix of all their rows is in
    memory.

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
        Bytes that the kernel matrix may take; where it would take more, nothing is solved.
    threads : int, default 1
        Threads that share the kernel matrix.

    Returns
    -------
    dict
        The rows, ascending, and the solution of each pair that was solved: pairs of larger classes,
        or of a class without rows, are missing, and such as are not solved in a number of steps.
    """
    count = np.bincount(codes, minlength=1 + max((max(pair) for pair in pairs), default=0))
    small = (count > 0) & (count <= CLASS_ROWS)
    chosen = [pair for pair in pairs if small[pair[0]] and small[pair[1]]]
    rows = np.flatnonzero(small[codes])
    if len(chosen) < LEAST_PAIRS or 8.0 * len(rows) ** 2 > most:
        return {}
    rows = rows[np.argsort(codes[rows], kind="stable")]  # class after class
    K = kernel_matrix(kernel, X[rows], dtype=np.float64, threads=threads)
    start = np.searchsorted(codes[rows], np.arange(len(count) + 1))
    found: dict[Pair, tuple[Index, Solution]] = {}
    for first, second in chosen:
        of_both = [np.arange(start[one], start[one + 1]) for one in (first, second)]
        places = np.concatenate(of_both)
        order = np.argsort(rows[places])
        places = places[order]
        y = np.where(order < count[first], 1.0, -1.0)
        beta, F = np.zeros(len(places)), -y
        steps, violation, bias = _solve_pair(K, places, y, C[rows[places]], beta, F, FINER * tol)
        if violation <= tol:
            objective = 0.5 * float(beta @ (F - y))
            found[first, second] = (
                rows[places],
                Solution(beta, F, objective, violation, steps, converged=True, bias=bias),
            )
    return found


@njit(cache=True, nogil=True)
def _solve_pair(
    K: Any, rows: Any, y: Any, C: Any, beta: Any, F: Any, tol: Any
) -> tuple[int, float, float]:
    """Minimise 0.5 b'Kb - y'b over 0 <= y_i b_i <= C_i with sum(b) = 0, for some rows of K.

    Given b = 0 and F = -y; both are updated. Returns the steps, the violation and the bias.
    """
    n = len(rows)
    steps = 0
    while True:
        i = -1
        m = -np.inf
        M = np.inf
        free = 0
        middle = 0.0
        for k in range(n):
            size = y[k] * beta[k]
            rises = size < C[k] if y[k] > 0.0 else size > 0.0
            falls = size > 0.0 if y[k] > 0.0 else size < C[k]
            if rises and -F[k] > m:
                m = -F[k]
                i = k
            if falls and -F[k] < M:
                M = -F[k]
            if rises and falls:
                free += 1
                middle -= F[k]
        if not m - M > tol or steps >= STEPS_OF_ROW * n:
            break
        own = K[rows[i], rows[i]]
        j = -1
        step = 0.0
        best = 0.0
        for k in range(n):
            size = y[k] * beta[k]
            falls = size > 0.0 if y[k] > 0.0 else size < C[k]
            apart = m + F[k]
            if not falls or apart <= 0.0:
                continue
            both = own + K[rows[k], rows[k]]
            curvature = max(both - 2.0 * K[rows[i], rows[k]], TAU * both, 1e-300)
            if apart * apart > best * curvature:
                best = apart * apart / curvature
                step = apart / curvature
                j = k
        room_i = C[i] - beta[i] if y[i] > 0.0 else -beta[i]
        room_j = beta[j] if y[j] > 0.0 else C[j] + beta[j]
        step = min(step, room_i, room_j)
        beta[i] += step
        beta[j] -= step
        if step == room_i:
            beta[i] = C[i] if y[i] > 0.0 else 0.0
        if step == room_j:
            beta[j] = 0.0 if y[j] > 0.0 else -C[j]
        for k in range(n):
            F[k] += step * (K[rows[i], rows[k]] - K[rows[j], rows[k]])
        steps += 1
    violation = max(0.0, m - M)
    if free > 0:
        return steps, violation, middle / free
    if np.isinf(m) or np.isinf(M):
        return steps, violation, 0.0 if np.isinf(m) and np.isinf(M) else (M if np.isinf(m) else m)
    return steps, violation, 0.5 * (m + M)
