"""Parquet files and data frames as columns."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np

from dcsvm_dask.errors import InputError
from dcsvm_dask.readers.extra_lines import names_total
from dcsvm_dask.readers.memory import check_bound
from dcsvm_dask.readers.parquet import open_parquet
from dcsvm_dask.readers.preparing.cells import is_text
from dcsvm_dask.readers.preparing.raw import numbered
from dcsvm_dask.readers.source import BLOCK_BYTES, Reading, spans


class ParquetTable:
    """A Parquet file as columns.

    Parameters
    ----------
    path : str
        Local path or URL.
    """

    is_text = False

    def __init__(self, path: str) -> None:
        self.name = path
        with open_parquet(path) as file:
            self.names: list[str] | None = list(file.schema_arrow.names)
            if not file.metadata.num_rows:
                raise InputError(f"{path}: empty: 0 rows")
            for k in range(file.metadata.num_row_groups):
                group = file.metadata.row_group(k)
                what = f"row group {k} of {group.num_rows:,} rows"
                check_bound(group.total_byte_size + 2 * BLOCK_BYTES, path, what)
        self.n_columns = len(self.names or ())
        self.reading = Reading("Parquet")

    def batches(
        self,
        wanted: Sequence[int],
        numbers: Collection[int] = (),  # noqa: ARG002 - its columns have types
    ) -> Iterator[list[Any]]:
        """Yield columns of consecutive rows."""
        assert self.names is not None
        chosen = [self.names[k] for k in wanted]
        step = max(1, BLOCK_BYTES // (8 * max(1, len(wanted))))
        with open_parquet(self.name) as file:
            for batch in file.iter_batches(batch_size=step, columns=chosen, use_threads=False):
                yield [_without_codes(batch.column(name)) for name in chosen]

    def last_words(self) -> dict[int, str]:
        """Return the words of the last row by their columns."""
        with open_parquet(self.name) as file:
            kinds = dict(zip(file.schema_arrow.names, file.schema_arrow.types, strict=True))
            words = [name for name, kind in kinds.items() if is_text(kind)]
            last = [k for k in range(file.num_row_groups) if file.metadata.row_group(k).num_rows]
            cells = dict[str, Any]()
            how = {"row_groups": last[-1:], "columns": words, "use_threads": False}
            for batch in file.iter_batches(**how) if words else ():
                cells = {name: batch.column(name)[-1].as_py() for name in words}
        return {k: cells[one] for k, one in enumerate(self.names or ()) if cells.get(one)}

    def where(self, row: int) -> str:
        """Return the number of a row."""
        return numbered(row)


class FrameTable:
    """A data frame of pandas or Polars as columns.

    Parameters
    ----------
    frame : pandas.DataFrame or polars.DataFrame
    name : str
        For messages.
    """

    is_text = False

    def __init__(self, frame: Any, name: str) -> None:
        self.name, self._frame = name, frame
        self.names: list[str] | None = [str(column) for column in frame.columns]
        self.n_columns = len(self.names)
        if frame.shape[0] == 0 or self.n_columns == 0:
            raise InputError(f"{name}: empty: {frame.shape[0]} rows, {self.n_columns} columns")
        self.reading = Reading("data frame")

    def batches(
        self,
        wanted: Sequence[int],
        numbers: Collection[int] = (),  # noqa: ARG002 - its columns have types
    ) -> Iterator[list[Any]]:
        """Yield columns of consecutive rows."""
        frame = self._frame
        for start, stop in spans(int(frame.shape[0]), 8 * max(1, len(wanted))):
            if hasattr(frame, "iloc"):
                part = frame.iloc[start:stop]
                yield [_of_pandas(part.iloc[:, k]) for k in wanted]
            else:
                part = frame.slice(start, stop - start)
                yield [part.to_series(k).to_arrow() for k in wanted]

    def last_words(self) -> dict[int, str]:
        """Return the words of the last row by their columns."""
        frame = self._frame
        cells = frame.iloc[-1].tolist() if hasattr(frame, "iloc") else frame.row(-1)
        return {k: cell for k, cell in enumerate(cells) if isinstance(cell, str)}

    def total_of_index(self) -> str | None:
        """Return the last label of the index of pandas, if it names a total and no other does."""
        index = getattr(self._frame, "index", None)
        if index is None:
            return None
        label = index[-1]
        label = label[0] if isinstance(label, tuple) and label else label
        if not isinstance(label, str) or not names_total(label):
            return None
        return label if not (index.get_level_values(0)[:-1] == label).any() else None

    def where(self, row: int) -> str:
        """Return the number of a row."""
        return numbered(row)


def _of_pandas(series: Any) -> Any:
    """Return a series as an array of Arrow; values of several types and intervals are words."""
    import pyarrow as pa

    try:
        found = pa.Array.from_pandas(series)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        return _as_words(series)
    found = found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found
    kind = found.type.value_type if pa.types.is_dictionary(found.type) else found.type
    of_pandas_alone = isinstance(kind, pa.ExtensionType)  # intervals, as of its cut, and periods
    return _as_words(series) if of_pandas_alone else _without_codes(found)


def _as_words(series: Any) -> Any:
    """Return a series as an array of Arrow of what its values are written as."""
    import pyarrow as pa

    categories = getattr(series.dtype, "categories", None)
    if categories is not None:  # beside missing cells whole bounds of intervals become decimals
        words = [*map(str, categories), None]
        return pa.array([words[code] for code in series.cat.codes], pa.string())
    missing = np.asarray(series.isna())
    cells = zip(series, missing, strict=True)
    return pa.array([None if gone else str(one) for one, gone in cells], pa.string())


def _without_codes(column: Any) -> Any:
    """Return a column with its values in place of codes of categories, unless these are words."""
    import pyarrow as pa

    coded = pa.types.is_dictionary(column.type) and not is_text(column.type)
    return column.dictionary_decode() if coded else column
