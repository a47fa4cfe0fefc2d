"""The dual problem of rows that are all in memory, by what suits their number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dcsvm_dask.kernels import Kernel, Rows, counted_kernel_matrix, kernel_product
from dcsvm_dask.solvers.decomposition import solve_decomposition
from dcsvm_dask.solvers.optimality import balanced, bias, objective
from dcsvm_dask.solvers.signed import SignedProblem
from dcsvm_dask.solvers.smo import solve_smo
from dcsvm_dask.solvers.solution import Solution
from dcsvm_dask.solvers.subsets import train_on_subsets
from dcsvm_dask.solvers.working_sets import INNER_FLOOR, first_set, select_set, solve_working_sets

Vector = NDArray[np.float64]

SMALL = 2048
"""Up to so many rows the kernel matrix is in float64: there is no rounding to look after."""
NO_LIMIT = 1 << 62
# Share of the tolerance that the product of a start may lose by leaving out far pairs of rows.
FAR_PAIRS = 0.01
# From so many rows on, foreseeing the support vectors costs less than it saves.
_FORESEEN_ABOVE = 6000


def solve_whole(
    kernel: Kernel,
    X: Rows,
    y: ArrayLike,
    C: ArrayLike,
    *,
    alpha: ArrayLike | None = None,
    equality: bool = False,
    tol: float = 1e-3,
    working_size: int = 8192,
    max_iter: int | None = None,
    seed: int = 0,
    threads: int = 1,
    K: NDArray[np.floating] | None = None,
    callback: Callable[[int, float], object] | None = None,
    verify: bool = True,
) -> tuple[Solution, int]:
    """Solve the dual problem of a support vector machine, with all its rows in memory.

    The problem is that of `solve_smo`. Up to 2,048 rows it is solved with the kernel matrix in
    float64; beyond, from the start that is given, or from what a random subset foresees
    (`train_on_subsets`), by working sets whose matrix is in memory (`solve_working_sets`);
    `solve_decomposition` makes sure of the end with a gradient that is summed from scratch.

    Parameters
    ----------
    kernel : Kernel
    X : ndarray or CSR, shape (n, d), float32
    y : array, shape (n,)
        Labels -1 and +1.
    C : float or array, shape (n,)
        Upper bounds, 0 or more.
    alpha : array, shape (n,), optional
        Start within the bounds, 0 by default. With `equality` the heavier class is scaled down so
        that y'alpha is 0; a start that is worse than 0 is left out.
    equality : bool, default False
        Whether the problem has a bias.
    tol : float, default 1e-3
        Violation to stop at.
    working_size : int, default 8192
        Most rows of a working set; the solver holds up to 1.57 float32 matrices of its square.
    max_iter : int, optional
        Most steps of two variables; by default there is no limit, but an end where rounding lets
        nothing improve any more.
    seed : int, default 0
        Of the random subset.
    threads : int, default 1
        Threads that share the work on kernel values; the result is the same.
    K : ndarray, shape (n, n), optional
        The kernel matrix, where it is known.
    callback : callable, optional
        Called as callback(n_iter, violation) from time to time; a true answer stops the solver.
    verify : bool, default True
        Whether the end rests on products of the precision that the tolerance needs. Without, they
        are of float32, as those of LIBSVM's cache.

    Returns
    -------
    solution : Solution
    kernel_values : int
        Number of kernel values computed.

    Raises
    ------
    InputError
        For shapes, labels, bounds or values that do not fit.
    """
    n = X.shape[0] if K is None else len(K)
    values = steps = 0
    if K is None and n <= SMALL:
        K, values = counted_kernel_matrix(kernel, X, dtype=np.float64, threads=threads)
    how: dict[str, Any] = {
        "equality": equality,
        "tol": tol,
        "max_iter": NO_LIMIT if max_iter is None else max_iter,
        "callback": callback,
    }
    checked = SignedProblem.of(n, y, C, None, alpha, None, equality)
    labels, bounds = checked.labels, checked.bound
    if alpha is not None:
        start = np.abs(checked.start)
        alpha = balanced(start, labels, bounds) if equality else start
    if K is not None:
        return solve_smo(K, y, C, alpha=alpha, **how), values
    if max_iter is None:
        size = min(working_size, n)
        alpha, values, steps, stopped = _near(
            kernel, X, labels, bounds, alpha, equality, tol, size, seed, threads, callback
        )
        if stopped:
            how["max_iter"] = 0
    solution, more = solve_decomposition(
        kernel,
        X,
        y,
        C,
        alpha=alpha,
        working_size=working_size,
        verify=verify,
        **how,
    )
    solution.n_iter += steps
    return solution, values + more


def _near(
    kernel: Kernel,
    X: Rows,
    y: Vector,
    C: Vector,
    alpha: Vector | None,
    equality: bool,
    tol: float,
    cap: int,
    seed: int,
    threads: int,
    callback: Callable[[int, float], object] | None,
) -> tuple[Vector, int, int, bool]:
    """Return alpha near to the answer, kernel values, steps, and whether it was stopped.

    Where there is no alpha to start from, a random subset foresees the answer.
    """
    n, values, steps, stopped = len(y), 0, 0, False
    f, first = np.zeros(n), np.arange(n)
    whole = n <= min(cap, _FORESEEN_ABOVE)

    def tell(_: int, about: dict[str, Any]) -> bool:
        nonlocal stopped
        stopped = callback is not None and bool(callback(steps, about["violation"]))
        return stopped

    if alpha is not None:
        support = np.flatnonzero(alpha)
        f, values = kernel_product(
            kernel, X, X[support], (y * alpha)[support], budget=FAR_PAIRS * tol, threads=threads
        )
        gradient = y * f - 1.0
        if objective(alpha, gradient) >= 0.0:
            alpha, f = None, np.zeros(n)
        elif not whole:
            gradient += y * bias(gradient, alpha, y, C) if equality else 0.0
            first = select_set(alpha, C, gradient, tol, cap, y=y if equality else None)
    if alpha is None and not whole:
        machine, work = train_on_subsets(
            kernel, X.__getitem__, y, C, equality=equality, cap=cap, seed=seed, threads=threads
        )
        expected, more = machine.decide(X.__getitem__, first, threads)
        first = first_set(1.0 - y * (expected + machine.bias), cap)
        values, steps = values + work.kernel_values + more, work.n_iter
    found = solve_working_sets(
        kernel,
        X,
        y,
        C,
        alpha=np.zeros(n) if alpha is None else alpha,
        f=f,
        first=first,
        equality=equality,
        tol=INNER_FLOOR * tol,
        cap=cap,
        threads=threads,
        rest=True,
        solved=tell,
    )
    return found.alpha, values + found.kernel_values, steps + found.n_iter, stopped
