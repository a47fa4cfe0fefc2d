"""Compiled passes over the losses of rows: their sum, subgradients, and slopes along a line.

`p`, `lower`, `upper`, `epsilon` and `ridge` are those of `Losses`, a value a row.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from dcsvm_dask.solvers.linear.loops import OPTIONS

_u = np.uintp


@njit(**OPTIONS)
def _loss(g: Any, lower: Any, upper: Any, epsilon: Any, ridge: Any) -> tuple[float, float]:
    """Return the loss at g = o + p and its derivative; at a kink the end farther from zero."""
    excess = abs(g) - epsilon
    rate = -upper if g < 0.0 else -lower
    if excess < 0.0 or rate == 0.0:
        return 0.0, 0.0
    if ridge > 0.0:
        slope = excess / ridge if g > 0.0 else -excess / ridge
        return 0.5 * abs(slope) * excess, slope
    return abs(rate) * excess, rate


@njit(**OPTIONS)
def advance(
    p: Any,
    lower: Any,
    upper: Any,
    epsilon: Any,
    ridge: Any,
    first: Any,
    last: Any,
    start: Any,
    end: Any,
    k: Any,
    share: Any,
    best: Any,
    slopes: Any,
) -> tuple[float, float, int]:
    """Move along the line from `start` to `end` by k, and touch the risk near there.

    Writes the outputs there of the rows from `first` to `last` to `best`, and the derivatives of
    their losses, a share of the way on to `end`, to `slopes`. Returns the risk there, the offset of
    the plane, and how many rows have a loss.
    """
    risk, offset, losing = 0.0, 0.0, 0
    for i in range(_u(first), _u(last)):
        there = start[i] if k == 0.0 else end[i] if k == 1.0 else (1.0 - k) * start[i] + k * end[i]
        best[i] = there
        touched = (1.0 - share) * there + share * end[i] if share > 0.0 else there
        if share == 1.0:
            touched = end[i]
        value, slope = _loss(touched + p[i], lower[i], upper[i], epsilon[i], ridge[i])
        slopes[i] = slope
        offset += value - slope * touched
        if touched != there:
            value, _ = _loss(there + p[i], lower[i], upper[i], epsilon[i], ridge[i])
        risk += value
        losing += value > 0.0
    return risk, offset, losing


@njit(**OPTIONS)
def events(
    p: Any,
    lower: Any,
    upper: Any,
    epsilon: Any,
    ridge: Any,
    first: Any,
    last: Any,
    start: Any,
    end: Any,
    low: Any,
    high: Any,
    at: Any,
    jump: Any,
    bent: Any,
) -> tuple[int, float, float, float]:
    """Find where the slope of the risk changes along the line from `start` to `end`.

    Writes the k in (low, high] at which it does, by how much the slope jumps there and by how much
    its own slope changes. Returns their number, the slope from the right of `low` and its slope
    there, and the slope from the right of `high`.
    """
    count, slope, bend, later, later_bend = _u(0), 0.0, 0.0, 0.0, 0.0
    for i in range(_u(first), _u(last)):
        way = end[i] - start[i]
        if way == 0.0:
            continue
        for side in (-1.0, 1.0):
            cost = upper[i] if side < 0.0 else -lower[i]
            if not cost > 0.0:
                continue
            # The side's excess is z + k d; the loss is cost (z + k d), or its square over 2 D.
            d, z = side * way, side * (start[i] + p[i]) - epsilon[i]
            k = -z / d
            curve = d * d / ridge[i] if ridge[i] > 0.0 else 0.0
            rise = z * d / ridge[i] if ridge[i] > 0.0 else cost * d
            is_inside = k > low and k <= high and k < np.inf
            if k > low if d < 0.0 else k <= low:
                slope += rise
                bend += curve
            if k > high if d < 0.0 else k <= high:
                later += rise
                later_bend += curve
            if is_inside:
                at[count] = k
                jump[count] = 0.0 if ridge[i] > 0.0 else cost * abs(d)
                bent[count] = curve if d > 0.0 else -curve
                count += _u(1)
    if high < np.inf:
        later += later_bend * high
    return int(count), slope + bend * low, bend, later


@njit(**OPTIONS)
def crossing(at: Any, jump: Any, bent: Any, slope: Any, bend: Any) -> float:
    """Return the k >= 0 where slope + bend k + the sum of jump + bent (k - at) over at <= k is 0.

    Its value at 0 is below 0, and events lie above 0; a third of them is dropped at a time, about,
    so that none is sorted. They are overwritten.
    """
    low, high = 0, len(at)
    k_low = 0.0
    while low < high:
        a, b, c = at[low], at[(low + high) // 2], at[high - 1]
        pivot = max(min(a, b), min(max(a, b), c))
        below, below_bend, on, on_bend = 0.0, 0.0, 0.0, 0.0
        # Events below the pivot, on it and above it, in this order.
        i, left, right = low, low, high
        while i < right:
            k = at[i]
            if k > pivot:
                right -= 1
                at[i], at[right] = at[right], at[i]
                jump[i], jump[right] = jump[right], jump[i]
                bent[i], bent[right] = bent[right], bent[i]
                continue
            if k < pivot:
                below += jump[i] - bent[i] * k
                below_bend += bent[i]
                if i != left:
                    at[i], at[left] = at[left], at[i]
                    jump[i], jump[left] = jump[left], jump[i]
                    bent[i], bent[left] = bent[left], bent[i]
                left += 1
            else:
                on += jump[i] - bent[i] * k
                on_bend += bent[i]
            i += 1
        before = slope + below + (bend + below_bend) * pivot
        if before >= 0.0:
            high = left
        else:
            slope += below + on
            bend += below_bend + on_bend
            if slope + bend * pivot >= 0.0:
                return pivot
            k_low, low = pivot, right
    return max(k_low, -slope / bend) if bend > 0.0 else k_low
