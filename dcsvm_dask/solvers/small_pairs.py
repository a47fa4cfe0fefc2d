"""SVMs of pairs of classes of a few rows each, on one kernel matrix of all of their rows.

Of tens of classes there are hundreds of pairs, of hundreds ten thousands, of which each is solved
in microseconds: what a solver of larger problems prepares for each of them would take longer.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.compiled import njit
from dcsvm_dask.kernels import Kernel, Rows, kernel_matrix
from dcsvm_dask.kernels.threads import for_each
from dcsvm_dask.solvers.finish import finished
from dcsvm_dask.solvers.smo.active import ALL_THERE
from dcsvm_dask.solvers.smo.loops import FAR
from dcsvm_dask.solvers.smo.solve import curvatures
from dcsvm_dask.solvers.smo.steps import pair_steps
from dcsvm_dask.solvers.solution import Solution
from dcsvm_dask.tasks import Classification

Index = NDArray[np.int64]
Vector = NDArray[np.float64]
Pair = tuple[int, int]

CLASS_ROWS = 160
"""Rows of such a class, at most."""
LEAST_PAIRS = 3
"""Of fewer pairs nothing is to be gained."""
FINER, FINE_ROWS = 1e-7, 32
"""Share of the tolerance to which pairs of classes of so many rows are solved: it costs little."""
FINISHED_PAIRS = 10
"""Pairs of larger classes whose few free variables are solved for exactly: it takes as long again.
"""
TINY = 32
"""Rows of a pair up to which all of its steps are in float64."""
STEPS_OF_ROW, LAST_STEPS_OF_ROW, ROUNDS = 1000, 50, 20
"""Steps for each row after which a pair is left to another solver, those of a last stage, and how
often there is one.
"""
# Seconds: what takes less is done sooner by one thread, which Python's lock does not keep waiting.
_JOIN_AFTER = 0.003
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
    WSS 2), to the tolerance in float64, and far below it where classes have up to 32 rows. The
    float64 kernel matrix of all their rows is in memory. Where there are few pairs, free variables
    are exact if they are few (`finished`).

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
        Threads that share the kernel matrix, and pairs; the result is the same.

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

    def solve(pair: Pair) -> None:
        of_both = [np.arange(start[one], start[one + 1]) for one in pair]
        places = np.concatenate(of_both)
        order = np.argsort(rows[places])
        places = places[order]
        y = np.where(order < count[pair[0]], 1.0, -1.0)
        of_pair, bounds = K[places[:, None], places], C[rows[places]]
        solution = _solved(of_pair, y, bounds, tol)
        if len(y) > 2 * FINE_ROWS and len(chosen) <= FINISHED_PAIRS:
            dual = Classification().dual(y, bounds)
            solution = finished(of_pair, dual, solution, equality=True)
        if solution.violation <= tol:
            found[pair] = rows[places], solution

    for_each(solve, chosen, threads, after=_JOIN_AFTER)
    return found


def _solved(K: NDArray[np.float64], y: Vector, C: Vector, tol: float) -> Solution:
    """Solve one pair: by steps whose gradient is in float32, then by such in float64."""
    beta, F, steps, violation, bias = np.zeros(len(y)), -y, 0, np.inf, 0.0
    finer = FINER * tol if len(y) <= 2 * FINE_ROWS else tol
    most = STEPS_OF_ROW * len(y)
    if len(y) <= TINY:
        steps, violation, bias = _solve_pair(K, y, C, beta, F, finer, most)
    for _ in range(ROUNDS):
        if violation <= tol or steps >= most:
            break
        steps += _fast_steps(K, y, C, beta, F, tol, most - steps)
        F = K @ beta - y
        more, violation, bias = _solve_pair(K, y, C, beta, F, finer, LAST_STEPS_OF_ROW * len(y))
        steps += more
    objective = 0.5 * float(beta @ (F - y))
    return Solution(beta, F, objective, violation, steps, converged=violation <= tol, bias=bias)


def _fast_steps(
    K: NDArray[np.float64], y: Vector, C: Vector, beta: Vector, F: Vector, tol: float, most: int
) -> int:
    """Bring beta within half the tolerance, as far as float32 says; return the steps."""
    lower, upper = np.where(y > 0.0, 0.0, -C), np.where(y > 0.0, C, 0.0)
    lo = np.where(beta < upper, -FAR, np.float32(0.0))
    hi = np.where(beta > lower, FAR, np.float32(0.0))
    diagonal = curvatures(K.diagonal())
    state = (K, F.astype(np.float32), diagonal, beta, lower, upper, lo, hi, None, None, 1.0)
    return int(pair_steps(*state, 0.5 * tol, most, ALL_THERE)[0])


@njit(cache=True, nogil=True)
def _solve_pair(
    K: Any, y: Any, C: Any, beta: Any, F: Any, tol: Any, most: Any
) -> tuple[int, float, float]:
    """Minimise 0.5 b'Kb - y'b over 0 <= y_i b_i <= C_i with sum(b) = 0, in at most so many steps.

    Given b and its gradient F; both are updated. Returns the steps, the violation and the bias.
    """
    n = len(y)
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
        if not m - M > tol or steps >= most:
            break
        own = K[i, i]
        j = -1
        step = 0.0
        best = 0.0
        for k in range(n):
            size = y[k] * beta[k]
            falls = size > 0.0 if y[k] > 0.0 else size < C[k]
            apart = m + F[k]
            if not falls or apart <= 0.0:
                continue
            both = own + K[k, k]
            curvature = max(both - 2.0 * K[i, k], TAU * both, 1e-300)
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
            F[k] += step * (K[i, k] - K[j, k])
        steps += 1
    violation = max(0.0, m - M)
    if free > 0:
        return steps, violation, middle / free
    if np.isinf(m) or np.isinf(M):
        return steps, violation, 0.0 if np.isinf(m) and np.isinf(M) else (M if np.isinf(m) else m)
    return steps, violation, 0.5 * (m + M)
