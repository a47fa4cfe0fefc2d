"""Compiled parsing of delimited text (CSV, TSV, columns separated by blanks) into dense rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from dcsvm_dask.compiled import njit
from dcsvm_dask.readers.numbers import BAD, INNER, MAX_FLOAT32, SLOW, parse_plain

OK, TOO_FEW, TOO_MANY, MISSING, NOT_A_NUMBER, NOT_FINITE, OPEN_QUOTE, NO_LABEL = range(8)
INEXACT = 8
"""Statuses of `parse_table`; INEXACT: rows of float32 cannot represent a value."""

LABEL, LEFT_OUT = -1, -2
"""Targets of columns that are no feature."""

_EXACT = 2.0**53
"""Below, float64 represents every whole number."""

_SPACE, _TAB, _CR, _LF, _QUOTE = 32, 9, 13, 10, 34
_ONE = np.uint64(1)
_FNV_START, _FNV_PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)


@njit(**INNER)
def _text_label(text: Any, pos: int, delimiter: int, n: int, keys: Any, spans: Any) -> Any:
    """Take a label that is no number; return the position after its cell, and OK or an error."""
    quoted = text[pos] == _QUOTE
    blanks = delimiter == _SPACE
    if quoted:
        pos += 1
    start = pos
    key = _FNV_START
    while text[pos] != _LF:
        byte = text[pos]
        if quoted and byte == _QUOTE:
            if text[pos + 1] != _QUOTE:
                break
            pos += 1  # two quotation marks are one in the cell
        if not quoted and (byte in (delimiter, _CR) or (byte == _TAB and blanks)):
            break
        key = (key ^ np.uint64(byte)) * _FNV_PRIME
        pos += 1
    stop = pos
    if quoted:
        if text[pos] == _LF:
            return pos, OPEN_QUOTE
        pos += 1
    if start == stop:
        return pos, NO_LABEL
    keys[n] = key
    spans[n, 0] = start
    spans[n, 1] = stop
    pos = _after_text(text, pos, delimiter)
    return pos, (OPEN_QUOTE if pos < 0 else OK)


@njit(**INNER)
def _after_text(text: Any, pos: int, delimiter: int) -> int:
    """Return the position after a cell of text and blanks; -1 if more text follows."""
    if pos < 0:
        return -1
    blanks = delimiter == _SPACE
    while text[pos] == _SPACE or text[pos] == _CR or (text[pos] == _TAB and blanks):
        pos += 1
    return pos if blanks or text[pos] in (delimiter, _LF) else -1


@njit(**INNER)
def _note(slow: Any, n_slow: int, row: int, feature: int, start: int, stop: int) -> int:
    """Note a number for ``float()``, where there is room; return the number of such numbers."""
    if n_slow < slow.shape[0]:
        slow[n_slow, 0] = row
        slow[n_slow, 1] = feature
        slow[n_slow, 2] = start
        slow[n_slow, 3] = stop
    return n_slow + 1


@njit(**INNER)
def _skip_cell(text: Any, pos: int, delimiter: int) -> int:
    """Return the position after a cell; -1 if its quotation marks do not close."""
    if text[pos] == _QUOTE:
        pos += 1
        while text[pos] != _QUOTE or text[pos + 1] == _QUOTE:
            if text[pos] == _LF:
                return -1
            pos += 1 + (text[pos] == _QUOTE)  # two quotation marks are one in the cell
        return pos + 1
    while text[pos] not in (delimiter, _LF, _CR) and (text[pos] != _TAB or delimiter != _SPACE):
        pos += 1
    return pos


@njit(**INNER, forceinline=True)
def _number(text: Any, pos: int, delimiter: int) -> Any:
    """Parse a cell as a number, which may be in quotation marks.

    Returns
    -------
    value : float
    pos : int
        Position after the cell.
    status : int
        GOOD, SLOW or BAD.
    first, stop : int
        Start and end of the number.
    """
    blanks = delimiter == _SPACE
    quoted = text[pos] == _QUOTE
    if quoted:
        pos += 1
        while text[pos] == _SPACE:
            pos += 1
    first = pos
    value, pos, status = parse_plain(text, first)
    stop = pos
    if quoted:
        if text[pos] == _QUOTE:
            pos += 1
        else:
            status = BAD
    while text[pos] == _SPACE or text[pos] == _CR or (text[pos] == _TAB and blanks):
        pos += 1
    if text[pos] != delimiter and text[pos] != _LF and not (blanks and pos > stop):
        status = BAD
    return value, pos, status, first, stop


@njit(**INNER)
def _no_number(text: Any, start: int, first: int, delimiter: int) -> int:
    """Return the status of a cell that is no number."""
    empty = text[first] in (delimiter, _LF, _CR)
    return MISSING if empty or (text[start] == text[first] == _QUOTE) else NOT_A_NUMBER


@njit(**INNER, forceinline=True)
def _parse_row(
    text: Any,
    pos: int,
    delimiter: int,
    targets: Any,
    row: int,
    rows: Any,
    labels: Any,
    keys: Any,
    spans: Any,
    slow: Any,
    n_slow: int,
) -> Any:
    """Parse a line of cells, of which `parse_table` describes the arrays.

    Returns
    -------
    pos, n_slow, status, column : int
        Position after the line, or that of an error; numbers for ``float()``; OK or an error; its
        column.
    """
    line = pos
    blanks = delimiter == _SPACE
    single = rows.itemsize == 4
    columns = targets.size
    for column in range(columns):
        while text[pos] == _SPACE or (text[pos] == _TAB and delimiter != _TAB):
            pos += 1
        start = pos
        target = targets[column]
        inner = not blanks and column + 1 < columns
        # Most numbers of many tables have one digit.
        at = np.uint64(pos)  # as in `parse_plain`
        d = text[at] - 48
        if inner and target >= 0 and 0 <= d <= 9 and text[at + _ONE] == delimiter:
            rows[row, target] = d
            pos += 2
            continue
        if target == LEFT_OUT:
            pos = _after_text(text, _skip_cell(text, pos, delimiter), delimiter)
            if pos < 0:
                return start, n_slow, OPEN_QUOTE, column
        else:
            value, pos, status, first, stop = _number(text, pos, delimiter)
            if target == LABEL:
                labels[row] = value
                if status == BAD or not abs(value) < _EXACT:
                    labels[row] = np.nan
                    pos, status = _text_label(text, start, delimiter, row, keys, spans)
                    if status != OK:
                        return start, n_slow, status, column
            else:
                if status == BAD:
                    return start, n_slow, _no_number(text, start, first, delimiter), column
                if not abs(value) < MAX_FLOAT32:
                    return start, n_slow, NOT_FINITE, column
                if single and (status == SLOW or np.float32(value) != value):
                    return start, n_slow, INEXACT, column
                rows[row, target] = value + 0.0  # -0.0 becomes 0.0
            if status == SLOW:
                n_slow = _note(slow, n_slow, row, target, first, stop)
        if column + 1 < columns:
            if text[pos] == _LF:
                return line, n_slow, TOO_FEW, column + 1
            if not blanks:
                pos += 1
    if text[pos] != _LF:
        return line, n_slow, TOO_MANY, columns
    return pos + 1, n_slow, OK, 0


@njit(cache=True, nogil=True)
def parse_table(
    text: Any,
    end: int,
    delimiter: int,
    targets: Any,
    rows: Any,
    labels: Any,
    keys: Any,
    spans: Any,
    slow: Any,
) -> Any:
    """Parse whole lines of cells.

    Parameters
    ----------
    text : uint8 array
        Lines up to ``end`` and a few newlines after it. Empty lines are left out.
    end : int
    delimiter : int
        Byte between cells; a blank stands for any run of blanks and tabs.
    targets : int64 array, shape (columns,)
        Feature of each cell, or LABEL or LEFT_OUT.
    rows : float32 or float64 array, shape (room, n_features)
        Output.
    labels : float64 array, shape (room,)
        Output of labels that are numbers; NaN for others, and for those so large that float64 may
        round two of them to the same number.
    keys : uint64 array, shape (room,)
        Output of hashes of the text of other labels.
    spans : int64 array, shape (room, 2)
        Output of start and end of the text of other labels.
    slow : int64 array, shape (k, 4)
        Output of numbers to be parsed by ``float()``: row, feature (-1 for the label), start and
        end in the text. Beyond k, they are counted.

    Returns
    -------
    n, n_slow : int
        Rows, numbers for ``float()``.
    status, where, column : int
        OK, or an error, its position, and its column.
    """
    # int64 at once: for a literal 0 Numba would compile the functions that take it a second time.
    pos = n = n_slow = np.int64(0)
    while pos < end:
        while text[pos] == _SPACE or text[pos] == _CR or (text[pos] == _TAB and delimiter != _TAB):
            pos += 1
        if text[pos] == _LF:
            pos += 1
            continue
        pos, n_slow, status, column = _parse_row(
            text, pos, delimiter, targets, n, rows, labels, keys, spans, slow, n_slow
        )
        if status != OK:
            return n, n_slow, status, pos, column
        n += 1
    return n, n_slow, OK, 0, 0
