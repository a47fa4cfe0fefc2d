"""Compiled loops of nu-SVC over pairs of classes of a few rows; see `small_pairs`.

Variables are arranged as in `pair_loops`. The sum of those of each class is kept, so that a step
moves two variables of one class; see `smo.steps.group_steps`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dcsvm_dask.compiled import njit
from dcsvm_dask.kernels.vectors import INNER, SUM_FLAGS
from dcsvm_dask.solvers.optimality import AT_BOUND
from dcsvm_dask.solvers.pair_loops import FIRST_STEPS_OF_ROW, ROUNDS, take_pair
from dcsvm_dask.solvers.pair_points import sum_gradient
from dcsvm_dask.solvers.smo.loops import FAR, TAU
from dcsvm_dask.solvers.smo.steps import group_steps

STEPS_OF_ROW = 100
"""Steps for each row after which a pair is left to another solver."""
# The steps, in float32, aim a little lower than the tolerance.
_AIM = 0.9


@njit(cache=True, nogil=True)
def class_means(K: Any, C: Any, start: Any, means: Any) -> None:
    """Write the means of each row's kernel values with the rows of each class, weighted with C.

    Parameters
    ----------
    K : ndarray, shape (n, n), float64
        Kernel matrix of rows that lie class after class.
    C : ndarray, shape (n,), float64
    start : ndarray, shape (n_classes + 1,), int64
        Where the rows of each class begin.
    means : ndarray, shape (n, n_classes), float64
        Zeros, which classes without rows or weight keep.
    """
    for c in range(len(start) - 1):
        mine = slice(start[c], start[c + 1])
        weight = C[mine].sum()
        if weight > 0.0:
            for i in range(len(K)):
                means[i, c] = _product(K[i][mine], C[mine]) / weight


@njit(cache=True, nogil=True)
def solve_nu_pairs(
    K: Any,
    C: Any,
    start: Any,
    pairs: Any,
    nu: Any,
    tol: Any,
    means: Any,
    memory: Any,
    beta: Any,
    F: Any,
    steps: Any,
    states: Any,
) -> None:
    """Solve the nu-SVCs of pairs of classes, before the division by rho.

    Rounds of steps have a gradient in float32, centred for each class, and each begins anew from
    one that is summed in float64.

    Parameters
    ----------
    K, C, start, pairs, tol, memory, beta, F, steps
        As for `solve_pairs`.
    nu : float
    means : ndarray, shape (n, n_classes), float64
        See `class_means`.
    states : ndarray, shape (m, 3), float64
        The violation and the biases of the second and of the first class of each.
    """
    at = 0
    borders = np.zeros(3, np.int64)
    shifts = np.zeros(2)
    for p in range(len(pairs)):
        a = start[pairs[p, 0]]
        b = start[pairs[p, 1]]
        n = start[pairs[p, 0] + 1] - a
        size = n + start[pairs[p, 1] + 1] - b
        borders[1] = n
        borders[2] = size
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
        score = np.empty(size)
        largest = 0.0
        for k in range(size):
            own = a + k if k < n else b + k - n
            take_pair(K[own], a, b, n, near[k])
            largest = max(largest, K[own, own])
            apart = means[own, pairs[p, 0]] - means[own, pairs[p, 1]]
            if k < n:
                upper[k] = C[own]
                score[k] = apart
            else:
                lower[k] = -C[own]
                score[k] = -apart
        least = max(TAU * largest, 1e-30)
        for k in range(size):
            # Below 0, as of the sigmoid kernel, it counts as it is; see `smo.solve.curvatures`.
            diagonal[k] = near[k, k] if near[k, k] < -least else max(near[k, k], least)
        above = upper[:n].sum()
        below = -lower[n:].sum()
        half = min(0.5 * nu * (above + below), above, below)
        _fill(one[:n], upper[:n], score[:n], half)
        _fill(one[n:], lower[n:], score[n:], half)
        sum_gradient(K, None, a, b, n, one, G, 0.0)
        most = STEPS_OF_ROW * size
        budget = FIRST_STEPS_OF_ROW * size
        for _ in range(ROUNDS):
            violation = 0.0
            for g in range(2):
                mine = slice(borders[g], borders[g + 1])
                off, middle = _middle(one[mine], G[mine], lower[mine], upper[mine], 0.0)
                violation = max(violation, off)
                shifts[g] = middle
            if violation <= tol or not violation < np.inf or steps[p] >= most:
                break
            for k in range(size):
                lo[k] = -FAR if one[k] < upper[k] else np.float32(0.0)
                hi[k] = FAR if one[k] > lower[k] else np.float32(0.0)
                G32[k] = G[k] + shifts[0 if k < n else 1]
            more = group_steps(
                *(near, G32, diagonal, one, lower, upper, lo, hi, borders, shifts),
                *(_AIM * tol, budget),
            )[0]
            if more == 0:  # float32 leads no nearer
                break
            steps[p] += more
            budget = max(budget, steps[p])
            sum_gradient(K, None, a, b, n, one, G, 0.0)
        total = 0.0
        for k in range(size):
            total += abs(one[k])
        states[p, 0] = violation
        states[p, 1] = _bias(one[n:], G[n:], lower[n:], upper[n:], AT_BOUND * total)
        states[p, 2] = _bias(one[:n], G[:n], lower[:n], upper[:n], AT_BOUND * total)


@njit(**INNER, fastmath=SUM_FLAGS)
def _product(row: Any, C: Any) -> float:
    """Return the inner product of two vectors."""
    total = 0.0
    for k in range(len(C)):
        total += row[k] * C[k]
    return total


@njit(**INNER)
def _fill(beta: Any, ends: Any, score: Any, size: float) -> None:
    """Take variables to their bounds, those of the lowest score first, until they have a size."""
    left = size
    for k in np.argsort(score, kind="mergesort"):
        room = abs(ends[k])
        if room >= left:
            beta[k] = ends[k] if room == left else np.copysign(left, ends[k])
            break
        beta[k] = ends[k]
        left -= room


@njit(**INNER)
def _middle(beta: Any, F: Any, lower: Any, upper: Any, least: float) -> tuple[float, float]:
    """Return the violation among the variables of a class, and the middle of their biases.

    Where they can move to one side only there is no violation, and the finite end is the middle;
    infinite values that are no numbers are a violation, too. What is as near to a bound as `least`
    is at the bound.
    """
    m = -np.inf
    M = np.inf
    for k in range(len(F)):
        if not abs(F[k]) < np.inf:
            return np.inf, 0.0
        if upper[k] - beta[k] > least:
            m = max(m, -F[k])
        if beta[k] - lower[k] > least:
            M = min(M, -F[k])
    if m == -np.inf:
        return 0.0, M if abs(M) < np.inf else 0.0
    return max(0.0, m - M), m if not abs(M) < np.inf else 0.5 * (m + M)


@njit(**INNER)
def _bias(beta: Any, F: Any, lower: Any, upper: Any, least: float) -> float:
    """Return the bias of a class: the mean of its free variables', or the middle without such.

    Variables are free where one is by more than rounding; see `dcsvm_dask.solvers.optimality`.
    """
    free = 0
    certain = False
    total = 0.0
    for k in range(len(F)):
        room = min(upper[k] - beta[k], beta[k] - lower[k])
        if room > 0.0:
            free += 1
            total -= F[k]
            certain |= room > least
    if certain:
        return total / free
    return _middle(beta, F, lower, upper, least)[1]
