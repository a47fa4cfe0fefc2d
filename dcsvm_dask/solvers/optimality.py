"""How far a point of the dual problem is from optimal, all in float64.

The problem is min 0.5 a'Qa + p'a over 0 <= a_i <= C_i, with or without y'a held constant;
g = Qa + p is its gradient.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]


def violation_box(gradient: Vector, alpha: Vector, C: float | Vector) -> float:
    """Return the largest absolute projected gradient of the problem without an offset.

    Parameters
    ----------
    gradient, alpha : array, shape (n,)
    C : float or array, shape (n,)
        Upper bounds.

    Returns
    -------
    float
        0 at the answer (and for n = 0).
    """
    rising = np.max(-gradient, where=alpha < C, initial=0.0)
    falling = np.max(gradient, where=alpha > 0.0, initial=0.0)
    return float(max(rising, falling))


def multiplier_interval(
    gradient: Vector, alpha: Vector, y: Vector, C: float | Vector
) -> tuple[float, float]:
    """Return m(alpha) and M(alpha) of LIBSVM: the offsets b that are optimal are m <= b <= M.

    m is the largest -y_i g_i over the rows whose y_i a_i can rise, M the smallest over those
    whose y_i a_i can fall (Fan, Chen, Lin, JMLR 6, 2005, section 2). Without such rows they are
    -inf and +inf.
    """
    below, above = alpha < C, alpha > 0.0
    positive = y > 0
    up = np.where(positive, below, above)
    low = np.where(positive, above, below)
    slope = -y * gradient
    return (
        float(np.max(slope, where=up, initial=-np.inf)),
        float(np.min(slope, where=low, initial=np.inf)),
    )


def violation_pair(gradient: Vector, alpha: Vector, y: Vector, C: float | Vector) -> float:
    """Return m(alpha) - M(alpha), the violation that LIBSVM's tolerance bounds, at least 0.

    Parameters
    ----------
    gradient, alpha : array, shape (n,)
    y : array, shape (n,)
        Labels -1.0 and +1.0.
    C : float or array, shape (n,)
    """
    m, M = multiplier_interval(gradient, alpha, y, C)
    return max(0.0, m - M)


def bias(gradient: Vector, alpha: Vector, y: Vector, C: float | Vector) -> float:
    """Return the offset b of the decision value f + b (the negative of LIBSVM's rho).

    The mean of -y_i g_i over the free rows; without free rows the middle of the interval
    [m, M] of optimal offsets, or its finite end where one class is all there is.
    """
    free = (alpha > 0.0) & (alpha < C)
    if free.any():
        return float(np.mean(-y[free] * gradient[free]))
    m, M = multiplier_interval(gradient, alpha, y, C)
    if np.isinf(m) and np.isinf(M):
        return 0.0
    if np.isinf(m):
        return M
    return m if np.isinf(M) else 0.5 * (m + M)


def balanced(alpha: Vector, y: Vector, C: float | Vector) -> Vector:
    """Return alpha with the heavier class scaled down so that y'alpha = 0.

    Its free variables alone where they hold enough: one at its bound that leaves it by however
    little counts as one that violates.
    """
    positive = y > 0
    excess = float(alpha[positive].sum() - alpha[~positive].sum())
    if min(alpha[positive].sum(), alpha[~positive].sum()) <= 0.0:
        return np.zeros_like(alpha)
    heavier = positive == (excess > 0.0)
    scaled = heavier & (alpha < C)
    if alpha[scaled].sum() <= 2.0 * abs(excess):
        scaled = heavier
    part = 1.0 - abs(excess) / alpha[scaled].sum()
    return np.asarray(np.where(scaled, alpha * part, alpha))


def objective(alpha: Vector, gradient: Vector, p: float | Vector = -1.0) -> float:
    """Return 0.5 a'Qa + p'a from the gradient Qa + p."""
    return float(0.5 * np.dot(alpha, gradient + p))


def duality_gap(
    gradient: Vector, alpha: Vector, C: float | Vector, y: Vector | None = None
) -> float:
    """Return the primal minus the dual value: a bound on what the objective can still fall by.

    Without an offset sum_i a_i g_i + C_i max(0, -g_i). With one (y given) it is
    sum_i a_i g_i + C_i max(0, -g_i - y_i b) + b y'a at the b that minimises it: a convex,
    piecewise linear function whose slope changes by C_i at b = -y_i g_i. Q must be positive
    semi-definite.

    Parameters
    ----------
    gradient, alpha : array, shape (n,)
    C : float or array, shape (n,)
    y : array, shape (n,), optional
        Labels, for the problem with y'a constant.
    """
    bounds = np.broadcast_to(np.asarray(C, dtype=np.float64), alpha.shape)
    if y is None:
        return float(np.dot(alpha, gradient) + np.dot(bounds, np.maximum(0.0, -gradient)))
    if alpha.size == 0:
        return 0.0
    total = float(np.dot(y, alpha))
    kinks = -y * gradient
    order = np.argsort(kinks, kind="stable")
    slope = total - bounds[y > 0].sum() + np.cumsum(bounds[order])
    at = min(int(np.searchsorted(slope, 0.0)), alpha.size - 1)
    b = float(kinks[order[at]])
    hinge = np.maximum(0.0, -gradient - y * b)
    return float(np.dot(alpha, gradient) + np.dot(bounds, hinge) + b * total)
