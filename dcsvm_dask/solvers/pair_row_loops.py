"""Compiled loops over pairs of classes by a few kernel rows each; see `pairs_on_demand`."""

from __future__ import annotations

from typing import Any

import numpy as np

from dcsvm_dask.compiled import njit
from dcsvm_dask.kernels.row_by_row import Asked
from dcsvm_dask.kernels.vectors import INNER
from dcsvm_dask.solvers.pair_loops import take_pair
from dcsvm_dask.solvers.pair_points import (
    TO_FINISH,
    nearer_point,
    settled_bias,
    state_of,
    sum_gradient,
)
from dcsvm_dask.solvers.smo.loops import FAR, TAU
from dcsvm_dask.solvers.smo.steps import pair_steps

FIRST_LOOK = 16
"""Fewer rows show nothing."""
FIRST_SHARE, MAY_VIOLATE = 1 / 16, 0.5
"""When such a share of the rows has been asked for, at most such a share of them may violate; each
time that twice as many have been, half as many."""
MOST_WORK = 40
"""Steps times the rows that they look at, as a multiple of the square of all rows, at most."""
ROUNDS = 500
"""Rounds after which a pair is left to another solver."""
# Rows that may be asked for beyond the limit: by the last step, by equations that do not yet meet
# the tolerance, and in the next round by those that do, twice.
_BEYOND = 2 + 3 * TO_FINISH
# Violation above which free variables may be made exact once more.
_NEAR = 1e-12
# The steps, in float32, aim a little lower than the tolerance.
_AIM = 1.0 - 2.0**-10
# Share of the tolerance, or of the violation of all rows, to which those that are there are solved.
_CLOSER, _FALL = 0.5, 0.1


@njit(cache=True, nogil=True)
def room_for(size: Any, share: Any) -> Any:
    """Return how many kernel rows a pair of so many rows may ever have."""
    return min(size, max(FIRST_LOOK, int(share * size)) + _BEYOND)


@njit(cache=True, nogil=True)
def solve_pairs_by_rows(
    features: Any,
    diagonal: Any,
    kind: Any,
    C: Any,
    start: Any,
    pairs: Any,
    tol: Any,
    share: Any,
    memory: Any,
    beta: Any,
    F: Any,
    steps: Any,
    states: Any,
) -> None:
    """Solve the C-SVCs, with a bias, of pairs of classes, where a few kernel rows are enough.

    As `solve_on_demand`: steps compute a row of the kernel matrix, in float64, when they first take
    its variable. Where they stay among the rows that are there these are a problem of their own.
    Then the gradient of all is summed from scratch, and the free variables, if they are few, are
    looked for by their linear equations (`nearer_point`).

    Parameters
    ----------
    features : ndarray, shape (d, n), float32
        Those of rows that lie class after class.
    diagonal : ndarray, shape (n,), float64
        Of the kernel matrix.
    kind : tuple
        See `kernels.row_by_row.Asked`.
    C, start, pairs, tol, beta, F, steps
        As for `pair_loops.solve_pairs`.
    share : float
        At most this share of the rows of a pair may be asked for; 1: all.
    memory : ndarray, float64
        For the rows that the largest pair asks for.
    states : ndarray, shape (m, 2), float64
        The violation and the bias of each; of a pair that is not solved the violation is infinite.
    """
    at = 0
    first = np.int64(0)  # a literal would be a type of its own
    for p in range(len(pairs)):
        a = start[pairs[p, 0]]
        b = start[pairs[p, 1]]
        n = start[pairs[p, 0] + 1] - a
        size = n + start[pairs[p, 1] + 1] - b
        one = beta[at : at + size]
        G = F[at : at + size]
        at += size
        own = np.empty((features.shape[0], size), np.float32)
        for f in range(features.shape[0]):
            take_pair(features[f], a, b, n, own[f])
        values = np.empty(size)
        take_pair(diagonal, a, b, n, values)
        lower = np.zeros(size)
        upper = np.zeros(size)
        largest = 0.0
        for k in range(size):
            largest = max(largest, values[k])
            if k < n:
                upper[k] = C[a + k]
            else:
                lower[k] = -C[b + k - n]
            G[k] = -1.0 if k < n else 1.0
        least = max(TAU * largest, 1e-30)
        curvature = np.empty(size, np.float32)
        for k in range(size):
            # Below 0, as of the sigmoid kernel, it counts as it is; see `smo.solve.curvatures`.
            curvature[k] = values[k] if values[k] < -least else max(values[k], least)
        room = room_for(size, share)
        K = memory[: room * size].reshape((room, size))
        last = room - _BEYOND if room < size else size + 1
        most = last if room == size else min(last, max(FIRST_LOOK, int(FIRST_SHARE * size)))
        may_violate = MAY_VIOLATE * size
        place = np.full(size, -1)
        order = np.empty(room, np.int64)
        number = np.zeros(1, np.int64)
        lo = np.empty(size, np.float32)
        hi = np.empty(size, np.float32)
        G32 = np.empty(size, np.float32)
        violation = 2.0
        bias = 0.0
        work = MOST_WORK * size * size
        solved = False
        for _ in range(ROUNDS):
            asked = Asked(place, order, number, most, own, values, kind)
            known = number[0]
            for k in range(size):
                lo[k] = -FAR if one[k] < upper[k] else np.float32(0.0)
                hi[k] = FAR if one[k] > lower[k] else np.float32(0.0)
                G32[k] = G[k]
            taken, now, _ = pair_steps(
                *(K, G32, curvature, one, lower, upper, lo, hi, None, None, 1.0),
                *(_AIM * tol, size, asked),
            )
            work -= (taken + 1) * size
            if number[0] >= most:
                sum_gradient(K, place, first, n, n, one, G, 1.0)
                violation = state_of(one, G, lower, upper)[0]
                if violation > tol:
                    if most == last or _violating(one, G, lower, upper, tol) > may_violate:
                        break
                    most = min(last, 2 * most)
                    may_violate *= 0.5
            if now > tol:
                goal = max(_CLOSER * tol, _FALL * violation)
                mine = order[: number[0]]
                more = _steps_among(K, mine, n, curvature, one, lower, upper, goal, work)
                work -= more * len(mine)
                taken += more
            steps[p] += taken
            sum_gradient(K, place, first, n, n, one, G, 1.0)
            ended = taken == 0 and number[0] == known
            # Equations that led there may end before free variables are exact: once more, then. One
            # call is compiled once.
            for _ in range(2):
                violation, bias, stuck = nearer_point(
                    *(K, asked, place, first, n, n, lower, upper, one, G),
                    *(tol, steps[p], ended, TO_FINISH),
                )
                solved = violation <= tol
                if not solved or violation <= _NEAR:
                    break
            if solved or stuck or work <= 0:
                break
        states[p, 0] = violation if solved else np.inf
        states[p, 1] = settled_bias(bias, one, G, lower, upper)


