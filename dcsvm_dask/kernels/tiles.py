"""Compiled work on one tile: a run of rows against columns that are taken by the hundred.

The columns of a chunk are gathered and shifted into B; T of shape (columns, rows) takes inner
products or distances first, then kernel values, and is small enough to stay in cache. Sums are
in float64.

Compiled inner loops over pairs of rows: products and distances, before the kernel function.

A tile of rows comes feature by feature, F of shape (d, rows). Every innermost loop runs over the
rows, which are contiguous, so that it vectorises and sums need no reduction.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg.cython_blas  # noqa: F401

from dcsvm_dask.compiled import njit
from dcsvm_dask.kernels.kinds import INNER_PRODUCT, L1_DISTANCE, LN2
from dcsvm_dask.kernels.values import to_values
from dcsvm_dask.kernels.vectors import INNER, LOOP_FLAGS, SUM_FLAGS, prefer_wide_vectors


@njit(**INNER, fastmath=SUM_FLAGS)
def gather(
    Z: Any, chosen: Any, centre: Any, features: Any, counted: Any, l1: Any, B: Any, square: Any
) -> None:
    """Copy the chosen rows of Z, less the centre, into B.

    With `features` only these are copied. Where `counted` is not empty, `square` receives the
    squared norms (with `l1` the L1 norms); with `features` each feature counts in them by its
    number in `counted`.
    """
    prefer_wide_vectors()
    d = Z.shape[1]
    for r in range(len(chosen)):
        z = Z[chosen[r]]
        total = 0.0
        if len(features) > 0:
            for p in range(len(features)):
                f = features[p]
                B[r, p] = B.dtype.type(z[f]) - centre[f]
            for f in range(len(counted)):
                x = abs(np.float64(B.dtype.type(z[f]) - centre[f]))
                total += (x if l1 else x * x) * counted[f]
        elif len(counted) > 0:
            for f in range(d):
                x = B.dtype.type(z[f]) - centre[f]
                B[r, f] = x
                total += np.float64(x) * np.float64(x)
        else:
            for f in range(d):
                B[r, f] = B.dtype.type(z[f]) - centre[f]
        if len(counted) > 0:
            square[r] = total


@njit(**INNER, fastmath=LOOP_FLAGS)
def squared_distances(B: Any, F: Any, T: Any) -> None:
    """T[r, i] = sum_f (F[f, i] - B[r, f])**2, from the differences themselves.

    Four columns by four features stay in registers. T has a multiple of four rows, at least as
    many as B.
    """
    prefer_wide_vectors()
    d, rows = F.shape
    last = len(B) - 1
    whole = d // 4 * 4
    for r in range(0, len(B), 4):
        p = B[r]
        q = B[min(r + 1, last)]
        s = B[min(r + 2, last)]
        t = B[min(r + 3, last)]
        for i in range(rows):
            T[r, i] = T[r + 1, i] = T[r + 2, i] = T[r + 3, i] = 0
        for f in range(0, whole, 4):
            p0, p1, p2, p3 = p[f], p[f + 1], p[f + 2], p[f + 3]
            q0, q1, q2, q3 = q[f], q[f + 1], q[f + 2], q[f + 3]
            s0, s1, s2, s3 = s[f], s[f + 1], s[f + 2], s[f + 3]
            t0, t1, t2, t3 = t[f], t[f + 1], t[f + 2], t[f + 3]
            for i in range(rows):
                a, b, c, e = F[f, i], F[f + 1, i], F[f + 2, i], F[f + 3, i]
                T[r, i] = _squares(a - p0, b - p1, c - p2, e - p3, T[r, i])
                T[r + 1, i] = _squares(a - q0, b - q1, c - q2, e - q3, T[r + 1, i])
                T[r + 2, i] = _squares(a - s0, b - s1, c - s2, e - s3, T[r + 2, i])
                T[r + 3, i] = _squares(a - t0, b - t1, c - t2, e - t3, T[r + 3, i])
        for f in range(whole, d):
            p0, q0, s0, t0 = p[f], q[f], s[f], t[f]
            for i in range(rows):
                a = F[f, i]
                T[r, i] += (a - p0) * (a - p0)
                T[r + 1, i] += (a - q0) * (a - q0)
                T[r + 2, i] += (a - s0) * (a - s0)
                T[r + 3, i] += (a - t0) * (a - t0)


@njit(**INNER, fastmath=LOOP_FLAGS)
def inner_products(B: Any, F: Any, T: Any) -> None:
    """T[r, i] = sum_f F[f, i] B[r, f]; shapes as in `squared_distances`.

    A product of BLAS may round a column in another way beside other columns; here each is by
    itself.
    """
    prefer_wide_vectors()
    d, rows = F.shape
    last = len(B) - 1
    whole = d // 4 * 4
    for r in range(0, len(B), 4):
        p = B[r]
        q = B[min(r + 1, last)]
        s = B[min(r + 2, last)]
        t = B[min(r + 3, last)]
        for i in range(rows):
            T[r, i] = T[r + 1, i] = T[r + 2, i] = T[r + 3, i] = 0
        for f in range(0, whole, 4):
            p0, p1, p2, p3 = p[f], p[f + 1], p[f + 2], p[f + 3]
            q0, q1, q2, q3 = q[f], q[f + 1], q[f + 2], q[f + 3]
            s0, s1, s2, s3 = s[f], s[f + 1], s[f + 2], s[f + 3]
            t0, t1, t2, t3 = t[f], t[f + 1], t[f + 2], t[f + 3]
            for i in range(rows):
                a, b, c, e = F[f, i], F[f + 1, i], F[f + 2, i], F[f + 3, i]
                T[r, i] = e * p3 + (c * p2 + (b * p1 + (a * p0 + T[r, i])))
                T[r + 1, i] = e * q3 + (c * q2 + (b * q1 + (a * q0 + T[r + 1, i])))
                T[r + 2, i] = e * s3 + (c * s2 + (b * s1 + (a * s0 + T[r + 2, i])))
                T[r + 3, i] = e * t3 + (c * t2 + (b * t1 + (a * t0 + T[r + 3, i])))
        for f in range(whole, d):
            p0, q0, s0, t0 = p[f], q[f], s[f], t[f]
            for i in range(rows):
                a = F[f, i]
                T[r, i] += a * p0
                T[r + 1, i] += a * q0
                T[r + 2, i] += a * s0
                T[r + 3, i] += a * t0


@njit(**INNER, fastmath=LOOP_FLAGS)
def manhattan_distances(B: Any, F: Any, T: Any) -> None:
    """T[r, i] = sum_f |F[f, i] - B[r, f]|; shapes as in `squared_distances`."""
    prefer_wide_vectors()
    d, rows = F.shape
    last = len(B) - 1
    whole = d // 4 * 4
    for r in range(0, len(B), 2):
        p = B[r]
        q = B[min(r + 1, last)]
        for i in range(rows):
            T[r, i] = T[r + 1, i] = 0
        for f in range(0, whole, 4):
            p0, p1, p2, p3 = p[f], p[f + 1], p[f + 2], p[f + 3]
            q0, q1, q2, q3 = q[f], q[f + 1], q[f + 2], q[f + 3]
            for i in range(rows):
                a, b, c, e = F[f, i], F[f + 1, i], F[f + 2, i], F[f + 3, i]
                T[r, i] += (abs(a - p0) + abs(b - p1)) + (abs(c - p2) + abs(e - p3))
                T[r + 1, i] += (abs(a - q0) + abs(b - q1)) + (abs(c - q2) + abs(e - q3))
        for f in range(whole, d):
            p0, q0 = p[f], q[f]
            for i in range(rows):
                T[r, i] += abs(F[f, i] - p0)
                T[r + 1, i] += abs(F[f, i] - q0)


@njit(**INNER, fastmath=LOOP_FLAGS)
def sparse_products(
    data: Any,
    indices: Any,
    indptr: Any,
    chosen: Any,
    position: Any,
    F: Any,
    rare_start: Any,
    rare_row: Any,
    rare_value: Any,
    l1: Any,
    T: Any,
    norm: Any,
) -> None:
    """Inner products of CSR rows with a tile of CSR rows.

    Features that many rows of the tile use are rows of F, and meet all rows at once; of the
    others each entry is met by itself. `position` maps a feature to its row of F, to -2 - k where
    the entries rare_start[k] to rare_start[k + 1] are its own, or to -1 where it has none.
    With `l1`, what shortens an L1 distance takes the place of a product:
    (|x| + |z| - |x - z|) / 2. `norm` receives the squared norms (with `l1`: the L1 norms).
    """
    prefer_wide_vectors()
    half = F.dtype.type(0.5)
    rows = T.shape[1]
    longest = 0
    for r in range(len(chosen)):
        longest = max(longest, indptr[chosen[r] + 1] - indptr[chosen[r]])
    feature = np.empty(longest, np.int64)
    value = np.empty(longest, F.dtype)
    for r in range(len(chosen)):
        total = 0.0
        hits = 0
        for i in range(rows):
            T[r, i] = 0
        for p in range(indptr[chosen[r]], indptr[chosen[r] + 1]):
            z = F.dtype.type(data[p])
            total += np.float64(abs(z)) if l1 else np.float64(z) * np.float64(z)
            f = position[indices[p]]
            if f >= 0:
                feature[hits] = f
                value[hits] = z
                hits += 1
            elif f < -1:
                for q in range(rare_start[-2 - f], rare_start[-1 - f]):
                    x = rare_value[q]
                    T[r, rare_row[q]] += half * (abs(x) + abs(z) - abs(x - z)) if l1 else x * z
        norm[r] = total
        if l1:
            for h in range(hits):
                f, z = feature[h], value[h]
                for i in range(rows):
                    T[r, i] += half * (abs(F[f, i]) + abs(z) - abs(F[f, i] - z))
            continue
        whole = hits // 4 * 4
        for h in range(0, whole, 4):
            f0, f1, f2, f3 = feature[h], feature[h + 1], feature[h + 2], feature[h + 3]
            z0, z1, z2, z3 = value[h], value[h + 1], value[h + 2], value[h + 3]
            for i in range(rows):
                T[r, i] += (F[f0, i] * z0 + F[f1, i] * z1) + (F[f2, i] * z2 + F[f3, i] * z3)
        for h in range(whole, hits):
            f, z = feature[h], value[h]
            for i in range(rows):
                T[r, i] += F[f, i] * z


@njit(**INNER, fastmath=LOOP_FLAGS)
def _squares(a: Any, b: Any, c: Any, e: Any, total: Any) -> Any:
    return e * e + (c * c + (b * b + (a * a + total)))


PRODUCTS, DIFFERENCES, SPARSE, LOOPS, SPLIT = range(5)
"""How pairs of rows meet: by BLAS, by differences of features, through the features in use, by
products feature by feature, or by BLAS for some features at a time, whose sum is in float64.
"""


@njit(**INNER, fastmath=SUM_FLAGS)
def _gather_part(Z: Any, chosen: Any, start: Any, centre: Any, B: Any, square: Any) -> None:
    """Do as `gather` for some features, from `start` on; add to the squared norms."""
    prefer_wide_vectors()
    features = min(B.shape[1], Z.shape[1] - start)
    for r in range(len(chosen)):
        j = chosen[r]
        total = 0.0
        for f in range(features):
            x = B.dtype.type(Z[j, start + f]) - centre[start + f]
            B[r, f] = x
            total += np.float64(x) * np.float64(x)
        B[r, features:] = 0
        square[r] += total


@njit(**INNER, fastmath=LOOP_FLAGS)
def split_products(
    Z: Any, chosen: Any, centre: Any, F: Any, width: Any, a: Any, total: Any, T: Any
) -> None:
    """T[r, i] = -1/2 of squared distances, of which only the last rounding is float32's.

    `width` features meet at a time; F has a multiple of them, zero beyond those of Z.
    """
    prefer_wide_vectors()
    n, rows = T.shape
    square = np.zeros(n)
    B = np.empty((n, width), F.dtype)
    for start in range(0, F.shape[0], width):
        _gather_part(Z, chosen, start, centre, B, square)
        np.dot(B, F[start : start + width], T)
        for r in range(n):
            for i in range(rows):
                before = total[r, i] if start > 0 else a[i]
                total[r, i] = before + np.float64(T[r, i])
    for r in range(n):
        half = 0.5 * square[r]
        for i in range(rows):
            T[r, i] = total[r, i] - half


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


@njit(cache=True, nogil=True)
def tile_work(
    argument: Any,
    how: Any,
    function: Any,
    scale: Any,
    degree: Any,
    coef0: Any,
    F: Any,
    a: Any,
    centre: Any,
    width: Any,
    features: Any,
    counted: Any,
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
    u: Any,
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
    Where `spread` is not empty: spread[i] += K(x_i, z_j) u_j over all chosen j.
    Where `block` has rows: block[j, column + i] = K(x_i, z_j).
    `a` is in float64; `width` is that of `split_products`; `features` and `counted` are those of
    `gather`. `chunk` is a multiple of four.
    """
    rows = F.shape[1]
    own = np.zeros(rows, F.dtype) if how == SPLIT else a.astype(F.dtype)
    total = np.empty((chunk if how == SPLIT else 0, rows))
    B = np.empty((0 if how in (SPARSE, SPLIT) else chunk, F.shape[0]), F.dtype)
    l1 = argument == L1_DISTANCE
    buffer = np.empty((chunk, rows), F.dtype)
    b = np.zeros(chunk, F.dtype)
    square = np.zeros(chunk)
    weight = np.empty(chunk)
    run = 0
    for first in range(0, len(chosen), chunk):
        part = chosen[first : first + chunk]
        n = len(part)
        T = buffer[:n]
        if how == SPARSE:
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
            if argument == INNER_PRODUCT:
                square[:] = 0
        elif how == SPLIT:
            split_products(Z, part, centre, F, width, a, total, T)
        else:
            gather(Z, part, centre, features, counted, l1, B, square)
            if how == PRODUCTS:
                np.dot(B[:n], F, T)
            elif l1:
                manhattan_distances(B[:n], F, buffer)
            elif how == LOOPS:
                inner_products(B[:n], F, buffer)
            else:
                squared_distances(B[:n], F, buffer)
        for r in range(n):
            b[r] = -0.5 * square[r]
        to_values(T, function, scale, degree, coef0, own, b)
        if sums.shape[0] > 0:
            for r in range(n):
                # b was rounded: put right what that did, to first order, in the weight.
                slip = -0.5 * square[r] - np.float64(b[r])
                weight[r] = w[first + r] * (1 + LN2 * scale * slip)
            start = np.int64(0)  # a literal 0 would be a type of its own
            while start < n:
                stop = min(run_stop[run] - first, n)
                accumulate(T, start, stop, weight, sums[run_group[run]])
                start = stop
                if first + stop == run_stop[run]:
                    run += 1
        if len(spread) > 0:
            accumulate(T, np.int64(0), n, u[first : first + n], spread)
        if block.shape[0] > 0:
            for r in range(n):
                for i in range(rows):
                    block[part[r], column + i] = T[r, i]


