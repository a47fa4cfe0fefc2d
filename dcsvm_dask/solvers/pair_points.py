"""What compiled loops over pairs of classes ask of a point: its gradient, violation, and equations.

The first `n` variables of a pair are rows of the kernel matrix from `a` on, whose labels are +1,
the others those from `b` on. Where rows of the matrix are computed on demand, `place` says where
they are in K and `asked` computes those that are not there (`kernels.row_by_row`); where both are
None all rows are in K, in their order.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dcsvm_dask.compiled import njit
from dcsvm_dask.kernels.row_by_row import ask
from dcsvm_dask.kernels.vectors import INNER
from dcsvm_dask.solvers.optimality import AT_BOUND

MOST_FREE = 96
"""Free variables, at most, that are found by their equations."""
EXACT_FREE = 48
"""Free variables, at most, that are made exact once the tolerance is met."""
WORTH = 10.0
"""Operations on equations for each one that steps have taken so far, at most."""
TO_FINISH = 12
"""So often at most variables meet or leave their bounds while they are made exact."""
_u = np.uintp
# The violation at which there is nothing left, for a margin of 1.
_ENOUGH = 1e-15
# Of the largest diagonal value, what is added to each: some variables may depend on others.
_RIDGE = 1e-12
# Share of the variables' size by which equations may miss the sum of them.
_ROUNDING = 1e-12


@njit(**INNER)
def _at(place: Any, i: Any) -> Any:
    """Return where row i is, which has been asked for: to ask takes ten times as long."""
    if place is None:
        return i
    return place[i]


@njit(**INNER)
def nearer_point(
    K: Any,
    asked: Any,
    place: Any,
    a: Any,
    b: Any,
    n: Any,
    lower: Any,
    upper: Any,
    beta: Any,
    F: Any,
    tol: Any,
    steps: Any,
    ended: Any,
    most: Any,
) -> tuple[float, float, bool]:
    """Bring a point nearer to the answer by the equations of its free variables, if they are few.

    Parameters
    ----------
    K, asked, place, a, b, n, lower, upper
        See above.
    beta, F : ndarray, shape (n_variables,), float64
        A point and its gradient, summed from scratch; both are updated.
    tol : float
        Where it is met, variables are made exact.
    steps : int
        Those taken so far: equations may take as much work, times `WORTH`.
    ended : bool
        Whether steps lead no nearer.
    most : int
        So often at most variables meet or leave their bounds.

    Returns
    -------
    violation, bias : float
    stuck : bool
        Whether steps lead no nearer and the tolerance was not met by them.
    """
    violation, bias, free = state_of(beta, F, lower, upper)
    found = violation <= tol
    stuck = ended and not found
    value = objective_of(beta, F, n)
    work = np.inf if found or stuck else WORTH * steps * len(beta)
    if 0 < free <= (EXACT_FREE if found else MOST_FREE) and free**3 <= work:
        point = beta.copy()
        turns = min(most, TO_FINISH) if found else most
        exchange(K, asked, place, a, b, n, lower, upper, point, F, turns, work)
        sum_gradient(K, place, a, b, n, point, F, 1.0)
        other, its_bias, _ = state_of(point, F, lower, upper)
        # By sums from scratch: those of the exchange drift where variables are huge.
        nearer = other < violation
        if not found:
            nearer |= objective_of(point, F, n) < value
        if nearer and keeps_sum(point, beta):
            violation = other
            bias = its_bias
            copy_point(point, beta)
        else:
            sum_gradient(K, place, a, b, n, beta, F, 1.0)
    return violation, bias, stuck


@njit(**INNER)
def exchange(
    K: Any,
    asked: Any,
    place: Any,
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
    nearest = state_of(beta, F, lower, upper)[0]
    free = np.empty(size, np.bool_)
    for k in range(size):
        free[k] = lower[k] < beta[k] < upper[k]
    point = beta.copy()
    for _ in range(most):
        chosen = np.flatnonzero(free)
        work -= len(chosen) * (len(chosen) ** 2 / 3 + size)
        if not 0 < len(chosen) <= MOST_FREE or work < 0.0:
            break
        step = _newton_step(K, place, a, b, n, chosen, F)
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
            _add(F, point[i] - before, K, _at(place, a + i if i < n else b + i - n), a, b, n)
        if blocked >= 0:
            free[blocked] = False
            continue
        violation = state_of(point, F, lower, upper)[0]
        nearer = violation < nearest
        if nearer:
            nearest = violation
            copy_point(point, beta)
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
            ask(K, asked, a + worst if worst < n else b + worst - n)
        elif not nearer:
            break
    if work < np.inf:
        copy_point(point, beta)


@njit(**INNER)
def _newton_step(K: Any, place: Any, a: Any, b: Any, n: Any, chosen: Any, G: Any) -> Any:
    """Return the step of some variables, of sum 0, after which they have one gradient.

    By Gaussian elimination with partial pivoting.
    """
    m = len(chosen)
    A = np.ones((m + 1, m + 2))
    largest = 0.0
    A[m, m] = A[m, m + 1] = 0.0
    for k in range(m):
        r = _at(place, a + chosen[k] if chosen[k] < n else b + chosen[k] - n)
        for i in range(m):
            A[k, i] = K[r, a + chosen[i] if chosen[i] < n else b + chosen[i] - n]
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
def sum_gradient(
    K: Any, place: Any, a: Any, b: Any, n: Any, beta: Any, F: Any, margin: float
) -> None:
    """Sum the gradient of a point from scratch, for a margin of 1, or of 0 where nu fixes it."""
    for k in range(len(beta)):
        F[k] = -margin if k < n else margin
    for k in range(len(beta)):
        if beta[k] != 0.0:
            _add(F, beta[k], K, _at(place, a + k if k < n else b + k - n), a, b, n)


@njit(**INNER)
def copy_point(point: Any, beta: Any) -> None:
    """Take the variables of a point."""
    for k in range(len(beta)):
        beta[k] = point[k]


@njit(**INNER)
def _add(F: Any, factor: Any, K: Any, r: Any, a: Any, b: Any, n: Any) -> None:
    """Add row r of K to the gradient of a pair.

    Views of arrays would be counted, which takes as long as the sums; a loop vectorises where an
    index cannot be negative.
    """
    first = _u(n)
    for k in range(first):
        F[k] += factor * K[r, _u(a) + k]
    for k in range(_u(len(F)) - first):
        F[first + k] += factor * K[r, _u(b) + k]


@njit(**INNER)
def state_of(beta: Any, F: Any, lower: Any, upper: Any) -> tuple[float, float, int]:
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
def settled_bias(bias: float, beta: Any, F: Any, lower: Any, upper: Any) -> float:
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
def keeps_sum(point: Any, one: Any) -> bool:
    """Return whether two points have the same sum, but for rounding."""
    apart = 0.0
    total = 0.0
    for k in range(len(one)):
        apart += point[k] - one[k]
        total += abs(point[k]) + abs(one[k])
    return abs(apart) <= _ROUNDING * total


@njit(**INNER)
def objective_of(beta: Any, F: Any, n: Any) -> float:
    """Return 0.5 b'Kb - y'b."""
    total = 0.0
    for k in range(len(beta)):
        total += beta[k] * (F[k] - (1.0 if k < n else -1.0))
    return 0.5 * total
