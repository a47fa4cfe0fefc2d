"""Compiled passes of coordinate descent on the weights of a linear SVM with the l1 penalty.

The columns of X as in `columns`, losses as in `squared`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dcsvm_dask.compiled import njit
from dcsvm_dask.solvers.linear.columns import end, first, row, value
from dcsvm_dask.solvers.linear.loops import NOTHING, OPTIONS, shuffle
from dcsvm_dask.solvers.linear.squared import FLAGS, loss, response

_u = np.uintp
_ENOUGH, _SHORTER, _TRIES = 0.01, 0.5, 20
# Where no row has a loss, a column has no curvature.
_CURVATURE = 1e-12


@njit(**OPTIONS)
def squares(columns: Any, rise: Any, fall: Any, curvature: Any) -> None:
    """Write the largest second derivative of the losses along each weight to `curvature`."""
    for j in range(_u(curvature.shape[0])):
        total = 0.0
        for q in range(first(columns, j), end(columns, j)):
            x = value(columns, j, q)
            i = row(columns, j, q)
            total += x * x * max(rise[i], fall[i])
        curvature[j] = total


@njit(**OPTIONS, fastmath=FLAGS)
def _derivatives(columns: Any, j: Any, b: Any, h: Any) -> tuple[float, float]:
    """Return the first and second derivative of the losses along a weight."""
    slope = 0.0
    bend = 0.0
    for q in range(first(columns, j), end(columns, j)):
        i = row(columns, j, q)
        x = value(columns, j, q)
        slope -= b[i] * x
        bend += h[i] * x * x
    return slope, bend


@njit(**OPTIONS, fastmath=FLAGS)
def _gain(
    columns: Any,
    j: Any,
    step: Any,
    p: Any,
    epsilon: Any,
    rise: Any,
    fall: Any,
    f: Any,
) -> float:
    """Return by how much the losses change with a step along a weight."""
    change = 0.0
    for q in range(first(columns, j), end(columns, j)):
        i = row(columns, j, q)
        g = f[i] + p[i]
        change += loss(g + step * value(columns, j, q), epsilon[i], rise[i], fall[i])
        change -= loss(g, epsilon[i], rise[i], fall[i])
    return change


@njit(**OPTIONS)
def _move(
    columns: Any,
    j: Any,
    step: Any,
    p: Any,
    epsilon: Any,
    rise: Any,
    fall: Any,
    f: Any,
    b: Any,
    h: Any,
) -> None:
    """Bring outputs, derivatives and second derivatives up to date with a step along a weight."""
    for q in range(first(columns, j), end(columns, j)):
        i = row(columns, j, q)
        f[i] += step * value(columns, j, q)
        b[i], h[i] = response(f[i] + p[i], epsilon[i], rise[i], fall[i])


@njit(**OPTIONS, fastmath=FLAGS)
def _primal(p: Any, epsilon: Any, rise: Any, fall: Any, f: Any, w: Any) -> float:
    """Return the objective."""
    total = 0.0
    for i in range(_u(f.shape[0])):
        total += loss(f[i] + p[i], epsilon[i], rise[i], fall[i])
    for j in range(_u(w.shape[0])):
        total += abs(w[j])
    return total


@njit(**OPTIONS)
def _beyond(slope: Any, weight: Any) -> float:
    """Return the size of the smallest subgradient along a weight."""
    if weight > 0.0:
        return abs(slope + 1.0)
    if weight < 0.0:
        return abs(slope - 1.0)
    return max(abs(slope) - 1.0, 0.0)


@njit(**OPTIONS)
def descend_l1(
    columns: Any,
    p: Any,
    epsilon: Any,
    rise: Any,
    fall: Any,
    curvature: Any,
    w: Any,
    f: Any,
    b: Any,
    h: Any,
    order: Any,
    active: Any,
    steep: Any,
    enough: Any,
    most: Any,
    random: Any,
    history: Any,
) -> tuple[int, int, float]:
    """Pass over the active weights until the subgradients met in a pass sum up to `enough`.

    Yuan, Chang, Hsieh, Lin, JMLR 11, 2010, Algorithm 3 and section 5.1: a step is Newton's for one
    weight, shortened until the objective falls enough. A weight at 0 is let go where its slope is
    within the penalty by more than a share of the largest subgradient of the pass before.

    Parameters
    ----------
    p, epsilon, rise, fall : array, shape (n,), float64
        See `squared`.
    curvature, w : array, shape (m,), float64
        The largest second derivatives of the losses; the weights, updated.
    f, b, h : array, shape (n,), float64
        Outputs, minus the derivatives of the losses there, their second derivatives. Updated.
    order : array, shape (m,), int32
        Weights; the first `active` of them are visited. Updated as that of `loops.descend`.
    steep : float
        Largest subgradient of the pass before; infinity lets no weight go.
    enough, most : float, int
        Passes end at this sum, or after so many of them.
    random, history
        As for `loops.descend`; what is recorded is the objective after a pass and the sum of the
        subgradients met in it.

    Returns
    -------
    passes, active, steep
    """
    passes = 0
    met = np.inf
    while passes < most and met > enough:
        inside = steep / f.shape[0]
        steep = 0.0
        met = 0.0
        shuffle(order, active, random)
        s = 0
        while s < active:
            j = _u(order[_u(s)])
            slope, bend = _derivatives(columns, j, b, h)
            weight = w[j]
            if weight == 0.0 and abs(slope) < 1.0 - inside:
                active -= 1
                order[_u(s)] = order[_u(active)]
                order[_u(active)] = j
                continue
            s += 1
            beyond = _beyond(slope, weight)
            steep = max(steep, beyond)
            met += beyond
            bend = max(bend, _CURVATURE)
            step = -weight
            if slope + 1.0 <= bend * weight:
                step = -(slope + 1.0) / bend
            elif slope - 1.0 >= bend * weight:
                step = -(slope - 1.0) / bend
            if abs(step) < NOTHING:
                continue
            penalty = abs(weight + step) - abs(weight)
            expected = slope * step + penalty
            for _ in range(_TRIES):
                # An upper bound on the change, by the largest curvature, spares most evaluations.
                gain = slope * step + 0.5 * curvature[j] * step * step + penalty
                if gain > _ENOUGH * expected:
                    gain = penalty + _gain(columns, j, step, p, epsilon, rise, fall, f)
                if gain <= _ENOUGH * expected:
                    w[j] = weight + step
                    _move(columns, j, step, p, epsilon, rise, fall, f, b, h)
                    break
                step *= _SHORTER
                expected *= _SHORTER
                penalty = abs(weight + step) - abs(weight)
        history[passes, 0] = _primal(p, epsilon, rise, fall, f, w)
        history[passes, 1] = met
        passes += 1
    return passes, active, steep


@njit(**OPTIONS)
def measure_l1(columns: Any, w: Any, b: Any, h: Any) -> tuple[float, float]:
    """Return the sum of all subgradients, and the largest slope of the losses."""
    total = 0.0
    largest = 0.0
    for j in range(_u(w.shape[0])):
        slope, _ = _derivatives(columns, j, b, h)
        total += _beyond(slope, w[j])
        largest = max(largest, abs(slope))
    return total, largest


@njit(**OPTIONS)
def outputs_of(columns: Any, w: Any, f: Any) -> None:
    """Write the outputs of all rows to `f`, summed from scratch."""
    f[:] = 0.0
    for j in range(_u(w.shape[0])):
        if w[j] != 0.0:
            for p in range(first(columns, j), end(columns, j)):
                f[row(columns, j, p)] += w[j] * value(columns, j, p)
