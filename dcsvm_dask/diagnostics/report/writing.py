"""Writing reports: an HTML file, a folder of CSV files."""

from __future__ import annotations

from dcsvm_dask.diagnostics.report.page import GENERATOR
from dcsvm_dask.diagnostics.report.table import Table, to_csv
from dcsvm_dask.errors import InputError
from dcsvm_dask.storage.location import Location
from dcsvm_dask.storage.run import RunFolder

NAME = "report.html"
HEAD_BYTES = 600
"""In which a report says that it is one."""


def place_in(run: RunFolder) -> Location:
    """Return where a run's report lies."""
    return run.place / NAME


def write_html(text: str, place: Location) -> None:
    """Write a report, over an older one but over nothing else; see `refuse_other`."""
    refuse_other(place)
    place.write_bytes(text.encode())


def refuse_other(place: Location) -> None:
    """Refuse a place where something lies that is no report.

    Raises
    ------
    InputError
        If there is.
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
    """Write a CSV file for each table that has rows; return their names.

    Raises
    ------
    InputError
        If there can be no such folder.
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
