"""The fast Walsh-Hadamard transform, and the structured products of Fastfood made of it.

Rows come feature by feature, T of shape (2^k, rows), so that every innermost loop runs over
rows: it vectorises at all strides, and what a row gets does not depend on its neighbours.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from dcsvm_dask.kernels.vectors import LOOP_FLAGS, prefer_wide_vectors

TILE = 1 << 12
"""Numbers of a tile of rows (16 KiB): two of them stay in the cache near the core."""


@njit(cache=True, nogil=True, no_cfunc_wrapper=True, fastmath=LOOP_FLAGS)
def walsh_hadamard(T: Any) -> None:
    """Multiply T, shape (2^k, rows), by the Hadamard matrix of Sylvester's order, in place.

    The matrix is scipy.linalg.hadamard(2^k), its entries 1 and -1: k 2^k additions a row. Two
    steps are taken at a time, which halves the traffic.
    """
    prefer_wide_vectors()
    p, rows = T.shape
    h = 1
    if p > 1 and (p & 0x5555555555555555) == 0:  # k is odd: one step by itself
        for i in range(0, p, 2):
            for r in range(rows):
                a, b = T[i, r], T[i + 1, r]
                T[i, r] = a + b
                T[i + 1, r] = a - b
        h = 2
    while h < p:
        for i in range(0, p, 4 * h):
            for j in range(i, i + h):
                for r in range(rows):
                    a, b, c, d = T[j, r], T[j + h, r], T[j + 2 * h, r], T[j + 3 * h, r]
                    ab, a_b, cd, c_d = a + b, a - b, c + d, c - d
                    T[j, r] = ab + cd
                    T[j + h, r] = a_b + c_d
                    T[j + 2 * h, r] = ab - cd
                    T[j + 3 * h, r] = a_b - c_d
        h *= 4


@njit(cache=True, nogil=True, no_cfunc_wrapper=True, fastmath=LOOP_FLAGS)
def fastfood_products(
    X: Any, signs: Any, order: Any, factors: Any, lengths: Any, out: Any, first: Any
) -> None:
    """out[i, first + b p + k] = (S H G Pi H B x_i)_k for every block b of p coordinates.

    B = diag(signs[b]), Pi takes coordinate order[b, k] to k, G = diag(factors[b]) and S is
    diag(lengths[b p : (b + 1) p]); the last block may be cut short.
    """
    n, d = X.shape
    blocks, p = order.shape
    rows = max(16, TILE // p)
    given = np.zeros((d, rows), np.float32)
    T = np.empty((p, rows), np.float32)
    U = np.empty((p, rows), np.float32)
    for start in range(0, n, rows):
        here = min(rows, n - start)
        for r in range(here):
            for f in range(d):
                given[f, r] = X[start + r, f]
        for b in range(blocks):
            scale_rows(given, signs[b], T)
            T[d:] = 0
            walsh_hadamard(T)
            for k in range(p):
                scale_row(T[order[b, k]], factors[b, k], U[k])
            walsh_hadamard(U)
            done = b * p
            width = min(p, len(lengths) - done)
            for r in range(here):
                write_column(U, r, lengths[done : done + width], out[start + r], first + done)


@njit(cache=True, nogil=True, no_cfunc_wrapper=True, fastmath=LOOP_FLAGS)
def scale_rows(given: Any, scale: Any, T: Any) -> None:
    """Write given[f] times scale[f] into T[f]."""
    for f in range(len(scale)):
        scale_row(given[f], scale[f], T[f])


@njit(cache=True, nogil=True, no_cfunc_wrapper=True, fastmath=LOOP_FLAGS)
def scale_row(given: Any, scale: Any, out: Any) -> None:
    """Write given times scale into out."""
    for r in range(len(out)):
        out[r] = given[r] * scale


@njit(cache=True, nogil=True, no_cfunc_wrapper=True, fastmath=LOOP_FLAGS)
def write_column(U: Any, r: Any, scale: Any, out: Any, first: Any) -> None:
    """Write U[k, r] times scale[k] into out[first + k]."""
    for k in range(len(scale)):
        out[first + k] = U[k, r] * scale[k]
