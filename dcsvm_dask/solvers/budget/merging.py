"""Compiled maintenance of the budget: merging, removal or projection of the lightest one."""

from __future__ import annotations

from typing import Any

import numpy as np

from dcsvm_dask.compiled import njit
from dcsvm_dask.kernels.kinds import L1_DISTANCE, SQUARED_DISTANCE
from dcsvm_dask.kernels.values import to_values
from dcsvm_dask.solvers.budget.arguments import of_dense
from dcsvm_dask.solvers.budget.state import (
    AUDITED,
    EQUAL,
    FAR,
    MERGES,
    REMOVALS,
    SIZE,
    VALUES,
    WIDE,
)
from dcsvm_dask.solvers.budget.tables import (
    INNER,
    OPTIONS,
    golden_section,
    looked_up,
    lost,
    power,
)

GSS, GSS_PRECISE, LOOKUP_H, LOOKUP_WD, REMOVAL, PROJECTION = range(6)
MERGE_NAMES = ("gss", "gss-precise", "lookup-h", "lookup-wd", "removal", "projection")
"""Ways of keeping the budget, by their numbers in compiled code."""
MERGING = MERGE_NAMES[:4]
"""Those that merge; they need the RBF kernel."""
STANDARD, PRECISE = 1e-2, 1e-10
"""Lengths of the interval at which golden section search ends."""
UNSEEN = np.float32(2.0**-24)
"""Kernel values below are lost beside 1 in float32: such points do not see each other."""
RIDGE = 1e-7
"""What the diagonal of kernel values gets to be solved with, as a share of the largest."""


@njit(**OPTIONS)
def maintain(S: Any, code: Any, how: Any, tables: Any, audit: Any, work: Any) -> None:
    """Take one support vector away.

    Parameters
    ----------
    S : Expansion
        It has one support vector more than it may have.
    code : KernelCode
    how : int
        GSS, ..., PROJECTION.
    tables : tuple of ndarray
        h and wd; see `MergeTables`.
    audit : bool
        Whether to count how merges compare with those by golden section search.
    work : ndarray, shape (3, room), float32
        Scratch; its last row is zero.
    """
    i = _lightest(S)
    if how == REMOVAL:
        remove(S, i)
    elif how == PROJECTION:
        _project(S, i)
    else:
        _merge(S, code, i, how, tables, audit, work)


