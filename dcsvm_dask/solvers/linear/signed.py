"""Compiled passes of dual coordinate descent for problems whose variables have signs.

Rows as in `rows`; w as in `loops`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dcsvm_dask.compiled import njit
from dcsvm_dask.solvers.linear.loops import (
    AHEAD,
    DRAWN,
    NOTHING,
    OPTIONS,
    SHUFFLED,
    draw,
    shuffle,
)
from dcsvm_dask.solvers.linear.rows import add, dot, fetch

_u = np.uintp


@njit(**OPTIONS)
def _slopes(b: Any, g: Any, epsilon: Any) -> tuple[float, float]:
    """Return the derivatives for a rising and for a falling b, whose smooth part has slope g."""
    return (
        g + epsilon if b >= 0.0 else g - epsilon,
        g + epsilon if b > 0.0 else g - epsilon,
    )


@njit(**OPTIONS)
def descend_signed(
    rows: Any,
    p: Any,
    lower: Any,
    upper: Any,
    epsilon: Any,
    ridge: Any,
    curvature: Any,
    constant: Any,
    beta: Any,
    w: Any,
    order: Any,
    active: Any,
    high: Any,
    low: Any,
    tol: Any,
    most: Any,
    budget: Any,
    random: Any,
    history: Any,
    kind: Any,
    sooner: Any,
) -> tuple[int, int, int, float, float]:
    """Pass over the active rows until the violation of a pass is at most `tol`.

    Ho, Lin, JMLR 13, 2012, Algorithm 4: a step minimises over one variable exactly, across the
    kink at 0 (section 3.2.1). A row at a bound or at the kink is let go where all slopes that lead
    away are steeper than any projected gradient of the pass before (section 3.2.3).

    Parameters
    ----------
    p, lower, upper, epsilon, ridge, curvature : array, shape (n,), float64
        See `Dual`; Q_ii + D_ii.
    beta, w : array, shape (n,) and (d + 1,), float64
        Updated.
    constant, order, active, high, low, tol, most, budget, random, history, kind, sooner
        As for `loops.descend`.

    Returns
    -------
    passes, visits, active, high, low
        As of `loops.descend`.
    """
    last = _u(w.shape[0] - 1)
    passes = 0
    visits = 0
    violation = np.inf
    pool = order.copy() if kind == DRAWN else order
    while passes < most and visits < budget and violation > tol:
        steep = max(high, -low)
        if steep == 0.0:
            steep = np.inf
        steep *= sooner
        high = 0.0
        low = 0.0
        change = 0.0
        visits += active
        if kind == SHUFFLED:
            shuffle(order, active, random)
        elif kind == DRAWN:
            draw(order, pool, active, random)
        s = 0
        while s < active:
            i = _u(order[_u(s)])
            fetch(rows, _u(order[_u(min(s + AHEAD, active - 1))]))
            b = beta[i]
            g = dot(rows, i, w) + constant * w[last] + p[i] + ridge[i] * b
            up, down = _slopes(b, g, epsilon[i])
            rises = b < upper[i]
            falls = b > lower[i]
            if (not rises or up > steep) and (not falls or down < -steep):
                active -= 1
                order[_u(s)] = order[_u(active)]
                order[_u(active)] = i
                continue
            s += 1
            v = 0.0
            if rises and up < 0.0:
                v = up
            elif falls and down > 0.0:
                v = down
            high = max(high, v)
            low = min(low, v)
            # Rounding is relative to the targets, whose unit is the caller's.
            if abs(v) > NOTHING * (abs(p[i]) + epsilon[i]):
                # A row of zeros has no curvature: its step is infinite, up to the bound.
                best = 0.0
                if g + epsilon[i] < curvature[i] * b:
                    best = b - (g + epsilon[i]) / curvature[i]
                elif g - epsilon[i] > curvature[i] * b:
                    best = b - (g - epsilon[i]) / curvature[i]
                beta[i] = min(max(best, lower[i]), upper[i])
                step = beta[i] - b
                change += step * (g + 0.5 * curvature[i] * step)
                change += epsilon[i] * (abs(beta[i]) - abs(b))
                add(rows, i, step, w)
                w[last] += step * constant
        violation = high - low
        history[passes, 0] = change
        history[passes, 1] = violation
        passes += 1
    if kind == DRAWN:
        order[:] = pool
    return passes, visits, active, high, low


@njit(**OPTIONS)
def measure_signed(
    rows: Any,
    p: Any,
    lower: Any,
    upper: Any,
    epsilon: Any,
    ridge: Any,
    curvature: Any,  # noqa: ARG001 (the arguments begin as those of `descend_signed`)
    constant: Any,
    beta: Any,
    w: Any,
    fresh: Any,
) -> tuple[float, float, float]:
    """Return the largest (at least 0) and smallest (at most 0) projected gradient at beta and w.

    And the sum of the losses at w. Adds sum_i beta_i x_i to `fresh`: w, summed from scratch.
    """
    last = _u(w.shape[0] - 1)
    high = 0.0
    low = 0.0
    lost = 0.0
    for i in range(_u(beta.shape[0])):
        b = beta[i]
        g = dot(rows, i, w) + constant * w[last] + p[i]
        # The conjugate of the dual, as `Dual.losses` has it.
        bound = upper[i] if g < 0.0 else -lower[i]
        far = max(abs(g) - epsilon[i], 0.0)
        if ridge[i] > 0.0:
            bound = min(bound, far / ridge[i])
        lost += bound * far - 0.5 * ridge[i] * bound * bound
        up, down = _slopes(b, g + ridge[i] * b, epsilon[i])
        if b < upper[i]:
            low = min(low, up)
        if b > lower[i]:
            high = max(high, down)
        if b != 0.0:
            add(rows, i, b, fresh)
            fresh[last] += b * constant
    return high, low, lost
