"""Columns of words as different words, and which of them each cell is.

What cells mean is looked up once for each different word of a batch, not for each cell.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.readers.preparing.cells import is_text


def tidy(column: Any, missing: Collection[str]) -> Any:
    """Return a column of words with each of them once, without blanks around it.

    Columns of other types are returned as they are.

    Parameters
    ----------
    column : pyarrow.Array
    missing : collection of str
        Words that mean a missing cell, which become null.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if not is_text(column.type):
        return column
    column = coded(column)
    trimmed = pc.utf8_trim_whitespace(column.dictionary)
    gone = pc.is_in(trimmed, value_set=pa.array(sorted(missing), pa.string()))
    words = pc.if_else(gone, pa.scalar(None, pa.string()), trimmed)
    return pa.DictionaryArray.from_arrays(column.indices, words)


def coded(column: Any) -> Any:
    """Return a column of words as Arrow's dictionaries: words, and the number of each cell's."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_floating(column.type):
        column = pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
    if not pa.types.is_dictionary(column.type):
        return pc.cast(column, pa.string()).dictionary_encode()
    if not pa.types.is_string(column.type.value_type):
        words = pc.cast(column.dictionary, pa.string())
        return pa.DictionaryArray.from_arrays(column.indices, words)
    return column


def different(column: Any) -> tuple[Any, NDArray[np.int64], NDArray[np.int64]]:
    """Return the different cells of a column of words, a missing one among them.

    Parameters
    ----------
    column : pyarrow.Array
        Words, or numbers that are categories.

    Returns
    -------
    words : pyarrow.Array of str
        Only those that occur; a missing one is null. Some may be equal.
    codes : ndarray, int64
        The position of each cell among them.
    counts : ndarray, int64
        Cells of each.
    """
    import pyarrow as pa

    column = coded(column)
    k = len(column.dictionary)
    codes = np.asarray(column.indices.fill_null(k).to_numpy(zero_copy_only=False), np.int64)
    words = pa.concat_arrays([column.dictionary, pa.nulls(1, pa.string())])
    counts = np.bincount(codes, minlength=k + 1)
    used = np.flatnonzero(counts)
    if len(used) <= k:
        places = np.zeros(k + 1, np.int64)
        places[used] = np.arange(len(used))
        words, codes, counts = words.take(pa.array(used)), places[codes], counts[used]
    return words, codes, counts
