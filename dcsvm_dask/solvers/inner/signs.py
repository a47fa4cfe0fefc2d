"""Problems in which the sums of the positive and of the negative variables are each kept.

Variables that may have either sign become two, one of each sign, as LIBSVM has them; the inner
solvers then keep one sum for each group of variables.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
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
    work = _OfSigns(solve, K, dual, beta, gradient, tol, max_iter, how)
    freely = True
    for _ in range(_MOST_ROUNDS):
        steps = work.steps
        order, own = work.in_sign_order()
        if not isinstance(order, slice):
            ended = work.solve_signed(order, own)
        elif freely:
            freely, ended = False, not work.solve_freely()
        else:
            break
        if ended or work.violation <= tol or work.left == 0:
            return work.solution()
        if work.steps == steps:
            break
    return work.solve_both_signs()


class _OfSigns:
    """A point of such a problem, and what it took to come there."""

    def __init__(
        self,
        solve: Callable[..., Solution],
        K: NDArray[np.floating],
        dual: Dual,
        beta: Vector,
        gradient: Vector,
        tol: float,
        max_iter: int | None,
        how: dict[str, Any],
    ) -> None:
        assert dual.spare is not None
        self.size = dual.spare + float(np.abs(beta).sum())
        self.beta, self.gradient, self.left = beta, gradient, max_iter
        self.steps = self.fallbacks = 0
        self.dual = dual.with_size(beta, self.size)
        self._solve, self._K, self._how = solve, K, {"tol": tol, **how}

    @cached_property
    def _look(self) -> tuple[float, Vector]:
        program = QuadraticProgram(self.dual, self.beta, None, True)
        violation, centred, _ = program.look(self.beta, self.gradient)
        return violation, centred

    @property
    def violation(self) -> float:
        """The violation at the point."""
        return self._look[0]

    def in_sign_order(self) -> tuple[Index | slice, Dual]:
        """Return what `in_sign_order` does at the point."""
        return in_sign_order(self.dual, self.beta, self.gradient, self._look[1])

    def solve_signed(self, order: Index, dual: Dual) -> bool:
        """Solve the problem of one sign a variable, in an order; return whether steps ended."""
        index, grouped = by_signs(dual)
        rows = order[index]
        K = self._K
        if not np.array_equal(rows, np.arange(len(K))):
            K = K[np.ix_(rows, rows)]
        start = {"beta": self.beta[rows], "gradient": self.gradient[rows]}
        found = self._solve(K, grouped, max_iter=self.left, **start, **self._how)
        self._take(found := _joined(found, rows, self.gradient))
        return found.n_iter > 0 and not found.converged

    def solve_freely(self) -> bool:
        """Solve without the size, which may not bind; return whether it does.

        If so, the point on the way there that has the size stands for the solution: the objective
        is convex, and so lower there than at the start.
        """
        few = _TRIED * len(self.dual)
        for most in (few if self.left is None else min(few, self.left), None):
            start = {"beta": self.beta, "gradient": self.gradient}
            most = self.left if most is None else most
            free = replace(self.dual, spare=None)
            found = self._solve(self._K, free, max_iter=most, **start, **self._how)
            binds = float(np.abs(found.beta).sum()) > self.size * (1.0 + EXACT_SIZE)
            self._take(self._within_size(found) if binds else found)
            if binds or not found.n_iter:
                return True
            if found.converged or self.left == 0:
                break
        return False

    def _within_size(self, found: Solution) -> Solution:
        """Return the point on the way to a solution that has the size."""
        step = found.beta - self.beta
        least, part = 0.0, 1.0  # the size is convex in the part of the way
        for _ in range(_HALVINGS):
            middle = 0.5 * (least + part)
            within = float(np.abs(self.beta + middle * step).sum()) <= self.size
            least, part = (middle, part) if within else (least, middle)
        gradient = self.gradient + least * (found.gradient - self.gradient)
        return replace(found, beta=self.beta + least * step, gradient=gradient)

    def solve_both_signs(self) -> Solution:
        """Return the solution of the problem in which a row has a variable of each sign."""
        index, grouped = by_signs(self.dual)
        spare = _spread(self.dual, self.beta)[index]
        start = grouped.clip(self.beta[index]) + np.where(grouped.group == 1, spare, -spare)
        K, gradient = self._K[np.ix_(index, index)], self.gradient[index]
        found = self._solve(
            K, grouped, beta=start, gradient=gradient, max_iter=self.left, **self._how
        )
        found = _joined(found, index, self.gradient)
        return replace(
            found,
            n_iter=self.steps + found.n_iter,
            bias=bias(found.gradient, found.beta, self.dual),
            fallbacks=max(self.fallbacks, found.fallbacks),
        )

    def solution(self) -> Solution:
        """Return the point as a solution."""
        return replace(
            self._last,
            n_iter=self.steps,
            violation=self.violation,
            converged=self.violation <= self._how["tol"],
            bias=bias(self.gradient, self.beta, self.dual),
            fallbacks=self.fallbacks,
        )

    def _take(self, found: Solution) -> None:
        """Go to a point that was found."""
        self._last, self.beta, self.gradient = found, found.beta, found.gradient
        self.steps += found.n_iter
        self.fallbacks = max(self.fallbacks, found.fallbacks)
        self.left = None if self.left is None else max(0, self.left - found.n_iter)
        self.dual = self.dual.with_size(self.beta, self.size)
        self.__dict__.pop("_look", None)


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
