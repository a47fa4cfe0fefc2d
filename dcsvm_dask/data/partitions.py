"""Both passes of an ingest over one partition of rows, on the worker that has the rows.

Chunks do not end where partitions do. A chunk is written by the worker of the partition that has
its first row; its rows of later partitions are cut out of these, and nothing else moves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

from dcsvm_dask.data.form import Form
from dcsvm_dask.data.scan import Table, y_of
from dcsvm_dask.data.write import SMALL_CHUNK, stored_blocks
from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels.rows import Rows, largest_value
from dcsvm_dask.readers.columns import Expected
from dcsvm_dask.readers.frames import is_frame, memory_source
from dcsvm_dask.readers.labels import Label, LabelTable
from dcsvm_dask.readers.source import Source
from dcsvm_dask.readers.statistics import Moments, Ranges, moments
from dcsvm_dask.readers.survey import Survey
from dcsvm_dask.storage.arrays import create_array, open_array
from dcsvm_dask.storage.location import Location
from dcsvm_dask.storage.recorded import RecordedPlace
from dcsvm_dask.storage.rounding import RoundingLoss
from dcsvm_dask.storage.rows.write import border_chunk, value_chunk

Piece = dict[str, NDArray[Any]]
"""Consecutive rows of arrays of a part, by the names of the arrays."""
Span = tuple[int, int]
"""First row of a partition and the row after the last one, as in a slice."""


@dataclass(frozen=True)
class Reader:
    """Reads partitions.

    Parameters
    ----------
    name : str
        Name of the collection in messages.
    is_sparse : bool
    n_features : int
    expected : Expected or None
        The columns of data frames, which are found by name.
    """

    name: str
    is_sparse: bool
    n_features: int
    expected: Expected | None

    def source(
        self, number: int, part: Any, y: Any = None, *, labelled: bool = True
    ) -> Source | None:
        """Return a partition as a source; None if it has no rows.

        Parameters
        ----------
        number : int
            Number of the partition, from 0.
        part : array, sparse matrix or data frame
        y : array or series, optional
            Labels.
        labelled : bool, default True
            Whether to read labels from a data frame.

        Returns
        -------
        Source or None

        Raises
        ------
        InputError
            If it is not a table of numbers, or differs from the metadata of the collection.
        """
        name = self.name_of(number)
        if not (is_frame(part) or sparse.issparse(part) or isinstance(part, np.ndarray)):
            raise InputError(
                f"{name}: is a {type(part).__module__}.{type(part).__name__}; give partitions that "
                "are NumPy arrays, SciPy sparse matrices or pandas data frames"
            )
        if sparse.issparse(part) is not self.is_sparse:
            is_now, declared, meta = "sparse", "dense", "scipy.sparse.csr_matrix((0, 0))"
            if self.is_sparse:
                is_now, declared, meta = "dense", "sparse", "numpy.zeros((0, 0))"
            raise InputError(
                f"{name}: is {is_now}, but its metadata say {declared}; correct the metadata, "
                f"for example with map_blocks(..., meta={meta})"
            )
        if y is not None and np.shape(y) != part.shape[:1]:
            raise InputError(f"{name}: {part.shape[0]} rows, but labels of shape {np.shape(y)}")
        if part.shape[0] == 0:
            return None
        found = memory_source(part, y, name=name, expected=self.expected, labelled=labelled)
        if found.n_features != self.n_features:
            raise InputError(
                f"{name}: {found.n_features} features, but its metadata say {self.n_features}"
            )
        return found

    def name_of(self, number: int) -> str:
        """Return the name of a partition in messages."""
        return f"{self.name}, partition {number} (counted from 0)"


@dataclass(frozen=True)
class Counts:
    """Sizes of a partition."""

    n_rows: int
    nnz: int
    """Number of values that were read."""
    values: int
    """Number of values that are not 0 in float32, which CSR parts store without scaling."""


@dataclass
class Found:
    """The result of the first pass over a partition."""

    counts: Counts
    y: Table
    ranges: Ranges
    survey: Survey


@dataclass(frozen=True)
class Storing:
    """The form in which partitions are stored."""

    form: Form
    code_of: dict[Label, int] | None
    """The classes of labels; None: y are targets or signs."""
    table: Callable[[str], Table]
    """Returns what reads y, given the name of a partition."""
    measures_loss: bool


Largest = tuple[int, int, float] | None


@dataclass
class Stored:
    """A partition in its stored form."""

    arrays: Piece
    loss: RoundingLoss
    largest: Largest
    """The row, the feature and the value that is largest in size; None: there is none."""

    def __sizeof__(self) -> int:  # for Dask's memory management
        return sum(values.nbytes for values in self.arrays.values())


def survey_partition(
    part: Any,
    y: Any,
    number: int,
    reader: Reader,
    size: int | None,
    learns: bool,
    table: Callable[[str], Table],
) -> Found:
    """Run the first pass over a partition.

    Parameters
    ----------
    part, y : rows and labels
    number : int
        Number of the partition, from 0.
    reader : Reader
    size : int or None
        Rows of the partition by the collection's metadata.
    learns : bool
        Whether a scaling is learned from the rows.
    table : callable
        Returns what reads y, given the name of the partition.

    Returns
    -------
    Found

    Raises
    ------
    InputError
        If the partition is not valid.
    """
    name = reader.name_of(number)
    found, ranges, survey = table(name), Ranges(), Survey()
    source = reader.source(number, part, y)
    if size is not None and part.shape[0] != size:
        raise InputError(f"{name}: {part.shape[0]} rows, but its metadata say {size}")
    n_rows, nnz, values = 0, 0, 0
    for rows, given in () if source is None else source.blocks():
        y_of(found, given, rows.shape[0])
        n_rows += rows.shape[0]
        survey.update(rows)
        if learns:
            ranges.update(rows)
        stored = rows.data if sparse.issparse(rows) else rows
        nnz += stored.size
        values += int(np.count_nonzero(stored.astype(np.float32, copy=False)))
    return Found(Counts(n_rows, nnz, values), found, ranges, survey)


def rows_of(part: Any, span: Span, number: int, reader: Reader, found: Found | None) -> Rows:
    """Return some rows of a partition.

    Parameters
    ----------
    part : array, sparse matrix or data frame
    span : tuple of int
        The rows start:stop.
    number : int
        Number of the partition, from 0.
    reader : Reader
    found : Found or None
        Result of the first pass, which reports errors; not used.

    Returns
    -------
    ndarray or csr_array
    """
    del found  # the first pass reports errors
    rows = part.iloc[slice(*span)] if is_frame(part) else part[slice(*span)]
    source = reader.source(number, rows, labelled=False)
    assert source is not None
    return _stacked([block for block, _ in source.blocks()])


def moments_of(*pieces: Rows) -> Moments:
    """Return the moments of a block of rows from several partitions."""
    return moments(_stacked(pieces))


def _stacked(pieces: Sequence[Rows]) -> Rows:
    if len(pieces) == 1:
        return pieces[0]
    if sparse.issparse(pieces[0]):
        return sparse.csr_array(sparse.vstack(pieces, format="csr"))
    return np.concatenate(pieces)


def store(part: Any, y: Any, number: int, reader: Reader, how: Storing) -> Stored:
    """Return a partition with rows in its stored form.

    Parameters
    ----------
    part, y : rows and labels
    number : int
        Number of the partition, from 0.
    reader : Reader
    how : Storing

    Returns
    -------
    Stored
    """
    source, form = reader.source(number, part, y), how.form
    assert source is not None
    loss = RoundingLoss()
    taken = _read(source, how)
    shown = loss if how.measures_loss else None
    blocks = list(stored_blocks(taken, source.name, form, form.scaling, shown))
    arrays = {
        form.y_name: np.concatenate([own for _, own, _ in blocks]),
        "hashes": np.concatenate([hashes for _, _, hashes in blocks]),
    }
    rows = _stacked([rows for rows, _, _ in blocks])
    if form.is_sparse:
        arrays["rows/data"] = rows.data
        arrays["rows/indices"] = rows.indices.astype(np.int32, copy=False)
        arrays["rows/indptr"] = rows.indptr.astype(np.int64)[1:]
    else:
        arrays["rows/X"] = rows
    return Stored(arrays, loss, largest_value(rows))


def _read(source: Source, how: Storing) -> Iterator[tuple[Rows, NDArray[Any]]]:
    """Yield the rows of a source and their classes, targets or signs."""
    table, code_of = how.table(source.name), how.code_of
    for rows, given in source.blocks():
        found = y_of(table, given, rows.shape[0])
        if code_of is not None:
            assert isinstance(table, LabelTable)
            found = np.array([code_of[label] for label in table.labels], np.int32)[found]
        yield rows, found


def same(what: Any) -> Any:
    """Return the argument: a task of its own carries the value for all tasks that use it."""
    return what


def count_values(stored: Stored) -> int:
    """Return the number of values in the CSR parts of a partition."""
    return len(stored.arrays["rows/data"])


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
    """Write the chunks that begin in a partition; return their checksums, and what it says of rows.

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
