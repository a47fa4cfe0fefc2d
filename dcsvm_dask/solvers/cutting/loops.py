"""Compiled passes over the losses of rows: their sum, subgradients, and slopes along a line.

A face is a side of the rows' losses, `side`, `offset`, `rate` and `curve` a value a row: at the
output o the excess is z = side o + offset, and where it is above 0 the loss is
rate z + curve z^2 / 2. Nothing branches on it, since which rows have a loss
cannot be predicted.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dcsvm_dask.compiled import njit
from dcsvm_dask.solvers.linear.loops import OPTIONS

_u = np.uintp
# Sums may be made in the lanes of a vector.
_SUMS = {**OPTIONS, "fastmath": {"contract", "reassoc", "nsz"}}


@njit(**_SUMS)
def advance(
    side: Any,
    offset: Any,
    rate: Any,
    curve: Any,
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

    Writes the outputs there of the rows from `first` to `last` to `best`, and adds the derivatives
    of their losses, a share of the way on to `end`, to `slopes`; where a face begins, its own.
    Returns the risk there, the offset of the plane, and how many rows have a loss.
    """
    risk, constant, losing = 0.0, 0.0, 0
    for i in range(_u(first), _u(last)):
        there = (1.0 - k) * start[i] + k * end[i]
        best[i] = there
        touched = (1.0 - share) * there + share * end[i]
        z = side[i] * touched + offset[i]
        excess, is_met = max(z, 0.0), 1.0 if z >= 0.0 else 0.0
        slope = side[i] * (rate[i] * is_met + curve[i] * excess)
        slopes[i] += slope
        constant += excess * (rate[i] + 0.5 * curve[i] * excess) - slope * touched
        excess = max(side[i] * there + offset[i], 0.0)
        loss = excess * (rate[i] + 0.5 * curve[i] * excess)
        risk += loss
        losing += 1 if loss > 0.0 else 0
    return risk, constant, losing


@njit(**_SUMS)
def line_slopes(
    side: Any,
    offset: Any,
    rate: Any,
    curve: Any,
    first: Any,
    last: Any,
    start: Any,
    end: Any,
    k: Any,
) -> tuple[float, float]:
    """Return the slope of the risk along the line, from the right of k, and its own slope."""
    slope, bend = 0.0, 0.0
    for i in range(_u(first), _u(last)):
        way = side[i] * (end[i] - start[i])
        z = side[i] * ((1.0 - k) * start[i] + k * end[i]) + offset[i]
        is_met = (z > 0.0) | ((z == 0.0) & (way > 0.0))
        bend += curve[i] * way * way if is_met else 0.0
        slope += (rate[i] + curve[i] * z) * way if is_met else 0.0
    return slope, bend


@njit(**OPTIONS)
def events(
    side: Any,
    offset: Any,
    rate: Any,
    curve: Any,
    first: Any,
    last: Any,
    start: Any,
    end: Any,
    low: Any,
    high: Any,
    at: Any,
    jump: Any,
    bent: Any,
) -> int:
    """Find where the slope of the risk changes along the line from `start` to `end`.

    Writes the k in (low, high] at which it does, counted from low, by how much the slope jumps
    there and by how much its own slope changes; returns their number.
    """
    count, has_end = _u(0), high < np.inf
    far = high if has_end else 1.0
    for i in range(_u(first), _u(last)):
        way = side[i] * (end[i] - start[i])
        z = side[i] * ((1.0 - low) * start[i] + low * end[i]) + offset[i]
        beyond = side[i] * ((1.0 - far) * start[i] + far * end[i]) + offset[i]
        if not has_end:
            beyond = way if way != 0.0 else z
        before = (z > 0.0) | ((z == 0.0) & (way > 0.0))
        after = (beyond > 0.0) | ((beyond == 0.0) & (way > 0.0))
        # Overwritten by the next one where there is none.
        at[count] = min(max(-z / way, 0.0), far - low) if has_end else -z / way
        jump[count] = rate[i] * abs(way)
        bent[count] = curve[i] * way * abs(way)
        count += _u((before != after) & (way != 0.0))
    return int(count)


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
