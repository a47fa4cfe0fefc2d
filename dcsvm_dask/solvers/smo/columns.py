"""Columns of a kernel matrix added to a gradient, and the sub-matrix of the active rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.compiled import njit

_u = np.uintp
_FLAGS = {"contract", "reassoc", "nsz", "arcp"}
# A stretch of the gradient that stays in the first-level cache while eight rows pass by.
_STRETCH = 1024


@njit(cache=True, nogil=True, fastmath=_FLAGS)
def _add_eight(K: Any, F: Any, r: Any, d: Any) -> None:
    n = F.shape[0]
    K0, K1, K2, K3 = K[r[0]], K[r[1]], K[r[2]], K[r[3]]
    K4, K5, K6, K7 = K[r[4]], K[r[5]], K[r[6]], K[r[7]]
    d0, d1, d2, d3, d4, d5, d6, d7 = d[0], d[1], d[2], d[3], d[4], d[5], d[6], d[7]
    for c in range(0, n, _STRETCH):
        for k in range(_u(c), _u(min(c + _STRETCH, n))):
            F[k] += (d0 * K0[k] + d1 * K1[k] + d2 * K2[k] + d3 * K3[k]) + (
                d4 * K4[k] + d5 * K5[k] + d6 * K6[k] + d7 * K7[k]
            )


@njit(cache=True, nogil=True)
def add_columns(K: Any, F: Any, weights: Any) -> None:
    """Add weights @ K, of K of shape (m, n), to F in float64; rows of weight 0 are not read."""
    r = np.zeros(8, np.int64)
    d = np.zeros(8)
    filled = 0
    for k in range(weights.shape[0]):
        if weights[k] != 0.0:
            r[filled] = k
            d[filled] = weights[k]
            filled += 1
            if filled == 8:
                _add_eight(K, F, r, d)
                filled = 0
    if filled > 0:
        for k in range(filled, 8):
            d[k] = 0.0
            r[k] = r[0]
        _add_eight(K, F, r, d)


@njit(cache=True, nogil=True)
def take(K: Any, rows: Any, out: Any) -> Any:
    """Write K[rows][:, rows] to the (m, m) start of the flat array `out`; returns the view.

    `rows` ascend, so K may be the view that an earlier call returned for the same `out`.
    """
    m = rows.shape[0]
    at = 0
    for a in range(m):
        row = K[rows[a]]
        for b in range(m):
            out[at] = row[rows[b]]
            at += 1
    return out[: m * m].reshape((m, m))


def kernel_times(K: NDArray[np.floating], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return K @ weights, summed in float64."""
    product = np.zeros(weights.shape[0])
    add_columns(K, product, weights)
    return product
