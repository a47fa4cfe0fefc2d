"""Steps of sequential minimal optimisation, with and without an equality."""

from __future__ import annotations

from typing import Any

import numpy as np

from dcsvm_dask.compiled import njit
from dcsvm_dask.kernels.row_by_row import ask
from dcsvm_dask.kernels.vectors import INNER
from dcsvm_dask.solvers.smo.loops import (
    FAR,
    TAU,
    box_partner,
    box_update,
    falling,
    pair_curvature,
    pair_partner,
    pair_update,
    projected,
)

# Steps in a row that need no new row of K: from then on the rows that are there make a problem of
# their own, of shorter steps.
_PATIENCE = 16


@njit(cache=True, nogil=True)
def pair_steps(
    K: Any,
    G: Any,
    diagonal: Any,
    beta: Any,
    lower: Any,
    upper: Any,
    lo: Any,
    hi: Any,
    epsilon: Any,
    zone: Any,
    unit: Any,
    tol: Any,
    max_steps: Any,
    asked: Any,
) -> tuple[int, float, float]:
    """Minimise 0.5 b'Kb + q'b + epsilon'|b| over lower <= b <= upper with sum(b) constant.

    The pair is LIBSVM's: i is the row whose gradient pulls up most, j the one that gains most
    with it by the second-order model (Fan, Chen, Lin, JMLR 6, 2005, WSS 2); b_i rises by what
    b_j falls.

    Given and updated as for `box_steps`; G may be shifted by a constant. Where `asked` is not None
    it says where the rows of K are, and computes those that are not there (`kernels.row_by_row`);
    steps end, too, where it should not be asked for more, or has not been for `_PATIENCE` steps.
    Returns the number of steps, the violation m - M (at least 0), and (m + M) / 2, by which G is
    off its middle.
    """
    i = 0
    step = 0.0
    steps = 0
    known = 0
    since = 0
    twice = np.float32(2.0 * unit)
    at_i = at_j = ask(K, asked, np.int64(i))
    while True:
        up = np.float32(step * unit)
        i, fall = pair_update(G, K[at_i], K[at_j], lo, hi, zone, up, -up)
        rise = -G[i] if lo[i] < 0.0 else -FAR
        violation = np.float64(rise) + np.float64(fall)
        ends = not violation > tol or steps >= max_steps
        if asked is not None:
            if asked.number[0] > known:
                known = asked.number[0]
                since = steps
            ends = ends or known >= asked.most or steps - since > _PATIENCE
        if ends:
            return steps, max(0.0, violation), 0.5 * (np.float64(rise) - np.float64(fall))
        at_i = ask(K, asked, np.int64(i))
        j = pair_partner(G, hi, zone, diagonal, K[at_i], twice, G[i], diagonal[i])
        at_j = ask(K, asked, np.int64(j))
        a = pair_curvature(diagonal[i], diagonal[j], np.float64(K[at_i, j]) * unit)
        room_i = upper[i] - beta[i]
        room_j = beta[j] - lower[j]
        slope = np.float64(G[i]) - np.float64(falling(G[j], zone, j))
        step = min(_along(slope, a, beta[i], beta[j], epsilon, i, j), room_i, room_j)
        before_i = beta[i]
        before_j = beta[j]
        beta[i] = upper[i] if step == room_i else beta[i] + step
        beta[j] = lower[j] if step == room_j else beta[j] - step
        lo[i] = -FAR if beta[i] < upper[i] else np.float32(0.0)
        hi[i] = FAR
        lo[j] = -FAR
        hi[j] = FAR if beta[j] > lower[j] else np.float32(0.0)
        if zone is not None:
            _pass_kink(G, zone, epsilon, i, before_i, beta[i])
            _pass_kink(G, zone, epsilon, j, before_j, beta[j])
        steps += 1


