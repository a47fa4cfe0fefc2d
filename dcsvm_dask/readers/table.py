"""Delimited text (CSV, TSV, columns apart by blanks) as a source of dense rows.

Memory: that of a block of text (see files.py), whatever its lines; a cell takes two bytes of text
and becomes four. The first line is taken apart into words, so it is refused above 1/64 of the
memory bound.

The first line of delimited text: what parts the cells, how many there are, and their names.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels.rows import Rows
from dcsvm_dask.readers import table_parse as parse
from dcsvm_dask.readers.columns import LABEL_NAMES, Expected, label_position, lay_out
from dcsvm_dask.readers.encoding import shown_encoding
from dcsvm_dask.readers.files import count_lines, read_top, show, text_blocks
from dcsvm_dask.readers.source import Block, Reading


@dataclass(frozen=True)
class TableHead:
    """What the first line says of a table."""

    delimiter: str
    """The character between cells; a blank stands for any run of blanks and tabs."""
    columns: int
    """Cells a line."""
    names: list[str] | None
    """Names of the columns, if the first line holds them."""
    skip_lines: int
    """Lines before the first row."""


def read_table_head(
    path: str,
    text: str,
    label: str | int | None,
    header: bool | None,
    expected: Expected | None = None,
) -> TableHead:
    """Find out how a table is written.

    Parameters
    ----------
    path : str
        For messages, and for its ending.
    text : str
        The beginning of the file.
    label : str, int or None
        The label column, if the user named one.
    header : bool or None
        Whether the first line holds names. None: it does if the label is named by a word, or if
        none of its features is a number, or it has all names that are wanted.
    expected : Expected, optional
        What the training table had, for a table that comes later.

    Raises
    ------
    InputError
        If the file is empty or its first line half consists of numbers.
    """
    lines = text.split("\n")  # as the rows are parted; other marks of Unicode part nothing
    first = next((k for k, line in enumerate(lines) if line.strip(" \t\r")), None)
    if first is None:
        raise InputError(f"{path}: empty: it holds no rows")
    line = lines[first].strip("\r")
    commented = line.lstrip().startswith("#")
    if commented:  # numpy.savetxt writes names so
        line = line.lstrip().removeprefix("#").strip()
    delimiter = _delimiter(path, line)
    cells = _cells(path, line, delimiter)
    if not cells:
        raise InputError(f"{path}, line {first + 1}: holds no cells; remove it")
    if header is None:
        named = expected is not None and _has_names(cells, expected)
        header = commented or named or _is_header(path, cells, label, expected)
    # pandas calls such columns so, and the index that it writes is one.
    names = [cell or f"Unnamed: {k}" for k, cell in enumerate(cells)] if header else None
    return TableHead(delimiter, len(cells), names, first + 1 if header else first)


def _delimiter(path: str, line: str) -> str:
    base = path.lower()
    for ending in (".gz", ".bz2", ".xz"):
        base = base.removesuffix(ending)
    if base.endswith(".tsv"):
        return "\t"
    for delimiter in ("\t", ",", ";", "|"):
        if delimiter in line:
            return delimiter
    return " "


def _cells(path: str, line: str, delimiter: str) -> list[str]:
    if delimiter == " ":
        return line.split()
    try:
        cells = next(csv.reader([line], delimiter=delimiter, skipinitialspace=True))
    except csv.Error as error:
        raise InputError(f"{path}: the first line is no row of cells ({error})") from error
    return [cell.strip() for cell in cells]


def _has_names(cells: list[str], expected: Expected) -> bool:
    """Return whether a line holds the names of all features.

    Names may be numbers, as those of a frame that was made from an array: then a line of values
    could be taken for them, unless it has all of them in order and nothing else but the label.
    """
    wanted = list(expected.names or ())
    if not wanted or not set(wanted) <= set(cells):
        return False
    if not all(map(_is_number, wanted)):
        return True
    others = [cell for cell in cells if not _is_number(cell)]
    return [cell for cell in cells if _is_number(cell)] == wanted and len(others) <= 1


def _is_header(
    path: str, cells: list[str], label: str | int | None, expected: Expected | None
) -> bool:
    if isinstance(label, str) and not _is_number(label):
        return True
    place = None
    if expected is not None and expected.position is not None:
        if len(cells) == expected.n_features + 1:
            place = expected.position
    elif len(cells) > 1 and (expected is None or len(cells) != expected.n_features):
        place = label_position(path, len(cells), None, label)
    features = [_is_number(cell) for k, cell in enumerate(cells) if k != place]
    if not any(features) and features:
        return True
    if not all(features):
        bad = next(c for k, c in enumerate(cells) if k != place and not _is_number(c))
        raise InputError(
            f"{path}, line 1: {bad!r} is not a number (say --header if the line holds names)"
        )
    # Some programs name columns 0, 1, 2, ..., label.
    return place is not None and cells[place].lower() in LABEL_NAMES


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


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
