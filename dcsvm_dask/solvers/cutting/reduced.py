"""The reduced problem: the regularizer plus the largest of the cutting planes, by its dual."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.solvers.inner.interior_point import solve_interior_point
from dcsvm_dask.solvers.smo.solve import solve_smo
from dcsvm_dask.tasks import Dual

Vector = NDArray[np.float64]
# Of SMO, before the interior-point method takes over.
_STEPS = 20_000


def solve_reduced(gram: Vector, offsets: Vector, start: Vector, tol: float, unit: float) -> Vector:
    """Minimise |sum_i alpha_i a_i|^2 / 2 - b'alpha over alpha >= 0, sum(alpha) <= 1.

    A slack variable, whose plane is zero, makes the sum an equation; then it is one class' dual
    problem with a bias.

    Parameters
    ----------
    gram : array, shape (t, t), float64
        a_i'a_j.
    offsets : array, shape (t,), float64
        b.
    start : array, shape (t,), float64
        A feasible point.
    tol : float
        How far the value may be from the least one: the largest violation of a pair, which bounds
        it because the variables add up to 1.
    unit : float
        The size of the value, above 0.

    Returns
    -------
    array, shape (t,), float64
        Feasible.
    """
    t = len(offsets)
    K = np.zeros((t + 1, t + 1))
    K[:t, :t] = gram / unit
    p = np.append(-offsets / unit, 0.0)
    dual = Dual(p, np.zeros(t + 1), np.ones(t + 1))
    beta = np.append(start, max(0.0, 1.0 - float(start.sum())))
    found = solve_smo(K, dual, beta=beta, equality=True, tol=tol / unit, max_iter=_STEPS)
    alpha = _feasible(found.beta[:t])
    if found.converged:
        return alpha
    # Planes of large C are so long that steps of two variables are too many.
    found = solve_interior_point(K, dual, beta=found.beta, equality=True, tol=tol / unit)
    other = _feasible(found.beta[:t])
    return min(alpha, other, key=lambda a: float(0.5 * (a @ gram @ a) - offsets @ a))


def _feasible(alpha: Vector) -> Vector:
    alpha = np.clip(alpha, 0.0, 1.0)
    return np.asarray(alpha / max(1.0, float(alpha.sum())))
