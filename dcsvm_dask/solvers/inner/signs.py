"""Problems in which the sums of the positive and of the negative variables are each kept.

Variables that may have either sign become two, one of each sign, as LIBSVM has them; the inner
solvers then keep one sum for each group of variables.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.solvers.optimality import bias, middle_of_size, sign_intervals
from dcsvm_dask.solvers.program import QuadraticProgram
from dcsvm_dask.solvers.solution import Solution
from dcsvm_dask.tasks import Dual
from dcsvm_dask.tasks.dual import EXACT_SIZE

Vector = NDArray[np.float64]
Index = NDArray[np.int64]
# So often variables at zero get another sign.
_MOST_ROUNDS = 50
# Steps for each variable that tell whether the size binds, before more are taken without it.
_TRIED = 4
# Of the way to a point that is too large, until the part with the size is known to rounding.
_HALVINGS = 40


def solve_of_signs(
    solve: Callable[..., Solution],
    K: NDArray[np.floating],
    dual: Dual,
    *,
    beta: Vector,
    gradient: Vector,
    tol: float,
    max_iter: int | None = None,
    **how: Any,
) -> Solution:
    """Solve a problem whose variables of each sign have a sum of their own.

    Each variable keeps its sign while all are solved, then those at zero get another where the
    objective falls by it, as often as it takes. Where the size does not bind, the problem is that
    without it, whose solution is taken if it is small enough: else the point on the way there that
    has the size. Where variables have to shrink after that, both signs of a row are there at the
    same time.

    Parameters
    ----------
    solve : callable
        Solves a problem with groups; see `solve_inner`.
    K : ndarray, shape (n, n), float32 or float64
    dual : Dual
        With `Dual.spare`, of variables of either sign in any order.
    beta, gradient : ndarray, shape (n,), float64
        The start, within its bounds, and the gradient there.
    tol, max_iter, **how
        Handed on to `solve`.

    Returns
    -------
    Solution
        Its gradient is that of the n variables; the size of the variables has grown by
        `Dual.spare` at most.
    """
    assert dual.spare is not None
    size, steps, fallbacks = dual.spare + float(np.abs(beta).sum()), 0, 0
    tries, binds = 0, dual.has_fixed_signs
    for _ in range(_MOST_ROUNDS):
        dual = dual.with_size(beta, size)
        _, centred, _ = QuadraticProgram(dual, beta, None, True).look(beta, gradient)
        order, own = in_sign_order(dual, beta, gradient, centred)
        freely = isinstance(order, slice)
        if isinstance(order, slice):
            if binds:
                break
            most = max_iter
            if not tries:
                few = _TRIED * len(dual)
                most = few if max_iter is None else min(few, max_iter)
            found, binds = _solve_freely(solve, K, dual, beta, gradient, size, tol, most, how)
            tries += 1
        else:
            found = _solve_signed(solve, K, own, order, beta, gradient, tol, max_iter, how)
        goes_on = found.converged or (freely and (binds or tries == 1))
        steps, moved = steps + found.n_iter, found.n_iter > 0
        fallbacks = max(fallbacks, found.fallbacks)
        max_iter = None if max_iter is None else max(0, max_iter - found.n_iter)
        beta, gradient = found.beta, found.gradient
        dual = dual.with_size(beta, size)
        violation, _, _ = QuadraticProgram(dual, beta, None, True).look(beta, gradient)
        if violation <= tol or max_iter == 0 or (moved and not goes_on):
            return replace(
                found,
                n_iter=steps,
                violation=violation,
                converged=violation <= tol,
                bias=bias(gradient, beta, dual),
                fallbacks=fallbacks,
            )
        if not moved:
            break
    index, grouped = by_signs(dual)
    spare = _spread(dual, beta)[index]
    positive = grouped.group == 1
    start = grouped.clip(beta[index]) + np.where(positive, spare, -spare)
    how = {"beta": start, "gradient": gradient[index], "tol": tol, "max_iter": max_iter, **how}
    found = _joined(solve(K[np.ix_(index, index)], grouped, **how), index, gradient)
    return replace(
        found,
        n_iter=steps + found.n_iter,
        bias=bias(found.gradient, found.beta, dual),
        fallbacks=max(fallbacks, found.fallbacks),
    )


def _solve_freely(
    solve: Callable[..., Solution],
    K: NDArray[np.floating],
    dual: Dual,
    beta: Vector,
    gradient: Vector,
    size: float,
    tol: float,
    max_iter: int | None,
    how: dict[str, Any],
) -> tuple[Solution, bool]:
    """Solve without the size, and return the solution and whether its size is too large.

    If it is, the point on the way there that has the size stands for the solution: the objective
    is convex, and so lower there than at the start.
    """
    found = solve(
        K,
        replace(dual, spare=None),
        beta=beta,
        gradient=gradient,
        tol=tol,
        max_iter=max_iter,
        **how,
    )
    if float(np.abs(found.beta).sum()) <= size * (1.0 + EXACT_SIZE):
        return found, False
    least, part = 0.0, 1.0  # the size is convex in the part of the way
    for _ in range(_HALVINGS):
        middle = 0.5 * (least + part)
        within = float(np.abs(beta + middle * (found.beta - beta)).sum()) <= size
        least, part = (middle, part) if within else (least, middle)
    return replace(
        found,
        beta=beta + least * (found.beta - beta),
        gradient=gradient + least * (found.gradient - gradient),
    ), True


def _solve_signed(
    solve: Callable[..., Solution],
    K: NDArray[np.floating],
    dual: Dual,
    order: Index,
    beta: Vector,
    gradient: Vector,
    tol: float,
    max_iter: int | None,
    how: dict[str, Any],
) -> Solution:
    """Solve a problem whose variables have one sign each; dual is of them in an order."""
    index, grouped = by_signs(dual)
    rows = order[index]
    if not np.array_equal(rows, np.arange(len(K))):
        K = K[np.ix_(rows, rows)]
    found = solve(
        K, grouped, beta=beta[rows], gradient=gradient[rows], tol=tol, max_iter=max_iter, **how
    )
    return _joined(found, rows, gradient)


def _joined(found: Solution, index: Index, gradient: Vector) -> Solution:
    """Return a solution of variables that are parts of those of an index, as one of the latter."""
    joined, F = np.zeros(len(gradient)), gradient.copy()
    np.add.at(joined, index, found.beta)
    F[index] = found.gradient
    return replace(found, beta=joined, gradient=F)


def in_sign_order(
    dual: Dual, beta: Vector, gradient: Vector, centred: Vector
) -> tuple[Index | slice, Dual]:
    """Return the order of the variables of a working set, the negative ones first, and its problem.

    Where the sums of both signs are kept, a working set in which each variable has one sign is half
    as large. One at zero has the sign in which it would grow: in another set that is another. But
    where the size has no weight, both signs of a row must shrink together.

    Parameters
    ----------
    dual : Dual
        Of the working set.
    beta, gradient : ndarray, shape (n,), float64
    centred : ndarray, shape (n,), float64
        The gradient, centred; see `QuadraticProgram.look`.

    Returns
    -------
    order : ndarray of int64, shape (n,), or slice
    ordered : Dual
        Of the variables in that order.
    """
    if dual.spare is None or _shrinks(dual, beta, gradient):
        return slice(None), dual
    positive = np.where(beta == 0.0, centred < 0.0, beta > 0.0)
    positive = (positive | (dual.lower == 0.0)) & (dual.upper > 0.0)
    lower, upper = np.where(positive, 0.0, dual.lower), np.where(positive, dual.upper, 0.0)
    order = np.argsort(positive, kind="stable")
    return order, replace(dual, lower=lower, upper=upper)[order]


def _shrinks(dual: Dual, beta: Vector, gradient: Vector) -> bool:
    """Return whether it is the size of the variables, more than anything, that is too large."""
    if dual.has_fixed_signs:
        return False
    if dual.spare:
        return True
    worst = max(m - M for m, M in sign_intervals(gradient, beta, dual))
    return worst < -middle_of_size(gradient, beta, dual)


def by_signs(dual: Dual) -> tuple[Index, Dual]:
    """Return the problem whose variables have one sign each, the negative ones first.

    Parameters
    ----------
    dual : Dual
        Of n variables of either sign.

    Returns
    -------
    index : ndarray of int64, shape (m,)
        The variable that each is a part of; m is at most 2 n.
    grouped : Dual
        Its two groups are the signs.
    """
    below, above = np.flatnonzero(dual.lower < 0.0), np.flatnonzero(dual.upper > 0.0)
    index = np.concatenate([below, above])
    grouped = Dual(
        dual.p[index],
        np.concatenate([dual.lower[below], np.zeros(len(above))]),
        np.concatenate([np.zeros(len(below)), dual.upper[above]]),
        group=np.repeat(np.array([0, 1], np.int8), [len(below), len(above)]),
        unit=dual.unit,
    )
    return index, grouped


def _spread(dual: Dual, beta: Vector) -> Vector:
    """Return what both variables of a row begin with beyond its own: half of what is spare.

    But at most half of the rows' room, more than which no solution uses: with both variables of
    every row at their bounds nothing could move.
    """
    if not dual.spare:
        return np.zeros(len(dual))
    room = np.minimum(dual.upper - np.maximum(beta, 0.0), np.minimum(beta, 0.0) - dual.lower)
    before = np.cumsum(room) - room
    half = min(0.5 * dual.spare, 0.5 * float(room.sum()))
    return np.asarray(np.clip(half - before, 0.0, room))
