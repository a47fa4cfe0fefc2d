"""Compiled passes of dual coordinate descent for linear SVMs.

Rows as in `rows`. w has one value more than there are features: that of the constant that
is appended to every row.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dcsvm_dask.compiled import njit
from dcsvm_dask.solvers.linear.rows import add, dot, fetch, square

_u = np.uintp
_u64 = np.uint64
OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy"}
NOTHING = 1e-12
"""A smaller projected gradient is rounding: no step is taken, as in LIBLINEAR."""
SHUFFLED, FIXED, DRAWN = range(3)
"""The orders in which a pass visits rows: each once in random order, each once as they lie, or as
many as there are, drawn with replacement."""
AHEAD = 4
"""Rows that are asked for ahead of their turn."""


@njit(**OPTIONS)
def squares(rows: Any, constant: Any, ridge: Any, curvature: Any) -> None:
    """Write Q_ii + D_ii of all rows to `curvature`."""
    for i in range(_u(curvature.shape[0])):
        curvature[i] = square(rows, i) + constant * constant + ridge[i]


@njit(**OPTIONS)
def shuffle(order: Any, active: Any, random: Any) -> None:
    """Shuffle the first rows of an order, by SplitMix64 whose state is `random`."""
    n = _u64(active)
    z = random[0]
    for s in range(n):
        random[0] += _u64(0x9E3779B97F4A7C15)
        z = random[0]
        z = (z ^ (z >> _u64(30))) * _u64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> _u64(27))) * _u64(0x94D049BB133111EB)
        # The upper half of z as a fraction of the rows that are left, which are below 2^32.
        t = s + (((z >> _u64(32)) * (n - s)) >> _u64(32))
        order[s], order[t] = order[t], order[s]


@njit(**OPTIONS)
def draw(order: Any, pool: Any, active: Any, random: Any) -> None:
    """Write as many rows of a pool to an order, drawn with replacement, by the same generator."""
    n = _u64(active)
    for s in range(n):
        random[0] += _u64(0x9E3779B97F4A7C15)
        z = random[0]
        z = (z ^ (z >> _u64(30))) * _u64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> _u64(27))) * _u64(0x94D049BB133111EB)
        order[s] = pool[((z >> _u64(32)) * n) >> _u64(32)]


@njit(**OPTIONS)
def descend(
    rows: Any,
    y: Any,
    upper: Any,
    ridge: Any,
    curvature: Any,
    constant: Any,
    alpha: Any,
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

    Hsieh, Chang, Lin, Keerthi, Sundararajan, ICML 2008, Algorithm 3, step 2, in random order. A
    row at a bound is let go where its gradient points outwards by more than any projected
    gradient of the pass before (16).

    Parameters
    ----------
    y, upper, ridge, curvature : array, shape (n,), float64
        Labels; bounds U_i above 0; D_ii; Q_ii + D_ii.
    constant : float
        Value of the feature that is appended to every row.
    alpha, w : array, shape (n,) and (d + 1,), float64
        Updated.
    order : array, shape (m,), int32
        Rows that take part; the first `active` of them are visited. Updated: rows that were let
        go stand behind the others.
    high, low : float
        Largest and smallest projected gradient of the pass before; 0 lets no row go.
    tol, most, budget : float, int, int
        Passes end at this violation, after so many of them, or once so many rows were visited.
    random : array, shape (1,), uint64
        State of the generator. Updated.
    history : array, shape (at least most, 2), float64
        Receives what each pass changed the objective by, and its violation.
    kind, sooner : int, float
        See `Visits`.

    Returns
    -------
    passes, visits, active, high, low
        high >= 0 >= low are those of the last pass, met on the way; its violation is high - low.
    """
    last = _u(w.shape[0] - 1)
    passes = 0
    visits = 0
    violation = np.inf
    pool = order.copy() if kind == DRAWN else order
    while passes < most and visits < budget and violation > tol:
        above = sooner * high if high > 0.0 else np.inf
        below = sooner * low if low < 0.0 else -np.inf
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
            a = alpha[i]
            g = y[i] * (dot(rows, i, w) + constant * w[last]) - 1.0 + ridge[i] * a
            if (a == 0.0 and g > above) or (a == upper[i] and g < below):
                active -= 1
                order[_u(s)] = order[_u(active)]
                order[_u(active)] = i
                continue
            s += 1
            p = g
            if a == 0.0:
                p = min(g, 0.0)
            elif a == upper[i]:
                p = max(g, 0.0)
            high = max(high, p)
            low = min(low, p)
            if abs(p) > NOTHING:
                # A row of zeros has no curvature: its step is infinite, up to the bound.
                alpha[i] = min(max(a - g / curvature[i], 0.0), upper[i])
                step = alpha[i] - a
                change += step * (g + 0.5 * curvature[i] * step)
                add(rows, i, step * y[i], w)
                w[last] += step * y[i] * constant
        violation = high - low
        history[passes, 0] = change
        history[passes, 1] = violation
        passes += 1
    if kind == DRAWN:
        order[:] = pool
    return passes, visits, active, high, low


@njit(**OPTIONS)
def measure(
    rows: Any,
    y: Any,
    upper: Any,
    ridge: Any,
    curvature: Any,  # noqa: ARG001 (the arguments begin as those of `descend`)
    constant: Any,
    alpha: Any,
    w: Any,
    fresh: Any,
) -> tuple[float, float, float]:
    """Return the largest (at least 0) and smallest (at most 0) projected gradient at alpha and w.

    And the sum of the losses at w. Adds sum_i alpha_i y_i x_i to `fresh`: w, summed from scratch.
    """
    last = _u(w.shape[0] - 1)
    high = 0.0
    low = 0.0
    lost = 0.0
    for i in range(_u(alpha.shape[0])):
        a = alpha[i]
        g = y[i] * (dot(rows, i, w) + constant * w[last]) - 1.0
        short = max(-g, 0.0)
        lost += 0.5 * short * short / ridge[i] if ridge[i] > 0.0 else upper[i] * short
        g += ridge[i] * a
        if a > 0.0:
            high = max(high, g)
            add(rows, i, a * y[i], fresh)
            fresh[last] += a * y[i] * constant
        if a < upper[i]:
            low = min(low, g)
    return high, low, lost
