"""Steps of sequential minimal optimisation for the problem without an equality."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from dcsvm_dask.solvers.smo_loops import FAR, box_partner, box_update

TAU = 1e-12


@njit(cache=True, nogil=True)
def _edge(a: Any, g: Any, lower: Any, upper: Any) -> float:
    """Return the minimiser of 0.5 a d^2 + g d over [lower, upper]."""
    return min(max(-g / a, lower), upper)


@njit(cache=True, nogil=True)
def _rectangle(
    a: Any, b: Any, c: Any, g: Any, h: Any, lower_i: Any, upper_i: Any, lower_j: Any, upper_j: Any
) -> tuple[float, float]:
    """Minimise 0.5 (a s^2 + 2 b s t + c t^2) + g s + h t over a rectangle, exactly."""
    det = a * c - b * b
    if det > TAU * a * c:
        s = (b * h - c * g) / det
        t = (b * g - a * h) / det
        if lower_i <= s <= upper_i and lower_j <= t <= upper_j:
            return s, t
    best = np.inf
    best_s = 0.0
    best_t = 0.0
    for edge in range(4):
        if edge < 2:
            s = lower_i if edge == 0 else upper_i
            t = _edge(c, h + b * s, lower_j, upper_j)
        else:
            t = lower_j if edge == 2 else upper_j
            s = _edge(a, g + b * t, lower_i, upper_i)
        value = 0.5 * (a * s * s + 2.0 * b * s * t + c * t * t) + g * s + h * t
        if value < best:
            best = value
            best_s = s
            best_t = t
    return best_s, best_t


@njit(cache=True, nogil=True)
def _move(
    beta: Any,
    lower: Any,
    upper: Any,
    lo: Any,
    hi: Any,
    k: Any,
    step: Any,
    room_down: Any,
    room_up: Any,
) -> None:
    """Add a step to one variable; a step that takes all its room ends exactly on the bound."""
    if step == room_up:
        beta[k] = upper[k]
    elif step == room_down:
        beta[k] = lower[k]
    else:
        beta[k] += step
    lo[k] = -FAR if beta[k] < upper[k] else np.float32(0.0)
    hi[k] = FAR if beta[k] > lower[k] else np.float32(0.0)


@njit(cache=True, nogil=True)
def box_steps(
    K: Any,
    G: Any,
    diagonal: Any,
    beta: Any,
    lower: Any,
    upper: Any,
    lo: Any,
    hi: Any,
    tol: Any,
    max_steps: Any,
) -> tuple[int, float]:
    """Minimise 0.5 b'Kb + q'b over lower <= b <= upper, two variables at a time.

    The first variable has the largest projected gradient, the second gains most by the
    second-order model after the Newton step of the first (Steinwart, Hush, Scovel, JMLR 12,
    2011, section 3, with the gain of Fan, Chen, Lin, JMLR 6, 2005); then the two-variable
    problem is solved exactly within its rectangle.

    Given: K (m, m); G = Kb + q in float32; the diagonal of K; b and its bounds in float64; where
    each variable may go (`smo_loops`). G, b, lo, hi are updated. Returns the number of steps and
    the largest projected gradient, at most `tol` unless `max_steps` were taken.
    """
    i = 0
    j = 0
    s = 0.0
    t = 0.0
    steps = 0
    while True:
        i = box_update(G, K[i], K[j], lo, hi, np.float32(s), np.float32(t))
        worst = abs(min(max(G[i], lo[i]), hi[i]))
        if not worst > tol or steps >= max_steps:
            return steps, worst
        a = np.float64(diagonal[i])
        g = np.float64(G[i])
        down_i = lower[i] - beta[i]
        up_i = upper[i] - beta[i]
        lo_i = lo[i]
        hi_i = hi[i]
        lo[i] = 0.0
        hi[i] = 0.0
        j = box_partner(G, lo, hi, diagonal, K[i], np.float32(g / a), np.float32(1.0 / a))
        lo[i] = lo_i
        hi[i] = hi_i
        if j == i:
            s = _edge(a, g, down_i, up_i)
            t = 0.0
        else:
            down_j = lower[j] - beta[j]
            up_j = upper[j] - beta[j]
            s, t = _rectangle(
                a,
                np.float64(K[i, j]),
                np.float64(diagonal[j]),
                g,
                np.float64(G[j]),
                down_i,
                up_i,
                down_j,
                up_j,
            )
            _move(beta, lower, upper, lo, hi, j, t, down_j, up_j)
        _move(beta, lower, upper, lo, hi, i, s, down_i, up_i)
        steps += 1
