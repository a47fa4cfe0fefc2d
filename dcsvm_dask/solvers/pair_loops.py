"""Compiled loops over pairs of classes of a few rows; see `small_pairs`.

Rows lie class after class, so that the variables of a pair are two stretches of the kernel matrix:
the first `n` are its rows from `a` on, whose labels are +1, the others those from `b` on.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dcsvm_dask.compiled import njit
from dcsvm_dask.kernels.vectors import INNER
from dcsvm_dask.solvers.optimality import AT_BOUND
from dcsvm_dask.solvers.smo.loops import FAR, TAU
from dcsvm_dask.solvers.smo.steps import pair_steps

STEPS_OF_ROW = 1000
"""Steps for each row after which a pair is left to another solver."""
FIRST_STEPS_OF_ROW = 4
"""Steps for each row of a first round; the next ones take as many as all before them."""
ROUNDS = 24
"""Rounds after which a pair is left to another solver."""
MOST_FREE = 96
"""Free variables, at most, that are found by their equations."""
EXACT_FREE = 48
"""Free variables, at most, that are made exact once the tolerance is met."""
WORTH = 10.0
"""Operations on equations for each one that steps have taken so far, at most."""
# So often at most variables meet or leave their bounds while they are made exact.
_TO_FINISH = 12
# The violation at which there is nothing left, for a margin of 1.
_ENOUGH = 1e-15
# Of the largest diagonal value, what is added to each: some variables may depend on others.
_RIDGE = 1e-12
# Share of the variables' size by which equations may miss the sum of them.
_ROUNDING = 1e-12


@njit(cache=True, nogil=True)
def solve_pairs(
    K: Any,
    C: Any,
    start: Any,
    pairs: Any,
    tol: Any,
    memory: Any,
    beta: Any,
    F: Any,
    steps: Any,
    states: Any,
) -> None:
    """Solve the C-SVCs, with a bias, of pairs of classes, as far as a number of steps leads.

    Rounds of steps have a gradient in float32, and each begins anew from one that is summed in
    float64. Between rounds the free variables, if they are few, are looked for by their linear
    equations (`_exchange`), and once the tolerance is met they are made exact.

    Parameters
    ----------
    K : ndarray, shape (n, n), float64
        Kernel matrix of rows that lie class after class.
    C : ndarray, shape (n,), float64
    start : ndarray, shape (n_classes + 1,), int64
        Where the rows of each class begin.
    pairs : ndarray, shape (m, 2), int64
    tol : float
    memory : ndarray, float32
        For the kernel matrix of the largest pair.
    beta, F : ndarray, shape (n_variables,), float64
        Zeros; the variables of the pairs, one pair after the other, and their gradients.
    steps : ndarray, shape (m,), int64
        Zeros; the steps of each pair.
    states : ndarray, shape (m, 2), float64
        The violation and the bias of each.
    """
    at = 0
    for p in range(len(pairs)):
        a = start[pairs[p, 0]]
        b = start[pairs[p, 1]]
        n = start[pairs[p, 0] + 1] - a
        size = n + start[pairs[p, 1] + 1] - b
        one = beta[at : at + size]
        G = F[at : at + size]
        at += size
        lower = np.zeros(size)
        upper = np.zeros(size)
        lo = np.empty(size, np.float32)
        hi = np.empty(size, np.float32)
        G32 = np.empty(size, np.float32)
        diagonal = np.empty(size, np.float32)
        near = memory[: size * size].reshape((size, size))
        largest = 0.0
        for k in range(size):
            own = a + k if k < n else b + k - n
            take_pair(K[own], a, b, n, near[k])
            largest = max(largest, K[own, own])
            if k < n:
                upper[k] = C[own]
            else:
                lower[k] = -C[own]
            G[k] = -1.0 if k < n else 1.0
        for k in range(size):
            least = max(TAU * largest, 1e-30)
            # Below 0, as of the sigmoid kernel, it counts as it is; see `smo.solve.curvatures`.
            diagonal[k] = near[k, k] if near[k, k] < -least else max(near[k, k], least)
        most = STEPS_OF_ROW * size
        budget = FIRST_STEPS_OF_ROW * size
        for _ in range(ROUNDS):
            for k in range(size):
                lo[k] = -FAR if one[k] < upper[k] else np.float32(0.0)
                hi[k] = FAR if one[k] > lower[k] else np.float32(0.0)
                G32[k] = G[k]
            more = pair_steps(
                *(near, G32, diagonal, one, lower, upper, lo, hi, None, None, 1.0),
                *(0.5 * tol, budget, None),
            )[0]
            steps[p] += more
            budget = max(budget, steps[p])
            sum_rows(K, a, b, n, one, G, 1.0)
            violation, bias, free = _state(one, G, lower, upper)
            found = violation <= tol
            stuck = more == 0 and not found  # float32 leads no nearer
            value = _objective(one, G, n)
            work = np.inf if found or stuck else WORTH * steps[p] * size
            if 0 < free <= (EXACT_FREE if found else MOST_FREE) and free**3 <= work:
                point = one.copy()
                _exchange(K, a, b, n, lower, upper, point, G, _TO_FINISH if found else size, work)
                sum_rows(K, a, b, n, point, G, 1.0)
                other, its_bias, _ = _state(point, G, lower, upper)
                # By sums from scratch: those of the exchange drift where variables are huge.
                nearer = other < violation
                if not found:
                    nearer |= _objective(point, G, n) < value
                if nearer and _keeps_sum(point, one):
                    violation = other
                    bias = its_bias
                    _copy(point, one)
                else:
                    sum_rows(K, a, b, n, one, G, 1.0)
            if violation <= tol or stuck or steps[p] >= most:
                break
        states[p, 0] = violation
        states[p, 1] = _settled(bias, one, G, lower, upper)


@njit(cache=True, nogil=True)
def ascending(rows: Any, start: Any, pairs: Any, own: Any, place: Any, y: Any) -> None:
    """Write the rows of pairs in ascending order, where their variables are, and their labels.

    Parameters
    ----------
    rows : ndarray, shape (n,), int64
        Class after class, ascending in each.
    start, pairs
        As for `solve_pairs`.
    own, place : ndarray, shape (n_variables,), int64
        The rows of the pairs, one pair after the other, and of each row the place in `beta`.
    y : ndarray, shape (n_variables,), float64
    """
    at = 0
    for p in range(len(pairs)):
        first = start[pairs[p, 0]]
        a = first
        b = start[pairs[p, 1]]
        a_end = start[pairs[p, 0] + 1]
        b_end = start[pairs[p, 1] + 1]
        second = b
        n = a_end - a
        size = n + b_end - b
        for k in range(at, at + size):
            if b == b_end or (a < a_end and rows[a] < rows[b]):
                own[k] = rows[a]
                place[k] = at + a - first
                y[k] = 1.0
                a += 1
            else:
                own[k] = rows[b]
                place[k] = at + n + b - second
                y[k] = -1.0
                b += 1
        at += size


@njit(**INNER)
def _exchange(
    K: Any,
    a: Any,
    b: Any,
    n: Any,
    lower: Any,
    upper: Any,
    beta: Any,
    F: Any,
    most: Any,
    work: Any,
) -> None:
    """Solve the equations of the free variables, of which some meet and others leave their bounds.

    A primal active-set method, as `finish.finished` is. A step to the solution of the equations
    ends where a variable meets its bound, which it then keeps; where none does, of the variables
    that violate at their bounds the worst becomes free. Ends after `most` steps, or where they have
    taken `work` operations.

    Writes to beta the point of the smallest violation; where `work` is finite, far from the answer,
    the last one. F, the gradient at the start, follows the steps, by which it loses digits.
    """
    size = len(beta)
    nearest = _state(beta, F, lower, upper)[0]
    free = np.empty(size, np.bool_)
    for k in range(size):
        free[k] = lower[k] < beta[k] < upper[k]
    point = beta.copy()
    for _ in range(most):
        chosen = np.flatnonzero(free)
        work -= len(chosen) * (len(chosen) ** 2 / 3 + size)
        if not 0 < len(chosen) <= MOST_FREE or work < 0.0:
            break
        step = _newton_step(K, a, b, n, chosen, F)
        part = 1.0
        blocked = -1
        for k in range(len(chosen)):
            i = chosen[k]
            room = (upper[i] if step[k] > 0.0 else lower[i]) - point[i]
            if step[k] != 0.0 and room / step[k] < part:
                part = room / step[k]
                blocked = i
        for k in range(len(chosen)):
            i = chosen[k]
            before = point[i]
            point[i] = min(max(before + part * step[k], lower[i]), upper[i])
            if i == blocked:
                point[i] = upper[i] if step[k] > 0.0 else lower[i]
            _add(F, point[i] - before, K[a + i if i < n else b + i - n], a, b, n)
        if blocked >= 0:
            free[blocked] = False
            continue
        violation = _state(point, F, lower, upper)[0]
        nearer = violation < nearest
        if nearer:
            nearest = violation
            _copy(point, beta)
        if violation <= _ENOUGH:
            break
        worst = -1
        middle = 0.0
        for i in chosen:
            middle += F[i] / len(chosen)
        off = 0.25 * violation
        for k in range(size):
            away = middle - F[k] if point[k] < upper[k] else 0.0
            if point[k] > lower[k]:
                away = max(away, F[k] - middle)
            if not free[k] and away >= off:
                off = away
                worst = k
        if worst >= 0:
            free[worst] = True
        elif not nearer:
            break
    if work < np.inf:
        _copy(point, beta)


@njit(**INNER)
def _newton_step(K: Any, a: Any, b: Any, n: Any, chosen: Any, G: Any) -> Any:
    """Return the step of some variables, of sum 0, after which they have one gradient.

    By Gaussian elimination with partial pivoting.
    """
    m = len(chosen)
    A = np.ones((m + 1, m + 2))
    largest = 0.0
    A[m, m] = A[m, m + 1] = 0.0
    for k in range(m):
        row = K[a + chosen[k] if chosen[k] < n else b + chosen[k] - n]
        for i in range(m):
            A[k, i] = row[a + chosen[i] if chosen[i] < n else b + chosen[i] - n]
        A[k, m + 1] = -G[chosen[k]]
        largest = max(largest, A[k, k])
    if not largest > 0.0:
        return np.zeros(m)
    for k in range(m):
        # Beside huge kernel values those of the sum would pass for rounding.
        for i in range(m):
            A[k, i] /= largest
        A[k, k] += _RIDGE
        A[k, m + 1] /= largest
    for c in range(m + 1):
        top = c
        for k in range(c + 1, m + 1):
            if abs(A[k, c]) > abs(A[top, c]):
                top = k
        if A[top, c] == 0.0:
            return np.zeros(m)
        if top != c:
            for i in range(c, m + 2):
                A[c, i], A[top, i] = A[top, i], A[c, i]
        for k in range(c + 1, m + 1):
            factor = A[k, c] / A[c, c]
            if factor != 0.0:
                for i in range(c + 1, m + 2):
                    A[k, i] -= factor * A[c, i]
    found = A[:, m + 1].copy()
    for c in range(m, -1, -1):
        for i in range(c + 1, m + 1):
            found[c] -= A[c, i] * found[i]
        found[c] /= A[c, c]
        if not abs(found[c]) < np.inf:
            return np.zeros(m)
    return found[:m]


@njit(**INNER)
def sum_rows(K: Any, a: Any, b: Any, n: Any, beta: Any, F: Any, margin: float) -> None:
    """Sum the gradient of a point from scratch, for a margin of 1, or of 0 where nu fixes it."""
    for k in range(len(beta)):
        F[k] = -margin if k < n else margin
    for k in range(len(beta)):
        if beta[k] != 0.0:
            _add(F, beta[k], K[a + k if k < n else b + k - n], a, b, n)


@njit(**INNER)
def _copy(point: Any, beta: Any) -> None:
    """Take the variables of a point."""
    for k in range(len(beta)):
        beta[k] = point[k]


@njit(**INNER)
def take_pair(row: Any, a: Any, b: Any, n: Any, out: Any) -> None:
    """Write the values of a pair, of a row of the kernel matrix, side by side."""
    _write(out[:n], row[a : a + n])
    _write(out[n:], row[b : b + len(out) - n])


@njit(**INNER)
def _write(out: Any, values: Any) -> None:
    """Write values; a loop vectorises from 0 on, not where an index may be negative."""
    for k in range(len(out)):
        out[k] = values[k]


@njit(**INNER)
def _add(F: Any, factor: Any, row: Any, a: Any, b: Any, n: Any) -> None:
    """Add a row of the kernel matrix to the gradient of a pair."""
    _add_values(F[:n], factor, row[a : a + n])
    _add_values(F[n:], factor, row[b : b + len(F) - n])


@njit(**INNER)
def _add_values(F: Any, factor: Any, values: Any) -> None:
    """Add values times a factor; see `_write`."""
    for k in range(len(F)):
        F[k] += factor * values[k]


@njit(**INNER)
def _state(beta: Any, F: Any, lower: Any, upper: Any) -> tuple[float, float, int]:
    """Return the violation, the bias, and the number of free variables.

    A pair always has variables that can rise and such that can fall: where none are seen there are
    values that are no numbers, and the violation is infinite.
    """
    m = -np.inf
    M = np.inf
    free = 0
    middle = 0.0
    for k in range(len(F)):
        rises = beta[k] < upper[k]
        falls = beta[k] > lower[k]
        if rises:
            m = max(m, -F[k])
        if falls:
            M = min(M, -F[k])
        if rises and falls:
            free += 1
            middle -= F[k]
    if not abs(m - M) < np.inf:
        return np.inf, 0.0, 0
    return max(0.0, m - M), middle / free if free > 0 else 0.5 * (m + M), free


@njit(**INNER)
def _settled(bias: float, beta: Any, F: Any, lower: Any, upper: Any) -> float:
    """Return the bias, or the middle of the optimal ones where no variable is free but by rounding.

    See `dcsvm_dask.solvers.optimality.bias`.
    """
    total = 0.0
    for k in range(len(F)):
        total += abs(beta[k])
    least = AT_BOUND * total
    m = -np.inf
    M = np.inf
    for k in range(len(F)):
        rises = upper[k] - beta[k] > least
        falls = beta[k] - lower[k] > least
        if rises and falls:
            return bias
        if rises:
            m = max(m, -F[k])
        if falls:
            M = min(M, -F[k])
    return 0.5 * (m + M) if abs(m - M) < np.inf else bias


@njit(**INNER)
def _keeps_sum(point: Any, one: Any) -> bool:
    """Return whether two points have the same sum, but for rounding."""
    apart = 0.0
    total = 0.0
    for k in range(len(one)):
        apart += point[k] - one[k]
        total += abs(point[k]) + abs(one[k])
    return abs(apart) <= _ROUNDING * total


@njit(**INNER)
def _objective(beta: Any, F: Any, n: Any) -> float:
    """Return 0.5 b'Kb - y'b."""
    total = 0.0
    for k in range(len(beta)):
        total += beta[k] * (F[k] - (1.0 if k < n else -1.0))
    return 0.5 * total
