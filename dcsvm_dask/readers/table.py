"""Delimited text (CSV, TSV, columns separated by blanks) as a source of dense rows.

Memory: that of a block of text (see files.py); a cell takes two bytes of text and becomes four.
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
from dcsvm_dask.readers.columns import (
    Expected,
    column_layout,
)
from dcsvm_dask.readers.encoding import shown_encoding
from dcsvm_dask.readers.extra_lines import hint_for_units, tail_of
from dcsvm_dask.readers.files import count_lines, read_top, text_blocks, word_at
from dcsvm_dask.readers.lines import line_of_row
from dcsvm_dask.readers.minus import with_minus_signs
from dcsvm_dask.readers.preparing.cells import (
    MISSING_WORDS,
    WHOLE,
    hint_for_dash,
    hint_for_sign,
    hint_for_thousands,
    hint_for_words,
)
from dcsvm_dask.readers.preparing.encoders import hint_for_mark
from dcsvm_dask.readers.source import FILL_IN, NO_LABEL_REMEDY, Block, Reading
from dcsvm_dask.readers.table_head import SEPARATORS, read_table_head

TOO_FEW_REMEDY = "delete the line where it is no row of the table, such as a note, or complete it"
TOO_MANY_REMEDY = (
    "put cells with a separator in them into quotation marks; where every row has one cell more "
    "than the header, such as the row names of R, put a name before those of line 1"
)

_MESSAGES = {
    parse.TOO_FEW: f"fewer than {{columns}} cells; {TOO_FEW_REMEDY}",
    parse.TOO_MANY: f"more than {{columns}} cells; {TOO_MANY_REMEDY}",
    parse.MISSING: f"{{column}} is empty; {FILL_IN}",
    parse.NOT_A_NUMBER: "{column} is not a number: {word}",
    parse.NOT_FINITE: "{column} is NaN, infinite or too large for float32: {word}",
    parse.OPEN_QUOTE: "{column} has an unclosed quotation mark; within a cell it is doubled",
    parse.NO_LABEL: f"{{column}}, the label, is empty; {NO_LABEL_REMEDY}",
}


class NotPlainError(InputError):
    """A cell that is no plain number, in a text whose beginning has nothing else.

    It may be a number with a sign, or one in parentheses, which `PreparedSource` reads.
    """


class TableSource:
    """Rows of a delimited text file, plain or compressed.

    Parameters
    ----------
    path : str
        Local path or URL.
    label : str or int, optional
        Column of the label: a name of the first line, or a position from 0, negative from the
        end. See `columns` for the default.
    expected : Expected, optional
        Columns of the training table, for later rows; these may lack labels.
    labelled : bool, default True
        Whether to read labels, where there are any.
    drop : sequence of str
        Names of columns to leave out.
    header : bool, optional
        Whether the first line has names; by default it has if its features are no numbers.
    encoding : str, optional
        Encoding of a file without a byte order mark; UTF-8 by default.

    Attributes
    ----------
    columns : list of int
        Position of the column of each feature.
    tail : bytes
        The end of the text that `blocks` has read.
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
        self.name, self.encoding = path, encoding
        text, codec = read_top(path, encoding)
        self._head = read_table_head(path, text, label, header, expected)
        columns, names = self._head.columns, self._head.names
        layout = column_layout(path, columns, names, label=label, expected=expected, drop=drop)
        self.n_features: int | None = len(layout.features)
        self.feature_names = layout.names
        if self.n_features == 0:
            raise InputError(
                f"{path}: has one column; a label and features are needed; {SEPARATORS}"
            )
        self.columns = list(layout.features)
        self._targets = np.full(columns, parse.LEFT_OUT, np.int64)
        self._targets[layout.features] = np.arange(self.n_features)
        self._is_later = expected is not None
        self._labelled = labelled and layout.label is not None
        if self._labelled:
            self._targets[layout.label] = parse.LABEL
        self._form: type = np.float32  # dtype of values, float64 once it is needed
        self.tail = b""
        self.reading = Reading(
            "text",
            label=None if names is None or layout.label is None else names[layout.label],
            position=layout.position,
            separator=self._head.delimiter,
            encoding=shown_encoding(codec),
        )

    def blocks(self) -> Iterator[Block]:
        """Yield the blocks in order."""
        skip = self._head.skip_lines
        found = 0
        for text, line in text_blocks(self.name, encoding=self.encoding):
            begin = 0
            if line <= skip:
                ends = np.flatnonzero(text[:-16] == 10)
                begin = int(ends[min(skip - line, ends.size - 1)]) + 1
            self.tail = tail_of(text)
            rows, labels = self._parse(text[begin:], line + count_lines(text, begin))
            found += rows.shape[0]
            if rows.shape[0]:
                yield rows, labels
        if found == 0:
            raise InputError(f"{self.name}: empty: it holds no rows")

    @property
    def names(self) -> list[str] | None:
        """Names of the columns, if the first line has them."""
        return self._head.names

    @property
    def skip_lines(self) -> int:
        """Number of lines before the first row."""
        return self._head.skip_lines

    @property
    def delimiter(self) -> str:
        """Character between cells; a blank stands for any run of blanks and tabs."""
        return self._head.delimiter

    def where(self, row: int) -> str:
        """Return the line of a row."""
        return line_of_row(self.name, row, encoding=self.encoding, skip=self._head.skip_lines)

    def _parse(self, text: NDArray[np.uint8], line: int) -> tuple[Rows, NDArray[Any] | None]:
        end = text.size - 16
        # A cell that is read takes two bytes with its delimiter, one that is left out may be empty,
        # and empty lines are no rows.
        row_bytes = self._head.columns + int(np.count_nonzero(self._targets != parse.LEFT_OUT))
        room = min(count_lines(text, end), end // row_bytes) + 1
        assert self.n_features is not None
        rows: NDArray[Any] = np.empty((room, self.n_features), self._form)
        labels, keys = np.empty(room), np.empty(room, np.uint64)
        spans = np.empty((room, 2), np.int64)
        slow = np.empty((64, 4), np.int64)
        shape = (ord(self._head.delimiter), self._targets)
        as_it_is = self._is_later and self._head.delimiter != " "
        while True:
            found = parse.parse_table(text, end, *shape, rows, labels, keys, spans, slow)
            n, n_slow, status, where, column = found
            if status == parse.NOT_A_NUMBER and as_it_is:
                numbers = set(np.flatnonzero(self._targets >= 0).tolist())
                text, as_it_is = with_minus_signs(text, self._head.delimiter, numbers), False
            elif status == parse.INEXACT:  # probably also in the following blocks
                self._form, rows = np.float64, np.empty(rows.shape, np.float64)
            elif n_slow > len(slow):
                slow = np.empty((n_slow, 4), np.int64)
            else:
                break
        if status != parse.OK:
            self._refuse(text, line, status, where, column)
        for row, feature, start, stop in slow[:n_slow].tolist():
            value = float(bytes(text[start:stop])) + 0.0
            if feature < 0:
                labels[row] = value
            else:
                rows[row, feature] = value
        rows = rows[:n]
        if not self._labelled:
            return rows, None
        return rows, _text_labels(text, labels[:n], keys[:n], spans[:n])

    def _refuse(
        self, text: NDArray[np.uint8], line: int, status: int, where: int, column: int
    ) -> None:
        head = self._head
        named = f"column {column + 1}"
        if head.names is not None and column < len(head.names):
            named += f" ({head.names[column]!r})"
        word = word_at(text, where, f"{head.delimiter}\r\n".encode())
        if word.startswith('"') and status == parse.NOT_A_NUMBER:  # its cell may have separators
            word = word_at(text, where + 1, b'"\r\n')
        at = line + count_lines(text, where)
        problem = _MESSAGES[status].format(columns=head.columns, column=named, word=repr(word))
        if status == parse.NOT_FINITE and word.strip("+-").lower() == "nan":
            problem = f"{named} is {word!r}; {FILL_IN}"
        is_missing = status == parse.NOT_A_NUMBER and word.strip() in MISSING_WORDS
        if is_missing and self._is_later:
            problem = f"{named} is empty ({word.strip()!r}); {FILL_IN}"
        if status == parse.NOT_A_NUMBER and head.names is not None and not self._is_later:
            problem += hint_for_words([word.strip()])
        problem += hint_for_dash(word.strip())
        if status == parse.NOT_A_NUMBER and self._is_later:
            own = word.strip()
            thousands = hint_for_thousands(own)
            problem += thousands or hint_for_mark(repr(own), ".") or hint_for_sign(own)
        is_first = head.names is not None and at == head.skip_lines + 1
        if status == parse.NOT_A_NUMBER and is_first and not is_missing:
            problem += hint_for_units(word, f"line {at}")
        message = f"{self.name}, line {at}: {problem}"
        if status == parse.NOT_A_NUMBER and not self._is_later and head.delimiter != " ":
            raise NotPlainError(message)
        raise InputError(message)


def _exact(word: str) -> float:
    """Return a word as a number; NaN if it is none or float64 cannot represent it."""
    try:
        value = math.nan if "_" in word else float(word)
        whole = WHOLE.fullmatch(word)
        return value if whole is None or int(whole[1]) == value else math.nan
    except ValueError:
        return math.nan


def _word(text: NDArray[np.uint8], start: int, stop: int) -> str:
    """Return the text of a label; two quotation marks in a quoted cell are one."""
    word = bytes(text[start:stop]).decode("utf-8").strip()
    return word.replace('""', '"') if start and text[start - 1] == ord('"') else word


def _text_labels(
    text: NDArray[np.uint8],
    numbers: NDArray[np.float64],
    keys: NDArray[np.uint64],
    spans: NDArray[np.int64],
) -> NDArray[Any]:
    """Return labels, where some are no numbers all of them as strings, objects that rows share.

    If float64 can represent all as numbers, such as 1e20, they are returned as numbers.
    """
    is_text = np.isnan(numbers)
    if not is_text.any():
        return numbers
    distinct, first, codes = np.unique(keys[is_text], return_index=True, return_inverse=True)
    where = spans[is_text][first]
    words = [_word(text, a, b) for a, b in where.tolist()]
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
