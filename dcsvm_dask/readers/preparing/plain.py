"""Whether a table is one of numbers, of which nothing needs to be made."""

from __future__ import annotations

import csv
import itertools
from collections.abc import Sequence

from dcsvm_dask.errors import InputError
from dcsvm_dask.readers.columns import Expected, column_layout
from dcsvm_dask.readers.files import read_top
from dcsvm_dask.readers.parquet import open_parquet
from dcsvm_dask.readers.preparing.cells import COMMENT, is_number
from dcsvm_dask.readers.table_head import read_table_head

LOOKED_AT = 1 << 16
"""Characters at the beginning of a text that are looked at."""


def is_plain_text(
    path: str,
    header: bool | None,
    encoding: str | None,
    *,
    label: str | int | None,
    drop: Sequence[str],
    expected: Expected | None,
) -> bool:
    """Return whether the beginning of a delimited text has numbers alone as features.

    A text with cells separated by blanks counts as such: nothing else can be read of it.
    """
    text, _ = read_top(path, encoding)
    text = text[: max(LOOKED_AT, text.find("\n") + 1)]
    comments = _leading_comments(text)
    if comments and not (len(comments) == 1 and _names_of_savetxt(text, comments[0])):
        return False
    try:
        head = read_table_head(path, text, label, header, expected)
    except InputError:  # some cells of the first line are numbers, others are words
        return " " in text and not any(mark in text for mark in "\t,;|")
    if head.delimiter == " ":
        return True
    if text.count('"') % 2:  # an open quotation mark, whose line the parser of numbers reports
        return True
    names, columns = head.names, head.columns
    layout = column_layout(path, columns, names, label=label, expected=expected, drop=drop)
    lines = text.split("\n")
    whole = len(lines) - 1  # the last one may be cut
    rows = lines[head.skip_lines : max(whole, head.skip_lines + 1)]
    reader, records = csv.reader(rows, delimiter=head.delimiter), 0
    features = layout.features
    try:
        for cells in reader:
            records += 1
            if not cells or not "".join(cells).strip():
                continue
            if reader.line_num != records or cells[0].lstrip().startswith(COMMENT):
                return False  # a cell of several lines
            if len(cells) == columns + 1 and not cells[-1].strip():
                return False  # a separator at the end
            if not all(_is_number(cells[k]) for k in features if k < len(cells)):
                return False
    except csv.Error:
        return True
    return True


def is_plain_parquet(
    path: str, *, label: str | int | None, drop: Sequence[str], expected: Expected | None
) -> bool:
    """Return whether all features of a Parquet file are columns of numbers."""
    with open_parquet(path) as file:
        schema = file.schema_arrow
    names = list(schema.names)
    layout = column_layout(path, len(names), names, label=label, expected=expected, drop=drop)
    return all(is_number(schema.field(k).type) for k in layout.features)


def _leading_comments(text: str) -> list[str]:
    """Return the comments before the first line of cells."""
    lines = (line.strip() for line in text.split("\n"))
    found = itertools.takewhile(lambda line: not line or line.startswith(COMMENT), lines)
    return [line for line in found if line]


def _names_of_savetxt(text: str, comment: str) -> bool:
    """Return whether a comment has the names of columns, as `numpy.savetxt` writes them."""
    rows = (line.strip() for line in text.split("\n"))
    first = next((row for row in rows if row and row != comment), "")
    names = comment.removeprefix(COMMENT)
    counts = {mark: names.count(mark) for mark in "\t,;|"}
    if not any(counts.values()):
        blanks = not any(mark in first for mark in counts)
        return blanks and len(names.split()) == len(first.split())
    return all(first.count(mark) == count for mark, count in counts.items())


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell
