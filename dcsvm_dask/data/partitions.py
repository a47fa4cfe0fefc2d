"""Both passes of an ingest over one partition of rows: what its worker does, where the rows are.

Chunks do not end where partitions do. A chunk is written by the worker of the partition that has
its first row; what it holds of later partitions is cut out of these, and nothing else moves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

from dcsvm_dask.data.form import Form
from dcsvm_dask.data.write import SMALL_CHUNK, stored_blocks
from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels.rows import Rows
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
"""First and last row of a partition, as in a slice."""


@dataclass(frozen=True)
class Reader:
    """Reads partitions.

    Parameters
    ----------
    name : str
        What messages call the collection.
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
        """Return a partition as a source; None: it has no rows.

        Raises
        ------
        InputError
            If it is no table of numbers, or not what the collection says.
        """
        name = self.name_of(number)
        if not (is_frame(part) or sparse.issparse(part) or isinstance(part, np.ndarray)):
            raise InputError(
                f"{name}: is a {type(part).__module__}.{type(part).__name__}; give partitions that "
                "are NumPy arrays, SciPy sparse matrices or pandas data frames"
            )
        if sparse.issparse(part) is not self.is_sparse:
            kinds = ("dense", "sparse") if self.is_sparse else ("sparse", "dense")
            raise InputError(
                f"{name}: is {kinds[0]}, but Dask takes it for {kinds[1]}; say what partitions "
                "are, as by map_blocks(..., meta=...)"
            )
        if y is not None and np.shape(y) != part.shape[:1]:
            raise InputError(f"{name}: {part.shape[0]} rows, but labels of shape {np.shape(y)}")
        if part.shape[0] == 0:
            return None
        found = memory_source(part, y, name=name, expected=self.expected, labelled=labelled)
        if found.n_features != self.n_features:
            raise InputError(
                f"{name}: {found.n_features} features, but Dask says {self.n_features}"
            )
        return found

    def name_of(self, number: int) -> str:
        """Return what messages call a partition."""
        return f"{self.name}, partition {number} (counted from 0)"


@dataclass(frozen=True)
class Counts:
    """Sizes of a partition."""

    n_rows: int
    nnz: int
    """Values as they were read."""
    values: int
    """Of these, the ones that are not 0 in float32: CSR parts store them if nothing is scaled."""


@dataclass
class Found:
    """What the first pass has found in a partition."""

    counts: Counts
    labels: LabelTable
    ranges: Ranges
    survey: Survey


@dataclass(frozen=True)
class Storing:
    """How partitions are stored."""

    form: Form
    code_of: dict[Label, int]
    measures_loss: bool


@dataclass
class Stored:
    """A partition as it is stored."""

    arrays: Piece
    loss: RoundingLoss

    def __sizeof__(self) -> int:  # which Dask asks for
        return sum(values.nbytes for values in self.arrays.values())


def look(part: Any, y: Any, number: int, reader: Reader, size: int | None, learns: bool) -> Found:
    """Look through a partition.

    Parameters
    ----------
    part, y : rows and labels
    number : int
        Of the partition.
    reader : Reader
    size : int or None
        Rows that Dask says it has.
    learns : bool
        Whether a scaling is learned from the rows.
    """
    name = reader.name_of(number)
    labels, ranges, survey = LabelTable(name), Ranges(), Survey()
    source = reader.source(number, part, y)
    if size is not None and part.shape[0] != size:
        raise InputError(f"{name}: {part.shape[0]} rows, but Dask says {size}")
    nnz, values = 0, 0
    for rows, given in () if source is None else source.blocks():
        if given is None:
            raise InputError(f"{name}: no labels found")
        labels.add(given)
        survey.update(rows)
        if learns:
            ranges.update(rows)
        stored = rows.data if sparse.issparse(rows) else rows
        nnz += stored.size
        values += int(np.count_nonzero(stored.astype(np.float32, copy=False)))
    return Found(Counts(labels.n_rows, nnz, values), labels, ranges, survey)


def rows_of(part: Any, span: Span, number: int, reader: Reader, found: Found | None) -> Rows:
    """Return some rows of a partition that was looked through."""
    del found  # what is wrong is told by the look
    rows = part.iloc[slice(*span)] if is_frame(part) else part[slice(*span)]
    source = reader.source(number, rows, labelled=False)
    assert source is not None
    return _stacked([block for block, _ in source.blocks()])


def moments_of(*pieces: Rows) -> Moments:
    """Return the moments of a block of rows that come from several partitions."""
    return moments(_stacked(pieces))


def _stacked(pieces: Sequence[Rows]) -> Rows:
    if len(pieces) == 1:
        return pieces[0]
    if sparse.issparse(pieces[0]):
        return sparse.csr_array(sparse.vstack(pieces, format="csr"))
    return np.concatenate(pieces)


