"""The line of a row, for messages about labels and targets, which are read by their rows."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from dcsvm_dask.errors import InputError
from dcsvm_dask.readers.files import text_blocks


class RowError(InputError):
    """A label or target that cannot be used, of a row of which no line is known.

    Parameters
    ----------
    name : str
        Name of the source.
    row : int
        Its row among those that were read.
    problem : str
        What follows the place in the message: " has ...", or ": ...".
    """

    def __init__(self, name: str, row: int, problem: str) -> None:
        super().__init__(name, row, problem)
        self.row, self.problem = row, problem

    def __str__(self) -> str:
        name, row, problem = self.args  # without passwords
        return f"{name}: row {row} (counted from 0){problem}"


@contextlib.contextmanager
def by_line(source: Any, row_of: Callable[[int], int] = int) -> Iterator[None]:
    """Name the line and the column in errors for rows of a source that has lines.

    Parameters
    ----------
    source : Source
    row_of : callable
        Returns the row of the source, given its number among those that were read.

    Raises
    ------
    InputError
    """
    try:
        yield
    except RowError as error:
        if not hasattr(source, "where"):
            raise
        label = getattr(source.reading, "label", None)
        column = "" if label is None else f" the column {label!r}"
        problem = f":{column}{error.problem}" if error.problem.startswith(" ") else error.problem
        where = source.where(row_of(error.row))
        raise InputError(f"{source.name}, {where}{problem}") from error


def line_of_row(
    path: str, row: int, *, encoding: str | None, skip: int = 0, comment: bytes | None = None
) -> str:
    """Return the line of a row of a text whose rows are lines, by reading it again.

    Parameters
    ----------
    path : str
    row : int
        From 0.
    encoding : str, optional
    skip : int
        Lines before the first row.
    comment : bytes, optional
        What lines begin with that are no rows, as blank ones are none.
    """
    for text, first in text_blocks(path, encoding=encoding):
        for number, line in enumerate(text[:-16].tobytes().split(b"\n"), first):
            content = line.strip()
            if number <= skip or not content or (comment and content.startswith(comment)):
                continue
            if row == 0:
                return f"line {number}"
            row -= 1
    return f"row {row} from the end"
