"""The format of delimited text, from its first lines: the separator, the names, the columns.

The first line is split into words, so it is an error above 1/64 of the memory bound.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass

from dcsvm_dask.errors import InputError
from dcsvm_dask.readers.columns import (
    LABEL_NAMES,
    NO_LABEL,
    Expected,
    label_position,
)


@dataclass(frozen=True)
class TableHead:
    """The format of a table, from its first line."""

    delimiter: str
    """Character between cells; a blank stands for any run of blanks and tabs."""
    columns: int
    """Number of cells of a line."""
    names: list[str] | None
    """Names of the columns, if the first line has them."""
    skip_lines: int
    """Number of lines before the first row."""


def read_table_head(
    path: str,
    text: str,
    label: str | int | None,
    header: bool | None,
    expected: Expected | None = None,
) -> TableHead:
    """Return the format of a table.

    Parameters
    ----------
    path : str
        For messages, and for its extension.
    text : str
        The beginning of the file.
    label : str, int or None
        The label column, if the user named one.
    header : bool or None
        Whether the first line has names. None: it has if the label is named by a word, if none of
        its features is a number, or if it has all expected names.
    expected : Expected, optional
        Columns of the training table, for a later table.

    Returns
    -------
    TableHead

    Raises
    ------
    InputError
        If the file is empty or only some features of its first line are numbers.
    """
    lines = text.split("\n")  # as rows are split; other line separators of Unicode are ignored
    first = next((k for k, line in enumerate(lines) if line.strip(" \t\r")), None)
    if first is None:
        raise InputError(f"{path}: empty: it holds no rows")
    line = lines[first].strip("\r")
    commented = line.lstrip().startswith("#")
    if commented:  # the header of numpy.savetxt
        line = line.lstrip().removeprefix("#").strip()
    delimiter = find_delimiter(path, line, below=lines[first + 1 : first + LOOKED_AT])
    check_first_line(path, lines, first, delimiter)
    cells = _cells(path, line, delimiter)
    if not cells:
        raise InputError(f"{path}, line {first + 1}: has no cells; remove it")
    if header is None:
        named = expected is not None and _has_names(cells, expected)
        header = commented or named or _is_header(path, cells, label, expected)
    # The names that pandas gives them; the index that it writes is one.
    names = [cell or f"Unnamed: {k}" for k, cell in enumerate(cells)] if header else None
    if delimiter == " " and any(name.startswith(('"', "'")) for name in names or ()):
        raise InputError(
            f"{path}, line {first + 1}: names in quotation marks, separated by blanks, are not "
            "read; write the table with commas between the cells (in R write.csv(..., "
            "row.names=FALSE))"
        )
    return TableHead(delimiter, len(cells), names, first + 1 if header else first)


def check_first_line(path: str, lines: Sequence[str], first: int, delimiter: str) -> None:
    """Refuse a first line that is a title of the table, or holds the whole of it.

    Parameters
    ----------
    path : str
    lines : sequence of str
    first : int
        The line, counted from 0.
    delimiter : str
        What separates its cells.

    Raises
    ------
    InputError
        With what to do.
    """
    line = lines[first].strip("\r")
    if _SEPARATOR.fullmatch(line.strip()):
        raise InputError(
            f"{path}, line {first + 1}: {line.strip()!r} tells Excel what separates the cells; "
            f"delete it (tail -n +{first + 2} FILE > NEW)"
        )
    if "\r" in line and '"' not in line:
        raise InputError(
            f"{path}: its lines end with carriage returns alone, as on old Macs; write it with "
            "newlines (such as by tr '\\r' '\\n')"
        )
    below = [one for one in lines[first + 1 : first + LOOKED_AT] if one.strip(" \t\r")]
    words = len(line.split())  # tabs are blanks, too
    # Among blanks several tabs are one, and one at the end of a row separates nothing.
    held = sum(
        any(mark in one for mark in _MARKS if mark != "\t")
        or len(re.findall(r"\t+", one.strip())) >= words
        for one in below
    )
    holds_cells = 2 * held > len(below)
    if delimiter == " " and holds_cells and not line.lstrip().startswith("#"):
        raise InputError(
            f"{path}, line {first + 1}: {line.strip()[:60]!r} is no row of the table below it; "
            "remove the lines above the names of the columns, or begin them with #"
        )


_SEPARATOR = re.compile(r"\ufeff?\"?sep=.?\"?[,;]*", re.IGNORECASE)
_MARKS = ("\t", ",", ";", "|")
SEPARATORS = "between cells may stand commas, semicolons, tabs, | or blanks"
"""What can separate cells, for messages."""
_QUOTED = re.compile('"[^"]*"')
LOOKED_AT = 32
"""Lines below the first one that show whether it belongs to them."""


def find_delimiter(path: str, line: str, decimal: str = ".", *, below: Sequence[str] = ()) -> str:
    """Return what separates the cells of a line; a blank for any run of blanks and tabs.

    Parameters
    ----------
    path : str
        For its extension.
    line : str
    decimal : {".", ","}
        Mark before the decimals of numbers, which separates cells only where nothing else does and
        none of them is a number.
    below : sequence of str
        Lines below it, most of which have as many semicolons where these separate cells.
    """
    base = path.lower()
    for ending in (".gz", ".bz2", ".xz"):
        base = base.removesuffix(ending)
    if base.endswith(".tsv"):
        return "\t"
    bare, *rows = (_QUOTED.sub("", one) for one in (line, *filter(str.strip, below)))
    count = bare.count(";")
    same = sum(one.count(";") == count for one in rows)
    if "\t" not in bare and count > bare.count(",") and 2 * same >= len(rows):
        return ";"  # commas are in names, such as "Size, cm", or begin decimals
    for delimiter in _MARKS:
        if delimiter in line and delimiter != decimal:
            return delimiter
    # Between names it separates cells: numbers with it are then in quotes.
    return "," if decimal == "," and "," in line and not re.search(r"\d,\d", line) else " "


def _cells(path: str, line: str, delimiter: str) -> list[str]:
    line = line.lstrip("\ufeff")  # of a second byte order mark
    if delimiter == " ":
        return line.split()
    try:
        cells = next(csv.reader([line], delimiter=delimiter, skipinitialspace=True))
    except csv.Error as error:
        raise InputError(f"{path}: the first line is not a row of cells ({error})") from error
    return [cell.strip() for cell in cells]


def _has_names(cells: list[str], expected: Expected) -> bool:
    """Return whether a line has the names of all features.

    Names may be numbers, as those of a frame that was made from an array: then a line of values is
    a header only if it has all names in order and nothing else but the label.
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
    if isinstance(label, str) and label != NO_LABEL and not _is_number(label):
        return True
    place = None
    if expected is not None and expected.position is not None:
        if len(cells) == expected.n_features + 1:
            place = expected.position
    elif (
        len(cells) > 1
        and label != NO_LABEL
        and (expected is None or len(cells) != expected.n_features)
    ):
        place = label_position(path, len(cells), None, label)
    features = [_is_number(cell) for k, cell in enumerate(cells) if k != place]
    if not any(features) and features:
        return True
    if not all(features):
        bad = next(c for k, c in enumerate(cells) if k != place and not _is_number(c))
        raise InputError(
            f"{path}, line 1: {bad!r} is not a number (give --header if the line has names)"
        )
    # Some programs name columns 0, 1, 2, ..., label.
    return place is not None and cells[place].lower() in LABEL_NAMES


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
