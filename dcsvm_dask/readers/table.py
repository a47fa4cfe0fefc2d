"""Delimited text (CSV, TSV, columns apart by blanks) as a source of dense rows.

Memory: that of a block of text (see files.py), whatever its lines; a cell takes two bytes of text
and becomes four. The first line is taken apart into words, so it is refused above 1/64 of the
memory bound.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels.rows import Rows
from dcsvm_dask.readers import table_parse as parse
from dcsvm_dask.readers.columns import place_label
from dcsvm_dask.readers.files import count_lines, read_top, show, text_blocks
from dcsvm_dask.readers.source import Block
from dcsvm_dask.readers.table_head import TableHead, read_table_head

_SAYS = {
    parse.TOO_FEW: "fewer than {columns} cells",
    parse.TOO_MANY: "more than {columns} cells",
    parse.MISSING: "{column} is empty; fill in or drop such rows",
    parse.NOT_A_NUMBER: "{column} is not a number: {word}",
    parse.NOT_FINITE: "{column} is NaN, infinite or too large for float32: {word}",
    parse.OPEN_QUOTE: "{column} has quotation marks that do not close",
    parse.NO_LABEL: "{column}, the label, is empty",
}


class TableSource:
    """Rows of a text file of cells, plain or compressed.

    Parameters
    ----------
    path : str
        Local path or URL.
    label : str or int, optional
        Column of the label: a name of the first line, or a position from 0, negative from the
        end. By default a column named label, target, class or y, else the last one.
    n_features : int, optional
        Number of features, if it is known. A file of just so many columns has no labels then.
    header : bool, optional
        Whether the first line holds names; by default it does if its features are no numbers.
    """

    parses = True
    is_sparse = False

    def __init__(
        self,
        path: str,
        *,
        label: str | int | None = None,
        n_features: int | None = None,
        header: bool | None = None,
    ) -> None:
        self.name = path
        self._head: TableHead = read_table_head(path, read_top(path), label, header)
        columns = self._head.columns
        names = self._head.names
        self._label = place_label(path, columns, names, label, n_features)
        self.n_features: int | None = columns - (self._label is not None)
        self.feature_names: list[str] | None = None
        if names is not None:
            self.feature_names = [n for k, n in enumerate(names) if k != self._label]
        if self.n_features == 0:
            raise InputError(f"{path}: one column only: no features beside the label")

    def blocks(self) -> Iterator[Block]:
        """Return the blocks in order."""
        skip = self._head.skip_lines
        found = 0
        for text, line in text_blocks(self.name):
            begin = 0
            if line <= skip:
                ends = np.flatnonzero(text[:-16] == 10)
                begin = int(ends[min(skip - line, ends.size - 1)]) + 1
            rows, labels = self._parse(text[begin:], line + count_lines(text, begin))
            found += rows.shape[0]
            if rows.shape[0]:
                yield rows, labels
        if found == 0:
            raise InputError(f"{self.name}: empty: it holds no rows")

    def _parse(self, text: NDArray[np.uint8], line: int) -> tuple[Rows, NDArray[Any] | None]:
        end = text.size - 16
        # A cell and what ends it take two bytes: empty lines are no rows.
        room = min(count_lines(text, end), end // (2 * self._head.columns)) + 1
        assert self.n_features is not None
        rows = np.empty((room, self.n_features), np.float32)
        labels, keys = np.empty(room), np.empty(room, np.uint64)
        spans = np.empty((room, 2), np.int64)
        slow = np.empty((64, 4), np.int64)
        label = -1 if self._label is None else self._label
        shape = (ord(self._head.delimiter), self._head.columns, label)
        while True:
            found = parse.parse_table(text, end, *shape, rows, labels, keys, spans, slow)
            n, n_text, n_slow, status, where, column = found
            if n_slow <= len(slow):
                break
            slow = np.empty((n_slow, 4), np.int64)
        if status != parse.OK:
            self._refuse(text, line, status, where, column)
        for row, feature, start, stop in slow[:n_slow].tolist():
            value = float(bytes(text[start:stop]))
            if feature < 0:
                labels[row] = value
            else:
                rows[row, feature] = value
        rows = rows[:n]
        rows += 0.0  # -0.0 becomes 0.0
        if self._label is None:
            return rows, None
        if n_text == 0:
            return rows, labels[:n]
        return rows, _text_labels(text, labels[:n], keys[:n], spans[:n])

    def _refuse(
        self, text: NDArray[np.uint8], line: int, status: int, where: int, column: int
    ) -> None:
        head = self._head
        named = f"column {column + 1}"
        if head.names is not None and column < len(head.names):
            named += f" ({head.names[column]!r})"
        said = _SAYS[status].format(
            columns=head.columns,
            column=named,
            word=show(text, where, f"{head.delimiter}\r\n".encode()),
        )
        raise InputError(f"{self.name}, line {line + count_lines(text, where)}: {said}")


def _exact(word: str) -> float:
    """Return the number that a word is, NaN if it is none or float64 does not hold it."""
    try:
        value = math.nan if "_" in word else float(word)
        whole = word.lstrip("+-").isdigit()
        return value if not whole or int(word) == value else math.nan
    except ValueError:
        return math.nan


def _text_labels(
    text: NDArray[np.uint8],
    numbers: NDArray[np.float64],
    keys: NDArray[np.uint64],
    spans: NDArray[np.int64],
) -> NDArray[Any]:
    """Return labels of which some are no numbers as strings, objects that rows share.

    Where all are numbers that float64 holds, as 1e20 is, they are returned as numbers.
    """
    is_text = np.isnan(numbers)
    distinct, first, codes = np.unique(keys[is_text], return_index=True, return_inverse=True)
    where = spans[is_text][first]
    words = [bytes(text[a:b]).decode("utf-8", "replace").strip() for a, b in where.tolist()]
    values = [_exact(word) for word in words]
    if all(math.isfinite(value) for value in values):
        numbers[is_text] = np.array(values)[codes.reshape(-1)]
        return numbers
    others = np.unique(numbers[~is_text])
    named = np.array([repr(v) for v in others.tolist()] + words, dtype=object)
    index = np.empty(numbers.size, np.int64)
    index[is_text] = codes.reshape(-1) + others.size
    index[~is_text] = np.searchsorted(others, numbers[~is_text])
    assert distinct.size == len(words)
    return named[index]
