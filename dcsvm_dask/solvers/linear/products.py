"""Compiled products with the rows of a linear SVM, and with its Hessian; rows and w as in `loops`.

Rows whose factor is 0 are not read.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dcsvm_dask.compiled import njit
from dcsvm_dask.solvers.linear.loops import OPTIONS
from dcsvm_dask.solvers.linear.rows import add, add_four, add_squares, dot

_u = np.uintp


@njit(**OPTIONS)
def outputs(rows: Any, start: Any, stop: Any, constant: Any, w: Any, f: Any) -> None:
    """Write x_i'w of the rows from start to stop to `f`."""
    b = constant * w[_u(w.shape[0] - 1)]
    for i in range(_u(start), _u(stop)):
        f[i] = dot(rows, i, w) + b


@njit(**OPTIONS)
def combine(rows: Any, start: Any, stop: Any, constant: Any, b: Any, total: Any) -> None:
    """Add sum_i b_i x_i of the rows from start to stop to `total`."""
    last, these, met = _u(total.shape[0] - 1), np.empty(4, np.uintp), 0
    weight = 0.0
    for i in range(_u(start), _u(stop)):
        these[met] = i
        met += b[i] != 0.0
        weight += b[i]
        if met == 4:
            four = these[0], these[1], these[2], these[3]
            steps = b[four[0]], b[four[1]], b[four[2]], b[four[3]]
            add_four(rows, four, steps, total)
            met = 0
    for t in range(met):
        add(rows, these[t], b[these[t]], total)
    total[last] += weight * constant


@njit(**OPTIONS)
def curve(rows: Any, constant: Any, h: Any, v: Any, total: Any) -> None:
    """Add sum_i h_i (x_i'v) x_i to `total`: the Hessian of the losses times v."""
    last = _u(v.shape[0] - 1)
    for i in range(_u(h.shape[0])):
        if h[i] != 0.0:
            step = h[i] * (dot(rows, i, v) + constant * v[last])
            add(rows, i, step, total)
            total[last] += step * constant


@njit(**OPTIONS)
def diagonal(rows: Any, constant: Any, h: Any, total: Any) -> None:
    """Add sum_i h_i x_i^2 to `total`: the diagonal of the Hessian of the losses."""
    last = _u(total.shape[0] - 1)
    for i in range(_u(h.shape[0])):
        if h[i] != 0.0:
            add_squares(rows, i, h[i], total)
            total[last] += h[i] * constant * constant
