"""Parquet files as sources of dense rows, through pyarrow.

Memory: a decompressed row group, by the file's metadata, and a block of 8 MB; and 16 times the
metadata themselves. Both are compared with the memory bound before they are read.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.errors import InputError
from dcsvm_dask.readers.columns import Expected, column_layout
from dcsvm_dask.readers.files import open_raw, plain_errors
from dcsvm_dask.readers.memory import above_bound, check_bound, show_size
from dcsvm_dask.readers.preparing.cells import is_number, labels_of_decimals
from dcsvm_dask.readers.source import (
    BLOCK_BYTES,
    NO_LABEL_REMEDY,
    Block,
    Reading,
    finish_block,
)

FOOTER_MEMORY = 16
"""Approximate number of bytes of memory for each byte of a file's metadata."""


class ParquetSource:
    """Rows of a Parquet file; one of its columns is the label.

    Parameters
    ----------
    path : str
        Local path or URL.
    label : str or int, optional
        Name or position of the label column; see `columns` for the default.
    expected : Expected, optional
        Columns of the training table, for later rows; these may lack labels.
    labelled : bool, default True
        Whether to read labels, where there are any.
    drop : sequence of str
        Names of columns to leave out.

    Attributes
    ----------
    flags : list of int
        Features that are columns of yes and no.
    """

    parses = False
    is_sparse = False

    def __init__(
        self,
        path: str,
        *,
        label: str | int | None = None,
        expected: Expected | None = None,
        labelled: bool = True,
        drop: Sequence[str] = (),
    ) -> None:
        self.name = path
        with open_parquet(path) as file:
            schema = file.schema_arrow
            names = list(schema.names)
            layout = column_layout(
                path, len(names), names, label=label, expected=expected, drop=drop
            )
            kinds = [schema.field(k).type for k in layout.features]
            for k, kind in zip(layout.features, kinds, strict=True):
                self._check(names[k], kind)
            self.flags = [j for j, kind in enumerate(kinds) if str(kind) == "bool"]
            self._words: list[str] = []
            if labelled and layout.label is not None:
                self._check_label(names[layout.label], schema.field(layout.label).type)
            rows = file.metadata.num_rows
            for k in range(file.metadata.num_row_groups):
                group = file.metadata.row_group(k)
                what = f"row group {k} of {group.num_rows:,} rows"
                check_bound(group.total_byte_size + 2 * BLOCK_BYTES, path, what)
        self.feature_names: list[str] | None = layout.names
        self.n_features: int | None = len(layout.features)
        if rows == 0 or self.n_features == 0:
            raise InputError(f"{path}: empty: {rows} rows, {self.n_features} features")
        label_name = None if layout.label is None else names[layout.label]
        self.reading = Reading("Parquet", label=label_name, position=layout.position)
        self._features = [names[k] for k in layout.features]
        self._label = label_name if labelled else None

    def blocks(self) -> Iterator[Block]:
        """Yield the blocks in order."""
        step = max(1, BLOCK_BYTES // (4 * len(self._features)))
        wanted = self._features if self._label is None else [*self._features, self._label]
        start = 0
        with open_parquet(self.name, self._words) as file:
            for batch in file.iter_batches(batch_size=step, columns=wanted, use_threads=False):
                rows = np.empty((batch.num_rows, len(self._features)))
                for k, name in enumerate(self._features):
                    # Missing values become NaN, which later checks refuse.
                    rows[:, k] = _numbers(batch.column(name))
                labels = None
                if self._label is not None:
                    labels = self._labels(batch.column(self._label), start)
                yield finish_block(rows, self.name, start, self._features), labels
                start += batch.num_rows

    def _check(self, name: str, kind: Any) -> None:
        if not is_number(kind):
            raise InputError(f"{self.name}: the column {name!r} must be numeric, got {kind}")

    def _check_label(self, name: str, kind: Any) -> None:
        """Raise an error for unsupported types of labels; strings are read as a dictionary."""
        import pyarrow as pa

        if pa.types.is_dictionary(kind):
            kind = kind.value_type
        if pa.types.is_string(kind) or pa.types.is_large_string(kind):
            self._words = [name]
        elif not is_number(kind):
            raise InputError(
                f"{self.name}: labels of type {kind} are not supported ({name!r}); write them as "
                "numbers, such as the days since a day of your choice, or words"
            )

    def _labels(self, column: Any, start: int) -> NDArray[Any]:
        import pyarrow as pa

        if column.null_count:
            row = start + int(np.flatnonzero(np.asarray(column.is_null()))[0])
            raise InputError(
                f"{self.name}: row {row} (counted from 0) has no label; {NO_LABEL_REMEDY}"
            )
        if pa.types.is_dictionary(column.type):
            words = self._labels(column.dictionary, start)
            index = np.asarray(column.indices.to_numpy(zero_copy_only=False))
            if index.size and not 0 <= index.min() <= index.max() < len(words):
                raise InputError(f"{self.name}: damaged: labels are not in their dictionary")
            return words[index]
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            return np.array(column.to_pylist(), dtype=object)
        if pa.types.is_decimal(column.type):
            return labels_of_decimals(column)
        return np.asarray(column.to_numpy(zero_copy_only=False))


def _check_footer(file: Any, path: str) -> None:
    """Raise an error if the metadata, whose length is at the file's end, exceed the memory
    bound.
    """
    size = file.seek(0, 2)
    file.seek(max(0, size - 8))
    length = int.from_bytes(file.read(4), "little")
    file.seek(0)
    if length < size:
        what = f"its metadata of {show_size(length)}"
        check_bound(FOOTER_MEMORY * length, path, what)


def _numbers(column: Any) -> NDArray[Any]:
    import pyarrow as pa

    if column.null_count or pa.types.is_boolean(column.type) or pa.types.is_decimal(column.type):
        column = column.cast(pa.float64(), safe=False)  # whole numbers beyond 2^53 are rounded
    return np.asarray(column.to_numpy(zero_copy_only=False))


@contextlib.contextmanager
def open_parquet(path: str, words: Sequence[str] = ()) -> Iterator[Any]:
    """Open a Parquet file; `words` are columns of strings to be read as dictionaries."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise InputError(f"{path}: reading Parquet needs pyarrow: pip install pyarrow") from error
    try:
        with plain_errors(path), open_raw(path) as raw:
            _check_footer(raw, path)
            with pq.ParquetFile(raw, read_dictionary=list(words)) as file:
                yield file
    except pa.ArrowMemoryError as error:
        raise above_bound(path, f"a page takes more memory than there is ({error})") from error
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise InputError(f"{path}: damaged or not a Parquet file ({error})") from error
    except OSError as error:
        if type(error) is not OSError:
            raise
        raise InputError(f"{path}: damaged Parquet file ({error})") from error
