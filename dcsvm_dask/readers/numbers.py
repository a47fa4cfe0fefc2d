"""Compiled parsing of decimal numbers, with the results of ``float()``.

Up to 15 digits or so, a product or quotient of two exact doubles is correctly rounded (W. Clinger,
"How to read floating point numbers accurately", 1990). Up to 19 digits, D. Lemire's algorithm is
("Number parsing at a gigabyte per second", Software: Practice and Experience 51, 2021; complete
without a fallback by N. Mushtak and D. Lemire, "Fast number parsing without fallback", 2023).
Where more digits leave the rounding open, the status requires ``float()`` of the caller.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dcsvm_dask.compiled import njit

GOOD, SLOW, BAD = 0, 1, 2
"""Statuses of `parse_number`: the value is correct; use ``float()``; not a number."""

# Called from compiled code only: no wrappers, which cost compile time. No reference counts of
# arrays: a call that updates them takes as long as parsing a number; callers own the arrays.
INNER = {"cache": True, "nogil": True, "no_cpython_wrapper": True, "_nrt": False}

MAX_FLOAT32 = float(np.finfo(np.float32).max) * (1 + 2.0**-25)
"""Least value that rounds to infinity in float32."""

_U0, _U1, _U2, _U3 = (np.uint64(k) for k in range(4))
_U32, _U63 = np.uint64(32), np.uint64(63)
_LOW = np.uint64(0xFFFFFFFF)
_TOO_LONG = np.uint64(10**18)
_EXACT = np.uint64(1 << 53)
_HIDDEN = np.uint64(1 << 52)
_DOUBT = np.uint64((1 << 64) - 1 >> 55)
_TEN = 10.0 ** np.arange(23)
_SMALLEST, _LARGEST = -342, 308


def _powers_of_five() -> Any:
    """Return 128 bits of 5^q for q = -342..308, as rows (high, low) of uint64."""
    table = np.empty((_LARGEST - _SMALLEST + 1, 2), np.uint64)
    for q in range(_SMALLEST, _LARGEST + 1):
        if q < 0:
            power = 5**-q
            z = (power - 1).bit_length()
            bits = (1 << (z + 127 if q >= -27 else 2 * z + 128)) // power + 1
        else:
            bits = 5**q << 128
        bits >>= bits.bit_length() - 128
        table[q - _SMALLEST] = bits >> 64, bits & ((1 << 64) - 1)
    return table


_FIVE = _powers_of_five()


@njit(**INNER, inline="always")
def _multiply(a: np.uint64, b: np.uint64) -> Any:
    """Return the high and the low half of a product of 128 bits."""
    a0, a1, b0, b1 = a & _LOW, a >> _U32, b & _LOW, b >> _U32
    low = a0 * b0
    middle = a1 * b0 + (low >> _U32)
    other = a0 * b1 + (middle & _LOW)
    return a1 * b1 + (middle >> _U32) + (other >> _U32), a * b


@njit(**INNER)
def _leading_zeros(w: np.uint64) -> int:
    count = 0
    for step in (32, 16, 8, 4, 2, 1):
        if w >> np.uint64(64 - step) == _U0:
            w <<= np.uint64(step)
            count += step
    return count


@njit(**INNER)
def scaled(w: int, fraction: int) -> float:
    """Return the double nearest to w / 10^fraction, for 0 <= w < 10^18 and fraction <= 18."""
    if w <= 1 << 53:
        return float(w) / _TEN[fraction]
    return _lemire(np.uint64(w), -fraction)


@njit(**INNER)
def _lemire(w: np.uint64, q: int) -> float:
    """Return the double nearest to w * 10^q, for 0 < w < 2^64."""
    if q < _SMALLEST:
        return 0.0
    if q > _LARGEST:
        return np.inf
    zeros = _leading_zeros(w)
    w <<= np.uint64(zeros)
    high, low = _multiply(w, _FIVE[q - _SMALLEST, 0])
    if high & _DOUBT == _DOUBT:
        more, _ = _multiply(w, _FIVE[q - _SMALLEST, 1])
        low += more
        if more > low:
            high += _U1
    top = high >> _U63
    shift = top + np.uint64(64 - 52 - 3)
    mantissa = high >> shift
    power = ((217706 * q) >> 16) + 63 + np.int64(top) - zeros + 1023
    if power <= 0:
        if power <= -63:
            return 0.0
        mantissa >>= np.uint64(1 - power)
        mantissa = (mantissa + (mantissa & _U1)) >> _U1
        return float(mantissa) * 2.0**-1074
    if low <= _U1 and -4 <= q <= 23 and mantissa & _U3 == _U1 and mantissa << shift == high:
        # Exactly between two doubles: take the even one.
        mantissa &= ~_U1
    mantissa = (mantissa + (mantissa & _U1)) >> _U1
    if mantissa >= _HIDDEN << _U1:
        mantissa = _HIDDEN
        power += 1
    if power >= 2047:
        return np.inf
    bits = (mantissa & ~_HIDDEN) | (np.uint64(power) << np.uint64(52))
    return np.uint64(bits).view(np.float64)


@njit(**INNER)
def _word(text: Any, pos: int) -> Any:
    """Parse nan, inf and infinity in any case; return the value and the next position."""
    names = ((110, 97, 110), (105, 110, 102))
    for k in range(2):
        same = True
        for j in range(3):
            same = same and (text[pos + j] | 32) == names[k][j]
            if not same:
                break
        if same:
            pos += 3
            if k == 0:
                return np.nan, pos
            inity = (105, 110, 105, 116, 121)
            for j in range(5):
                if (text[pos + j] | 32) != inity[j]:
                    return np.inf, pos
            return np.inf, pos + 5
    return 0.0, -1


@njit(**INNER)
def parse_number(text: Any, pos: int) -> Any:
    """Parse the number that starts at a position.

    Parameters
    ----------
    text : uint8 array
        Every position has a byte at or after it that is part of no number, such as a newline.
    pos : int

    Returns
    -------
    value : float
        The result of ``float()``; an approximation of it if the status is SLOW.
    pos : int
        The first position after the number.
    status : int
        GOOD, SLOW or BAD.
    """
    negative = text[pos] == 45
    if negative or text[pos] == 43:
        pos += 1
    w = _U0
    digits = 0
    exponent = 0
    lost = False
    seen = pos
    d = text[pos] - 48
    while 0 <= d <= 9:
        if w < _TOO_LONG:
            w = w * np.uint64(10) + np.uint64(d)
        else:
            exponent += 1
            lost = lost or d != 0
        pos += 1
        d = text[pos] - 48
    digits = pos - seen
    if text[pos] == 46:
        pos += 1
        seen = pos
        d = text[pos] - 48
        while 0 <= d <= 9:
            if w < _TOO_LONG:
                w = w * np.uint64(10) + np.uint64(d)
                exponent -= 1
            else:
                lost = lost or d != 0
            pos += 1
            d = text[pos] - 48
        digits += pos - seen
    if digits == 0:
        value, after = _word(text, pos)
        if after < 0:
            return 0.0, pos, BAD
        return (-value if negative else value), after, GOOD
    if text[pos] | 32 == 101:
        after = pos + 1
        down = text[after] == 45
        if down or text[after] == 43:
            after += 1
        d = text[after] - 48
        if 0 <= d <= 9:
            power = 0
            while 0 <= d <= 9:
                if power < 100000:
                    power = power * 10 + d
                after += 1
                d = text[after] - 48
            exponent += -power if down else power
            pos = after
    if w == _U0:
        return (-0.0 if negative else 0.0), pos, GOOD
    if lost:
        value = _lemire(w, exponent)
        status = GOOD if value == _lemire(w + _U1, exponent) else SLOW
    elif w <= _EXACT and -22 <= exponent <= 22:
        status = GOOD
        value = float(w)
        value = value / _TEN[-exponent] if exponent < 0 else value * _TEN[exponent]
    else:
        status = GOOD
        value = _lemire(w, exponent)
    return (-value if negative else value), pos, status


@njit(**INNER, forceinline=True)
def parse_plain(text: Any, pos: int) -> Any:
    """Parse a number as `parse_number` does, plain numbers of up to 18 digits faster.

    It is compiled into its caller: a call costs as much as the parsing.
    """
    first = pos
    negative = text[pos] == 45
    if negative:
        pos += 1
    w, after = _digits(text, pos, np.int64(0))
    count = after - pos
    pos = after
    fraction = 0
    if text[pos] == 46:
        w, after = _digits(text, pos + 1, w)
        fraction = after - pos - 1
        count += fraction
        pos = after
    if count < 1 or count > 18 or (text[pos] > 32 and text[pos] | 32 == 101):
        return parse_number(text, first)
    value = float(w) if fraction == 0 else scaled(w, fraction)
    return (-value if negative else value), pos, GOOD


@njit(**INNER, forceinline=True)
def _digits(text: Any, pos: int, w: int) -> Any:
    """Append digits to a number; return it, wrong beyond 18 digits, and the next position."""
    at = np.uint64(pos)  # an index without a sign is not tested for being negative
    d = text[at] - 48
    while 0 <= d <= 9:
        w = w * 10 + d
        at += _U1
        d = text[at] - 48
    return w, np.int64(at)
