"""Compiled steps of the online solver on its expansion; see `arrays` for the words."""

from __future__ import annotations

from typing import Any

import numpy as np

from dcsvm_dask.compiled import njit
from dcsvm_dask.solvers.online.arrays import (
    HIGH,
    INNER,
    OPTIONS,
    STEPS,
    join,
    mark,
    release,
    touch,
)
from dcsvm_dask.solvers.smo.loops import CHUNK, FAR, bits, ordered_bits, pair_curvature

_LEAST = 1e-24  # a curvature, of rows of zeros by the linear kernel
_SUM = {**INNER, "fastmath": {"contract", "reassoc", "nsz"}}


@njit(**OPTIONS)
def process(S: Any, batch: Any, samples: Any, equality: Any, tol: Any, place: Any) -> Any:
    """PROCESS, then REPROCESS two variables, for each group of so many rows of a batch.

    Rows that are of no use leave the expansion at the end.

    Goes on from `place`, (row of the batch, 1 if that is processed already). Returns -1 at the
    end; or the slot whose row has to be in the cache first: put it there and call again.
    """
    while place[0] < len(batch.rows):
        stop = min(place[0] + samples, len(batch.rows))
        if place[1] == 0:
            needed = _process(S, batch, place[0], stop, equality, tol)
            if needed >= 0:
                return needed
            place[1] = 1
        # As many variables as a pair has.
        needed = reprocess(S, equality, tol, 1 if equality else 2)
        if needed >= 0:
            return needed
        place[0], place[1] = stop, 0
    _drop(S, equality)
    return -1


@njit(**OPTIONS)
def reprocess(S: Any, equality: Any, tol: Any, most: Any) -> Any:
    """Take so many steps on the worst of the expansion, as long as it violates by more than tol.

    Returns as `process` does.
    """
    for _ in range(most):
        i, j, violation = _worst(S, equality)
        if not violation > tol:
            return -1
        if S.where[i] < 0:
            return i
        if equality and S.where[j] < 0:
            return j
        if equality:
            _pair_step(S, i, j)
        else:
            _step(S, i)
    return -1


@njit(**OPTIONS)
def violation(S: Any, equality: Any) -> Any:
    """Return the violation of the problem of the expansion."""
    return _worst(S, equality)[2]


@njit(**OPTIONS)
def missing(S: Any, slot: Any, equality: Any, most: Any) -> Any:
    """Return a slot, and at most so many others without a kernel row that will soon need theirs.

    Those are the ones that violate most, with an equality by what the bias would be.
    """
    middle = 0.0
    if equality:
        i, j = _ends(S)
        if i >= 0 and j >= 0:
            middle = 0.5 * (S.g[i] + S.g[j])
    found, reach, count = np.empty(most, np.int64), np.empty(most), 1
    found[0], reach[0] = slot, np.inf
    for s in range(S.counts[HIGH]):
        if S.where[s] >= 0 or s == slot:
            continue
        slope = S.g[s] - middle
        far = abs(min(max(slope, np.float64(S.lo[s])), np.float64(S.hi[s])))
        if not far > 0.0 or (count == most and not far > reach[most - 1]):
            continue
        # Put in where it belongs; the last one goes where there are enough.
        at = count if count < most else most - 1
        while at > 1 and reach[at - 1] < far:
            found[at], reach[at] = found[at - 1], reach[at - 1]
            at -= 1
        found[at], reach[at] = s, far
        count = min(count + 1, most)
    return found[:count]


@njit(**INNER)
def _drop(S: Any, equality: Any) -> None:
    """Let rows go that are at zero and could not be in a violating pair (or violate alone).

    With an equality the two that say where the bias lies stay.
    """
    i, j = _ends(S) if equality else (-1, -1)
    if equality and (i < 0 or j < 0):
        return
    top = S.g[j] if equality else 0.0
    bottom = S.g[i] if equality else 0.0
    for s in range(S.counts[HIGH]):
        if S.beta[s] != 0.0 or S.rows[s] < 0 or (equality and s in (i, j)):
            continue
        if (S.upper[s] > 0.0 and S.g[s] <= top) or (S.lower[s] < 0.0 and S.g[s] >= bottom):
            release(S, s)


@njit(**INNER)
def _process(S: Any, batch: Any, start: Any, stop: Any, equality: Any, tol: Any) -> Any:
    i, j = _ends(S) if equality else (-1, -1)
    k, g, reach = _choose(S, batch, start, stop, equality, i, j)
    if k < 0 or (not equality and not reach > tol):
        return -1
    if not equality:
        _step(S, join(S, batch, k, g))
        return -1
    y = batch.y[k]
    partner = j if y > 0.0 else i
    violates = partner >= 0 and y * (g - S.g[partner]) > tol
    # Where no row is off by more than tol / 2 from one and the same bias, no pair is by tol.
    if not violates and not reach > 0.5 * tol:
        return -1
    if violates:
        if S.where[partner] < 0:
            return partner
        touch(S, partner)
    p = join(S, batch, k, g)
    if violates:
        if y > 0.0:
            _pair_step(S, p, partner)
        else:
            _pair_step(S, partner, p)
    return -1


