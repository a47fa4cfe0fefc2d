"""A working set whose kernel matrix is in memory, by the inner solver that is asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dcsvm_dask.errors import InputError
from dcsvm_dask.solvers.inner.interior_point import solve_interior_point
from dcsvm_dask.solvers.inner.newton import solve_newton
from dcsvm_dask.solvers.inner.overtake import Overtake
from dcsvm_dask.solvers.inner.projected_gradient import solve_projected_gradient
from dcsvm_dask.solvers.inner.signs import solve_of_signs
from dcsvm_dask.solvers.matrix_memory import Scratch
from dcsvm_dask.solvers.smo.columns import kernel_times
from dcsvm_dask.solvers.smo.solve import solve_smo
from dcsvm_dask.solvers.solution import Solution
from dcsvm_dask.tasks import Dual

_NAMED: dict[str, Callable[..., Solution]] = {
    "newton": solve_newton,
    "interior-point": solve_interior_point,
    "projected-gradient": solve_projected_gradient,
}
INNER_SOLVERS = ("auto", "smo", *_NAMED)
"""The names of inner solvers."""


def solve_inner(
    K: NDArray[np.floating],
    dual: Dual,
    *,
    inner: str = "auto",
    beta: ArrayLike | None = None,
    gradient: ArrayLike | None = None,
    equality: bool = False,
    tol: float = 1e-3,
    max_iter: int | None = None,
    callback: Callable[[int, float], object] | None = None,
    taken: int = 0,
    scratch: Scratch | None = None,
) -> Solution:
    """Solve the dual problem by the inner solver of that name.

    Parameters
    ----------
    K, dual, beta, gradient, equality, tol, max_iter, callback, taken, scratch
        As for `solve_smo`; the last four are SMO's.
    inner : {"auto", "smo", "newton", "interior-point", "projected-gradient"}, default "auto"
        "auto" begins with SMO and lets others go on where it needs many steps (`Overtake`). Where
        a solver that is named does not converge, SMO goes on from the point that it reached.

    Returns
    -------
    Solution
        `Solution.inner` names the solvers that were at work, in turn; `Solution.fallbacks` is 1
        where SMO went on for a solver that is named.

    Raises
    ------
    InputError
        For shapes, bounds or values that do not fit, or a name that no solver has.
    """
    if inner not in INNER_SOLVERS:
        raise InputError(f"inner is {inner!r}: give one of {', '.join(INNER_SOLVERS)}.")
    if equality and dual.spare is not None:
        start = np.zeros(len(dual)) if beta is None else np.asarray(beta, dtype=np.float64)
        F = dual.p + kernel_times(K, start) if gradient is None else np.asarray(gradient)
        several: dict[str, Any] = {"inner": inner, "equality": True, "tol": tol}
        several |= {"max_iter": max_iter, "callback": callback}
        return solve_of_signs(solve_inner, K, dual, beta=start, gradient=F, **several)
    how: dict[str, Any] = {"equality": equality, "tol": tol}
    smo: dict[str, Any] = how | {"max_iter": max_iter, "callback": callback}
    smo |= {"taken": taken, "scratch": scratch}
    if inner in _NAMED:
        found = _NAMED[inner](K, dual, beta=beta, gradient=gradient, **how)
        found.inner = (inner,)
        if found.converged:
            return found
        done = found.n_iter
        found = solve_smo(K, dual, beta=found.beta, gradient=found.gradient, **smo)
        found.n_iter += done
        found.inner, found.fallbacks = (inner, "smo"), 1
        return found
    overtake = Overtake(tol) if inner == "auto" else None
    found = solve_smo(K, dual, beta=beta, gradient=gradient, overtake=overtake, **smo)
    found.inner = ("smo", *(overtake.tried if overtake else ()))
    return found
