"""Errors of columns and cells that cannot be made numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dcsvm_dask.errors import InputError
from dcsvm_dask.numbers import counted
from dcsvm_dask.readers.preparing.cells import is_date, is_number, is_text
from dcsvm_dask.readers.preparing.csv_tables import CsvTable
from dcsvm_dask.readers.preparing.encoders import BadCellError
from dcsvm_dask.readers.preparing.raw import RawTable

EMPTY = "is empty"
"""Begin of the problem with a missing cell."""
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


def refused(table: RawTable, error: BadCellError, row: int) -> InputError:
    """Return the error of a cell that cannot be made a number, with its place.

    Parameters
    ----------
    table : RawTable
    error : BadCellError
    row : int
        Of the table.
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
        if word and problem.startswith(EMPTY):
            problem = f"{EMPTY} ({word!r}){problem.removeprefix(EMPTY)}"
            problem += (
                f"; if {word!r} is a category, name the words of empty cells without it: "
                '--missing-words WORD,..., or "" for none'
            )
    return InputError(f"{table.name}, {table.where(row)}: {place} {problem}")


def further_columns(name: str, columns: Sequence[str]) -> str:
    """Return a line that names up to eight further columns that need a choice."""
    if not columns:
        return ""
    needs = "needs" if len(columns) == 1 else "need"
    count = counted(len(columns), "more column")
    more = f" and {len(columns) - LISTED:,} more" if len(columns) > LISTED else ""
    return f"\n{name}: {count} {needs} a choice: {', '.join(columns[:LISTED])}{more}"
