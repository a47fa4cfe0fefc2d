"""The small box problem of a joint step: which share of each block's step to take."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.compiled import njit
from dcsvm_dask.errors import InputError

Vector = NDArray[np.float64]
_SWEEPS = 200
# Projected gradients this small, relative to the sizes of c and M, are zero.
_ZERO = 1e-14


def solve_box_qp(M: Vector, c: Vector) -> Vector:
    """Solve a dense box problem exactly (Hsieh, Si, Dhillon, KDD 2017, the joint step).

    Solves::

        min 0.5 b'Mb + c'b,   0 <= b_i <= 1

    Given M and c; returns b. Coordinate descent from b = 1 finds most of the bounds that hold;
    an active-set method ends it: it minimises over the free variables, stops at the first bound
    in the way, and lets go of the bound that gains most.

    Parameters
    ----------
    M : array, shape (n, n), float64
        Symmetric, positive semi-definite up to rounding, possibly singular; tens to hundreds of
        variables.
    c : array, shape (n,), float64

    Returns
    -------
    array, shape (n,), float64
        Projected gradients are at most about 1e-14 of the size of M and c.

    Raises
    ------
    InputError
        If shapes do not fit or a value is not finite.
    """
    M, c = np.ascontiguousarray(M, dtype=np.float64), np.asarray(c, dtype=np.float64)
    n = c.size
    if M.shape != (n, n) or c.ndim != 1:
        raise InputError(f"M has the shape {M.shape} and c {c.shape}: give (n, n) and (n,).")
    if not (np.isfinite(M).all() and np.isfinite(c).all()):
        raise InputError("the joint step holds a value that is not finite.")
    b = np.ones(n)
    if n == 0:
        return b
    zero = _ZERO * float(np.abs(c).max() + np.abs(M).sum(axis=1).max())
    _sweep(M, c, b, _SWEEPS, zero)
    fixed = (b <= 0.0) | (b >= 1.0)
    for _ in range(20 * n + 20):
        _to_minimum_of_free(M, c, b, fixed, zero)
        g = M @ b + c
        pull = np.where(b <= 0.0, -g, np.where(b >= 1.0, g, 0.0))
        worst = int(np.argmax(pull))
        if pull[worst] <= zero:
            break
        fixed[worst] = False
    return b


@njit(cache=True, nogil=True)
def _sweep(M: Any, c: Any, b: Any, sweeps: Any, zero: Any) -> None:
    """Minimise over one variable after the other until none moves."""
    n = b.shape[0]
    g = c.copy()
    for i in range(n):
        for j in range(n):
            g[i] += M[i, j] * b[j]
    for _ in range(sweeps):
        moved = False
        for i in range(n):
            old = b[i]
            if M[i, i] > 0.0:
                b[i] = min(max(old - g[i] / M[i, i], 0.0), 1.0)
            elif abs(g[i]) > zero:
                b[i] = 0.0 if g[i] > 0.0 else 1.0
            step = b[i] - old
            if step != 0.0:
                if abs(step) * M[i, i] > zero:
                    moved = True
                for j in range(n):
                    g[j] += step * M[i, j]
        if not moved:
            break


def _to_minimum_of_free(
    M: Vector, c: Vector, b: Vector, fixed: NDArray[np.bool_], zero: float
) -> None:
    """Minimise over the variables that are not fixed, fixing those that meet a bound."""
    while not fixed.all():
        free = np.flatnonzero(~fixed)
        g = (M @ b + c)[free]
        if np.abs(g).max() <= zero:
            return
        H = M[np.ix_(free, free)]
        step = np.linalg.lstsq(H, -g, rcond=None)[0]
        rest = -(g + H @ step)
        if np.abs(rest).max() > 1e-9 * np.abs(g).max() + zero:
            # The gradient has a part along which nothing curves: down it goes to a bound.
            step, longest = rest, np.inf
        else:
            longest = 1.0
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(step > 0.0, (1.0 - b[free]) / step, -b[free] / step)
        room[step == 0.0] = np.inf
        length = min(longest, float(room.min()))
        hit = room <= length
        b[free] = np.clip(b[free] + length * step, 0.0, 1.0)
        b[free[hit]] = np.where(step[hit] > 0.0, 1.0, 0.0)
        fixed[free[hit]] = True
        if not hit.any():
            return
