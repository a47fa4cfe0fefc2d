"""Columns of a table that are copied beside its predictions, such as an id."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dcsvm_dask.errors import InputError
from dcsvm_dask.masking import masked
from dcsvm_dask.readers.columns import listed
from dcsvm_dask.readers.frame_checks import is_frame
from dcsvm_dask.readers.open import find_format, later_encoding
from dcsvm_dask.readers.preparing.csv_tables import CsvTable
from dcsvm_dask.readers.preparing.json_lines import JsonLinesTable
from dcsvm_dask.readers.preparing.memory_tables import FrameTable, ParquetTable
from dcsvm_dask.readers.preparing.raw import RawTable


class KeptColumns:
    """The cells of some columns as text, read in step with the predictions of their rows.

    Parameters
    ----------
    table : RawTable
    names : sequence of str
        The columns.

    Raises
    ------
    InputError
        If there is no such column.
    """

    def __init__(self, table: RawTable, names: Sequence[str]) -> None:
        self.names, self._name = list(names), masked(table.name)
        known = table.names
        if known is None:
            raise InputError(f"{self._name}: keep cannot be used: its columns have no names")
        absent = [name for name in names if name not in known]
        if absent:
            raise InputError(
                f"{self._name}: no column {absent[0]!r} to keep; there are: {listed(known)}"
            )
        self._rows = self._read(table, [known.index(name) for name in names])

    def take(self, n: int) -> list[tuple[str, ...]]:
        """Return the cells of the next rows; an empty text where there is none."""
        rows = list(itertools.islice(self._rows, n))
        if len(rows) < n:
            raise InputError(f"{self._name}: has fewer rows than predictions; did the file change?")
        return rows

    def finish(self) -> None:
        """Raise an error if there are rows without predictions."""
        if next(self._rows, None) is not None:
            raise InputError(f"{self._name}: has more rows than predictions; did the file change?")

    @staticmethod
    def _read(table: RawTable, places: Sequence[int]) -> Iterator[tuple[str, ...]]:
        import pyarrow as pa
        import pyarrow.compute as pc

        for batch in table.batches(places):
            texts = [pc.fill_null(pc.cast(column, pa.string()), "") for column in batch]
            yield from zip(*(text.to_pylist() for text in texts), strict=True)


def open_kept(
    data: Any,
    names: Sequence[str],
    *,
    reading: Mapping[str, Any],
    known: Sequence[str] | None,
    decimal: str = ".",
    encoding: str | None = None,
) -> KeptColumns:
    """Return some columns of a table of rows to predict.

    Parameters
    ----------
    data : str, path or data frame
    names : sequence of str
        The columns.
    reading : mapping
        How the training table was read.
    known : sequence of str or None
        Names of the columns of the training table.
    decimal : {".", ","}
    encoding : str, optional
        Encoding of text without a byte order mark; by default that of the training table.

    Raises
    ------
    InputError
        If the data is no table whose columns have names, or a column does not exist.
    """
    if is_frame(data):
        return KeptColumns(FrameTable(data, "X"), names)
    if not isinstance(data, str | os.PathLike):
        raise InputError("keep is for files and data frames: arrays have no names of columns")
    path = os.fspath(data)
    if encoding is None:
        encoding = later_encoding(path, reading.get("encoding"))
    kind = find_format(path, encoding)
    table: RawTable
    if kind == "table":
        header = reading.get("header")
        table = CsvTable(path, header=header, encoding=encoding, decimal=decimal, known=known)
    elif kind == "jsonl":
        table = JsonLinesTable(path, encoding=encoding)
    elif kind == "parquet":
        table = ParquetTable(path)
    else:
        raise InputError(f"{masked(path)}: keep is for tables whose columns have names")
    return KeptColumns(table, names)