@njit(**INNER)
def padded(size: Any) -> Any:
    """Return a number of support vectors that fills vector registers."""
    return -(-size // WIDE) * WIDE


@njit(**INNER)
def _lightest(S: Any) -> Any:
    best, least = 0, np.inf
    for j in range(S.counts[SIZE]):
        weight = abs(S.coef[j])
        if weight < least:
            best, least = j, weight
    return best


@njit(**INNER)
def remove(S: Any, i: Any) -> None:
    """Take support vector i away; the last one takes its place."""
    _drop(S, i)
    S.counts[REMOVALS] += 1


@njit(**INNER)
def _drop(S: Any, i: Any) -> None:
    last = S.counts[SIZE] - 1
    S.points[:, i] = S.points[:, last]
    S.points[:, last] = 0
    S.norms[i], S.norms[last] = S.norms[last], 0
    S.coef[i], S.coef[last] = S.coef[last], 0.0
    if S.values.shape[0]:
        corner = S.values[last, last]
        S.values[i, :] = S.values[last, :]
        S.values[:, i] = S.values[:, last]
        S.values[i, i] = corner
    S.counts[SIZE] = last


@njit(**INNER)
def _merge(S: Any, code: Any, i: Any, how: Any, tables: Any, audit: Any, work: Any) -> None:
    """Merge support vector i with the partner of its sign by which the least is lost."""
    size = S.counts[SIZE]
    width = padded(size)
    S.counts[VALUES] += size
    x = S.points[:, i].copy()
    of_dense(S.points, x, code.argument, width, work[0])
    for j in range(width):
        work[1, j] = work[0, j]
    to_values(
        work[1:2, :width],
        code.function,
        code.scale,
        code.degree,
        code.coef0,
        work[2, :width],
        work[2, :1],
    )
    kappa = work[1]
    own = S.coef[i]
    j, h = _partner(S.coef, size, i, work[0], kappa, code.scale, how, tables)
    if j < 0:
        remove(S, i)
        return
    if kappa[j] < UNSEEN:
        S.counts[FAR] += 1
    exponent = np.float64(work[0, j] * code.scale)
    m = abs(own) / (abs(own) + abs(S.coef[j]))
    if how == LOOKUP_WD:
        h = looked_up(tables[0], m, np.float64(kappa[j]))
    if audit:
        _compare(S, i, j, h, work[0], kappa, code.scale, tables)
    S.coef[j] = own * power(exponent, (1.0 - h) * (1.0 - h)) + S.coef[j] * power(exponent, h * h)
    share = np.float32(h)
    norm = 0.0
    for f in range(S.points.shape[0]):
        z = S.points[f, j] + share * (x[f] - S.points[f, j])
        S.points[f, j] = z
        norm += abs(z) if code.argument == L1_DISTANCE else np.float64(z) * z
    if code.argument == L1_DISTANCE or code.argument == SQUARED_DISTANCE:
        S.norms[j] = norm
    _drop(S, i)
    S.counts[MERGES] += 1


@njit(**INNER)
def _partner(
    coef: Any, size: Any, i: Any, distances: Any, kappa: Any, scale: Any, how: Any, tables: Any
) -> Any:
    """Return the partner of support vector i and h; -1 where none has its sign.

    By the table of what is lost h is not found.
    """
    own = coef[i]
    weight = abs(own)
    best, least, best_h = -1, np.inf, 0.0
    for j in range(size):
        if j == i or (coef[j] > 0.0) != (own > 0.0):
            continue
        total = weight + abs(coef[j])
        m = weight / total
        h = 0.0
        if how == LOOKUP_WD:
            share = looked_up(tables[1], m, np.float64(kappa[j]))
        else:
            exponent = np.float64(distances[j] * scale)
            if how == LOOKUP_H:
                h = looked_up(tables[0], m, np.float64(kappa[j]))
            else:
                h = golden_section(m, exponent, STANDARD if how == GSS else PRECISE)
            share = lost(m, exponent, h)
        cost = total * total * share
        if cost < least:
            best, least, best_h = j, cost, h
    return best, best_h


@njit(**INNER)
def _compare(
    S: Any, i: Any, j: Any, h: Any, distances: Any, kappa: Any, scale: Any, tables: Any
) -> None:
    """Count what a merge with j at h costs beside the best one and the one by golden section."""
    size, own = S.counts[SIZE], abs(S.coef[i])
    best, best_h = _partner(S.coef, size, i, distances, kappa, scale, GSS_PRECISE, tables)
    gss, gss_h = _partner(S.coef, size, i, distances, kappa, scale, GSS, tables)
    for place, partner, at in ((0, best, best_h), (1, gss, gss_h), (2, j, h)):
        total = own + abs(S.coef[partner])
        exponent = np.float64(distances[partner] * scale)
        S.lost[place] += total * total * lost(own / total, exponent, at)
    S.counts[AUDITED] += 1
    S.counts[EQUAL] += int(gss == j)


@njit(**OPTIONS)
def _project(S: Any, i: Any) -> None:
    """Project support vector i onto the span of the others (Wang, Crammer, Vucetic, JMLR 2012)."""
    size, own = S.counts[SIZE], S.coef[i]
    row = S.values[i, :size].copy()
    last = size - 1
    row[i] = row[last]
    _drop(S, i)
    S.counts[REMOVALS] += 1
    if last == 0:
        return
    K = S.values[:last, :last].copy()
    most = 0.0
    for j in range(last):
        most = max(most, K[j, j])
    if not most > 0.0:  # all are rows of zeros, and nothing to a kernel of inner products
        return
    for j in range(last):
        K[j, j] += RIDGE * most
    S.coef[:last] += own * np.linalg.solve(K, row[:last])
