"""The first line of delimited text: what parts the cells, how many there are, and their names."""

from __future__ import annotations

import csv
from dataclasses import dataclass

from dcsvm_dask.errors import InputError
from dcsvm_dask.readers.columns import LABEL_NAMES, Expected, label_position


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
