"""Weights of rows: an array, or a file with a number in each line, the format of LIBSVM's ``-W``.

Memory: 8 bytes for each weight, compared with the memory bound while reading; a file's text is read
in blocks of 256 kB, see files.py for the length of a line.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.errors import InputError
from dcsvm_dask.readers.files import text_blocks
from dcsvm_dask.readers.memory import check_bound
from dcsvm_dask.readers.source import Block

Vector = NDArray[np.float64]

TEXT_BYTES = 1 << 18
"""Bytes of text that are parsed at a time; as Python's objects they take about 20 times as many."""
PADDING = 16
"""Number of newlines after each block of text."""


class Weights:
    """Factors of C, one for each row of a source; rows of weight 0 are left out.

    Parameters
    ----------
    values : ndarray, shape (n,), float64
    name : str
        Name of the weights in messages.

    Raises
    ------
    InputError
        If a weight is negative or not finite.
    """

    def __init__(self, values: Vector, name: str) -> None:
        wrong = np.flatnonzero(~(np.isfinite(values) & (values >= 0.0)))
        if len(wrong):
            raise InputError(
                f"{name}: weight {wrong[0] + 1} is {values[wrong[0]]}; give numbers of at least 0"
            )
        self.values, self.name = values, name

    @classmethod
    def of(cls, given: Any) -> Weights:
        """Return the weights of an array, or of a file: plain or compressed text, local or a
        URL.
        """
        if not isinstance(given, str | os.PathLike):
            values = np.asarray(given)
            if values.ndim != 1 or values.dtype.kind not in "biuf":
                raise InputError(
                    f"weights must be a vector of numbers, got shape {values.shape}, {values.dtype}"
                )
            return cls(values.astype(np.float64), "weights")
        path = os.fspath(given)
        return cls(_read(path), path)

    def left(self, blocks: Iterator[Block], start: int, source: str) -> Iterator[tuple[Any, Any]]:
        """Yield blocks without the rows of weight 0.

        Parameters
        ----------
        blocks : iterator of (rows, labels)
        start : int
            Number of the first row.
        source : str
            Name of the source, for messages.

        Yields
        ------
        rows : ndarray or csr_array
        labels : ndarray or None

        Raises
        ------
        InputError
            If there are more rows than weights.
        """
        for rows, labels in blocks:
            stop = start + rows.shape[0]
            if stop > len(self.values):
                self.refuse_count(f"at least {stop:,}", source)
            kept = self.values[start:stop] > 0.0
            start = stop
            if kept.all():
                yield rows, labels
            elif kept.any():
                yield rows[kept], None if labels is None else labels[kept]

    def check_count(self, rows: int, source: str) -> None:
        """Raise an error if there are not as many weights as rows."""
        if rows != len(self.values):
            self.refuse_count(f"{rows:,}", source)

    def refuse_count(self, rows: str, source: str) -> NoReturn:
        """Raise the error for another number of weights than of rows."""
        raise InputError(
            f"{self.name}: {len(self.values):,} weights, but {source} has {rows} rows; each row "
            "has one"
        )

    def taken(self, start: int, stop: int | None) -> Vector:
        """Return the positive weights of the rows start:stop."""
        values = self.values[start:stop]
        return values[values > 0.0]


def _read(path: str) -> Vector:
    """Return the numbers of a file, one in a line; lines at its end may be empty."""
    found, empty_from = array("d"), 0
    for text, first_line in text_blocks(path, TEXT_BYTES):
        lines = text[:-PADDING].tobytes().split(b"\n")[:-1]
        stop = len(lines)
        while stop and not lines[stop - 1].strip():
            stop -= 1
        if stop and empty_from:
            _numbers([b""], empty_from, path)
        if stop < len(lines) and not (empty_from and stop == 0):
            empty_from = first_line + stop
        check_bound(8 * (len(found) + stop), path, f"more than {len(found):,} weights")
        found.extend(_numbers(lines[:stop], first_line, path))
    return np.asarray(found)


def _numbers(lines: list[bytes], first_line: int, path: str) -> array[float]:
    try:
        return array("d", map(float, lines))
    except ValueError:
        for number, line in enumerate(lines, first_line):
            try:
                float(line)
            except ValueError as error:
                shown = line[:40].decode(errors="backslashreplace").strip()
                raise InputError(
                    f"{path}: line {number}: {shown!r} is not a number; give the weight of a row "
                    "in each line"
                ) from error
        raise
