"""Solutions along C: each starts from the one for a smaller C."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dcsvm_dask.kernels import Kernel, Rows
from dcsvm_dask.solvers.optimality import bias
from dcsvm_dask.solvers.solution import Solution
from dcsvm_dask.solvers.whole import NO_LIMIT, solve_whole
from dcsvm_dask.solvers.working_sets import INNER_FLOOR, reach, select_set, solve_working_sets

Vector = NDArray[np.float64]


def stretch(alpha: Vector, gradient: Vector, C: Vector) -> float:
    """Return which multiple of a solution is the best start within larger bounds.

    Of all multiples t alpha it has the least objective t^2 alpha' Q alpha / 2 - t e' alpha among
    those that the bounds allow; where most rows are at their bounds that is nearly the answer. With
    an equality every multiple keeps it.

    Parameters
    ----------
    alpha, gradient : ndarray, shape (n,), float64
        A solution, and Q alpha - e there.
    C : ndarray, shape (n,), float64
        The bounds, nowhere below alpha.

    Returns
    -------
    float
        At least 1.
    """
    support = alpha > 0.0
    if not support.any():
        return 1.0
    room = float(np.min(C[support] / alpha[support]))
    curvature = float(alpha @ (gradient + 1.0))
    best = float(alpha.sum()) / curvature if curvature > 0.0 else np.inf
    return max(1.0, min(room, best))


def stretched(alpha: Vector, gradient: Vector, C: Vector) -> Vector:
    """Return the best multiple of a solution within larger bounds; see `stretch`."""
    return np.asarray(np.minimum(stretch(alpha, gradient, C) * alpha, C))  # rounding leads above C


def solve_next(
    kernel: Kernel,
    X: Rows,
    y: ArrayLike,
    C: ArrayLike,
    before: Solution,
    *,
    equality: bool = False,
    tol: float = 1e-3,
    working_size: int = 8192,
    max_iter: int | None = None,
    threads: int = 1,
    verify: bool = True,
) -> tuple[Solution, int]:
    """Solve the dual problem from its solution for smaller bounds; see `solve_whole`.

    Where all rows that have to move fit one working set they are solved in such sets first, which
    costs least where every row sees every other.

    Parameters
    ----------
    before : Solution
        For bounds that are nowhere larger, with the gradient there.
    kernel, X, y, C, equality, tol, working_size, max_iter, threads, verify
        As for `solve_whole`.

    Returns
    -------
    solution : Solution
    kernel_values : int
    """
    y, C = np.asarray(y, dtype=np.float64), np.broadcast_to(np.asarray(C, np.float64), X.shape[:1])
    alpha, values, steps = stretched(before.alpha, before.gradient, C), 0, 0
    gradient = stretch(before.alpha, before.gradient, C) * (before.gradient + 1.0) - 1.0
    limit = NO_LIMIT if max_iter is None else max_iter
    margin = gradient + y * bias(gradient, alpha, y, C) if equality else gradient
    moves = (reach(margin, alpha, C) > 0.5 * tol) | ((alpha > 0.0) & (alpha < C))
    if np.count_nonzero(moves) <= working_size < X.shape[0]:
        found = solve_working_sets(
            kernel,
            X,
            y,
            C,
            alpha=alpha,
            f=y * (gradient + 1.0),
            first=select_set(alpha, C, margin, tol, working_size, y=y if equality else None),
            equality=equality,
            tol=INNER_FLOOR * tol,
            cap=working_size,
            threads=threads,
            rest=True,
            max_iter=max_iter,
        )
        alpha, values, steps = found.alpha, found.kernel_values, found.n_iter
    solution, more = solve_whole(
        kernel,
        X,
        y,
        C,
        alpha=alpha,
        equality=equality,
        tol=tol,
        working_size=working_size,
        max_iter=max(0, limit - steps),
        threads=threads,
        verify=verify,
    )
    solution.n_iter += steps
    return solution, values + more
