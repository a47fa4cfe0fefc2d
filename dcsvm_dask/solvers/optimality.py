"""How far a point of the dual problem is from optimal, all in float64.

The problem is min 0.5 b'Kb + p'b + epsilon'|b| over lower <= b <= upper, with or without sum(b)
kept constant; F = Kb + p is the gradient of its smooth part. See `dcsvm_dask.tasks.Dual`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.tasks import Dual

Vector = NDArray[np.float64]


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

    Of several groups it is the largest.

    Parameters
    ----------
    gradient, beta : ndarray, shape (n,), float64
    dual : Dual
    """
    pairs = (multiplier_interval(gradient[mine], beta[mine], dual[mine]) for mine in dual.groups)
    return max(0.0, *(m - M for m, M in pairs))


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
    free = dual.is_free(beta)
    if free.any():
        return float(np.mean(-dual.slopes(gradient, beta)[0][free]))
    m, M = multiplier_interval(gradient, beta, dual)
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
