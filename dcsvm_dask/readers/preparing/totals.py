"""Totals in the last row of a table of any format."""

from __future__ import annotations

from typing import Any

import numpy as np

from dcsvm_dask.readers.extra_lines import doubt_of_totals, names_total, total_at_the_end
from dcsvm_dask.readers.frames import FrameSource
from dcsvm_dask.readers.parquet import ParquetSource
from dcsvm_dask.readers.preparing.cells import is_text
from dcsvm_dask.readers.preparing.csv_tables import CsvTable
from dcsvm_dask.readers.preparing.json_lines import JsonLinesTable
from dcsvm_dask.readers.preparing.memory_tables import FrameTable, ParquetTable
from dcsvm_dask.readers.preparing.source import PreparedSource
from dcsvm_dask.readers.preparing.text_columns import text_of
from dcsvm_dask.readers.preparing.words import tidy
from dcsvm_dask.readers.source import Source
from dcsvm_dask.readers.table import TableSource


def totals_doubt(source: Source) -> str | None:
    """Return that the last row of a table looks like totals; None where it does not.

    Words that rows above have, too, are categories. Columns that are no features count.

    Parameters
    ----------
    source : Source
        One whose blocks have been read.
    """
    table = _table_of(source)
    if isinstance(table, CsvTable | TableSource):
        found = total_at_the_end(table)
        return None if found is None else doubt_of_totals(f"line {found[1]}", found[0])
    if table is None:
        return None
    for column, word in table.last_words().items():
        if names_total(word):
            n, count = _counted(table, column, word)
            if count == 1:
                return doubt_of_totals(table.where(n - 1), word)
    if isinstance(table, FrameTable) and (label := table.total_of_index()) is not None:
        return doubt_of_totals(f"the last row, {label!r} by its index,", label)
    return None


def _table_of(source: Source) -> Any:
    if isinstance(source, FrameSource):
        return FrameTable(source.frame, source.name)
    if isinstance(source, ParquetSource):
        return ParquetTable(source.name)
    if isinstance(source, PreparedSource):
        known = CsvTable | JsonLinesTable | FrameTable | ParquetTable
        return source.table if isinstance(source.table, known) else None
    return text_of(source)


def _counted(table: Any, column: int, word: str) -> tuple[int, int]:
    """Return the number of rows, and of the cells of a column that have a word."""
    import pyarrow.compute as pc

    n = count = 0
    for (cells,) in table.batches([column]):
        n += len(cells)
        if is_text(cells.type):
            coded = tidy(cells, ())
            same = np.asarray(pc.fill_null(pc.equal(coded.dictionary, word.strip()), False))
            codes = coded.indices.drop_null().to_numpy(zero_copy_only=False)
            count += int(same[codes].sum())
    return n, count
