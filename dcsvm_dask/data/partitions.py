"""Both passes of an ingest over one partition of rows, on the worker that has the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dcsvm_dask.data.form import Form
from dcsvm_dask.data.scan import Table, y_of
from dcsvm_dask.data.write import stored_blocks
from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels.rows import Rows, largest_value
from dcsvm_dask.readers.columns import Expected
from dcsvm_dask.readers.frame_checks import is_frame
from dcsvm_dask.readers.frames import memory_source
from dcsvm_dask.readers.labels import Label, LabelTable
from dcsvm_dask.readers.source import Source
from dcsvm_dask.readers.statistics import Moments, Ranges, moments
from dcsvm_dask.readers.survey import Survey
from dcsvm_dask.storage.rounding import RoundingLoss

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
