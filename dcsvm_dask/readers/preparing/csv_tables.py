"""Delimited text as columns of words: pyarrow reads it, and this adds what pyarrow does not report.

That is where the table begins, whether its first line has names, and the line of an error.
"""

from __future__ import annotations

import csv
import io
import itertools
import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.errors import InputError
from dcsvm_dask.readers.encoding import shown_encoding
from dcsvm_dask.readers.extra_lines import hint_for_units, tail_of
from dcsvm_dask.readers.files import read_top, text_blocks
from dcsvm_dask.readers.preparing.cells import (
    COMMENT,
    MISSING_WORDS,
    is_comment,
    is_parsed_as_numbers,
)
from dcsvm_dask.readers.preparing.plain_numbers import LEAST_BYTES, PlainNumbers
from dcsvm_dask.readers.preparing.records import QUOTE, end_of_records
from dcsvm_dask.readers.preparing.words import tidy
from dcsvm_dask.readers.source import BLOCK_BYTES, Reading
from dcsvm_dask.readers.table import TOO_FEW_REMEDY, TOO_MANY_REMEDY
from dcsvm_dask.readers.table_head import LOOKED_AT, check_first_line, find_delimiter

UNCLOSED = "has a cell whose quotation marks do not close"
BEGINNING = 1 << 18
"""Bytes of a text by which columns are numbers or not."""
NEWLINE = 10
BLANK = 32
"""The largest byte that is a blank or an end of a line."""


class _NotNumbersError(Exception):
    """A column that was to be read as numbers has other words."""


@dataclass(frozen=True)
class TextHead:
    """Where a table of text begins, and of what form its lines are."""

    delimiter: str
    names: list[str] | None
    n_columns: int
    trails: bool
    """Whether lines end with a delimiter, after which no cell comes."""
    skip_lines: int
    """Lines before the first row."""
    comments: bool
    """Whether there are lines of comments, which are no rows."""

    @property
    def n_cells(self) -> int:
        """Number of cells of a line."""
        return self.n_columns + self.trails


def read_text_head(
    path: str,
    text: str,
    header: bool | None,
    decimal: str = ".",
    known: Sequence[str] | None = None,
) -> TextHead:
    """Return where a table begins and how its lines are read.

    Parameters
    ----------
    path : str
        For messages, and for its extension.
    text : str
        The beginning of the file, with a line that is neither blank nor a comment.
    header : bool or None
        Whether the first line has names; None: it has if none of its cells is a number.
    decimal : {".", ","}
    known : sequence of str, optional
        Names that a header has: those of the training table.

    Raises
    ------
    InputError
        If the file has no rows.
    """
    lines = text.split("\n")
    comments = [k for k, line in enumerate(lines) if is_comment(line.lstrip(" \ufeff"))]
    first = next(
        (k for k, line in enumerate(lines) if line.strip(" \t\r\ufeff") and k not in comments), None
    )
    if first is None:
        raise InputError(f"{path}: empty: it holds no rows")
    line = lines[first].strip("\r")
    delimiter = find_delimiter(path, line, decimal, below=lines[first + 1 : first + LOOKED_AT])
    check_first_line(path, lines, first, delimiter)
    if delimiter == " ":
        raise InputError(
            f"{path}: its cells are separated by blanks, and then all of them must be numbers; "
            "write it with commas or tabs between the cells"
        )
    rest = [one.rstrip("\r") for one in lines[first:]]
    reader = csv.reader((one + "\n" for one in rest), delimiter=delimiter, skipinitialspace=True)
    try:
        top = [cell.strip(" \ufeff") for cell in next(reader)]
        lines_of_header = reader.line_num
        rows = (row for row in reader if row and not is_comment(row[0]))
        second, *others = [*itertools.islice(rows, 3)] or [[]]
        if others and rest[-1] and reader.line_num == len(rest):
            others.pop()  # the beginning of a file may end within a line
    except csv.Error as error:
        raise InputError(f"{path}: the first line is not a row of cells ({error})") from error
    if header is None:
        named = known is not None and set(known) <= set(top)
        header = named or not any(_is_number(cell, decimal) for cell in top)
    trails = len(top) > 1 and not top[-1] and (not second or not second[-1].strip())
    count = len(top) - trails
    if header and all(
        len(row) == len(top) + 1 and not row[-1].strip() for row in [second, *others]
    ):
        trails = True  # after the cells of rows alone
    names = [cell or f"Unnamed: {k}" for k, cell in enumerate(top[:count])] if header else None
    skip = first + (lines_of_header if header else 0)
    return TextHead(delimiter, names, count, trails, skip, bool(comments))


