"""Solutions along C: each starts from the one for a smaller C."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.kernels import Kernel, Rows
from dcsvm_dask.solvers.inner.few_features import FewFeatures
from dcsvm_dask.solvers.optimality import bias
from dcsvm_dask.solvers.set_choice import reach, select_set
from dcsvm_dask.solvers.solution import Solution
from dcsvm_dask.solvers.whole import solve_whole
from dcsvm_dask.solvers.working_sets import INNER_FLOOR, solve_working_sets
from dcsvm_dask.tasks import Dual

Vector = NDArray[np.float64]


def stretch(beta: Vector, gradient: Vector, dual: Dual) -> float:
    """Return which multiple of a solution is the best start within larger bounds.

    Of all multiples t beta it has the least objective t^2 beta'K beta / 2 + t p'beta among those
    that the bounds allow; where most variables are at their bounds that is nearly the answer. With
    an equality every multiple keeps it. Squared losses have no bounds that hold variables back, and
    the gradient before has the diagonal of another C in it: they begin at the same beta.

    Parameters
    ----------
    beta, gradient : ndarray, shape (n,), float64
        A solution, and K beta + p there.
    dual : Dual
        A problem whose bounds are nowhere nearer than beta.

    Returns
    -------
    float
        At least 1, and 1 for a squared loss.
    """
    if dual.ridge is not None:
        return 1.0
    support = beta != 0.0
    if not support.any():
        return 1.0
    towards = np.where(beta > 0.0, dual.upper, dual.lower)
    room = float(np.min(towards[support] / beta[support]))
    curvature = float(beta @ (gradient - dual.p))
    best = -dual.linear(beta) / curvature if curvature > 0.0 else np.inf
    return max(1.0, min(room, best))


def stretched(beta: Vector, gradient: Vector, dual: Dual) -> Vector:
    """Return the best multiple of a solution within larger bounds; see `stretch`.

    Parameters
    ----------
    beta, gradient : ndarray, shape (n,), float64
    dual : Dual
    """
    return dual.clip(stretch(beta, gradient, dual) * beta)  # rounding leads beyond a bound


def solve_next(
    kernel: Kernel,
    X: Rows,
    dual: Dual,
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
        For bounds that are nowhere further, with the gradient there. A squared loss has no bounds:
        then it is where this one begins.
    kernel, X, dual, equality, tol, working_size, max_iter, threads, verify
        As for `solve_whole`.

    Returns
    -------
    solution : Solution
    kernel_values : int
    """
    how: dict[str, Any] = {
        "equality": equality,
        "tol": tol,
        "working_size": working_size,
        "threads": threads,
        "verify": verify,
    }
    few_features = FewFeatures.of(kernel, X, dual, most_bytes=4.0 * working_size**2)
    if max_iter is None and few_features is not None and few_features.is_quick:
        return solve_whole(kernel, X, dual, **how)  # from zero that costs least
    if dual.ridge is not None:  # the gradient before has another diagonal in it
        return solve_whole(kernel, X, dual, beta=before.beta, max_iter=max_iter, **how)
    beta, values, steps = stretched(before.beta, before.gradient, dual), 0, 0
    f = stretch(before.beta, before.gradient, dual) * (before.gradient - dual.p)
    gradient = f + dual.p
    centred = gradient + bias(gradient, beta, dual) if equality else gradient
    moves = (reach(centred, beta, dual) > 0.5 * tol) | dual.is_free(beta)
    if np.count_nonzero(moves) <= working_size < X.shape[0]:
        found = solve_working_sets(
            kernel,
            X,
            dual,
            beta=beta,
            f=gradient - dual.p,
            first=select_set(beta, dual, centred, tol, working_size, equality=equality),
            equality=equality,
            tol=INNER_FLOOR * tol,
            cap=working_size,
            threads=threads,
            shrinking=True,
            max_iter=max_iter,
        )
        beta, values, steps = found.beta, found.kernel_values, found.n_iter
    solution, more = solve_whole(
        kernel,
        X,
        dual,
        beta=beta,
        max_iter=None if max_iter is None else max(0, max_iter - steps),
        **how,
    )
    solution.n_iter += steps
    return solution, values + more
