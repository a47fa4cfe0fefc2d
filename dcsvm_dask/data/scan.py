"""The first pass of an ingest over a source, with a copy where a second pass needs one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.data.row_sample import RowSample
from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels.rows import Rows
from dcsvm_dask.readers.ahead import ahead
from dcsvm_dask.readers.labels import LabelTable
from dcsvm_dask.readers.lines import by_line
from dcsvm_dask.readers.signs import SignTable
from dcsvm_dask.readers.source import Block, Source
from dcsvm_dask.readers.statistics import ScalingStatistics
from dcsvm_dask.readers.survey import Survey
from dcsvm_dask.readers.targets import TargetTable
from dcsvm_dask.readers.weights import Weights
from dcsvm_dask.storage.permute import permuted
from dcsvm_dask.storage.spool import Column, RowSpool

Report = Callable[[str], None]
Table = LabelTable | TargetTable | SignTable


class Scan:
    """The result of a pass over a source.

    Parameters
    ----------
    source : Source
    rows : tuple of int or None
        The rows start:stop to read, as in a slice.
    table : callable
        Returns what reads y, given the name of the source: labels of classes, real targets, or the
        labels of a one-class SVM, which may be missing.
    copy : bool
        Whether to copy a source that is cheap to read again, so that rows can be permuted.
    statistics : ScalingStatistics, optional
        Updated with every row.
    weights : Weights, optional
        Weights of all rows of the source; rows of weight 0 are left out.
    survey : Survey, optional
        Updated with every row.
    sample : RowSample, optional
        Updated with every row and its provisional code.
    report : callable
        Called with lines about the progress.

    Attributes
    ----------
    left_out : int
        Rows of weight 0.
    y : LabelTable, TargetTable or SignTable
        What was read as y.

    Raises
    ------
    InputError
        If the source is empty, has no labels, or has a value that cannot be stored.
    """

    def __init__(
        self,
        source: Source,
        rows: tuple[int | None, int | None],
        *,
        table: Callable[[str], Table] = LabelTable,
        copy: bool,
        statistics: ScalingStatistics | None,
        weights: Weights | None = None,
        survey: Survey | None = None,
        sample: RowSample | None = None,
        report: Report,
    ) -> None:
        self.source = source
        self.y = table(source.name)
        self.nnz = 0
        self.n_features = 0
        self._limits, self._weights = rows, weights
        self._seen = 0
        self._spool = RowSpool(source.is_sparse) if copy or source.parses else None
        self._values = Column(self.y.dtype)
        try:
            self._read([one for one in (statistics, survey) if one is not None], sample, report)
        except BaseException:
            self.close()
            raise

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self._values.length

    @property
    def is_raw(self) -> bool:
        """Whether blocks have raw svmlight indices as columns, as many as occur."""
        return self.source.n_features is None

    @property
    def first_feature(self) -> int:
        """Column of raw blocks that is feature 0: 1 where indices count from 1."""
        return int(getattr(self.source, "first_feature", 0))

    def y_values(self) -> NDArray[Any]:
        """Return the provisional codes or targets of all rows."""
        return self._values.read(0, self.n_rows)

    def blocks(self, order: NDArray[np.int64] | None) -> Iterator[tuple[Rows, NDArray[Any]]]:
        """Yield rows and their provisional codes or targets: all rows, or those of an order."""
        if order is not None:
            assert self._spool is not None
            yield from permuted(self._spool, self._values, order)
            return
        start = 0
        again = self._spool.blocks() if self._spool is not None else self._source_rows()
        for rows in again:
            yield rows, self._values.read(start, start + rows.shape[0])
            start += rows.shape[0]

    def weights(self, order: NDArray[np.int64] | None) -> NDArray[np.float64] | None:
        """Return the weights of the rows of `blocks`; None if rows have none."""
        if self._weights is None:
            return None
        start = self._limits[0] or 0
        values = self._weights.taken(start, start + self._seen)
        return values if order is None else values[order]

    def update_statistics(self, statistics: ScalingStatistics, chosen: NDArray[np.int64]) -> None:
        """Update statistics with the chosen rows."""
        mask = np.zeros(self.n_rows, np.bool_)
        mask[chosen] = True
        start = 0
        for rows, _ in self.blocks(None):
            stop = start + rows.shape[0]
            statistics.update(rows[mask[start:stop]])
            start = stop

    def close(self) -> None:
        """Free the copy."""
        self._values.close()
        if self._spool is not None:
            self._spool.close()

    def _source_rows(self) -> Iterator[Rows]:
        for rows, _ in self._wanted():
            yield rows

    def _wanted(self) -> Iterator[tuple[Any, Any]]:
        """Return the blocks of the source without rows that are left out."""
        blocks, self._seen = self._counted(limit_rows(self.source.blocks(), *self._limits)), 0
        if self._weights is None:
            return blocks
        return self._weights.left(blocks, self._limits[0] or 0, self.source.name)

    def _counted(self, blocks: Iterator[tuple[Any, Any]]) -> Iterator[tuple[Any, Any]]:
        for rows, labels in blocks:
            self._seen += rows.shape[0]
            yield rows, labels

    def _row_of(self, row: int) -> int:
        """Return the row of the source, given its number among those that were read."""
        start = self._limits[0] or 0
        if self._weights is None:
            return start + row
        return start + int(np.flatnonzero(self._weights.values[start:] > 0.0)[row])

    def _read(
        self,
        shown: Sequence[ScalingStatistics | Survey],
        sample: RowSample | None,
        report: Report,
    ) -> None:
        name = self.source.name
        for rows, labels in ahead(self._wanted()):
            with by_line(self.source, self._row_of):
                values = y_of(self.y, labels, rows.shape[0])
            self._values.append(values)
            if sample is not None:
                sample.update(rows, values)
            self.nnz += rows.nnz if self.source.is_sparse else rows.size
            self.n_features = max(self.n_features, rows.shape[1])
            for one in shown:
                one.update(rows)
            if self._spool is not None:
                self._spool.append(rows)
            report(f"{name}: {self.n_rows:,} rows read")
        if self.n_rows == 0:
            everything = self._limits == (None, None) and self._weights is None
            raise InputError(f"{name}: no rows" + ("" if everything else " left"))
        self.left_out = self._seen - self.n_rows
        if self.left_out:
            report(f"{name}: {self.left_out:,} rows of weight 0 left out")
        if self._weights is not None and self._limits[1] is None:
            self._weights.check_count((self._limits[0] or 0) + self._seen, name)


def y_of(table: Table, given: Any, n: int) -> NDArray[Any]:
    """Return y of the next rows of a source.

    Parameters
    ----------
    table : LabelTable, TargetTable or SignTable
    given : array, shape (n,), or None
        Labels or targets; None: there are none.
    n : int
        Number of rows.

    Raises
    ------
    InputError
        If they are not what the table reads, or there are none and it needs some.
    """
    if isinstance(table, SignTable):
        return table.add(given, n)
    if given is None:
        raise InputError(f"{table.name}: no labels found (see --label)")
    return table.add(np.asarray(given))


def limit_rows(
    blocks: Iterator[Block], start: int | None, stop: int | None
) -> Iterator[tuple[Any, Any]]:
    """Yield blocks of the rows start:stop; later blocks are not read.

    Parameters
    ----------
    blocks : iterator of (rows, labels)
    start, stop : int or None

    Yields
    ------
    rows : ndarray or csr_array
    labels : ndarray or None
    """
    low, high = start or 0, stop
    seen = 0
    for rows, labels in blocks:
        a = max(0, low - seen)
        b = rows.shape[0] if high is None else min(rows.shape[0], high - seen)
        seen += rows.shape[0]
        if a < b:
            whole = a == 0 and b == rows.shape[0]
            yield (
                (rows, labels)
                if whole
                else (
                    rows[a:b],
                    None if labels is None else labels[a:b],
                )
            )
        if high is not None and seen >= high:
            return
