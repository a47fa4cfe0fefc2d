"""Delimited text (CSV, TSV, columns apart by blanks) as a source of dense rows.

Memory: that of a block of text (see files.py), whatever its lines; a cell takes two bytes of text
and becomes four. The first line is taken apart into words, so it is refused above 1/64 of the
memory bound.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels.rows import Rows
from dcsvm_dask.readers import table_parse as parse
from dcsvm_dask.readers.columns import Expected, lay_out
from dcsvm_dask.readers.encoding import shown_encoding
from dcsvm_dask.readers.files import count_lines, read_top, show, text_blocks
from dcsvm_dask.readers.source import Block, Reading
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
        end. See `columns` for the rule without it.
    expected : Expected, optional
        Columns of the training table, for rows that come later; the label may be absent then.
    labelled : bool, default True
        Whether labels are read, where there are any.
    drop : sequence of str
        Names of columns that are left out.
    header : bool, optional
        Whether the first line holds names; by default it does if its features are no numbers.
    encoding : str, optional
        Of a file that does not begin with a byte order mark; UTF-8 by default.
    """

    parses = True
    is_sparse = False

    def __init__(
        self,
        path: str,
        *,
        label: str | int | None = None,
        expected: Expected | None = None,
        labelled: bool = True,
        drop: Sequence[str] = (),
        header: bool | None = None,
        encoding: str | None = None,
    ) -> None:
        self.name, self._encoding = path, encoding
        text, codec = read_top(path, encoding)
        self._head: TableHead = read_table_head(path, text, label, header, expected)
        columns, names = self._head.columns, self._head.names
        layout = lay_out(path, columns, names, label=label, expected=expected, drop=drop)
        self.n_features: int | None = len(layout.features)
        self.feature_names = layout.names
        if self.n_features == 0:
            raise InputError(f"{path}: one column only: no features beside the label")
        self._targets = np.full(columns, parse.LEFT_OUT, np.int64)
        self._targets[layout.features] = np.arange(self.n_features)
        self._labelled = labelled and layout.label is not None
        if self._labelled:
            self._targets[layout.label] = parse.LABEL
        self._form: type = np.float32  # of values, float64 once that is needed
        self.reading = Reading(
            "text",
            label=None if names is None or layout.label is None else names[layout.label],
            position=layout.position,
            separator=self._head.delimiter,
            encoding=shown_encoding(codec),
        )

    def blocks(self) -> Iterator[Block]:
        """Return the blocks in order."""
        skip = self._head.skip_lines
        found = 0
        for text, line in text_blocks(self.name, encoding=self._encoding):
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
        # A cell that is read takes two bytes with what ends it, one that is left out may be empty,
        # and empty lines are no rows.
        row_bytes = self._head.columns + int(np.count_nonzero(self._targets != parse.LEFT_OUT))
        room = min(count_lines(text, end), end // row_bytes) + 1
        assert self.n_features is not None
        rows: NDArray[Any] = np.empty((room, self.n_features), self._form)
        labels, keys = np.empty(room), np.empty(room, np.uint64)
        spans = np.empty((room, 2), np.int64)
        slow = np.empty((64, 4), np.int64)
        shape = (ord(self._head.delimiter), self._targets)
        while True:
            found = parse.parse_table(text, end, *shape, rows, labels, keys, spans, slow)
            n, n_text, n_slow, status, where, column = found
            if status == parse.INEXACT:  # here, and so probably in what follows
                self._form, rows = np.float64, np.empty(rows.shape, np.float64)
            elif n_slow > len(slow):
                slow = np.empty((n_slow, 4), np.int64)
            else:
                break
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
        if not self._labelled:
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
    words = [bytes(text[a:b]).decode("utf-8").strip() for a, b in where.tolist()]
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