@njit(cache=True, nogil=True)
def mirror(K: Any, first: Any, last: Any) -> None:
    """Copy the lower triangle of a square matrix onto some rows of the upper one, by blocks.

    Eight rows by eight columns are a few cache lines of each side, so that every line is read and
    written once; a block of 64 stays within the pages whose addresses the processor remembers.
    """
    n = len(K)
    for i in range(first, min(last, n), 64):
        for j in range(i, n, 64):
            if j > i and j + 64 <= n:
                for q in range(j, j + 64, 8):
                    for p in range(i, i + 64, 8):
                        for a in range(8):
                            for b in range(8):
                                K[p + a, q + b] = K[q + b, p + a]
                continue
            for p in range(i, min(i + 64, n)):
                for q in range(max(j, p + 1), min(j + 64, n)):
                    K[p, q] = K[q, p]


@njit(cache=True, nogil=True)
def mirror_tile(K: Any, start: Any, stop: Any, chosen: Any) -> None:
    """Copy the chosen rows of columns start:stop to where their mirror images belong.

    Where eight chosen rows follow each other a block of them is copied at a time; see `mirror`.
    """
    for c in range(0, len(chosen), 64):
        last = min(c + 64, len(chosen))
        for i in range(start, stop, 8):
            end = min(i + 8, stop)
            r = c
            while r < last:
                j = chosen[r]
                if end == i + 8 and r + 8 <= last and chosen[r + 7] == j + 7:
                    for a in range(8):
                        for b in range(8):
                            K[i + a, j + b] = K[j + b, i + a]
                    r += 8
                else:
                    for p in range(i, end):
                        K[p, j] = K[j, p]
                    r += 1
