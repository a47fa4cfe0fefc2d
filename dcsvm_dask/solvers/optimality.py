"""How far a point of the dual problem is from optimal, all in float64.

The problem is min 0.5 b'Kb + p'b + epsilon'|b| over lower <= b <= upper, with or without sum(b)
kept constant; F = Kb + p is the gradient of its smooth part. See `dcsvm_dask.tasks.Dual`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.tasks import Dual

Vector = NDArray[np.float64]
AT_BOUND = 4.0 * float(np.finfo(np.float64).eps)
"""Part of the sum of all sizes by which a variable may miss a bound and still be at it."""


def violation_box(gradient: Vector, beta: Vector, dual: Dual) -> float:
    """Return the largest absolute projected gradient of the problem without a bias.

    Parameters
    ----------
    gradient, beta : ndarray, shape (n,), float64
    dual : Dual

    Returns
    -------
    float
        0 at the answer (and for n = 0).
    """
    up, down = dual.slopes(gradient, beta)
    rising = np.max(-up, where=beta < dual.upper, initial=0.0)
    falling = np.max(down, where=beta > dual.lower, initial=0.0)
    return float(max(rising, falling))


def multiplier_interval(gradient: Vector, beta: Vector, dual: Dual) -> tuple[float, float]:
    """Return m(beta) and M(beta) of LIBSVM: the biases b that are optimal are m <= b <= M.

    m is the largest -F_i over the variables that can rise, M the smallest over those that can
    fall (Fan, Chen, Lin, JMLR 6, 2005, section 2), with the slope of that side where there is a
    kink. Without such variables they are -inf and +inf.

    Parameters
    ----------
    gradient, beta : ndarray, shape (n,), float64
    dual : Dual
    """
    up, down = dual.slopes(gradient, beta)
    return (
        float(np.max(-up, where=beta < dual.upper, initial=-np.inf)),
        float(np.min(-down, where=beta > dual.lower, initial=np.inf)),
    )


def violation_pair(gradient: Vector, beta: Vector, dual: Dual) -> float:
    """Return m(beta) - M(beta), the violation that LIBSVM's tolerance bounds, at least 0.

    Of several groups, and of both signs, it is the largest. Where the size of variables of either
    sign may grow, its multiplier is zero; else it is that of nu-SVR, 0 or more.

    Parameters
    ----------
    gradient, beta : ndarray, shape (n,), float64
    dual : Dual
    """
    if dual.spare is not None:
        if dual.spare > 0.0:
            return violation_pair(gradient, beta, dual.eased(0.0))
        of_signs = [max(0.0, m - M) for m, M in sign_intervals(gradient, beta, dual)]
        below = 0.0 if dual.has_fixed_signs else -size_multiplier(gradient, beta, dual)
        return max(*of_signs, below)
    pairs = (multiplier_interval(gradient[mine], beta[mine], dual[mine]) for mine in dual.groups)
    return max(0.0, *(m - M for m, M in pairs))


def sign_intervals(gradient: Vector, beta: Vector, dual: Dual) -> list[tuple[float, float]]:
    """Return m and M of the negative and of the positive variables; see `multiplier_interval`.

    A variable at zero may become one of either, as far as its bounds allow.

    Parameters
    ----------
    gradient, beta : ndarray, shape (n,), float64
    dual : Dual
    """
    found = []
    for sign in (-1.0, 1.0):
        mine = dual.lower < 0.0 if sign < 0.0 else dual.upper > 0.0
        mine &= sign * beta >= 0.0
        rises = mine & (beta < (dual.upper if sign > 0.0 else 0.0))
        falls = mine & (beta > (dual.lower if sign < 0.0 else 0.0))
        m = float((-gradient).max(where=rises, initial=-np.inf))
        found.append((m, float((-gradient).min(where=falls, initial=np.inf))))
    return found


def sign_multipliers(gradient: Vector, beta: Vector, dual: Dual) -> tuple[float, float]:
    """Return the biases of the negative and of the positive variables; see `bias`.

    Parameters
    ----------
    gradient, beta : ndarray, shape (n,), float64
    dual : Dual
    """
    for mine in (beta < 0.0, beta > 0.0):
        beta = _at_bounds(beta, dual, mine)
    intervals = sign_intervals(gradient, beta, dual)
    free = dual.is_free(beta)
    below, above = (
        float(np.mean(-gradient[free & mine])) if (free & mine).any() else _middle(*interval)
        for interval, mine in zip(intervals, (beta < 0.0, beta > 0.0), strict=True)
    )
    return below, above


def size_multiplier(gradient: Vector, beta: Vector, dual: Dual) -> float:
    """Return the multiplier of the sum of abs(beta) where the sums of both signs are kept.

    It is epsilon of nu-SVR and minus rho of nu-SVC; 0 where that sum may still grow.

    Parameters
    ----------
    gradient, beta : ndarray, shape (n,), float64
    dual : Dual
    """
    if dual.spare is None or dual.spare > 0.0:
        return 0.0
    below, above = sign_multipliers(gradient, beta, dual)
    return 0.5 * (above - below)


def bias_and_size_multiplier(gradient: Vector, beta: Vector, dual: Dual) -> tuple[float, float]:
    """Return the `bias` and the `size_multiplier`, which rest on the same sums.

    Parameters
    ----------
    gradient, beta : ndarray, shape (n,), float64
    dual : Dual
    """
    if dual.spare is None or dual.spare > 0.0:
        return bias(gradient, beta, dual), 0.0
    below, above = sign_multipliers(gradient, beta, dual)
    return 0.5 * (below + above), 0.5 * (above - below)


def middle_of_size(gradient: Vector, beta: Vector, dual: Dual) -> float:
    """Return the `size_multiplier` at which both signs violate alike.

    Parameters
    ----------
    gradient, beta : ndarray, shape (n,), float64
    dual : Dual
    """
    if dual.spare is None or dual.spare > 0.0:
        return 0.0
    below, above = (_middle(*interval) for interval in sign_intervals(gradient, beta, dual))
    return 0.5 * (above - below)


def eased(gradient: Vector, dual: Dual, epsilon: float) -> tuple[Vector, Dual]:
    """Return gradient and problem for a given multiplier of the sizes; see `Dual.eased`.

    Parameters
    ----------
    gradient : ndarray, shape (n,), float64
    dual : Dual
    epsilon : float
    """
    near = dual.eased(epsilon)
    return (gradient if near is dual else gradient + (near.p - dual.p)), near


def violation(gradient: Vector, beta: Vector, dual: Dual, *, equality: bool) -> float:
    """Return the violation of the problem with an equality (a bias) or without.

    Parameters
    ----------
    gradient, beta : ndarray, shape (n,), float64
    dual : Dual
    equality : bool
    """
    return (violation_pair if equality else violation_box)(gradient, beta, dual)


def bias(gradient: Vector, beta: Vector, dual: Dual) -> float:
    """Return the bias b of the decision value f + b (the negative of LIBSVM's rho).

    The mean of minus the slopes of the free variables (-F_i without kinks); without free variables
    the middle of the interval [m, M] of optimal biases, or its finite end where all variables can
    move to one side only.

    Parameters
    ----------
    gradient, beta : ndarray, shape (n,), float64
    dual : Dual
    """
    if dual.spare is not None:
        if dual.spare > 0.0:
            return bias(gradient, beta, dual.eased(0.0))
        return 0.5 * sum(sign_multipliers(gradient, beta, dual))
    beta = _at_bounds(beta, dual)
    free = dual.is_free(beta)
    if free.any():
        return float(np.mean(-dual.slopes(gradient, beta)[0][free]))
    return _middle(*multiplier_interval(gradient, beta, dual))


def _at_bounds(beta: Vector, dual: Dual, mine: NDArray[np.bool_] | None = None) -> Vector:
    """Return beta with its free variables at the bounds where all of them miss these by rounding.

    Where bounds cancel, as those of balanced classes at a small C do, all variables end at them,
    but for what rounding leaves of their sum. A bias by that variable alone would be one end of
    the interval of optimal ones, at which all rows are on one side.

    Parameters
    ----------
    beta : ndarray, shape (n,), float64
    dual : Dual
    mine : ndarray, shape (n,), bool, optional
        The variables of one sum; all by default.
    """
    free = dual.is_free(beta) if mine is None else dual.is_free(beta) & mine
    index = np.flatnonzero(free)
    if not len(index):
        return beta
    least = AT_BOUND * float(np.abs(beta).sum())
    some = beta[index]
    room = np.minimum(some - dual.lower[index], dual.upper[index] - some)
    if (np.minimum(room, np.abs(some)) > least).any():  # the usual case: one is free for certain
        return beta
    near = dual[index]
    bounded = np.where(some - near.lower <= least, near.lower, some)
    bounded = np.where(near.upper - some <= least, near.upper, bounded)
    if near.epsilon is not None or near.spare is not None:
        bounded = np.where(np.abs(some) <= least, 0.0, bounded)
    if near.is_free(bounded).any():
        return beta
    found = beta.copy()
    found[index] = bounded
    return found


def _middle(m: float, M: float) -> float:
    if np.isinf(m) and np.isinf(M):
        return 0.0
    if np.isinf(m):
        return M
    return m if np.isinf(M) else 0.5 * (m + M)


def multipliers(gradient: Vector, beta: Vector, dual: Dual) -> list[float]:
    """Return the bias of each group of a problem with several sums; see `bias`.

    Parameters
    ----------
    gradient, beta : ndarray, shape (n,), float64
    dual : Dual
    """
    return [bias(gradient[mine], beta[mine], dual[mine]) for mine in dual.groups]


def balanced(beta: Vector, dual: Dual) -> Vector:
    """Return beta with the heavier sign scaled down so that sum(beta) = 0.

    Its free variables alone where they hold enough: one at its bound that leaves it by however
    little counts as one that violates.

    Parameters
    ----------
    beta : ndarray, shape (n,), float64
        Within the bounds.
    dual : Dual
    """
    size = np.abs(beta)
    positive = np.where(beta == 0.0, dual.upper > 0.0, beta > 0.0)
    above, below = float(size[positive].sum()), float(size[~positive].sum())
    if min(above, below) <= 0.0:
        return np.zeros_like(beta)
    excess = above - below
    heavier = positive == (excess > 0.0)
    scaled = heavier & np.where(positive, beta < dual.upper, beta > dual.lower)
    if size[scaled].sum() <= 2.0 * abs(excess):
        scaled = heavier
    part = 1.0 - abs(excess) / size[scaled].sum()
    return np.asarray(np.where(scaled, beta * part, beta))


def total(beta: Vector) -> float:
    """Return the sum of beta, which an equality holds constant, in the order of a dot product."""
    return float(np.ones_like(beta) @ beta)


def objective(beta: Vector, gradient: Vector, dual: Dual) -> float:
    """Return the dual objective from the gradient Kb + p.

    Parameters
    ----------
    beta, gradient : ndarray, shape (n,), float64
    dual : Dual
    """
    smooth = float(0.5 * np.dot(beta, gradient + dual.p))
    return smooth if dual.epsilon is None else smooth + float(np.dot(dual.epsilon, np.abs(beta)))


def duality_gap(gradient: Vector, beta: Vector, dual: Dual, *, equality: bool = False) -> float:
    """Return the primal minus the dual value: a bound on what the objective can still fall by.

    Without an equality it is sum_i b_i F_i + epsilon_i |b_i| + loss_i(F_i), where loss_i is
    `Dual.losses`. With one it is sum_i b_i F_i + epsilon_i |b_i| + loss_i(F_i + c) + c sum(b) at
    the bias c that minimises it: a convex, piecewise linear function whose slope changes by upper_i
    at c = -F_i - epsilon_i and by -lower_i at c = -F_i + epsilon_i. K must be positive
    semi-definite.

    Parameters
    ----------
    gradient, beta : ndarray, shape (n,), float64
    dual : Dual
    equality : bool, default False
        Whether sum(b) is held constant.
    """
    if equality and dual.spare is not None:
        gradient, dual = eased(gradient, dual, size_multiplier(gradient, beta, dual))
    smooth = gradient if dual.ridge is None else gradient - dual.ridge * beta
    value = float(np.dot(beta, smooth))
    if dual.epsilon is not None:
        value += float(np.dot(dual.epsilon, np.abs(beta)))
    if dual.ridge is not None:
        value += 0.5 * float(dual.ridge @ beta**2)
    if not equality:
        return float(value + _total_loss(smooth, dual))
    if beta.size == 0:
        return 0.0
    excess = total(beta)
    if dual.ridge is not None:  # a smooth loss: any bias gives a bound, the solution's the best
        c = bias(gradient, beta, dual)
        return float(value + _total_loss(smooth + c, dual) + c * excess)
    kinks, width = -gradient, dual.upper - dual.lower
    if dual.epsilon is not None:
        kinks = np.concatenate([kinks - dual.epsilon, kinks + dual.epsilon])
        width = np.concatenate([dual.upper, -dual.lower])
    order = np.argsort(kinks, kind="stable")
    slope = excess - dual.upper[dual.upper > 0.0].sum() + np.cumsum(width[order])
    at = min(int(np.searchsorted(slope, 0.0)), kinks.size - 1)
    c = float(kinks[order[at]])
    return float(value + _total_loss(gradient + c, dual) + c * excess)


def _total_loss(gradient: Vector, dual: Dual) -> float:
    if dual.ridge is not None:
        return float(dual.losses(gradient).sum())
    size = np.abs(gradient)
    if dual.epsilon is not None:
        size = np.maximum(0.0, size - dual.epsilon)
    return float(np.dot(np.where(gradient < 0.0, dual.upper, -dual.lower), size))