@njit(**INNER)
def _steps_among(
    K: Any,
    mine: Any,
    n: Any,
    curvature: Any,
    beta: Any,
    lower: Any,
    upper: Any,
    tol: Any,
    work: Any,
) -> Any:
    """Take steps among the rows that are there; return how many."""
    m = len(mine)
    near = np.empty((m, m), np.float32)
    G = np.empty(m)
    one = np.empty(m)
    low = np.empty(m)
    high = np.empty(m)
    diagonal = np.empty(m, np.float32)
    lo = np.empty(m, np.float32)
    hi = np.empty(m, np.float32)
    for k in range(m):
        i = mine[k]
        one[k] = beta[i]
        low[k] = lower[i]
        high[k] = upper[i]
        diagonal[k] = curvature[i]
        lo[k] = -FAR if one[k] < high[k] else np.float32(0.0)
        hi[k] = FAR if one[k] > low[k] else np.float32(0.0)
        G[k] = -1.0 if i < n else 1.0
    for k in range(m):
        for r in range(m):
            value = K[k, mine[r]]
            near[k, r] = value
            G[r] += one[k] * value
    G32 = G.astype(np.float32)
    budget = max(1, min(8 * m + 500, int(work / m)))
    taken = pair_steps(
        *(near, G32, diagonal, one, low, high, lo, hi, None, None, 1.0, tol, budget, None)
    )[0]
    for k in range(m):
        beta[mine[k]] = one[k]
    return taken


@njit(**INNER)
def _violating(beta: Any, F: Any, lower: Any, upper: Any, tol: Any) -> int:
    """Return how many variables violate by more than the tolerance."""
    m = -np.inf
    M = np.inf
    for k in range(len(F)):
        if beta[k] < upper[k]:
            m = max(m, -F[k])
        if beta[k] > lower[k]:
            M = min(M, -F[k])
    middle = 0.5 * (m + M)
    count = 0
    for k in range(len(F)):
        g = F[k] + middle
        count += (beta[k] < upper[k] and g < -tol) or (beta[k] > lower[k] and g > tol)
    return count
