"""C-SVCs and nu-SVCs of pairs of classes of a few rows each; see `pair_problem`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.kernels import Kernel, Rows
from dcsvm_dask.solvers.nu import NuSolution
from dcsvm_dask.solvers.nu_pair_loops import class_means, solve_nu_pairs
from dcsvm_dask.solvers.pair_loops import solve_pairs
from dcsvm_dask.solvers.pair_problem import PairProblem
from dcsvm_dask.solvers.solution import Solution

Index = NDArray[np.int64]
Vector = NDArray[np.float64]
Pair = tuple[int, int]

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
    how: dict[str, Any] = {"most_rows": PAIR_ROWS, "most": most, "threads": threads}
    problem = PairProblem.of(kernel, X, codes, C, pairs, **how)
    if problem is None:
        return {}

    def solve(K: Vector, C: Vector, start: Index, pairs: Index, memory: Any, *to: Any) -> None:
        solve_pairs(K, C, start, pairs, tol, memory, *to)

    found: dict[Pair, tuple[Index, Solution]] = {}
    for pair, own, y, b, f, steps, (violation, bias) in problem.solved(solve, 2, threads):
        if violation <= tol:
            objective = 0.5 * float(b @ (f - y))
            solution = Solution(b, f, objective, violation, steps, converged=True, bias=bias)
            found[pair] = own, solution
    return found


def solve_small_nu_pairs(
    kernel: Kernel,
    X: Rows,
    codes: NDArray[np.integer],
    C: Vector,
    pairs: list[Pair],
    nu: float,
    *,
    tol: float = 1e-3,
    most: float = 2.0**28,
    threads: int = 1,
) -> dict[Pair, tuple[Index, NuSolution]]:
    """Solve the nu-SVCs of those pairs of classes that have a few rows each.

    Sequential minimal optimisation by pairs of one class (Chang, Lin, Neural Computation 14, 2002),
    to the tolerance in float64. It begins at the rows of each class which are nearest to the other
    class, by the means of both: there most rows are at the bound that they have in the end.

    Parameters
    ----------
    kernel, X, codes, C, pairs, tol, most, threads
        As for `solve_small_pairs`.
    nu : float
        In (0, 1]; where the weights of two classes do not allow it, the largest that they do.

    Returns
    -------
    dict
        As of `solve_small_pairs`; pairs that no margin separates are missing, too.
    """
    how: dict[str, Any] = {"most_rows": PAIR_ROWS, "most": most, "threads": threads}
    problem = PairProblem.of(kernel, X, codes, C, pairs, **how)
    if problem is None:
        return {}
    means = np.zeros((len(problem.rows), len(problem.start) - 1))
    class_means(problem.K, problem.bounds, problem.start, means)

    def solve(K: Vector, C: Vector, start: Index, pairs: Index, memory: Any, *to: Any) -> None:
        solve_nu_pairs(K, C, start, pairs, nu, tol, means, memory, *to)

    found: dict[Pair, tuple[Index, NuSolution]] = {}
    for pair, own, _, b, f, steps, (violation, below, above) in problem.solved(solve, 3, threads):
        rho, bias = 0.5 * (below - above), 0.5 * (below + above)
        if violation <= tol and rho > 0.0:
            objective = 0.5 * float(b @ f) / rho**2
            solution = Solution(
                *(b / rho, f / rho, objective, violation, steps), converged=True, bias=bias / rho
            )
            found[pair] = own, NuSolution(solution, rho, len(b) ** 2)
    return found
