"""Writing reports: an HTML file and a folder of CSV files."""

from __future__ import annotations

import os

from dcsvm_dask.diagnostics.report.page import GENERATOR
from dcsvm_dask.diagnostics.report.tables.table import Table, to_csv
from dcsvm_dask.errors import InputError
from dcsvm_dask.storage.location import Location
from dcsvm_dask.storage.outputs import exists_already, refuse_inside
from dcsvm_dask.storage.run import RunFolder

NAME = "report.html"
HEAD_BYTES = 600
"""First bytes of a report, which hold its mark."""


def place_in(run: RunFolder) -> Location:
    """Return the place of a run's report."""
    return run.place / NAME


def check_places(
    page: Location,
    csv: str | os.PathLike[str] | Location | None,
    *,
    own: Location | None = None,
    overwrite: bool = False,
) -> None:
    """Raise an error for places where a report may not be written, before it is made.

    Parameters
    ----------
    page : Location
        An older report there is replaced.
    csv : str, path, Location or None
        The folder of its tables.
    own : Location, optional
        The place of a report in the run itself.
    overwrite : bool, default False
        Whether existing tables are replaced.

    Raises
    ------
    InputError
        If another file lies there, or the place is inside a run or a data set.
    """
    if page != own:
        refuse_inside(page)
    refuse_other(page)
    if csv is None:
        return
    folder = Location.of(csv, writable=True)
    refuse_inside(folder / "x.csv", "csv")
    try:
        tables = [name for name in folder.list() if name.endswith(".csv")]
    except NotADirectoryError as error:
        raise InputError(f"csv: {folder} is a file; name a folder") from error
    if tables and not overwrite:
        raise exists_already(folder / tables[0], "csv")


def write_html(text: str, place: Location) -> None:
    """Write a report, replacing an older report but no other file; see `refuse_other`."""
    refuse_other(place)
    place.write_bytes(text.encode())


def refuse_other(place: Location) -> None:
    """Raise an error if a file that is no report lies at a place.

    Raises
    ------
    InputError
        If there is one, or a folder.
    """
    try:
        head = place.read_bytes()[:HEAD_BYTES]
    except FileNotFoundError:
        head = None
    except IsADirectoryError as error:
        raise InputError(f"{place}: is a folder; name a file") from error
    if head is not None and f'content="{GENERATOR}'.encode() not in head:
        raise InputError(f"{place}: is no report; name another file, or delete it")


def write_csv(tables: dict[str, Table], folder: Location) -> list[str]:
    """Write a CSV file for each table that has rows, and return the names of the files.

    Raises
    ------
    InputError
        If the folder cannot be made.
    """
    written = []
    for name, columns in tables.items():
        if any(columns.values()):
            try:
                (folder / f"{name}.csv").write_bytes(to_csv(columns).encode())
            except (FileExistsError, NotADirectoryError, FileNotFoundError) as error:
                raise InputError(f"csv: {folder} cannot be a folder; name another") from error
            written.append(f"{name}.csv")
    return written
