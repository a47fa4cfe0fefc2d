"""Compiled loops over pairs of classes of a few rows; see `small_pairs`.

Rows lie class after class, so that the variables of a pair are two stretches of the kernel matrix:
the first `n` are its rows from `a` on, whose labels are +1, the others those from `b` on.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dcsvm_dask.compiled import njit
from dcsvm_dask.kernels.vectors import INNER
from dcsvm_dask.solvers.pair_points import nearer_point, settled_bias, sum_gradient
from dcsvm_dask.solvers.smo.loops import FAR, TAU
from dcsvm_dask.solvers.smo.steps import pair_steps

STEPS_OF_ROW = 1000
"""Steps for each row after which a pair is left to another solver."""
FIRST_STEPS_OF_ROW = 4
"""Steps for each row of a first round; the next ones take as many as all before them."""
ROUNDS = 24
"""Rounds after which a pair is left to another solver."""


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
    equations (`nearer_point`), and once the tolerance is met they are made exact.

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
            sum_gradient(K, None, a, b, n, one, G, 1.0)
            violation, bias, stuck = nearer_point(
                *(K, None, None, a, b, n, lower, upper, one, G, tol, steps[p], more == 0, size)
            )
            if violation <= tol or stuck or steps[p] >= most:
                break
        states[p, 0] = violation
        states[p, 1] = settled_bias(bias, one, G, lower, upper)


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
def take_pair(row: Any, a: Any, b: Any, n: Any, out: Any) -> None:
    """Write the values of a pair, of a row of the kernel matrix, side by side."""
    _write(out[:n], row[a : a + n])
    _write(out[n:], row[b : b + len(out) - n])


@njit(**INNER)
def _write(out: Any, values: Any) -> None:
    """Write values; a loop vectorises from 0 on, not where an index may be negative."""
    for k in range(len(out)):
        out[k] = values[k]
