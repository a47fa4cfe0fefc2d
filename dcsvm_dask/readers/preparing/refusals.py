"""Errors of columns, lines and cells that cannot be made numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dcsvm_dask.errors import InputError
from dcsvm_dask.numbers import counted
from dcsvm_dask.readers.extra_lines import (
    are_units,
    hint_for_units,
    line_of_totals,
    line_of_units,
    names_total,
)
from dcsvm_dask.readers.preparing.cells import is_date, is_number, is_text
from dcsvm_dask.readers.preparing.column_facts import ColumnFacts
from dcsvm_dask.readers.preparing.csv_tables import CsvTable
from dcsvm_dask.readers.preparing.encoders import BadCellError
from dcsvm_dask.readers.preparing.raw import RawTable

EMPTY, NO_NUMBER = "is empty", "is not a number"
"""Begin of the problem with a missing cell, and with one that is no number."""
LISTED = 8
"""Columns at most that a message names, of those that need a choice."""


def check_types(table: str, names: Sequence[str], batch: Sequence[Any]) -> None:
    """Raise an error if numbers cannot be made of a column.

    Parameters
    ----------
    table : str
        Its name, for messages.
    names : sequence of str
        Names of the columns.
    batch : sequence of pyarrow.Array
        Cells of each.
    """
    for name, column in zip(names, batch, strict=True):
        kind = column.type
        if not (is_number(kind) or is_text(kind) or is_date(kind)):
            raise InputError(
                f"{table}: the column {name!r} is of type {kind}, of which no numbers can "
                f"be made; --drop {name}, or make columns of numbers or words of it"
            )


def check_extra_lines(table: RawTable, facts: Sequence[ColumnFacts], n: int) -> None:
    """Raise an error if units, totals or a repeated header, which are no rows, are among the rows.

    Parameters
    ----------
    table : RawTable
        Of those that are no delimited text, totals alone are looked for.
    facts : sequence of ColumnFacts
        Of the columns that are features.
    n : int
        Number of rows of the table.
    """
    numbers = [one for one in facts if one.n_numbers]
    if isinstance(table, CsvTable):
        _check_first_lines(table, facts, numbers)
    last = n - 1
    for word in (one.only_word_in(last) for one in numbers):
        if word is not None and names_total(word):
            raise line_of_totals(f"{table.name}, {table.where(last)}", word)


def _check_first_lines(
    table: CsvTable, facts: Sequence[ColumnFacts], numbers: Sequence[ColumnFacts]
) -> None:
    """Raise an error for units in the first row, or a header that is repeated."""
    first = [(one.only_word_in(0), one.first_missing == 0) for one in numbers]
    units = [word for word, _ in first if word is not None]
    if are_units(units) and all(word is not None or missing for word, missing in first):
        raise line_of_units(table.name, table.where(0), units)
    names = table.names
    if names is not None and not numbers and all(one.name in one.words for one in facts):
        line = table.line_of(names)
        if line is not None:
            raise InputError(f"{table.name}, line {line}: repeats the header; delete it")


def refused(table: RawTable, error: BadCellError, row: int, *, learned: bool = False) -> InputError:
    """Return the error of a cell that cannot be made a number, with its place.

    Parameters
    ----------
    table : RawTable
    error : BadCellError
    row : int
        Of the table.
    learned : bool, default False
        Whether what becomes of the columns was learned already.
    """
    names = table.names
    column = error.column
    if names is not None and column in names:
        place = f"column {names.index(column) + 1} ({column!r})"
    else:
        place = f"column {column}"
    problem = error.problem
    if names is not None and column in names and isinstance(table, CsvTable):
        word = table.cell(row, names.index(column)).strip()
        if learned and row == 0 and problem.startswith(NO_NUMBER):
            problem += hint_for_units(word, table.where(row))
        if word and problem.startswith(EMPTY):
            problem = f"{EMPTY} ({word!r}){problem.removeprefix(EMPTY)}"
            problem += hint_for_category(word, "category")
    return InputError(f"{table.name}, {table.where(row)}: {place} {problem}")


def hint_for_category(word: str, kind: str) -> str:
    """Return what to do where a word for an empty cell is a category or a class.

    Parameters
    ----------
    word : str
    kind : {"category", "class"}
    """
    return (
        f"; if {word!r} is a {kind}, name the words of empty cells without it: "
        '--missing-words WORD,..., or "" for none'
    )


def further_columns(name: str, columns: Sequence[str]) -> str:
    """Return a line that names up to eight further columns that need a choice."""
    if not columns:
        return ""
    needs = "needs" if len(columns) == 1 else "need"
    count = counted(len(columns), "more column")
    more = f" and {len(columns) - LISTED:,} more" if len(columns) > LISTED else ""
    return f"\n{name}: {count} {needs} a choice: {', '.join(columns[:LISTED])}{more}"
