"""Reading the parts of CSR matrices as blocks of sparse rows.

Memory: the values and indices of a block and 32 bytes more for each of its values; a block is a
million values, or one row. This is compared with the memory bound before they are read.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dcsvm_dask.errors import InputError
from dcsvm_dask.readers.memory import check_bound
from dcsvm_dask.readers.source import BLOCK_BYTES

_ROWS = 1 << 16
_MOST_FEATURES = 2**31 - 1


class Stream(Protocol):
    """An array of one axis that is read sequentially."""

    shape: tuple[int, ...]
    dtype: Any

    def read(self, rows: int) -> NDArray[Any]:
        """Return the next values."""


def csr_blocks(
    data: Stream, indices: Stream, indptr: Stream, *, shape: tuple[int, int], name: str
) -> Iterator[Any]:
    """Yield blocks of rows from the parts of a CSR matrix, with checks.

    Parameters
    ----------
    data, indices, indptr : Stream
        As in `scipy.sparse.csr_array`.
    shape : tuple of int
        (rows, features)
    name : str
        For messages.

    Raises
    ------
    InputError
        If the parts do not fit together.
    """
    n, d = shape
    for part, stream, kinds in (("data", data, "biuf"), ("indices", indices, "iu")):
        if len(stream.shape) != 1 or stream.dtype.kind not in kinds:
            raise InputError(f"{name}_{part}: a vector of numbers is needed")
    if indptr.shape != (n + 1,) or indptr.dtype.kind not in "iu":
        raise InputError(f"{name}_indptr: {n + 1} integers are needed for {n} rows")
    if data.shape != indices.shape:
        raise InputError(f"{name}: {data.shape[0]} values, but {indices.shape[0]} indices")
    if n < 1 or d < 1:
        raise InputError(f"{name}: empty: {n} rows, {d} features")
    if d > _MOST_FEATURES:
        raise InputError(f"{name}: {d} features; at most {_MOST_FEATURES} are possible")
    at = int(indptr.read(1)[0])
    if at != 0:
        raise InputError(f"{name}_indptr: starts with {at} instead of 0")
    done = 0
    while done < n:
        ends = indptr.read(min(_ROWS, n - done)).astype(np.int64)
        if ends[0] < at or (ends[1:] < ends[:-1]).any() or ends[-1] > data.shape[0]:
            raise InputError(f"{name}_indptr: descends or exceeds the number of values")
        first = 0
        while first < ends.size:
            # As many rows as make a block, at least one.
            last = int(np.searchsorted(ends, at + BLOCK_BYTES // 8, side="right"))
            last = min(max(last, first + 1), ends.size)
            size = int(ends[last - 1]) - at
            per_value = data.dtype.itemsize + indices.dtype.itemsize + 32
            check_bound(per_value * size, name, f"a row of {size:,} values")
            values, columns = data.read(size), indices.read(size)
            if size and not (columns.min() >= 0 and columns.max() < d):
                raise InputError(f"{name}_indices: not within 0..{d - 1}")
            offsets = np.concatenate([[0], ends[first:last] - at]).astype(np.int32)
            yield sparse.csr_array((values, columns.astype(np.int32), offsets), (last - first, d))
            at += size
            first = last
        done += ends.size
    if at != data.shape[0]:
        raise InputError(f"{name}_indptr: ends with {at}, but there are {data.shape[0]} values")
