"""Compiled parsing of svmlight / LIBSVM lines into CSR parts."""

from __future__ import annotations

from typing import Any

import numpy as np

from dcsvm_dask.compiled import njit
from dcsvm_dask.readers.numbers import BAD, GOOD, MAX_FLOAT32, SLOW, parse_number, scaled

OK, BAD_LABEL, BAD_PAIR, BAD_INDEX, BAD_VALUE, NOT_ASCENDING, TWO_LABELS, NOT_FINITE = range(8)
INEXACT = 8
"""Statuses of `parse_lines`; INEXACT: data of float32 cannot represent a value."""

_SPACE, _TAB, _CR, _LF, _HASH, _COLON = 32, 9, 13, 10, 35, 58
_MAX_INDEX = 2**31 - 2


@njit(cache=True, nogil=True)
def _skip(text: Any, pos: int) -> int:
    while text[pos] == _SPACE or text[pos] == _TAB or text[pos] == _CR:
        pos += 1
    return pos


@njit(cache=True, nogil=True)
def _skip_query(text: Any, pos: int) -> int:
    """Return the position after qid:N, which groups queries for ranking and is not a feature."""
    if text[pos] == 113 and text[pos + 1] == 105 and text[pos + 2] == 100:
        while text[pos] > _SPACE:
            pos += 1
        pos = _skip(text, pos)
    return pos


@njit(cache=True, nogil=True)
def _index_error(text: Any, start: int, no_pair: bool, index: int) -> int:
    """Return what is wrong with the index of a pair."""
    if no_pair:
        minus = text[start] == 45 and 0 <= text[start + 1] - 48 <= 9
        return BAD_INDEX if minus else BAD_PAIR
    return BAD_INDEX if index > _MAX_INDEX else NOT_ASCENDING


@njit(cache=True, nogil=True)
def _note(slow: Any, n_slow: int, where: int, start: int, stop: int) -> int:
    """Note a number for ``float()``, where there is room; return the number of such numbers."""
    if n_slow < slow.shape[0]:
        slow[n_slow, 0] = where
        slow[n_slow, 1] = start
        slow[n_slow, 2] = stop
    return n_slow + 1


@njit(cache=True, nogil=True)
def parse_lines(
    text: Any, end: int, labels: Any, indptr: Any, indices: Any, data: Any, slow: Any
) -> Any:
    """Parse whole lines ``label index:value index:value ... # comment``.

    Parameters
    ----------
    text : uint8 array
        Lines up to ``end`` and a few newlines after it.
    end : int
    labels : float64 array
        Output, with room for a label a line.
    indptr : int64 array
        Output, with room for one more.
    indices, data : int32 and float32 or float64 arrays
        Output, with room for a pair a colon. Zero values are left out.
    slow : int64 array, shape (k, 3)
        Output of numbers to be parsed by ``float()``: the position of the number (that of a pair,
        or
        -1 - row for a label), its start and its end in the text. Beyond k, they are counted.

    Returns
    -------
    rows, pairs, n_slow : int
    low, high : int
        Least and greatest index, including zero values; 2^31 and -1 if there is none.
    status, where : int
        OK, or an error and its position.
    """
    pos = 0
    rows = 0
    pairs = 0
    n_slow = 0
    low = 2**31
    high = -1
    indptr[0] = 0
    single = data.itemsize == 4
    while pos < end:
        pos = _skip(text, pos)
        if text[pos] == _LF:
            pos += 1
            continue
        if text[pos] != _HASH:
            start = pos
            value, pos, status = parse_number(text, pos)
            if text[pos] == 44:
                return rows, pairs, n_slow, low, high, TWO_LABELS, start
            after = _skip(text, pos)
            if status == BAD or (after == pos and text[pos] != _LF and text[pos] != _HASH):
                return rows, pairs, n_slow, low, high, BAD_LABEL, start
            if status == SLOW:
                n_slow = _note(slow, n_slow, -1 - rows, start, pos)
            labels[rows] = value
            pos = _skip_query(text, after)
            last = -1
            while text[pos] != _LF and text[pos] != _HASH:
                start = pos
                d = text[pos] - 48
                index = 0
                while 0 <= d <= 9:
                    index = min(index * 10 + d, 2**40)
                    pos += 1
                    d = text[pos] - 48
                no_pair = pos == start or text[pos] != _COLON
                if no_pair or index > _MAX_INDEX or index <= last:
                    status = _index_error(text, start, no_pair, index)
                    return rows, pairs, n_slow, low, high, status, start
                last = index
                first = pos + 1
                # Plain numbers of up to 18 digits are parsed inline: a call costs as much as
                # the parsing. All others go to parse_number.
                pos = first
                negative = text[pos] == 45
                if negative:
                    pos += 1
                w = 0
                digits = -pos
                d = text[pos] - 48
                while 0 <= d <= 9:
                    w = w * 10 + d
                    pos += 1
                    d = text[pos] - 48
                digits += pos
                fraction = 0
                if d == -2:
                    pos += 1
                    fraction = -pos
                    d = text[pos] - 48
                    while 0 <= d <= 9:
                        w = w * 10 + d
                        pos += 1
                        d = text[pos] - 48
                    fraction += pos
                    digits += fraction
                status = GOOD
                if digits < 1 or digits > 18 or d > -16:
                    value, pos, status = parse_number(text, first)
                else:
                    value = float(w) if fraction == 0 else scaled(w, fraction)
                    if negative:
                        value = -value
                after = pos
                while text[after] == _SPACE or text[after] == _TAB or text[after] == _CR:
                    after += 1
                if status == BAD or (after == pos and text[pos] != _LF and text[pos] != _HASH):
                    return rows, pairs, n_slow, low, high, BAD_VALUE, start
                if not abs(value) < MAX_FLOAT32:
                    return rows, pairs, n_slow, low, high, NOT_FINITE, start
                low = min(low, index)
                high = max(high, index)
                pos = after
                if single and (status == SLOW or np.float32(value) != value):
                    return rows, pairs, n_slow, low, high, INEXACT, start
                if status == SLOW:
                    n_slow = _note(slow, n_slow, pairs, first, after)
                if value != 0:
                    indices[pairs] = index
                    data[pairs] = value
                    pairs += 1
            rows += 1
            indptr[rows] = pairs
        while text[pos] != _LF:
            pos += 1
        pos += 1
    return rows, pairs, n_slow, low, high, OK, 0