@njit(cache=True, nogil=True)
def group_steps(
    K: Any,
    G: Any,
    diagonal: Any,
    beta: Any,
    lower: Any,
    upper: Any,
    lo: Any,
    hi: Any,
    borders: Any,
    shifts: Any,
    tol: Any,
    max_steps: Any,
) -> tuple[int, float]:
    """Minimise as `pair_steps` with the sum of each group constant: pairs are of one group.

    Of the groups that whose variables violate most has the next pair, as in LIBSVM's solver of
    nu-SVC and nu-SVR (Chang, Lin, Neural Computation 14, 2002).

    Given as for `pair_steps`, without kinks; the variables of group g are those from borders[g] to
    borders[g + 1]. Writes by how much G is off the middle of each group into `shifts`; returns the
    number of steps and the largest violation.
    """
    i = 0
    j = 0
    step = 0.0
    steps = 0
    while True:
        violation = -np.inf
        top = 0
        group = 0
        for g in range(len(borders) - 1):
            a = borders[g]
            b = borders[g + 1]
            if a == b:
                continue
            mine = slice(a, b)
            up = np.float32(step)
            k, fall = pair_update(
                G[mine], K[i][mine], K[j][mine], lo[mine], hi[mine], None, up, -up
            )
            rise = -G[a + k] if lo[a + k] < 0.0 else -FAR
            shifts[g] = 0.5 * (np.float64(rise) - np.float64(fall))
            if np.float64(rise) + np.float64(fall) > violation:
                violation = np.float64(rise) + np.float64(fall)
                top = a + k
                group = g
        if not violation > tol or steps >= max_steps:
            return steps, max(0.0, violation)
        i = top
        a = borders[group]
        mine = slice(a, borders[group + 1])
        j = a + pair_partner(
            *(G[mine], hi[mine], None, diagonal[mine], K[i][mine]), np.float32(2), G[i], diagonal[i]
        )
        curvature = pair_curvature(diagonal[i], diagonal[j], np.float64(K[i, j]))
        room_i = upper[i] - beta[i]
        room_j = beta[j] - lower[j]
        step = min((np.float64(G[j]) - np.float64(G[i])) / curvature, room_i, room_j)
        beta[i] = upper[i] if step == room_i else beta[i] + step
        beta[j] = lower[j] if step == room_j else beta[j] - step
        lo[i] = -FAR if beta[i] < upper[i] else np.float32(0.0)
        hi[i] = FAR
        lo[j] = -FAR
        hi[j] = FAR if beta[j] > lower[j] else np.float32(0.0)
        steps += 1


@njit(**INNER)
def _along(slope: Any, a: Any, b_i: Any, b_j: Any, epsilon: Any, i: Any, j: Any) -> float:
    """Return the step that minimises the objective along a pair: b_i rises, b_j falls.

    Without kinks that is -slope / a. At b_i = 0 or b_j = 0 the slope rises by twice epsilon: the
    step ends there, exactly, or goes on with the smaller slope.
    """
    if epsilon is None:
        return -slope / a
    first = -b_i if b_i < 0.0 else np.inf
    second = b_j if b_j > 0.0 else np.inf
    rise = 2.0 * epsilon[i]
    other = 2.0 * epsilon[j]
    if second < first:
        first, second = second, first
        rise, other = other, rise
    if -slope <= a * first:
        return -slope / a
    slope += rise
    if -slope <= a * first:
        return first
    if -slope <= a * second:
        return -slope / a
    slope += other
    return second if -slope <= a * second else -slope / a


@njit(**INNER)
def _pass_kink(G: Any, zone: Any, epsilon: Any, k: Any, before: Any, now: Any) -> None:
    """Set the slopes of a variable that has moved: its part of epsilon follows its sign."""
    if before < 0.0 and now >= 0.0:
        G[k] += np.float32(2.0 * epsilon[k])
    elif before >= 0.0 and now < 0.0:
        G[k] -= np.float32(2.0 * epsilon[k])
    zone[k] = np.float32(2.0 * epsilon[k]) if now == 0.0 else np.float32(0.0)


@njit(**INNER)
def _edge(a: Any, g: Any, lower: Any, upper: Any) -> float:
    """Return the minimiser of 0.5 a d^2 + g d over [lower, upper]."""
    return min(max(-g / a, lower), upper)


@njit(**INNER)
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


@njit(**INNER)
def _kinked_rectangle(
    a: Any,
    b: Any,
    c: Any,
    g: Any,
    h: Any,
    lower: Any,
    upper: Any,
    beta: Any,
    epsilon: Any,
    i: Any,
    j: Any,
) -> tuple[float, float]:
    """Minimise as `_rectangle` with epsilon_i |b_i + s| + epsilon_j |b_j + t|; g and h without.

    The rectangle is cut where b_i + s or b_j + t is zero; in each part the problem is smooth.
    """
    best = np.inf
    best_s = 0.0
    best_t = 0.0
    for side_i in (-1.0, 1.0):
        low_i = max(lower[i], 0.0) if side_i > 0.0 else lower[i]
        high_i = upper[i] if side_i > 0.0 else min(upper[i], 0.0)
        for side_j in (-1.0, 1.0):
            low_j = max(lower[j], 0.0) if side_j > 0.0 else lower[j]
            high_j = upper[j] if side_j > 0.0 else min(upper[j], 0.0)
            u = g + side_i * epsilon[i]
            v = h + side_j * epsilon[j]
            s, t = _rectangle(
                a, b, c, u, v, low_i - beta[i], high_i - beta[i], low_j - beta[j], high_j - beta[j]
            )
            value = 0.5 * (a * s * s + 2.0 * b * s * t + c * t * t) + u * s + v * t
            value += side_i * epsilon[i] * beta[i] + side_j * epsilon[j] * beta[j]
            if value < best:
                best = value
                best_s = s
                best_t = t
    return best_s, best_t


