"""Compiled parsing of svmlight / LIBSVM lines into CSR parts."""

from __future__ import annotations

from typing import Any

import numpy as np

from dcsvm_dask.compiled import njit
from dcsvm_dask.readers.numbers import BAD, INNER, MAX_FLOAT32, SLOW, parse_number, parse_plain

OK, BAD_LABEL, BAD_PAIR, BAD_INDEX, BAD_VALUE, NOT_ASCENDING, TWO_LABELS, NOT_FINITE = range(8)
INEXACT = 8
"""Statuses of `parse_lines`; INEXACT: data of float32 cannot represent a value."""

_SPACE, _TAB, _CR, _LF, _HASH, _COMMA, _COLON = 32, 9, 13, 10, 35, 44, 58
_MAX_INDEX = 2**31 - 2


@njit(**INNER)
def _skip(text: Any, pos: int) -> int:
    """Return the position after blanks."""
    while text[pos] == _SPACE or text[pos] == _TAB or text[pos] == _CR:
        pos += 1
    return pos


@njit(**INNER)
def _skip_query(text: Any, pos: int) -> int:
    """Return the position after qid:N, which groups queries for ranking and is not a feature."""
    if text[pos] == 113 and text[pos + 1] == 105 and text[pos + 2] == 100:
        while text[pos] > _SPACE:
            pos += 1
        pos = _skip(text, pos)
    return pos


@njit(**INNER)
def _index_error(text: Any, start: int, no_pair: bool, index: int) -> int:
    """Return what is wrong with the index of a pair."""
    if no_pair:
        minus = text[start] == 45 and 0 <= text[start + 1] - 48 <= 9
        return BAD_INDEX if minus else BAD_PAIR
    return BAD_INDEX if index > _MAX_INDEX else NOT_ASCENDING


@njit(**INNER)
def _note(slow: Any, n_slow: int, where: int, start: int, stop: int) -> int:
    """Note a number for ``float()``, where there is room; return the number of such numbers."""
    if n_slow < slow.shape[0]:
        slow[n_slow, 0] = where
        slow[n_slow, 1] = start
        slow[n_slow, 2] = stop
    return n_slow + 1


@njit(**INNER)
def _ends(text: Any, pos: int, after: int) -> bool:
    """Return whether a label or a value ends at a position; `after` is that after blanks."""
    return after > pos or text[pos] == _LF or text[pos] == _HASH


@njit(**INNER)
def _label(text: Any, start: int) -> Any:
    """Parse the label of a line.

    Returns
    -------
    label : float
    pos, stop : int
        Position of the first pair, and the end of the label.
    status, number : int
        OK or an error; GOOD or SLOW.
    """
    value, stop, number = parse_number(text, start)
    after = _skip(text, stop)
    status = OK
    if text[stop] == _COMMA:
        status = TWO_LABELS
    elif number == BAD or not _ends(text, stop, after):
        status = BAD_LABEL
    return value, _skip_query(text, after), stop, status, number


@njit(**INNER, forceinline=True)
def _index(text: Any, start: int, last: int) -> Any:
    """Parse the index of a pair; return it, the position of the value, and OK or an error."""
    pos = start
    d = text[pos] - 48
    index = 0
    while 0 <= d <= 9:
        index = min(index * 10 + d, 2**40)
        pos += 1
        d = text[pos] - 48
    no_pair = pos == start or text[pos] != _COLON
    if no_pair or index > _MAX_INDEX or index <= last:
        return index, pos, _index_error(text, start, no_pair, index)
    return index, pos + 1, OK


@njit(**INNER, forceinline=True)
def _value(text: Any, pos: int, single: bool) -> Any:
    """Parse the value of a pair.

    Returns
    -------
    value : float
    pos : int
        Position after the value and blanks.
    status, number : int
        OK or an error; GOOD or SLOW.
    """
    value, stop, number = parse_plain(text, pos)
    pos = stop
    while text[pos] == _SPACE or text[pos] == _TAB or text[pos] == _CR:
        pos += 1
    if number == BAD or not _ends(text, stop, pos):
        return value, pos, BAD_VALUE, number
    if not abs(value) < MAX_FLOAT32:
        return value, pos, NOT_FINITE, number
    if single and (number == SLOW or np.float32(value) != value):
        return value, pos, INEXACT, number
    return value, pos, OK, number


@njit(**INNER, forceinline=True)
def _parse_pairs(
    text: Any,
    pos: int,
    pairs: int,
    low: int,
    high: int,
    n_slow: int,
    indices: Any,
    data: Any,
    slow: Any,
) -> Any:
    """Parse the pairs of a line.

    Returns
    -------
    pos : int
        Position of the end of the line or of a comment, or that of an error.
    pairs, low, high, n_slow, status : int
        As of `parse_lines`.
    """
    single = data.itemsize == 4
    last = np.int64(-1)
    while text[pos] != _LF and text[pos] != _HASH:
        start = pos
        index, first, status = _index(text, start, last)
        if status != OK:
            return start, pairs, low, high, n_slow, status
        value, pos, status, number = _value(text, first, single)
        if status != OK:
            return start, pairs, low, high, n_slow, status
        if number == SLOW:
            n_slow = _note(slow, n_slow, pairs, first, pos)
        if value != 0:
            indices[pairs] = index
            data[pairs] = value
            pairs += 1
        low = min(low, index)  # indices ascend
        last = index
    return pos, pairs, low, max(high, last), n_slow, OK


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
        or -1 - row for a label), its start and its end in the text. Beyond k, they are counted.

    Returns
    -------
    rows, pairs, n_slow : int
    low, high : int
        Least and greatest index, including zero values; 2^31 and -1 if there is none. Of no use
        with an error.
    status, where : int
        OK, or an error and its position.
    """
    # int64 at once: for a literal 0 Numba would compile the functions that take it a second time.
    pos = rows = pairs = n_slow = np.int64(0)
    low, high = np.int64(2**31), np.int64(-1)
    indptr[0] = 0
    while pos < end:
        pos = _skip(text, pos)
        if text[pos] == _LF:
            pos += 1
            continue
        if text[pos] != _HASH:
            start = pos
            labels[rows], pos, stop, status, number = _label(text, start)
            if status != OK:
                return rows, pairs, n_slow, low, high, status, start
            if number == SLOW:
                n_slow = _note(slow, n_slow, -1 - rows, start, stop)
            pos, pairs, low, high, n_slow, status = _parse_pairs(
                text, pos, pairs, low, high, n_slow, indices, data, slow
            )
            if status != OK:
                return rows, pairs, n_slow, low, high, status, pos
            rows += 1
            indptr[rows] = pairs
        while text[pos] != _LF:
            pos += 1
        pos += 1
    return rows, pairs, n_slow, low, high, OK, 0