def store(part: Any, y: Any, number: int, reader: Reader, how: Storing) -> Stored:
    """Return a partition that has rows as it is stored."""
    source, form = reader.source(number, part, y), how.form
    assert source is not None
    loss = RoundingLoss()
    taken = _coded(source, how.code_of)
    shown = loss if how.measures_loss else None
    blocks = list(stored_blocks(taken, source.name, form, form.scaling, shown))
    arrays = {
        "codes": np.concatenate([codes for _, codes, _ in blocks]),
        "hashes": np.concatenate([hashes for _, _, hashes in blocks]),
    }
    rows = _stacked([rows for rows, _, _ in blocks])
    if form.is_sparse:
        arrays["rows/data"] = rows.data
        arrays["rows/indices"] = rows.indices.astype(np.int32, copy=False)
        arrays["rows/indptr"] = rows.indptr.astype(np.int64)[1:]
    else:
        arrays["rows/X"] = rows
    return Stored(arrays, loss)


def _coded(source: Source, code_of: dict[Label, int]) -> Iterator[tuple[Rows, NDArray[np.int32]]]:
    """Return the rows of a source and their classes."""
    table = LabelTable(source.name)
    for rows, labels in source.blocks():
        found = table.add(np.asarray(labels))
        yield rows, np.array([code_of[label] for label in table.labels], np.int32)[found]


def same(what: Any) -> Any:
    """Return what is given: it is held by a task of its own, not by all that use it."""
    return what


def count_values(stored: Stored) -> int:
    """Return the number of values in the CSR parts of a partition."""
    return len(stored.arrays["rows/data"])


@dataclass(frozen=True)
class Grid:
    """An array of a part: where the partitions begin in it, and its chunks.

    Parameters
    ----------
    borders : int64 array, shape (partitions + 1,)
    width : tuple of int
        Sizes of the axes after the first.
    dtype : dtype
    chunk : int
        Rows a chunk.
    """

    borders: NDArray[np.int64]
    width: tuple[int, ...]
    dtype: DTypeLike
    chunk: int

    @classmethod
    def of(
        cls, counts: Sequence[int], width: tuple[int, ...], dtype: DTypeLike, chunk: int
    ) -> Grid:
        """Return the array in which partitions have so many rows."""
        return cls(np.cumsum([0, *counts], dtype=np.int64), width, dtype, chunk)

    def create(self, place: Location) -> None:
        """Create the array, empty."""
        shape = (int(self.borders[-1]), *self.width)
        create_array(place, shape, self.dtype, (self.chunk, *self.width))

    def begun_in(self, k: int) -> Span:
        """Return first and last row of the chunks whose first row a partition has."""
        start, stop = (
            -(-int(border) // self.chunk) * self.chunk for border in self.borders[k : k + 2]
        )
        return start, max(start, min(stop, int(self.borders[-1])))


def pieces_between(borders: NDArray[np.int64], start: int, stop: int) -> Iterator[tuple[int, Span]]:
    """Return in which partitions rows start:stop lie, and which of their rows these are."""
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
    n_rows, values : sequence of int
        Of each partition; values are those of CSR parts.
    nnz : int
        Values of all rows as they were read, from which CSR parts get their chunks.
    """
    small, total = max(form.chunk_rows, SMALL_CHUNK), sum(n_rows)
    found = {
        "codes": Grid.of(n_rows, (), np.int32, small),
        "hashes": Grid.of(n_rows, (2,), np.uint64, small),
    }
    if not form.is_sparse:
        return {**found, "rows/X": Grid.of(n_rows, (form.n_features,), np.float32, form.chunk_rows)}
    chunk = value_chunk(form.chunk_rows, nnz / max(1, total))
    # Borders between rows are one more than rows; the first partition has the first of them, 0.
    borders = [n_rows[0] + 1, *n_rows[1:]]
    return {
        **found,
        "rows/data": Grid.of(values, (), np.float32, chunk),
        "rows/indices": Grid.of(values, (), np.int32, chunk),
        "rows/indptr": Grid.of(borders, (), np.int64, border_chunk(form.chunk_rows)),
    }


def wanted(found: dict[str, Grid], k: int) -> dict[int, dict[str, Span]]:
    """Return which rows of which partitions the chunks hold that begin in a partition."""
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
        Which rows, by the names of the arrays.
    values_before : int
        Values of CSR parts in the partitions before this one.
    is_first : bool
        Whether there is none.
    """
    arrays = stored.arrays
    if "rows/indptr" in spans:
        borders = arrays["rows/indptr"] + values_before
        first = np.zeros(int(is_first), np.int64)
        arrays = {**arrays, "rows/indptr": np.concatenate([first, borders])}
    return {name: arrays[name][start:stop] for name, (start, stop) in spans.items()}


def write(
    part: RecordedPlace, starts: dict[str, int], own: Stored, *pieces: Piece
) -> tuple[dict[str, tuple[int, int]], RoundingLoss]:
    """Write the chunks that begin in a partition; return their checksums and what rounding took.

    Parameters
    ----------
    part : RecordedPlace
        The part, of which the metadata of its arrays are known.
    starts : dict
        Where the rows begin in each array.
    own : Stored
        The partition.
    pieces : Piece
        The rows of all chunks, in order.
    """
    written = dict(part.written)
    here = RecordedPlace(part.url, part.root, written)
    for name, start in starts.items():
        values = np.concatenate([piece[name] for piece in pieces if name in piece])
        open_array(below(here, name))[start : start + len(values)] = values
    return {key: one for key, one in written.items() if key not in part.written}, own.loss


def below(part: RecordedPlace, name: str) -> RecordedPlace:
    """Return the place of an array of a part."""
    for step in name.split("/"):
        part = part / step
    return part
