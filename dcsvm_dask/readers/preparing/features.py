"""The features of several columns side by side, filled in row by row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.compiled import njit
from dcsvm_dask.readers.numbers import MAX_FLOAT32

FINE, INEXACT, NOT_FINITE = range(3)
TILE = 256
"""Rows that are filled at a time."""


@dataclass(frozen=True)
class Features:
    """The features of a column.

    Attributes
    ----------
    values : ndarray, shape (k, width), float64
        Those of each row, or of each different cell.
    codes : ndarray, shape (n,), int64, or None
        The cell of each row; None: the values are those of the rows.
    """

    values: NDArray[np.float64]
    codes: NDArray[np.int64] | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.values) if self.codes is None else len(self.codes)


def joined(parts: Sequence[Features], *, single: bool) -> tuple[NDArray[Any], bool]:
    """Return the features of all columns as rows.

    Parameters
    ----------
    parts : sequence of Features
        At least one.
    single : bool
        Whether to return float32 where that represents all values exactly.

    Returns
    -------
    rows : ndarray, shape (n, sum of the widths), float32 or float64
        -0.0 is 0.0.
    is_fine : bool
        Whether all values are finite and not too large for float32.
    """
    n = parts[0].n_rows
    numbers, tables, codes = list[Any](), [np.zeros(0)], list[Any]()
    columns = []  # is it coded, where are its values, first feature, number of features
    first = size = 0
    for part in parts:
        width = part.values.shape[1]
        if part.codes is None:
            for k in range(width):
                columns.append((0, len(numbers), first + k, 1))
                numbers.append(part.values[:, k])
        else:
            columns.append((1, size, first, width))
            tables.append(part.values.reshape(-1))
            codes.append(part.codes)
            size += part.values.size
        first += width
    given = (
        np.array(columns, np.int64),
        np.stack(numbers) if numbers else np.zeros((0, n)),
        np.concatenate(tables),
        np.stack(codes) if codes else np.zeros((0, n), np.int64),
    )
    for kind in (np.float32, np.float64) if single else (np.float64,):
        rows: NDArray[Any] = np.empty((n, first), kind)
        status = _fill(rows, *given)
        if status != INEXACT:
            break
    return rows, status == FINE


@njit(cache=True, nogil=True)
def _fill(rows: Any, columns: Any, numbers: Any, table: Any, codes: Any) -> int:
    """Fill rows, some at a time so that they stay in the cache while columns are written."""
    single = rows.itemsize == 4
    wrong, inexact = 0, 0
    for value in table:
        wrong += not abs(value) < MAX_FLOAT32
        inexact += single and np.float32(value) != value
    for begin in range(0, rows.shape[0], TILE):
        stop = min(begin + TILE, rows.shape[0])
        coded = 0
        for c in range(columns.shape[0]):
            where, first, width = columns[c, 1], columns[c, 2], columns[c, 3]
            if columns[c, 0] == 0:
                for i in range(begin, stop):
                    value = numbers[where, i]
                    wrong += not abs(value) < MAX_FLOAT32
                    inexact += single and np.float32(value) != value
                    rows[i, first] = value + 0.0
                continue
            for i in range(begin, stop):
                start = where + codes[coded, i] * width
                for k in range(width):
                    rows[i, first + k] = table[start + k] + 0.0
            coded += 1
        if inexact:
            return INEXACT
    return NOT_FINITE if wrong else FINE