@njit(**INNER)
def _choose(S: Any, batch: Any, start: Any, stop: Any, equality: Any, i: Any, j: Any) -> Any:
    """Return the row, of some of a batch, that is most on the wrong side; its slope; how far.

    With an equality, a row that can move in a way in which none of the expansion can comes
    first, and waits there; while none can move the other way, others like it are of no use.
    (i, j) are the ends of the expansion then.
    """
    best, slope, reach = -1, 0.0, -np.inf
    for k in range(start, stop):
        if S.slot_of[batch.rows[k]] >= 0:
            continue
        y = batch.y[k]
        g = y - _dot(S.beta, batch.K[k], S.counts[HIGH])
        far = y * g
        if equality:
            own, other = (i, j) if y > 0.0 else (j, i)
            if own < 0:
                far = np.inf
            elif other < 0:
                far = -np.inf
            else:
                far = y * (g - 0.5 * (S.g[i] + S.g[j]))
        if far > reach:
            best, slope, reach = k, g, far
    return best, slope, reach


@njit(**INNER)
def _worst(S: Any, equality: Any) -> Any:
    """Return what violates most, a pair or one variable, and by how much."""
    if equality:
        i, j = _ends(S)
        return i, j, S.g[i] - S.g[j] if i >= 0 and j >= 0 else 0.0
    i = _violator(S)
    return i, i, abs(S.g[i]) if i >= 0 else 0.0


@njit(**_SUM)
def _violator(S: Any) -> Any:
    """Return the slot that violates most by itself, -1 where none does.

    As in `smo.loops`: chunks by the bits of float32, which vectorises, then the best chunk.
    """
    g, lo, hi, high = S.g, S.lo, S.hi, S.counts[HIGH]
    best, at = np.int32(0), -1
    for c in range(0, high, CHUNK):
        m = np.int32(0)
        for k in range(np.uintp(c), np.uintp(min(c + CHUNK, high))):
            m = max(m, bits(abs(min(max(np.float32(g[k]), lo[k]), hi[k]))))
        if m > best:
            best, at = m, c
    if at < 0:
        return -1
    i, far = at, -1.0
    for k in range(at, min(at + CHUNK, high)):
        own = abs(min(max(g[k], np.float64(lo[k])), np.float64(hi[k])))
        if own > far:
            i, far = k, own
    return i


@njit(**_SUM)
def _ends(S: Any) -> Any:
    """Return the slots of the largest slope that can rise and the smallest that can fall.

    -1 where there is none.
    """
    g, lo, hi, high = S.g, S.lo, S.hi, S.counts[HIGH]
    nothing = ordered_bits(-FAR)
    best, worst = nothing, nothing
    top, bottom = 0, 0
    for c in range(0, high, CHUNK):
        m, w = nothing, nothing
        for k in range(np.uintp(c), np.uintp(min(c + CHUNK, high))):
            slope = np.float32(g[k])
            m = max(m, ordered_bits(slope if hi[k] > 0 else -FAR))
            w = max(w, ordered_bits(-slope if lo[k] < 0 else -FAR))
        if m > best:
            best, top = m, c
        if w > worst:
            worst, bottom = w, c
    i, j = -1, -1
    for k in range(top, min(top + CHUNK, high)):
        if hi[k] > 0 and (i < 0 or g[k] > g[i]):
            i = k
    for k in range(bottom, min(bottom + CHUNK, high)):
        if lo[k] < 0 and (j < 0 or g[k] < g[j]):
            j = k
    return i, j


@njit(**INNER)
def _pair_step(S: Any, i: Any, j: Any) -> None:
    """Move beta_i up and beta_j down by as much, to where that is best."""
    Ki, Kj = S.cache[S.where[i]], S.cache[S.where[j]]
    curvature = pair_curvature(S.diagonal[i], S.diagonal[j], np.float64(Ki[j]))
    room_i, room_j = S.upper[i] - S.beta[i], S.beta[j] - S.lower[j]
    step = min((S.g[i] - S.g[j]) / max(curvature, _LEAST), room_i, room_j)
    S.beta[i] = S.upper[i] if step == room_i else S.beta[i] + step
    S.beta[j] = S.lower[j] if step == room_j else S.beta[j] - step
    mark(S, i)
    mark(S, j)
    _add_difference(S.g, Ki, Kj, step, S.counts[HIGH])
    touch(S, i)
    touch(S, j)
    S.counts[STEPS] += 1


@njit(**INNER)
def _step(S: Any, i: Any) -> None:
    """Move beta_i to where it is best."""
    before = S.beta[i]
    wanted = before + S.g[i] / max(S.diagonal[i], _LEAST)
    S.beta[i] = min(max(wanted, S.lower[i]), S.upper[i])
    mark(S, i)
    _add(S.g, S.cache[S.where[i]], before - S.beta[i], S.counts[HIGH])
    touch(S, i)
    S.counts[STEPS] += 1


@njit(**_SUM)
def _dot(beta: Any, K: Any, high: Any) -> Any:
    total = 0.0
    for s in range(np.uintp(high)):
        total += beta[s] * np.float64(K[s])
    return total


@njit(**_SUM)
def _add(g: Any, K: Any, step: Any, high: Any) -> None:
    for s in range(np.uintp(high)):
        g[s] += step * np.float64(K[s])


@njit(**_SUM)
def _add_difference(g: Any, Ki: Any, Kj: Any, step: Any, high: Any) -> None:
    for s in range(np.uintp(high)):
        g[s] += step * (np.float64(Kj[s]) - np.float64(Ki[s]))
