"""Compiled passes of the sequential dual method for the linear SVM of Crammer and Singer.

Rows as in `rows`. W has a row more than there are features, that of the appended constant, and a
column for each class.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dcsvm_dask.compiled import njit
from dcsvm_dask.solvers.linear.loops import AHEAD, NOTHING, OPTIONS, shuffle
from dcsvm_dask.solvers.linear.rows import adds, dots, fetch

_u = np.uintp
FEW = 40
"""Values that are sorted sooner by putting each in its place."""
# A row rests whose violation is less than this share of that of the pass before.
_NEAR = 0.03


@njit(**OPTIONS)
def _gradient(rows: Any, i: Any, code: Any, constant: Any, W: Any, g: Any) -> None:
    """Write w_m'x_i + (m is not the row's class) of all classes m to `g`."""
    dots(rows, i, W, g)
    last = _u(W.shape[0] - 1)
    for m in range(_u(g.shape[0])):
        g[m] += constant * W[last, m] + 1.0
    g[_u(code)] -= 1.0


@njit(**OPTIONS)
def _extremes(alpha: Any, code: Any, C: Any, g: Any) -> tuple[float, float]:
    """Return the largest gradient of a row, and the smallest of variables that can grow."""
    high = -np.inf
    low = np.inf
    for m in range(_u(g.shape[0])):
        high = max(high, g[m])
        if alpha[m] < (C if m == code else 0.0):
            low = min(low, g[m])
    return high, low


@njit(**OPTIONS)
def _sort(d: Any) -> None:
    """Sort a few values, or many."""
    k = d.shape[0]
    if k > FEW:
        d.sort()
        return
    for m in range(1, k):
        x = d[_u(m)]
        q = m
        while q > 0 and d[_u(q - 1)] > x:
            d[_u(q)] = d[_u(q - 1)]
            q -= 1
        d[_u(q)] = x


@njit(**OPTIONS)
def _solve(alpha: Any, code: Any, C: Any, curvature: Any, g: Any, d: Any, steps: Any) -> None:
    """Minimise over all variables of a row; write the changes to `steps`.

    A variable is min(bound, (t - B_m) / A) with A the curvature, B_m = g_m - A alpha_m and t such
    that they sum to zero: t passes the points d_m = B_m + A bound where variables get free.
    """
    k = _u(g.shape[0])
    for m in range(k):
        d[m] = g[m] - curvature * alpha[m]
    d[_u(code)] += curvature * C
    _sort(d)
    t = d[k - _u(1)] - curvature * C
    free = 1
    while free < g.shape[0] and t < free * d[_u(g.shape[0] - 1 - free)]:
        t += d[_u(g.shape[0] - 1 - free)]
        free += 1
    t /= free
    for m in range(k):
        bound = C if m == code else 0.0
        steps[m] = min(bound, (t - g[m]) / curvature + alpha[m]) - alpha[m]


@njit(**OPTIONS)
def descend_classes(
    rows: Any,
    codes: Any,
    C: Any,
    curvature: Any,
    constant: Any,
    alpha: Any,
    W: Any,
    order: Any,
    active: Any,
    before: Any,
    tol: Any,
    most: Any,
    budget: Any,
    random: Any,
    history: Any,
) -> tuple[int, int, int, float]:
    """Pass over the active rows until the violation of a pass is at most `tol`.

    Keerthi, Sundararajan, Chang, Hsieh, Lin, KDD 2008: the variables of a row are solved for at a
    time. A row whose violation is far below that of the pass before is let go, until all are
    visited again.

    Parameters
    ----------
    codes : array, shape (n,), int32
        The class of each row.
    C, curvature : array, shape (n,), float64
        Costs; x_i'x_i, above 0 for rows that take part.
    alpha, W : array, shape (n, k) and (d + 1, k), float64
        Updated.
    order, active, tol, most, budget, random, history
        As for `loops.descend`.
    before : float
        Violation of the pass before; 0 lets those rows go that violate nothing.

    Returns
    -------
    passes, visits, active, violation
    """
    k = alpha.shape[1]
    g = np.empty(k)
    d = np.empty(k)
    steps = np.empty(k)
    last = _u(W.shape[0] - 1)
    passes = 0
    visits = 0
    violation = np.inf
    while passes < most and visits < budget and violation > tol:
        violation = 0.0
        change = 0.0
        visits += active
        shuffle(order, active, random)
        s = 0
        while s < active:
            i = _u(order[_u(s)])
            fetch(rows, _u(order[_u(min(s + AHEAD, active - 1))]))
            code = codes[i]
            _gradient(rows, i, code, constant, W, g)
            high, low = _extremes(alpha[i], code, C[i], g)
            if high - low <= _NEAR * before:
                active -= 1
                order[_u(s)] = order[_u(active)]
                order[_u(active)] = i
                continue
            s += 1
            violation = max(violation, high - low)
            if high - low <= NOTHING:
                continue
            _solve(alpha[i], code, C[i], curvature[i], g, d, steps)
            for m in range(_u(k)):
                alpha[i, m] += steps[m]
                change += steps[m] * (g[m] + 0.5 * curvature[i] * steps[m])
            adds(rows, i, steps, W)
            for m in range(_u(k)):
                W[last, m] += steps[m] * constant
        before = violation
        history[passes, 0] = change
        history[passes, 1] = violation
        passes += 1
    return passes, visits, active, violation


@njit(**OPTIONS)
def measure_classes(
    rows: Any, codes: Any, C: Any, constant: Any, alpha: Any, W: Any
) -> tuple[float, float]:
    """Return the largest violation of a row, and the sum of the losses."""
    g = np.empty(alpha.shape[1])
    violation = 0.0
    lost = 0.0
    for i in range(_u(alpha.shape[0])):
        if C[i] > 0.0:
            code = codes[i]
            _gradient(rows, i, code, constant, W, g)
            high, low = _extremes(alpha[i], code, C[i], g)
            violation = max(violation, high - low)
            lost += C[i] * (high - g[_u(code)])
    return violation, lost


@njit(**OPTIONS)
def sum_classes(rows: Any, constant: Any, alpha: Any, W: Any) -> None:
    """Add sum_i x_i alpha_i' to `W`."""
    last = _u(W.shape[0] - 1)
    for i in range(_u(alpha.shape[0])):
        if np.any(alpha[i] != 0.0):
            adds(rows, i, alpha[i], W)
            for m in range(_u(alpha.shape[1])):
                W[last, m] += alpha[i, m] * constant
