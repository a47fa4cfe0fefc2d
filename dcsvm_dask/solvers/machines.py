"""Machines of two classes for a problem of many: which rows each has, and all of them solved."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels import Kernel, Rows, kernel_matrix
from dcsvm_dask.kernels.threads import for_each
from dcsvm_dask.solvers.solution import Solution
from dcsvm_dask.solvers.whole import SMALL, solve_whole

Index = NDArray[np.int64]
Vector = NDArray[np.float64]

SCHEMES = ("ovo", "ovr")


@dataclass(frozen=True, slots=True)
class Machine:
    """A problem of two classes among many."""

    positive: int
    """The class whose labels are +1."""
    negative: int | None
    """The class whose labels are -1; None: all others."""

    def rows(self, codes: NDArray[np.integer]) -> tuple[Index, Vector]:
        """Return the rows that take part, ascending, and their labels.

        Parameters
        ----------
        codes : ndarray, shape (n,), integers
            The class of each row.
        """
        own = codes == self.positive
        if self.negative is None:
            return np.arange(len(codes)), np.where(own, 1.0, -1.0)
        rows = np.flatnonzero(own | (codes == self.negative))
        return rows, np.where(own[rows], 1.0, -1.0)


@dataclass(frozen=True, slots=True)
class SolvedMachine:
    """What came out of a machine."""

    machine: Machine
    rows: Index
    """The rows that took part, ascending."""
    coef: Vector
    """y_i alpha_i of these rows."""
    solution: Solution


def machines_of(n_classes: int, scheme: str = "ovo") -> list[Machine]:
    """Return the machines of a problem.

    Parameters
    ----------
    n_classes : int
        At least 2.
    scheme : {"ovo", "ovr"}
        One for each pair of classes, in LIBSVM's order (0, 1), (0, 2) to (k - 2, k - 1), whose
        first class is positive; or one for each class against the rest (of two classes: for the
        second).
    """
    if scheme not in SCHEMES:
        raise InputError(f"scheme is {scheme!r}; give one of {', '.join(SCHEMES)}.")
    if scheme == "ovo":
        return [Machine(a, b) for a, b in combinations(range(n_classes), 2)]
    return [Machine(c, None) for c in (range(n_classes) if n_classes > 2 else (1,))]


def solve_machines(
    kernel: Kernel,
    X: Rows,
    codes: NDArray[np.integer],
    C: ArrayLike,
    machines: list[Machine],
    *,
    equality: bool = False,
    tol: float = 1e-3,
    working_size: int = 8192,
    max_iter: int | None = None,
    seed: int = 0,
    threads: int = 1,
    callback: Callable[[int, float], object] | None = None,
) -> list[SolvedMachine]:
    """Solve machines over the same rows, side by side; see `solve_whole`.

    Up to 2,048 rows all machines share one kernel matrix.

    Parameters
    ----------
    kernel : Kernel
    X : ndarray or CSR, shape (n, d), float32
    codes : ndarray, shape (n,), integers
        The class of each row.
    C : float or array, shape (n,)
        Upper bounds, 0 or more.
    machines : list of Machine
    equality, tol, working_size, max_iter, seed, callback
        As for `solve_whole`.
    threads : int, default 1
        Threads that share the machines, or the kernel values of the only one. The result is the
        same; memory is that of so many working sets. Give BLAS one.

    Returns
    -------
    list of SolvedMachine
        In the order of `machines`.
    """
    n = X.shape[0]
    bounds = np.broadcast_to(np.asarray(C, np.float64), n)
    K = kernel_matrix(kernel, X, dtype=np.float64, threads=threads) if n <= SMALL else None
    found: dict[int, SolvedMachine] = {}
    each = 1 if len(machines) > 1 else threads

    def solve(number: int) -> None:
        rows, y = machines[number].rows(codes)
        if abs(y.sum()) == len(y):
            found[number] = _of_one_class(machines[number], rows, y)
            return
        everything = len(rows) == n
        solution, _ = solve_whole(
            kernel,
            X if everything else X[rows],
            y,
            bounds[rows],
            K=K if K is None or everything else K[np.ix_(rows, rows)],
            equality=equality,
            tol=tol,
            working_size=working_size,
            max_iter=max_iter,
            seed=seed,
            threads=each,
            callback=callback,
        )
        found[number] = SolvedMachine(machines[number], rows, y * solution.alpha, solution)

    for_each(solve, range(len(machines)), min(threads, len(machines)))
    return [found[number] for number in range(len(machines))]


def _of_one_class(machine: Machine, rows: Index, y: Vector) -> SolvedMachine:
    """Return the machine that decides for the only class that has rows; 0 where neither has."""
    bias = float(y[0]) if len(y) else 0.0
    zero = np.zeros(len(y))
    solution = Solution(zero, zero - 1.0, 0.0, 0.0, 0, converged=True, bias=bias)
    return SolvedMachine(machine, rows, zero, solution)
