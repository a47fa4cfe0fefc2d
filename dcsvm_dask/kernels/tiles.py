"""Compiled work on one tile: a run of rows against columns that are taken by the hundred.

The columns of a chunk are gathered and shifted into B; T of shape (columns, rows) takes inner
products or distances first, then kernel values, and is small enough to stay in cache. Sums are
in float64.
"""

from __future__ import annotations

from typing import Any

import numpy as np

# Numba takes its BLAS from here, and only when a product first compiles: loaded now, so that
# limits that are set on BLAS threads afterwards reach it.
import scipy.linalg.cython_blas  # noqa: F401
from numba import njit

from dcsvm_dask.kernels.inner import (
    gather,
    manhattan_distances,
    sparse_products,
    squared_distances,
)
from dcsvm_dask.kernels.kernel import LAPLACIAN, LINEAR, POLY, RBF
from dcsvm_dask.kernels.vectors import INNER, LOOP_FLAGS, exp2, prefer_wide_vectors

LN2 = float(np.log(2.0))

PRODUCTS, DIFFERENCES, SPARSE = range(3)
"""How pairs of rows meet: by BLAS, feature by feature, or through the features in use."""


@njit(**INNER, fastmath=LOOP_FLAGS, error_model="numpy")
def to_values(T: Any, code: Any, scale: Any, degree: Any, coef0: Any, a: Any, b: Any) -> None:
    """Turn inner products or distances into kernel values, in place.

    rbf and laplacian: 2**min(scale T[j, i] + a[i] + b[j], 0); poly: (scale T + coef0)**degree;
    sigmoid: tanh((scale T + coef0) ln(2) / 2).
    """
    prefer_wide_vectors()
    if code == LINEAR:
        return
    rows = T.shape[1]
    zero = T.dtype.type(0)
    one = T.dtype.type(1)
    base = np.empty(rows, T.dtype)
    for j in range(T.shape[0]):
        if code in (RBF, LAPLACIAN):
            bj = b[j]
            for i in range(rows):
                t = T[j, i] * scale + (a[i] + bj)
                T[j, i] = exp2(zero if t > zero else t)
        elif code == POLY:
            for i in range(rows):
                base[i] = T[j, i] * scale + coef0
                T[j, i] = base[i]
            for _ in range(degree - 1):
                for i in range(rows):
                    T[j, i] *= base[i]
        else:
            # tanh(u) = (1 - e) / (1 + e) for u > 0, with e = exp(-2 u).
            for i in range(rows):
                t = T[j, i] * scale + coef0
                e = exp2(-abs(t))
                value = (one - e) / (one + e)
                T[j, i] = -value if t < zero else value


@njit(**INNER, fastmath=LOOP_FLAGS)
def accumulate(T: Any, start: Any, stop: Any, w: Any, out: Any) -> None:
    """out[i] += sum over j from start to stop of T[j, i] w[j], in float64."""
    prefer_wide_vectors()
    whole = start + (stop - start) // 4 * 4
    for j in range(start, whole, 4):
        w0, w1, w2, w3 = w[j], w[j + 1], w[j + 2], w[j + 3]
        for i in range(T.shape[1]):
            near = np.float64(T[j, i]) * w0 + np.float64(T[j + 1, i]) * w1
            out[i] += near + (np.float64(T[j + 2, i]) * w2 + np.float64(T[j + 3, i]) * w3)
    for j in range(whole, stop):
        for i in range(T.shape[1]):
            out[i] += np.float64(T[j, i]) * w[j]


@njit(cache=True, nogil=True, no_cfunc_wrapper=True)
def tile_work(
    code: Any,
    how: Any,
    scale: Any,
    degree: Any,
    coef0: Any,
    F: Any,
    a: Any,
    centre: Any,
    position: Any,
    rare_start: Any,
    rare_row: Any,
    rare_value: Any,
    Z: Any,
    data: Any,
    indices: Any,
    indptr: Any,
    chosen: Any,
    w: Any,
    run_stop: Any,
    run_group: Any,
    chunk: Any,
    sums: Any,
    spread: Any,
    block: Any,
    column: Any,
) -> None:
    """Kernel values of a tile of rows with the chosen rows of Z, summed or written down.

    Where `sums` has rows: sums[g, i] += K(x_i, z_j) w_j over the chosen j; those of group
    run_group[q] are the chosen from run_stop[q - 1] to run_stop[q].
    Where `spread` is not empty: spread[i] += K(x_i, z_j) w_j**2 over all chosen j.
    Where `block` has rows: block[j, column + i] = K(x_i, z_j).
    `chunk` is a multiple of four.
    """
    rows = F.shape[1]
    B = np.empty((chunk if how == PRODUCTS else 0, F.shape[0]), F.dtype)
    buffer = np.empty((chunk, rows), F.dtype)
    b = np.zeros(chunk, F.dtype)
    square = np.zeros(chunk)
    weight = np.empty(chunk)
    half = -0.5 * np.float64(scale)
    run = 0
    for first in range(0, len(chosen), chunk):
        part = chosen[first : first + chunk]
        n = len(part)
        T = buffer[:n]
        if how == SPARSE:
            l1 = code == LAPLACIAN
            sparse_products(
                data,
                indices,
                indptr,
                part,
                position,
                F,
                rare_start,
                rare_row,
                rare_value,
                l1,
                T,
                square,
            )
            if code not in (RBF, LAPLACIAN):
                square[:] = 0
        elif how == PRODUCTS:
            gather(Z, part, centre, B, square)
            np.dot(B[:n], F, T)
            if code != RBF:
                square[:] = 0
        elif code == LAPLACIAN:
            manhattan_distances(Z, part, F, buffer)
        else:
            squared_distances(Z, part, F, buffer)
        for r in range(n):
            b[r] = half * square[r]
        to_values(T, code, scale, degree, coef0, a, b)
        if sums.shape[0] > 0:
            for r in range(n):
                # b was rounded: put right what that did, to first order, in the weight.
                slip = half * square[r] - np.float64(b[r])
                weight[r] = w[first + r] * (1 + LN2 * slip)
            start = np.int64(0)  # a literal 0 would be a type of its own
            while start < n:
                stop = min(run_stop[run] - first, n)
                accumulate(T, start, stop, weight, sums[run_group[run]])
                start = stop
                if first + stop == run_stop[run]:
                    run += 1
        if len(spread) > 0:
            for r in range(n):
                weight[r] *= weight[r]
            accumulate(T, np.int64(0), n, weight, spread)
        if block.shape[0] > 0:
            for r in range(n):
                for i in range(rows):
                    block[part[r], column + i] = T[r, i]


@njit(cache=True, nogil=True, no_cfunc_wrapper=True)
def mirror(K: Any, first: Any, last: Any) -> None:
    """Copy the lower triangle of a square matrix onto some rows of the upper one, by blocks."""
    n = len(K)
    for i in range(first, min(last, n), 64):
        for j in range(i, n, 64):
            for p in range(i, min(i + 64, n)):
                for q in range(max(j, p + 1), min(j + 64, n)):
                    K[p, q] = K[q, p]


@njit(cache=True, nogil=True, no_cfunc_wrapper=True)
def mirror_tile(K: Any, start: Any, stop: Any, chosen: Any) -> None:
    """Copy the chosen rows of columns start:stop to where their mirror images belong."""
    for c in range(0, len(chosen), 64):
        part = chosen[c : c + 64]
        for i in range(start, stop):
            for r in range(len(part)):
                K[i, part[r]] = K[part[r], i]
