"""Steps of sequential minimal optimisation for the problem with one equality."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from dcsvm_dask.solvers.smo_loops import FAR, pair_partner, pair_update

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
    tol: Any,
    max_steps: Any,
) -> tuple[int, float, float]:
    """Minimise 0.5 b'Kb + q'b over lower <= b <= upper with sum(b) constant, pair by pair.

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
        i, fall = pair_update(G, K[i], K[j], lo, hi, np.float32(step), np.float32(-step))
        rise = -G[i] if lo[i] < 0.0 else -FAR
        violation = np.float64(rise) + np.float64(fall)
        if not violation > tol or steps >= max_steps:
            return steps, max(0.0, violation), 0.5 * (np.float64(rise) - np.float64(fall))
        j = pair_partner(G, hi, diagonal, K[i], G[i], diagonal[i])
        both = np.float64(diagonal[i]) + np.float64(diagonal[j])
        a = max(both - 2.0 * np.float64(K[i, j]), TAU * both)
        room_i = upper[i] - beta[i]
        room_j = beta[j] - lower[j]
        step = min((np.float64(G[j]) - np.float64(G[i])) / a, room_i, room_j)
        beta[i] = upper[i] if step == room_i else beta[i] + step
        beta[j] = lower[j] if step == room_j else beta[j] - step
        lo[i] = -FAR if beta[i] < upper[i] else np.float32(0.0)
        hi[i] = FAR
        lo[j] = -FAR
        hi[j] = FAR if beta[j] > lower[j] else np.float32(0.0)
        steps += 1
