"""Where the online solver keeps its expansion: slots, and a cache of kernel rows.

Variables are signed, beta_i = y_i alpha_i, and g_i = y_i - sum_j beta_j K_ij is the slope in which
the dual rises; labels vanish thereby. A row of the expansion has a slot, its place in every
array here; a slot that is free has bounds and a beta of zero, so that no loop looks for it. A
cached row of kernel values has one for every slot.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dcsvm_dask.compiled import njit
from dcsvm_dask.solvers.smo.loops import FAR

# Places in `counts`: slots up to the last one in use, free ones among them, rows in the expansion,
# uses of the cache, cached rows, steps, and rows that were taken in.
HIGH, FREE, LIVE, CLOCK, FILLED, STEPS, TAKEN = range(7)
OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy"}
# Called from compiled code only: no wrappers, which cost compile time.
INNER = {**OPTIONS, "no_cpython_wrapper": True}


class Slots(NamedTuple):
    """The expansion and its cache, as arrays."""

    rows: Any
    """Number of the row in each slot, -1 where it is free; int64, shape (capacity,), as the next
    nine arrays have it."""
    beta: Any
    """Signed variables, float64, as the next four arrays."""
    g: Any
    """Slopes in which the dual rises."""
    lower: Any
    upper: Any
    diagonal: Any
    """K_ii."""
    lo: Any
    """-FAR where beta can fall, else 0, float32: a row violates by min(max(g, lo), hi)."""
    hi: Any
    """FAR where beta can rise, else 0, float32."""
    where: Any
    """The cached row of each slot, -1 without one; int64, as all that follow but the cache."""
    free: Any
    """Slots that became free, a stack."""
    slot_of: Any
    """The slot of each row of the data, -1 outside of the expansion; shape (n,)."""
    cache: Any
    """Kernel values, float32, shape (cached, capacity)."""
    holder: Any
    """The slot of each cached row, -1 without one; shape (cached,)."""
    used: Any
    """When each cached row was last used, by the clock in `counts`; shape (cached,)."""
    counts: Any
    """Shape (7,): see `HIGH` and those beside it."""


class Batch(NamedTuple):
    """Rows that come next, with their kernel values."""

    rows: Any
    K: Any
    """Kernel values with every slot, shape (batch or more, capacity); a row that joins the
    expansion fills in those with its slot."""
    own: Any
    """Kernel values among themselves, shape (batch, batch)."""
    y: Any
    C: Any
    diagonal: Any


@njit(**INNER)
def claim(S: Any, slot: Any) -> Any:
    """Give a slot a cached row: a new one, or that which was not used for longest."""
    c = S.counts[FILLED]
    if c < S.holder.shape[0]:
        S.counts[FILLED] += 1
    else:
        c = 0
        for other in range(len(S.used)):
            if S.used[other] < S.used[c]:
                c = other
        if S.holder[c] >= 0:
            S.where[S.holder[c]] = -1
    S.holder[c] = slot
    S.where[slot] = c
    touch(S, slot)
    return c


@njit(**INNER)
def touch(S: Any, slot: Any) -> None:
    """Mark the kernel row of a slot as used."""
    S.counts[CLOCK] += 1
    S.used[S.where[slot]] = S.counts[CLOCK]


@njit(**OPTIONS)
def put(S: Any, slots: Any, K: Any) -> None:
    """Put the kernel rows of some slots into the cache: the rows of K."""
    for k in range(len(slots)):
        row = S.cache[claim(S, slots[k])]
        for s in range(K.shape[1]):
            row[s] = K[k, s]


@njit(**OPTIONS)
def widen(buffer: Any, old: Any, new: Any, chosen: Any, kept: Any) -> None:
    """Let some cached rows, so many values each, be rows of another width, in place.

    They are the chosen ones, ascending; of each the values at the slots that are kept, ascending,
    come first. Where the rows become narrower or wider, nothing is written before it was read.
    """
    m = len(kept)
    for c in range(len(chosen)):
        for s in range(m):
            buffer[c * old + s] = buffer[chosen[c] * old + kept[s]]
    if new <= old:
        for c in range(len(chosen)):
            for s in range(m):
                buffer[c * new + s] = buffer[c * old + s]
    else:
        for c in range(len(chosen) - 1, -1, -1):
            for s in range(m - 1, -1, -1):
                buffer[c * new + s] = buffer[c * old + s]


@njit(**INNER)
def mark(S: Any, s: Any) -> None:
    """Note where a variable may still go."""
    S.lo[s] = -FAR if S.beta[s] > S.lower[s] else np.float32(0.0)
    S.hi[s] = FAR if S.beta[s] < S.upper[s] else np.float32(0.0)


@njit(**INNER)
def join(S: Any, batch: Any, k: Any, g: Any) -> Any:
    """Put a row of the batch into the expansion, its beta zero; return its slot."""
    if S.counts[FREE] > 0:
        S.counts[FREE] -= 1
        p = S.free[S.counts[FREE]]
    else:
        p = S.counts[HIGH]
        S.counts[HIGH] += 1
    S.rows[p], S.slot_of[batch.rows[k]] = batch.rows[k], p
    S.beta[p], S.g[p], S.diagonal[p] = 0.0, g, batch.diagonal[k]
    S.lower[p] = 0.0 if batch.y[k] > 0.0 else -batch.C[k]
    S.upper[p] = batch.C[k] if batch.y[k] > 0.0 else 0.0
    mark(S, p)
    for b in range(len(batch.rows)):
        batch.K[b, p] = batch.own[b, k]
    row = S.cache[claim(S, p)]
    # A loop: the check of shapes in an assignment of slices takes seconds to compile.
    for s in range(S.counts[HIGH]):
        row[s] = batch.K[k, s]
    for c in range(S.counts[FILLED]):
        if S.holder[c] >= 0:
            S.cache[c, p] = batch.K[k, S.holder[c]]
    S.counts[LIVE] += 1
    S.counts[TAKEN] += 1
    return p


@njit(**INNER)
def release(S: Any, s: Any) -> None:
    """Take a row out of the expansion."""
    S.slot_of[S.rows[s]] = -1
    S.rows[s] = -1
    S.lower[s] = S.upper[s] = 0.0
    mark(S, s)
    if S.where[s] >= 0:
        S.holder[S.where[s]] = -1
        S.used[S.where[s]] = -1
        S.where[s] = -1
    S.free[S.counts[FREE]] = s
    S.counts[FREE] += 1
    S.counts[LIVE] -= 1
