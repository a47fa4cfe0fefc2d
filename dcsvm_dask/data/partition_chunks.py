"""The chunks of a part whose rows are partitions on several workers.

Chunks do not end where partitions do. A chunk is written by the worker of the partition that has
its first row; its rows of later partitions are cut out of these, and nothing else moves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import DTypeLike, NDArray

from dcsvm_dask.data.form import Form
from dcsvm_dask.data.partitions import Largest, Piece, Span, Stored
from dcsvm_dask.data.write import SMALL_CHUNK
from dcsvm_dask.storage.arrays import create_array, open_array
from dcsvm_dask.storage.location import Location
from dcsvm_dask.storage.recorded import RecordedPlace
from dcsvm_dask.storage.rounding import RoundingLoss
from dcsvm_dask.storage.rows.write import border_chunk, value_chunk


@dataclass(frozen=True)
class Grid:
    """An array of a part: the first row of each partition in it, and its chunks.

    Parameters
    ----------
    borders : int64 array, shape (partitions + 1,)
    width : tuple of int
        Sizes of the axes after the first.
    dtype : dtype
    chunk : int
        Rows of a chunk.
    """

    borders: NDArray[np.int64]
    width: tuple[int, ...]
    dtype: DTypeLike
    chunk: int

    @classmethod
    def of(
        cls, counts: Sequence[int], width: tuple[int, ...], dtype: DTypeLike, chunk: int
    ) -> Grid:
        """Return the array of partitions with given numbers of rows.

        Parameters
        ----------
        counts : sequence of int
            Rows of each partition.
        width : tuple of int
            Sizes of the axes after the first.
        dtype : dtype
        chunk : int
            Rows of a chunk.

        Returns
        -------
        Grid
        """
        return cls(np.cumsum([0, *counts], dtype=np.int64), width, dtype, chunk)

    def create(self, place: Location) -> None:
        """Create the empty array."""
        shape = (int(self.borders[-1]), *self.width)
        create_array(place, shape, self.dtype, (self.chunk, *self.width))

    def begun_in(self, k: int) -> Span:
        """Return the span of the chunks whose first row is in a partition."""
        start, stop = (
            -(-int(border) // self.chunk) * self.chunk for border in self.borders[k : k + 2]
        )
        return start, max(start, min(stop, int(self.borders[-1])))


def pieces_between(borders: NDArray[np.int64], start: int, stop: int) -> Iterator[tuple[int, Span]]:
    """Yield the partitions of the rows start:stop, each with the span of these rows in it.

    Parameters
    ----------
    borders : ndarray of int64
        First row of each partition, and the number of rows.
    start, stop : int

    Yields
    ------
    partition : int
    span : tuple of int
    """
    k = int(np.searchsorted(borders, start, side="right")) - 1
    while start < stop:
        low, high = map(int, borders[k : k + 2])
        end = min(stop, high)
        if start < end:
            yield k, (start - low, end - low)
            start = end
        k += 1


def grids(form: Form, n_rows: Sequence[int], values: Sequence[int], nnz: int) -> dict[str, Grid]:
    """Return the arrays of a part, by their names.

    Parameters
    ----------
    form : Form
    n_rows, values : sequence of int
        Rows and values in CSR parts of each partition.
    nnz : int
        Values of all rows as they were read, for the chunks of CSR parts.

    Returns
    -------
    dict of str to Grid
    """
    small, total = max(form.chunk_rows, SMALL_CHUNK), sum(n_rows)
    found = {
        form.y_name: Grid.of(n_rows, (), form.y_dtype, small),
        "hashes": Grid.of(n_rows, (2,), np.uint64, small),
    }
    if not form.is_sparse:
        return {**found, "rows/X": Grid.of(n_rows, (form.n_features,), np.float32, form.chunk_rows)}
    chunk = value_chunk(form.chunk_rows, nnz / max(1, total))
    # indptr has one entry more than rows; the first partition has its first entry, 0.
    borders = [n_rows[0] + 1, *n_rows[1:]]
    return {
        **found,
        "rows/data": Grid.of(values, (), np.float32, chunk),
        "rows/indices": Grid.of(values, (), np.int32, chunk),
        "rows/indptr": Grid.of(borders, (), np.int64, border_chunk(form.chunk_rows)),
    }


def wanted(found: dict[str, Grid], k: int) -> dict[int, dict[str, Span]]:
    """Return the rows of all partitions that are in chunks which begin in partition `k`."""
    out: dict[int, dict[str, Span]] = {}
    for name, grid in found.items():
        for other, span in pieces_between(grid.borders, *grid.begun_in(k)):
            out.setdefault(other, {})[name] = span
    return dict(sorted(out.items()))


def cut(stored: Stored, spans: dict[str, Span], values_before: int, is_first: bool) -> Piece:
    """Return rows of the arrays of a partition.

    Parameters
    ----------
    stored : Stored
    spans : dict
        Spans of rows, by the names of the arrays.
    values_before : int
        Values of CSR parts in the partitions before this one.
    is_first : bool
        Whether this is the first partition.

    Returns
    -------
    dict of str to ndarray
    """
    arrays = stored.arrays
    if "rows/indptr" in spans:
        borders = arrays["rows/indptr"] + values_before
        first = np.zeros(int(is_first), np.int64)
        arrays = {**arrays, "rows/indptr": np.concatenate([first, borders])}
    return {name: arrays[name][start:stop] for name, (start, stop) in spans.items()}


def write(
    part: RecordedPlace, starts: dict[str, int], own: Stored, *pieces: Piece
) -> tuple[dict[str, tuple[int, int]], RoundingLoss, Largest]:
    """Write the chunks that begin in a partition; return their checksums, and facts of its rows.

    Parameters
    ----------
    part : RecordedPlace
        The part, with the checksums of the arrays' metadata.
    starts : dict
        First row in each array.
    own : Stored
        The partition.
    pieces : dict of str to ndarray
        The rows of all chunks, in order.

    Returns
    -------
    written : dict
        Size and CRC-32 of the new objects, by key.
    loss : RoundingLoss
    largest : (int, int, float) or None
        See `Stored`.
    """
    written = dict(part.written)
    here = RecordedPlace(part.url, part.root, written)
    for name, start in starts.items():
        values = np.concatenate([piece[name] for piece in pieces if name in piece])
        open_array(below(here, name))[start : start + len(values)] = values
    return (
        {key: one for key, one in written.items() if key not in part.written},
        own.loss,
        own.largest,
    )


def below(part: RecordedPlace, name: str) -> RecordedPlace:
    """Return the place of an array of a part."""
    for step in name.split("/"):
        part = part / step
    return part
