"""The delimited text of a source, and the columns of it that are features as they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from dcsvm_dask.errors import InputError
from dcsvm_dask.readers.preparing.csv_tables import CsvTable
from dcsvm_dask.readers.preparing.source import PreparedSource
from dcsvm_dask.readers.source import Source
from dcsvm_dask.readers.table import TableSource


def text_of(source: Source) -> CsvTable | TableSource | None:
    """Return the delimited text of a source; None where it is none."""
    table: Any = source.table if isinstance(source, PreparedSource) else source
    return table if isinstance(table, CsvTable | TableSource) else None


def table_of_text(source: Source) -> CsvTable | None:
    """Return the delimited text of a source; None where it is none with names."""
    if isinstance(source, PreparedSource):
        return source.table if isinstance(source.table, CsvTable) else None
    if not isinstance(source, TableSource) or source.feature_names is None:
        return None
    try:
        return CsvTable(source.name, header=True, encoding=source.encoding)
    except InputError:  # cells are separated by blanks
        return None


def columns_of_text(source: Source, features: Sequence[int]) -> Iterator[tuple[CsvTable, str, int]]:
    """Yield the table, the name and the position of the column of each feature that is its number.

    There are none for sources that are no delimited text with names.
    """
    table = table_of_text(source)
    if table is None:
        return
    if isinstance(source, PreparedSource):
        numbers = source.columns_of_numbers()
    else:
        assert isinstance(source, TableSource)
        numbers = dict(enumerate(zip(source.feature_names or (), source.columns, strict=True)))
    for feature in features:
        if feature in numbers:
            yield table, *numbers[feature]