class CsvTable:
    """A delimited text file as columns of words.

    Parameters
    ----------
    path : str
        Local path or URL.
    header : bool, optional
        Whether the first line has names.
    encoding : str, optional
        Encoding of a file without a byte order mark.
    decimal : {".", ","}
        Mark before the decimals of numbers.
    known : sequence of str, optional
        Names that a header has.
    missing_words : sequence of str
        What stands in cells without a value.

    Attributes
    ----------
    tail : bytes
        The end of the text that `batches` has read.
    """

    is_text = True

    def __init__(
        self,
        path: str,
        *,
        header: bool | None = None,
        encoding: str | None = None,
        decimal: str = ".",
        known: Sequence[str] | None = None,
        missing_words: Sequence[str] = MISSING_WORDS,
    ) -> None:
        self.name, self.encoding, self.missing_words = path, encoding, list(missing_words)
        self.tail = b""
        text, codec = read_top(path, encoding)
        self._head = read_text_head(path, text, header, decimal, known)
        self.names, self.n_columns = self._head.names, self._head.n_columns
        self.reading = Reading(
            "text", separator=self._head.delimiter, encoding=shown_encoding(codec)
        )

    def batches(self, wanted: Sequence[int], numbers: Collection[int] = ()) -> Iterator[list[Any]]:
        """Yield columns of words, each of them once, or of numbers, of consecutive rows.

        Columns that are taken out of `wanted` meanwhile are left out of the next batches.
        """
        wrong, numbers = list[int](), {*numbers}.intersection(wanted)
        plain: PlainNumbers | None = PlainNumbers(self._head.delimiter, self._head.n_cells)
        if any(_is_number(word, ".") and math.isfinite(float(word)) for word in self.missing_words):
            plain = None  # such as -999, which it does not know
        for text in self._blocks():
            batch = None
            if plain is not None and numbers and len(text) >= LEAST_BYTES:
                batch = self._parsed_apart(plain, text, wanted, sorted(numbers), wrong)
                plain = None if batch is None else plain  # probably so in the following blocks
            while batch is None:
                try:
                    batch = self._parsed(text, wanted, numbers, wrong)
                except _NotNumbersError:
                    # Where no column is found out they differ by what counts as a blank.
                    numbers -= self._words_among(text, sorted(numbers)) or {*numbers}
            yield batch

    def _parsed_apart(
        self,
        plain: PlainNumbers,
        text: NDArray[np.uint8],
        wanted: Sequence[int],
        numbers: Sequence[int],
        wrong: list[int],
    ) -> list[Any] | None:
        """Return what `_parsed` does; None where a cell of the numbers is no plain number."""
        import pyarrow as pa

        found = plain.read(text, numbers)
        if found is None:
            return None
        # At least one column, which gives pyarrow the number of rows.
        others = [k for k in wanted if k not in numbers] or numbers[:1]
        columns = dict(zip(others, self._parsed(text, others, set(), wrong), strict=True))
        if len(columns[others[0]]) != found.shape[1]:
            return None
        columns |= {k: pa.array(one) for k, one in zip(numbers, found, strict=True)}
        return [columns[k] for k in wanted]

    def _parsed(
        self, text: NDArray[np.uint8], wanted: Sequence[int], numbers: set[int], wrong: list[int]
    ) -> list[Any]:
        """Return some columns of whole records; `wrong` gets the number of cells of a bad one."""
        import pyarrow as pa
        from pyarrow import csv as pa_csv

        head = self._head

        def note(row: Any) -> str:
            wrong.append(row.actual_columns)
            return "error"

        called = [str(k) for k in range(head.n_cells)]
        chosen = [called[k] for k in wanted] or called[:1]
        types = dict.fromkeys(called, pa.dictionary(pa.int32(), pa.string()))
        types |= {called[k]: pa.float64() for k in numbers}
        try:
            table = pa_csv.read_csv(
                pa.BufferReader(pa.py_buffer(text)),
                pa_csv.ReadOptions(
                    use_threads=False, block_size=len(text) + 1, column_names=called
                ),
                pa_csv.ParseOptions(
                    delimiter=head.delimiter,
                    newlines_in_values=bool((text == QUOTE).any()),
                    invalid_row_handler=note,
                ),
                pa_csv.ConvertOptions(
                    column_types=types,
                    include_columns=chosen,
                    null_values=self.missing_words,
                    check_utf8=False,  # checked where text is read
                ),
            )
        except pa.ArrowInvalid as error:
            if numbers and not wrong and "conversion error" in str(error):
                raise _NotNumbersError from error
            raise self._refused(wrong, error) from error
        columns = [table.column(chosen.index(called[k])) for k in wanted]
        return [one.chunk(0) if one.num_chunks == 1 else one.combine_chunks() for one in columns]

    def beginning(self, wanted: Sequence[int]) -> list[Any]:
        """Return columns of words of the first `BEGINNING` bytes of records; none without rows."""
        text = next(self._blocks(), np.zeros(0, np.uint8))
        ends = np.flatnonzero(text[:BEGINNING] == NEWLINE)
        if len(text) > BEGINNING and ends.size:
            begin = text[: ends[-1] + 1]
            end = end_of_records(begin, self._head.delimiter)
            text = begin[:end] if end else text
        return self._parsed(text, wanted, set(), []) if _has_cells(text) else []

    def _words_among(self, text: NDArray[np.uint8], columns: list[int]) -> set[int]:
        """Return which columns have a cell that is no number."""
        cells = [tidy(one, self.missing_words) for one in self._parsed(text, columns, set(), [])]
        return {
            k
            for k, column in zip(columns, cells, strict=True)
            if not is_parsed_as_numbers(column.dictionary)
        }

    def _blocks(self) -> Iterator[NDArray[np.uint8]]:
        """Yield whole records."""
        head, left = self._head, np.zeros(0, np.uint8)
        for block, line in text_blocks(self.name, encoding=self.encoding):
            text = _kept(self.name, head, block, line, comments=head.comments)
            text = np.concatenate([left, text]) if len(left) else text
            end = end_of_records(text, head.delimiter)
            text, left = text[:end], text[end:]
            if len(left) > BLOCK_BYTES:
                break
            if _has_cells(text):
                self.tail = tail_of(text)
                yield text
        if _has_cells(left):
            line = max(line for line, _ in self._records())
            raise InputError(f"{self.name}, line {line}: {UNCLOSED}")

    @property
    def skip_lines(self) -> int:
        """Number of lines before the first row."""
        return self._head.skip_lines

    @property
    def delimiter(self) -> str:
        """Character between cells."""
        return self._head.delimiter

    def where(self, row: int) -> str:
        """Return the line of a row."""
        found = next(itertools.islice(self._records(), row, None), None)
        return f"row {row}" if found is None else f"line {found[0]}"

    def cell(self, row: int, column: int) -> str:
        """Return a cell as it stands in the file; "" where there is none."""
        found = next(itertools.islice(self._records(), row, None), (0, []))[1]
        return found[column] if column < len(found) else ""

    def line_of(self, wanted: Sequence[str]) -> int | None:
        """Return the first line with certain cells; None where no row has them."""
        rows = ((line, [cell.strip() for cell in cells]) for line, cells in self._records())
        return next((line for line, cells in rows if cells == list(wanted)), None)

    def _records(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the first line and the cells of each row."""
        head = self._head
        text = _Text(self.name, self.encoding, head, comments=False)
        lines = io.TextIOWrapper(io.BufferedReader(text), "utf-8", newline="\n")
        reader = csv.reader(lines, delimiter=head.delimiter)
        while True:
            line = head.skip_lines + reader.line_num + 1
            try:
                cells = next(reader, None)
            except csv.Error as error:  # a cell that is longer than any
                raise InputError(f"{self.name}, line {line}: {UNCLOSED}") from error
            if cells is None:
                return
            blank = not cells or (len(cells) == 1 and not cells[0].strip())
            if not blank and not (head.comments and is_comment(cells[0])):
                yield line, cells

    def _refused(self, wrong: list[int], error: Exception) -> InputError:
        """Return the error for rows that pyarrow cannot read."""
        if not wrong and next(self._records(), None) is None:
            return InputError(f"{self.name}: empty: it holds no rows")
        if not wrong:
            return InputError(f"{self.name}: cannot be read as a table of text: {error}")
        columns = self._head.n_cells
        for line, cells in self._records():
            if len(cells) != columns:
                is_few = len(cells) < columns
                count = "fewer" if is_few else "more"
                remedy = TOO_FEW_REMEDY if is_few else TOO_MANY_REMEDY
                message = f"{count} than {columns} cells; {remedy}"
                if self.names is not None and line == self.skip_lines + 1:
                    message += hint_for_units("".join(cells), f"line {line}")
                return InputError(f"{self.name}, line {line}: {message}")
        return InputError(f"{self.name}: a line has {wrong[0]} cells, not {columns}")


class _Text(io.RawIOBase):
    """A text file as a stream of UTF-8, without the lines before its rows.

    `comments`: also without those of comments.
    """

    def __init__(self, path: str, encoding: str | None, head: TextHead, *, comments: bool) -> None:
        self._name, self._blocks = path, text_blocks(path, encoding=encoding)
        self._head, self._comments = head, comments
        self._left = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer; return the number of bytes, 0 at the end."""
        while not len(self._left):
            block = next(self._blocks, None)
            if block is None:
                return 0
            kept = _kept(self._name, self._head, *block, comments=self._comments)
            self._left = memoryview(kept.tobytes())
        size = min(len(buffer), len(self._left))
        buffer[:size] = self._left[:size]
        self._left = self._left[size:]
        return size


def _has_cells(text: NDArray[np.uint8]) -> bool:
    """Return whether a text has more than blanks; its beginning mostly has."""
    return bool((text[:1000] > BLANK).any() or (text > BLANK).any())


def _kept(
    name: str, head: TextHead, text: NDArray[np.uint8], line: int, *, comments: bool
) -> NDArray[np.uint8]:
    """Return a block of text without the lines before the rows, and perhaps without comments."""
    begin, end, skip = 0, text.size - 16, head.skip_lines
    if line <= skip:
        ends = np.flatnonzero(text[:end] == 10)
        begin = int(ends[min(skip - line, ends.size - 1)]) + 1
        line = skip + 1
    found = text[begin:end]
    if not comments or not (found == ord(COMMENT)).any():
        return found
    lines = found.tobytes().split(b"\n")
    rows = [k for k, one in enumerate(lines) if not is_comment(one[:8].decode("utf-8", "replace"))]
    for k in sorted(set(range(len(lines))) - set(rows)):
        _check_comment(name, head, lines[k], line + k)
    return np.frombuffer(b"\n".join(lines[k] for k in rows), np.uint8)


def _check_comment(name: str, head: TextHead, comment: bytes, line: int) -> None:
    """Refuse a comment that may be a row, which would be lost without a word."""
    cells = comment.count(head.delimiter.encode()) + 1
    if cells == head.n_cells:
        raise InputError(
            f"{name}, line {line}: begins with {COMMENT} as a comment does, but has "
            f"{cells} cells as a row: delete it, or put its first cell in quotation marks"
        )


def _is_number(cell: str, decimal: str) -> bool:
    try:
        float(cell.replace(",", ".") if decimal == "," else cell)
    except ValueError:
        return False
    return True
