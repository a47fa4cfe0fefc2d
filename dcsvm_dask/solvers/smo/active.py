"""The active rows of a block: the part of the problem that the inner loops see.

Steps of sequential minimal optimisation for the problem without an equality.

Steps of sequential minimal optimisation for the problem with one equality.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from dcsvm_dask.solvers.program import QuadraticProgram
from dcsvm_dask.solvers.smo.columns import take
from dcsvm_dask.solvers.smo.loops import (
    FAR,
    box_partner,
    box_update,
    falling,
    pair_partner,
    pair_update,
    projected,
)
from dcsvm_dask.tasks.dual import N_GROUPS

TAU = 1e-12


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
    tol: Any,
    max_steps: Any,
) -> tuple[int, float, float]:
    """Minimise 0.5 b'Kb + q'b + epsilon'|b| over lower <= b <= upper with sum(b) constant.

    The pair is LIBSVM's: i is the row whose gradient pulls up most, j the one that gains most
    with it by the second-order model (Fan, Chen, Lin, JMLR 6, 2005, WSS 2); b_i rises by what
    b_j falls.

    Given and updated as for `box_steps`; G may be shifted by a constant. Returns the number of
    steps, the violation m - M (at least 0), and (m + M) / 2, by which G is off its middle.
    """
    i = 0
    j = 0
    step = 0.0
    steps = 0
    while True:
        i, fall = pair_update(G, K[i], K[j], lo, hi, zone, np.float32(step), np.float32(-step))
        rise = -G[i] if lo[i] < 0.0 else -FAR
        violation = np.float64(rise) + np.float64(fall)
        if not violation > tol or steps >= max_steps:
            return steps, max(0.0, violation), 0.5 * (np.float64(rise) - np.float64(fall))
        j = pair_partner(G, hi, zone, diagonal, K[i], G[i], diagonal[i])
        both = np.float64(diagonal[i]) + np.float64(diagonal[j])
        a = max(both - 2.0 * np.float64(K[i, j]), TAU * both)
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
        j = a + pair_partner(G[mine], hi[mine], None, diagonal[mine], K[i][mine], G[i], diagonal[i])
        both = np.float64(diagonal[i]) + np.float64(diagonal[j])
        curvature = max(both - 2.0 * np.float64(K[i, j]), TAU * both)
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


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def _pass_kink(G: Any, zone: Any, epsilon: Any, k: Any, before: Any, now: Any) -> None:
    """Set the slopes of a variable that has moved: its part of epsilon follows its sign."""
    if before < 0.0 and now >= 0.0:
        G[k] += np.float32(2.0 * epsilon[k])
    elif before >= 0.0 and now < 0.0:
        G[k] -= np.float32(2.0 * epsilon[k])
    zone[k] = np.float32(2.0 * epsilon[k]) if now == 0.0 else np.float32(0.0)


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


@njit(cache=True, nogil=True)
def _kinked_edge(a: Any, g: Any, lower: Any, upper: Any, beta: Any, epsilon: Any) -> float:
    """Return the minimiser of 0.5 a d^2 + g d + epsilon |beta + d| over [lower, upper] - beta."""
    end = beta - (g + epsilon) / a
    if end < 0.0:
        end = min(0.0, beta - (g - epsilon) / a)
    return min(max(end, lower), upper) - beta


@njit(cache=True, nogil=True)
def _smooth(G: Any, epsilon: Any, beta: Any, k: Any) -> float:
    """Return the gradient of the smooth part, given the slopes for rising variables."""
    return np.float64(G[k]) - (epsilon[k] if beta[k] >= 0.0 else -epsilon[k])


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
    epsilon: Any,
    zone: Any,
    tol: Any,
    max_steps: Any,
) -> tuple[int, float]:
    """Minimise 0.5 b'Kb + q'b + epsilon'|b| over lower <= b <= upper, two variables at a time.

    The first variable has the largest projected gradient, the second gains most by the
    second-order model after the Newton step of the first (Steinwart, Hush, Scovel, JMLR 12,
    2011, section 3, with the gain of Fan, Chen, Lin, JMLR 6, 2005); then the two-variable
    problem is solved exactly within its rectangle.

    Given: K (m, m); the slopes G for rising variables in float32; the diagonal of K; b and its
    bounds in float64; where each variable may go, and its kink (see `loops`). G, b, lo, hi, zone
    are updated. Returns the number of steps and the largest projected gradient, at most `tol`
    unless `max_steps` were taken.
    """
    i = 0
    j = 0
    s = 0.0
    t = 0.0
    steps = 0
    while True:
        i = box_update(G, K[i], K[j], lo, hi, zone, np.float32(s), np.float32(t))
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
        j = box_partner(G, lo, hi, zone, diagonal, K[i], np.float32(g / a), np.float32(1.0 / a))
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
                b = np.float64(K[i, j])
                c = np.float64(diagonal[j])
                h = _smooth(G, epsilon, beta, j)
                s, t = _kinked_rectangle(a, b, c, g, h, lower, upper, beta, epsilon, i, j)
        elif j == i:
            s = _edge(a, g, down_i, up_i)
            t = 0.0
        else:
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
        if j != i:
            _move(beta, lower, upper, lo, hi, j, t, down_j, up_j)
        _move(beta, lower, upper, lo, hi, i, s, down_i, up_i)
        if epsilon is not None:
            _pass_kink(G, zone, epsilon, i, before_i, beta[i])
            if j != i:
                _pass_kink(G, zone, epsilon, j, before_j, beta[j])
        steps += 1


Vector = NDArray[np.float64]
Rows = NDArray[np.int64]


@njit(cache=True, nogil=True)
def likely_free(G: Any, shift: Any, lo: Any, hi: Any, zone: Any, margin: Any) -> Any:
    """Return the rows that are free, violate, or are within `margin` of violating."""
    n = G.shape[0]
    rows = np.empty(n, np.int64)
    m = 0
    for k in range(n):
        g = G[k] + shift
        if (lo[k] < 0.0 and g <= margin) or (hi[k] > 0.0 and falling(g, zone, k) >= -margin):
            rows[m] = k
            m += 1
    return rows[:m].copy()


def pays(m: int, of: int, steps: int) -> bool:
    """Whether to copy the m active of `of` rows together.

    A copied value costs about as much as a step costs for each row, so the copy must cost at
    most what it would have saved in the steps taken so far; a quarter of the rows must go, which
    bounds the memory of the copy by 0.57 of the matrix.
    """
    return 4 * m <= 3 * of and m * m <= (of - m) * steps


class ActiveSet:
    """Some rows of a block with a gradient in float32, and their kernel matrix side by side.

    The gradient is centred (with the equality its values at free variables are then near 0) and
    good for some steps; the caller keeps the whole gradient in float64 and starts the set anew.
    """

    def __init__(
        self, K: NDArray[np.floating], diagonal: NDArray[np.float32], problem: QuadraticProgram
    ) -> None:
        self._whole = K
        self._whole_diagonal = diagonal
        self._problem = problem
        self._buffer: NDArray[np.floating] = np.empty(0, K.dtype)
        self.group: NDArray[np.int8] | None = None
        self.shifts = np.zeros(N_GROUPS)

    def begin(
        self, beta: Vector, F: Vector, shift: float | Vector, margin: float, steps: int
    ) -> None:
        """Choose the active rows at beta, whose gradient is F + shift once centred."""
        dual = self._problem.dual
        if isinstance(shift, np.ndarray):
            F, shift = F + shift, 0.0
        lo = np.where(beta < dual.upper, -FAR, np.float32(0.0))
        hi = np.where(beta > dual.lower, FAR, np.float32(0.0))
        n, slopes, zone = beta.shape[0], F, None
        if dual.epsilon is not None:
            slopes = dual.slopes(F, beta)[0]
            zone = np.where(beta == 0.0, 2.0 * dual.epsilon, 0.0).astype(np.float32)
        rows = likely_free(slopes, shift, lo, hi, zone, margin)
        self.rows: Rows = rows
        if pays(rows.size, n, steps):
            self._copy(self._whole, rows)
        else:
            self.rows = rows = np.arange(n)
            self.K = self._whole
        self.G = (slopes[rows] + shift).astype(np.float32)
        self.diagonal = self._whole_diagonal[rows]
        self.beta, self.lower, self.upper = beta[rows], dual.lower[rows], dual.upper[rows]
        self.lo, self.hi = lo[rows], hi[rows]
        self.epsilon = None if dual.epsilon is None else dual.epsilon[rows]
        self.zone = None if zone is None else zone[rows]
        self.shift = 0.0
        self.group = None if dual.group is None else dual.group[rows]

    def advance(self, tol: float, max_steps: int) -> tuple[int, float]:
        """Take up to `max_steps` steps; returns their number and the violation."""
        state = (
            *(self.K, self.G, self.diagonal, self.beta, self.lower, self.upper),
            *(self.lo, self.hi, self.epsilon, self.zone),
        )
        if self._problem.equality and self.group is not None:
            borders = np.searchsorted(self.group, np.arange(N_GROUPS + 1))
            steps, violation = group_steps(*state[:8], borders, self.shifts, tol, max_steps)
        elif self._problem.equality:
            steps, violation, self.shift = pair_steps(*state, tol, max_steps)
        else:
            steps, violation = box_steps(*state, tol, max_steps)
        return steps, float(violation)

    def narrow(self, beta: Vector, margin: float, steps: int) -> None:
        """Let go of rows that are clearly at their bounds; their values are stored in beta."""
        m = self.rows.size
        G = self.G if self.group is None else self.G + self.shifts[self.group]
        kept = likely_free(G, self.shift, self.lo, self.hi, self.zone, margin)
        if not pays(kept.size, m, steps):
            return
        self.store(beta)
        self._copy(self.K, kept)
        self.rows = self.rows[kept]
        self.G, self.diagonal = self.G[kept], self.diagonal[kept]
        self.beta, self.lower, self.upper = self.beta[kept], self.lower[kept], self.upper[kept]
        self.lo, self.hi = self.lo[kept], self.hi[kept]
        if self.epsilon is not None and self.zone is not None:
            self.epsilon, self.zone = self.epsilon[kept], self.zone[kept]
        if self.group is not None:
            self.group = self.group[kept]

    def _copy(self, K: NDArray[np.floating], rows: Rows) -> None:
        # What is copied within the buffer always fits: only from the whole matrix it may not.
        if self._buffer.size < rows.size**2:
            self._buffer = np.empty(rows.size**2, K.dtype)
        self.K = take(K, rows, self._buffer)

    def store(self, beta: Vector) -> None:
        """Write the variables of the active rows to beta."""
        beta[self.rows] = self.beta
