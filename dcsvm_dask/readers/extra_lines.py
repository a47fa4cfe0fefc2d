"""Lines of a table that are no rows: units below the names, totals at the end."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.errors import InputError
from dcsvm_dask.readers.files import text_blocks

TAIL_BYTES = 1 << 16
"""Of the end of a text, in which its last lines are looked for."""
_TOTALS = frozenset({
    "all", "total", "totals", "grand total", "subtotal", "sum", "sums", "average", "mean", "summe",
    "gesamt", "gesamtsumme", "insgesamt", "mittelwert", "durchschnitt", "somme", "moyenne", "suma",
    "summa", "totale", "totaal", "итого", "合計",
})  # fmt: skip
_NO_VALUES = frozenset({
    "absent", "blank", "empty", "error", "missing", "nil", "no data", "no value", "none",
    "not available", "null", "n.a", "n.d", "nd", "unavailable", "undefined", "unknown", "void",
})  # fmt: skip
_SHORT = 3
"""Letters of a word that may be a unit where no other column has one."""


class TextTable(Protocol):
    """A delimited text."""

    name: str
    encoding: str | None
    tail: bytes
    """The end of the text that was read, in UTF-8."""

    @property
    def names(self) -> list[str] | None:
        """Names of the columns, if it has any."""

    @property
    def delimiter(self) -> str:
        """Character between cells; a blank stands for any run of blanks."""

    @property
    def skip_lines(self) -> int:
        """Number of lines before the first row."""


def names_total(cell: str) -> bool:
    """Return whether a cell marks its row as totals of the rows above."""
    return cell.strip(" \t\r\ufeff'\"*").rstrip(":= ").casefold() in _TOTALS


def line_of_totals(where: str, cell: str) -> InputError:
    """Return the error for a cell of a last row that has totals.

    Parameters
    ----------
    where : str
        The file and the line.
    cell : str
    """
    return InputError(f"{where}: {_totals(cell)}; delete it")


def doubt_of_totals(where: str, cell: str) -> str:
    """Return the doubt that the last row has totals."""
    return f"{where} {_totals(cell)}; delete it where it is no row"


def _totals(cell: str) -> str:
    return f"looks like a row of totals of those above it ({cell.strip()[:40]!r})"


def are_units(words: Sequence[str]) -> bool:
    """Return whether words in the first row of columns of numbers look like units.

    Words for missing values do not.

    Parameters
    ----------
    words : sequence of str
        Those of all columns of numbers that have one in that row; the others have no cell there.
    """
    if all(word.strip("[](){}. ").casefold() in _NO_VALUES for word in words):
        return False
    if len(words) == 1:
        return len(words[0].strip("[](){}")) <= _SHORT or words[0][:1] in "[("
    return len(words) > 1


def line_of_units(path: str, line: str, words: Sequence[str]) -> InputError:
    """Return the error for a line of units below the names of the columns.

    Parameters
    ----------
    path : str
    line : str
        The line, as "line 2".
    words : sequence of str
        Some of the units.
    """
    shown = ", ".join(repr(word[:20]) for word in words[:3])
    return InputError(
        f"{path}, {line}: looks like a line of units ({shown}) below the names of the columns; "
        f"{_delete(line)}, or the line above it where that only groups columns"
    )


def hint_for_units(word: str, line: str) -> str:
    """Return that a first row may be units, for the end of a message about one of its cells.

    Parameters
    ----------
    word : str
        The cell, which is no number.
    line : str
        Its line, as "line 2".

    Returns
    -------
    str
        Empty for cells with digits.
    """
    if any(map(str.isdigit, word)):
        return ""
    return f"; where {line} holds units, {_delete(line)}"


def _delete(line: str) -> str:
    return f"delete it (sed {line.removeprefix('line ')}d FILE > NEW)"


def tail_of(text: NDArray[np.uint8]) -> bytes:
    """Return the end of a block of whole lines."""
    return text[-TAIL_BYTES:].tobytes()


def total_at_the_end(table: TextTable) -> tuple[str, int] | None:
    """Return a cell of the last line of a text that names a total, and the line; else None.

    Words that rows above have, too, are categories.

    Parameters
    ----------
    table : TextTable
        One whose rows have been read.
    """
    delimiter, skip = table.delimiter, table.skip_lines
    lines = table.tail.decode("utf-8", "replace").rstrip(" \t\r\n").split("\n")
    cells = _cells(lines[-1].strip("\r"), delimiter)
    found = next((cell for cell in cells if names_total(cell)), None)
    if found is None:
        return None
    mark = re.escape(delimiter.encode())
    one = re.compile(
        rb'(?m)(?:^|%b)[ "]*%b[ "]*(?:\r?$|%b)' % (mark, re.escape(found.strip().encode()), mark)
    )
    count = last = 0
    for text, line in text_blocks(table.name, encoding=table.encoding):
        block = text[:-16].tobytes()
        if block.strip():
            last = line + block.rstrip().count(b"\n")
        if line <= skip:
            block = b"\n".join(block.split(b"\n", skip - line + 1)[skip - line + 1 :])
        count += len(one.findall(block))
        if count > 1:
            return None
    return found, last


def last_cells(table: TextTable, column: int) -> list[str]:
    """Return the cells of a column in the last lines of a text whose rows have been read."""
    lines = table.tail.decode("utf-8", "replace").split("\n")
    # The first line may be cut.
    rows = (_cells(line.strip("\r"), table.delimiter) for line in lines[1:])
    return [row[column].strip() for row in rows if column < len(row)]


def _cells(line: str, delimiter: str) -> list[str]:
    if delimiter == " ":
        return line.split()
    try:
        return next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:
        return []
