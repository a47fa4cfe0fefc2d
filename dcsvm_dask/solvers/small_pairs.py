"""C-SVCs and nu-SVCs of pairs of classes of a few rows each, on one kernel matrix of these rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.kernels import Kernel, Rows, kernel_matrix
from dcsvm_dask.solvers.matrix_memory import MatrixMemory
from dcsvm_dask.solvers.nu import NuSolution
from dcsvm_dask.solvers.nu_pair_loops import class_means, solve_nu_pairs
from dcsvm_dask.solvers.pair_loops import solve_pairs
from dcsvm_dask.solvers.pair_variables import (
    LARGEST,
    Pair,
    PairVariables,
    Solved,
    Written,
    of_few_rows,
)
from dcsvm_dask.solvers.solution import Solution
from dcsvm_dask.tasks import has_margin

Index = NDArray[np.int64]
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
    problem = _problem(kernel, X, codes, C, pairs, most, threads)
    return {} if problem is None else problem.solve(solve_pairs, threads, tol).c_svcs(tol)


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
    problem = _problem(kernel, X, codes, C, pairs, most, threads)
    if problem is None:
        return {}
    start = problem.variables.start
    means = np.zeros((len(problem.K), len(start) - 1))
    class_means(problem.K, problem.bounds, start, means)
    written = problem.solve(solve_nu_pairs, threads, nu, tol, means, state_size=3)
    found: dict[Pair, tuple[Index, NuSolution]] = {}
    for pair, mine, steps, state in zip(
        written.pairs, written.parts, written.steps, written.states.tolist(), strict=True
    ):
        violation, below, above = state
        rho, bias = 0.5 * (below - above), 0.5 * (below + above)
        b, f = written.beta[mine], written.F[mine]
        squared = float(b @ f)
        if violation <= tol and has_margin(rho, squared, float(np.abs(b).sum())):
            objective = 0.5 * squared / rho**2
            solution = Solution(
                *(b / rho, f / rho, objective, violation, steps), converged=True, bias=bias / rho
            )
            found[pair] = written.rows[mine], NuSolution(solution, rho, len(b) ** 2)
    return found


@dataclass(frozen=True, slots=True)
class _Problem:
    """Pairs of classes and the kernel matrix of their rows."""

    variables: PairVariables
    K: Vector
    bounds: Vector
    """Those of the rows."""

    def solve(
        self, loops: Callable[..., None], threads: int, *options: Any, state_size: int = 2
    ) -> Written:
        """Solve the pairs by compiled loops, which a float32 matrix of a pair is there for.

        Parameters
        ----------
        loops : callable
            As `solve_pairs`.
        threads : int
        *options
            What it takes between the pairs and the memory.
        state_size : int
            Values of the state of a pair.
        """
        memory = MatrixMemory(self.variables.largest)

        def solve(pairs: Index, *written: Vector) -> None:
            copy = memory.take()
            loops(self.K, self.bounds, self.variables.start, pairs, *options, copy, *written)
            memory.give_back(copy)

        return self.variables.solve(solve, threads, state_size=state_size)


def _problem(
    kernel: Kernel,
    X: Rows,
    codes: NDArray[np.integer],
    C: Vector,
    pairs: list[Pair],
    most: float,
    threads: int,
) -> _Problem | None:
    """Return the pairs of a few rows; None where there are none, or no matrix for them."""
    chosen = of_few_rows(codes, pairs, PAIR_ROWS)
    if not chosen:
        return None
    variables = PairVariables(codes, chosen)
    rows = variables.rows
    if 8.0 * len(rows) ** 2 > most:
        return None
    K = kernel_matrix(kernel, X[rows], dtype=np.float64, threads=threads)
    return _Problem(variables, K, C[rows]) if K.diagonal().max() < LARGEST else None
