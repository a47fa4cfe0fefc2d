"""Distances or inner products of a row with all support vectors, in one vectorised pass."""

from __future__ import annotations

from typing import Any

import numpy as np

from dcsvm_dask.compiled import njit
from dcsvm_dask.kernels.kinds import INNER_PRODUCT, L1_DISTANCE, SQUARED_DISTANCE
from dcsvm_dask.kernels.vectors import INNER, SUM_FLAGS, prefer_wide_vectors

FOUR = 4
LOOPS = {**INNER, "fastmath": SUM_FLAGS, "error_model": "numpy"}


@njit(**LOOPS)
def of_dense(points: Any, x: Any, argument: Any, width: Any, out: Any) -> None:
    """Write the argument of the kernel for a dense row and each support vector.

    Parameters
    ----------
    points : ndarray, shape (d, room), float32
    x : ndarray, shape (d,), float32
    argument : int
        INNER_PRODUCT, SQUARED_DISTANCE or L1_DISTANCE.
    width : int
        How many support vectors.
    out : ndarray, shape (room,), float32
    """
    prefer_wide_vectors()
    d = points.shape[0]
    for j in range(width):
        out[j] = 0
    whole = d - d % FOUR
    for f in range(0, whole, FOUR):
        a, b, c, e = points[f], points[f + 1], points[f + 2], points[f + 3]
        xa, xb, xc, xe = x[f], x[f + 1], x[f + 2], x[f + 3]
        if argument == SQUARED_DISTANCE:
            for j in range(width):
                ta, tb, tc, te = xa - a[j], xb - b[j], xc - c[j], xe - e[j]
                out[j] += ta * ta + tb * tb + tc * tc + te * te
        elif argument == INNER_PRODUCT:
            for j in range(width):
                out[j] += xa * a[j] + xb * b[j] + xc * c[j] + xe * e[j]
        else:
            for j in range(width):
                out[j] += abs(xa - a[j]) + abs(xb - b[j]) + abs(xc - c[j]) + abs(xe - e[j])
    for f in range(whole, d):
        a, xa = points[f], x[f]
        if argument == SQUARED_DISTANCE:
            for j in range(width):
                out[j] += (xa - a[j]) * (xa - a[j])
        elif argument == INNER_PRODUCT:
            for j in range(width):
                out[j] += xa * a[j]
        else:
            for j in range(width):
                out[j] += abs(xa - a[j])


@njit(**LOOPS)
def of_sparse(
    points: Any, norms: Any, indices: Any, data: Any, argument: Any, width: Any, out: Any
) -> None:
    """Write the argument of the kernel for a sparse row and each support vector.

    Parameters
    ----------
    norms : ndarray, shape (room,), float64
        Squared norms of the support vectors, or sums of their absolute values.
    indices, data : ndarray, shape (nnz,)
        The row.
    points, argument, width, out
        As for `of_dense`.
    """
    prefer_wide_vectors()
    # Distances are small differences of large sums: these are in float64.
    own, sums = 0.0, np.zeros(width)
    if argument == SQUARED_DISTANCE:
        for k in range(len(data)):
            own += np.float64(data[k]) * data[k]
    for k in range(len(data)):
        a, x = points[indices[k]], np.float64(data[k])
        if argument == L1_DISTANCE:
            for j in range(width):
                sums[j] += abs(x - a[j]) - abs(np.float64(a[j]))
        else:
            for j in range(width):
                sums[j] += x * a[j]
    if argument == SQUARED_DISTANCE:
        for j in range(width):
            out[j] = max(0.0, own + norms[j] - 2.0 * sums[j])
    elif argument == L1_DISTANCE:
        for j in range(width):
            out[j] = max(0.0, norms[j] + sums[j])
    else:
        for j in range(width):
            out[j] = sums[j]
