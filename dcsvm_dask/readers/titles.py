"""Lines above the names of a table's columns, such as titles, which are taken for the names."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from dcsvm_dask.errors import InputError
from dcsvm_dask.readers.columns import NoLabelColumnError
from dcsvm_dask.readers.files import read_top

LOOKED_AT = 100
"""Lines at the beginning of a text that are looked at."""
_MARKS = ("\t", ",", ";", "|", None)


@contextlib.contextmanager
def naming_line_of_label(
    path: str, label: str | int | None, encoding: str | None
) -> Iterator[None]:
    """Add to errors the line that has the name of the label, where that is in no header.

    Parameters
    ----------
    path : str
    label : str, int or None
        The label that the user named.
    encoding : str, optional
        Encoding of a file without a byte order mark.

    Raises
    ------
    InputError
    """
    try:
        yield
    except NoLabelColumnError as error:
        line = _line_with(read_top(path, encoding)[0], str(label))
        if line is None:
            raise
        raise InputError(
            f"{error}; line {line} has it: where that line has the names of the columns, remove "
            f"those above it (tail -n +{line} FILE > NEW), and a line of units below it, if any"
        ) from error


def _line_with(text: str, name: str) -> int | None:
    """Return the first line, counted from 1, that has a cell and no number; None without one.

    Line 1 has none above it that could be removed.
    """
    for number, line in enumerate(text.split("\n")[1:LOOKED_AT], 2):
        for mark in _MARKS:
            cells = [cell.strip(' "\r\ufeff') for cell in line.split(mark)]
            if len(cells) > 1 and name in cells and not any(map(_begins_as_number, cells)):
                return number
    return None


def _begins_as_number(cell: str) -> bool:
    return bool(cell) and cell.lstrip("+-.")[:1].isdigit()
