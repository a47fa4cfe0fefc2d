"""Compiled loops over pairs of rows: products and distances, before the kernel function.

A tile of rows comes feature by feature, F of shape (d, rows). Every innermost loop runs over the
rows, which are contiguous, so that it vectorises and sums need no reduction.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg.cython_blas  # noqa: F401

from dcsvm_dask.compiled import njit
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