@njit(**INNER)
def _kinked_edge(a: Any, g: Any, lower: Any, upper: Any, beta: Any, epsilon: Any) -> float:
    """Return the minimiser of 0.5 a d^2 + g d + epsilon |beta + d| over [lower, upper] - beta."""
    end = beta - (g + epsilon) / a
    if end < 0.0:
        end = min(0.0, beta - (g - epsilon) / a)
    return min(max(end, lower), upper) - beta


@njit(**INNER)
def _smooth(G: Any, epsilon: Any, beta: Any, k: Any) -> float:
    """Return the gradient of the smooth part, given the slopes for rising variables."""
    return np.float64(G[k]) - (epsilon[k] if beta[k] >= 0.0 else -epsilon[k])


@njit(**INNER)
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
    epsilon: Any,
    zone: Any,
    unit: Any,
    tol: Any,
    max_steps: Any,
) -> tuple[int, float]:
    """Minimise 0.5 b'Kb + q'b + epsilon'|b| over lower <= b <= upper, two variables at a time.

    The first variable has the largest projected gradient, the second gains most by the
    second-order model after the Newton step of the first (Steinwart, Hush, Scovel, JMLR 12,
    2011, section 3, with the gain of Fan, Chen, Lin, JMLR 6, 2005); then the two-variable
    problem is solved exactly within its rectangle.

    Given: K (m, m) in units of `unit`; the slopes G for rising variables in float32; the diagonal
    of the kernel matrix; b and its bounds in float64; where each variable may go, and its kink
    (see `loops`). G, b, lo, hi, zone
    are updated. Returns the number of steps and the largest projected gradient, at most `tol`
    unless `max_steps` were taken.
    """
    i = 0
    j = 0
    s = 0.0
    t = 0.0
    steps = 0
    while True:
        i = box_update(G, K[i], K[j], lo, hi, zone, np.float32(s * unit), np.float32(t * unit))
        worst = abs(projected(G[i], lo, hi, zone, i))
        if not worst > tol or steps >= max_steps:
            return steps, worst
        a = np.float64(diagonal[i])
        g = np.float64(projected(G[i], lo, hi, zone, i))
        down_i = lower[i] - beta[i]
        up_i = upper[i] - beta[i]
        lo_i = lo[i]
        hi_i = hi[i]
        lo[i] = 0.0
        hi[i] = 0.0
        ratio = np.float32(g / a * unit)
        inverse = np.float32(1.0 / a * unit * unit)
        j = box_partner(G, lo, hi, zone, diagonal, K[i], ratio, inverse)
        lo[i] = lo_i
        hi[i] = hi_i
        before_i = beta[i]
        before_j = beta[j]
        down_j = lower[j] - beta[j]
        up_j = upper[j] - beta[j]
        if epsilon is not None:
            g = _smooth(G, epsilon, beta, i)
            if j == i:
                s = _kinked_edge(a, g, lower[i], upper[i], beta[i], epsilon[i])
                t = 0.0
            else:
                b = np.float64(K[i, j]) * unit
                c = np.float64(diagonal[j])
                h = _smooth(G, epsilon, beta, j)
                s, t = _kinked_rectangle(a, b, c, g, h, lower, upper, beta, epsilon, i, j)
        elif j == i:
            s = _edge(a, g, down_i, up_i)
            t = 0.0
        else:
            s, t = _rectangle(
                a,
                np.float64(K[i, j]) * unit,
                np.float64(diagonal[j]),
                g,
                np.float64(G[j]),
                down_i,
                up_i,
                down_j,
                up_j,
            )
        if j != i:
            _move(beta, lower, upper, lo, hi, j, t, down_j, up_j)
        _move(beta, lower, upper, lo, hi, i, s, down_i, up_i)
        if epsilon is not None:
            _pass_kink(G, zone, epsilon, i, before_i, beta[i])
            if j != i:
                _pass_kink(G, zone, epsilon, j, before_j, beta[j])
        steps += 1
