"""The first line of delimited text: what parts the cells, how many there are, and their names."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass

from dcsvm_dask.errors import InputError
from dcsvm_dask.readers.columns import LABEL_NAMES, label_position


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
    wanted: Sequence[str] | None = None,
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
    wanted : sequence of str, optional
        Names of features that a model needs.

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
        has_wanted = wanted is not None and set(wanted) <= set(cells)
        header = commented or has_wanted or _is_header(path, cells, label)
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


def _is_header(path: str, cells: list[str], label: str | int | None) -> bool:
    if isinstance(label, str) and not _is_number(label):
        return True
    place = label_position(path, len(cells), None, label) if len(cells) > 1 else None
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
