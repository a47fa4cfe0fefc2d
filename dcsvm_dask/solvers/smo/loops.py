"""Inner loops of sequential minimal optimisation, each one pass over memory that vectorises.

Variables are signed here: beta_i = y_i alpha_i within [lower_i, upper_i], so that labels vanish:
the gradient is G = K beta + q. `lo` and `hi` say where a variable may still go: lo_i = -FAR when
beta_i can rise (a negative G_i is a violation), else 0; hi_i = FAR when it can fall, else 0. So
min(max(G_i, lo_i), hi_i) is the projected gradient.

With a kink, epsilon_i |beta_i| in the objective, G_i is the slope for a variable that rises, and
`zone` says how much less the slope is for one that falls: 2 epsilon_i at beta_i = 0, else 0.
Without kinks `zone` is None, for which the loops are compiled by themselves.

LLVM does not vectorise an argmax. The loops take the maximum of chunks of CHUNK rows as integers
(the bits of non-negative floats are ordered as the floats are) and afterwards look at the best
chunk alone, with the position within the chunk in place of the lowest bits: a choice that is
the best up to 2^-16. Unsigned indices spare the test for negative ones.

Kernel values may be whole multiples of a unit (see `rounded`); callers put it into the factors.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dcsvm_dask.compiled import njit
from dcsvm_dask.kernels.vectors import INNER

CHUNK = 128
FAR = np.float32(1e30)
_f4 = np.float32
_i4 = np.int32
_u = np.uintp
_FLAGS = {"contract", "reassoc", "nsz", "arcp"}
_CHOICES = {"fastmath": _FLAGS, "error_model": "numpy"}
_OPTIONS = {"cache": True, "nogil": True, **_CHOICES}
TAU = 1e-12
"""The smallest curvature of a step, relative to the diagonal."""
# The one that a choice reckons with.
_FLAT = np.float32(1e-6)
# And where a diagonal below 0 makes the sum of two 0.
_LEAST = np.float32(1e-37)


@njit(**INNER, **_CHOICES)
def bits(value: Any) -> Any:
    """Return the bits of a non-negative float32, which are ordered as the floats are."""
    return _f4(value).view(_i4)


@njit(**INNER, **_CHOICES)
def ordered_bits(value: Any) -> Any:
    """Return an integer that is ordered as float32 numbers of either sign are."""
    x = _f4(value).view(_i4)
    return _i4(x ^ _i4(_i4(x >> _i4(31)) & _i4(0x7FFFFFFF)))


@njit(**INNER, **_CHOICES)
def _tagged(of: Any, k: Any) -> Any:
    """Put the position within the chunk into the lowest bits."""
    return _i4(_i4(of & _i4(-CHUNK)) | _i4(k & _u(CHUNK - 1)))


@njit(**INNER, **_CHOICES)
def falling(g: Any, zone: Any, k: Any) -> Any:
    """Return the slope of variable k for a step down, given that for a step up."""
    if zone is None:
        return g
    return g - zone[k]


@njit(**INNER, **_CHOICES)
def projected(g: Any, lo: Any, hi: Any, zone: Any, k: Any) -> Any:
    """Return the projected gradient of variable k, given its slope g for a step up."""
    if zone is None:
        return min(max(g, lo[k]), hi[k])
    return max(min(g, _f4(0)), lo[k]) + min(max(g - zone[k], _f4(0)), hi[k])


@njit(**INNER, **_CHOICES)
def _box_gain(
    g: Any, lo: Any, hi: Any, zone: Any, k: Any, k_ij: Any, diagonal: Any, ratio: Any, inverse: Any
) -> Any:
    """Return twice the gain of variable k after the first took its Newton step."""
    left = projected(g - ratio * k_ij, lo, hi, zone, k)
    return left * left / max(diagonal - k_ij * (k_ij * inverse), _FLAT * diagonal)


@njit(**INNER, **_CHOICES)
def _pair_gain(
    g: Any, hi: Any, k_ij: Any, twice: Any, diagonal: Any, g_i: Any, diagonal_i: Any
) -> Any:
    """Return twice the gain of moving a pair along the equality (Fan, Chen, Lin, (8)).

    `g` is the slope of the variable that falls.
    """
    slope = min(max(g - g_i, _f4(0)), hi)
    both = diagonal + diagonal_i
    return slope * slope / max(both - twice * k_ij, _FLAT * abs(both), _LEAST)


@njit(**INNER)
def pair_curvature(K_ii: Any, K_jj: Any, K_ij: Any) -> Any:
    """Return K_ii + K_jj - 2 K_ij, kept above 0; with a diagonal below 0 the sum may be 0."""
    one = np.float64(K_ii)
    other = np.float64(K_jj)
    return max(one + other - 2.0 * K_ij, TAU * (abs(one) + abs(other)))


@njit(**_OPTIONS)
def box_update(G: Any, Ki: Any, Kj: Any, lo: Any, hi: Any, zone: Any, s: Any, t: Any) -> Any:
    """Add s K_i + t K_j to G and return the row with the largest projected gradient."""
    n = G.shape[0]
    best = _i4(-1)
    at = 0
    for c in range(0, n, CHUNK):
        m = _i4(0)
        for k in range(_u(c), _u(min(c + CHUNK, n))):
            g = G[k] + (s * _f4(Ki[k]) + t * _f4(Kj[k]))
            G[k] = g
            m = max(m, bits(abs(projected(g, lo, hi, zone, k))))
        if m > best:
            best = m
            at = c
    m = _i4(0)
    for k in range(_u(at), _u(min(at + CHUNK, n))):
        m = max(m, _tagged(bits(abs(projected(G[k], lo, hi, zone, k))), k))
    return at + (m & (CHUNK - 1))


@njit(**_OPTIONS)
def box_partner(
    G: Any, lo: Any, hi: Any, zone: Any, diagonal: Any, Ki: Any, ratio: Any, inverse: Any
) -> Any:
    """Return the row that gains most together with row i; ratio = G_i / K_ii, inverse = 1 / K_ii.

    Row i itself is kept out by the caller (lo_i = hi_i = 0).
    """
    n = G.shape[0]
    best = _i4(-1)
    at = 0
    for c in range(0, n, CHUNK):
        m = _i4(0)
        for k in range(_u(c), _u(min(c + CHUNK, n))):
            gain = _box_gain(G[k], lo, hi, zone, k, _f4(Ki[k]), diagonal[k], ratio, inverse)
            m = max(m, bits(gain))
        if m > best:
            best = m
            at = c
    m = _i4(0)
    for k in range(_u(at), _u(min(at + CHUNK, n))):
        gain = _box_gain(G[k], lo, hi, zone, k, _f4(Ki[k]), diagonal[k], ratio, inverse)
        m = max(m, _tagged(bits(gain), k))
    return at + (m & (CHUNK - 1))


@njit(**_OPTIONS)
def pair_update(G: Any, Ki: Any, Kj: Any, lo: Any, hi: Any, zone: Any, s: Any, t: Any) -> Any:
    """Add s K_i + t K_j to G; return the row of the largest -G that can rise, and -M.

    -M is the largest G over the rows that can fall; both are hugely negative without such rows.
    """
    n = G.shape[0]
    best = _i4(-0x80000000)
    worst = _i4(-0x80000000)
    at = 0
    for c in range(0, n, CHUNK):
        m = _i4(-0x80000000)
        w = _i4(-0x80000000)
        for k in range(_u(c), _u(min(c + CHUNK, n))):
            g = G[k] + (s * _f4(Ki[k]) + t * _f4(Kj[k]))
            G[k] = g
            m = max(m, ordered_bits(-g if lo[k] < _f4(0) else -FAR))
            w = max(w, ordered_bits(falling(g, zone, k) if hi[k] > _f4(0) else -FAR))
        if m > best:
            best = m
            at = c
        worst = max(worst, w)
    m = _i4(-0x80000000)
    for k in range(_u(at), _u(min(at + CHUNK, n))):
        m = max(m, _tagged(ordered_bits(-G[k] if lo[k] < _f4(0) else -FAR), k))
    return at + (m & (CHUNK - 1)), _i4(worst ^ ((worst >> 31) & 0x7FFFFFFF)).view(_f4)


@njit(**_OPTIONS)
def pair_partner(
    G: Any, hi: Any, zone: Any, diagonal: Any, Ki: Any, twice: Any, g_i: Any, diagonal_i: Any
) -> Any:
    """Return the row that can fall and gains most against row i, which rises.

    `twice` is two units of Ki.
    """
    n = G.shape[0]
    best = _i4(-1)
    at = 0
    for c in range(0, n, CHUNK):
        m = _i4(0)
        for k in range(_u(c), _u(min(c + CHUNK, n))):
            g = falling(G[k], zone, k)
            m = max(m, bits(_pair_gain(g, hi[k], _f4(Ki[k]), twice, diagonal[k], g_i, diagonal_i)))
        if m > best:
            best = m
            at = c
    m = _i4(0)
    for k in range(_u(at), _u(min(at + CHUNK, n))):
        g = falling(G[k], zone, k)
        gain = _pair_gain(g, hi[k], _f4(Ki[k]), twice, diagonal[k], g_i, diagonal_i)
        m = max(m, _tagged(bits(gain), k))
    return at + (m & (CHUNK - 1))
