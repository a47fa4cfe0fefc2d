"""First pass of an ingest: what a source holds, and a copy of it where a second pass needs one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels.rows import Rows
from dcsvm_dask.readers.ahead import ahead
from dcsvm_dask.readers.labels import LabelTable
from dcsvm_dask.readers.source import Block, Source
from dcsvm_dask.readers.statistics import ScalingStatistics
from dcsvm_dask.readers.survey import Survey
from dcsvm_dask.readers.weights import Weights
from dcsvm_dask.storage.permute import permuted
from dcsvm_dask.storage.spool import Column, RowSpool

Report = Callable[[str], None]


class Scan:
    """What one pass over a source found.

    Parameters
    ----------
    source : Source
    rows : tuple of int or None
        First and last row wanted, as in a slice.
    copy : bool
        Keep a copy even if the source is cheap to read again, to put rows in another order.
    statistics : ScalingStatistics, optional
        Is shown every row.
    weights : Weights, optional
        Of all rows of the source; those of weight 0 are left out.
    survey : Survey, optional
        Is shown every row.
    report : callable
        Is told about progress, a line at a time.

    Attributes
    ----------
    left_out : int
        Rows of weight 0.

    Raises
    ------
    InputError
        If the source is empty, has no labels, or holds something that cannot be stored.
    """

    def __init__(
        self,
        source: Source,
        rows: tuple[int | None, int | None],
        *,
        copy: bool,
        statistics: ScalingStatistics | None,
        weights: Weights | None = None,
        survey: Survey | None = None,
        report: Report,
    ) -> None:
        self.source = source
        self.labels = LabelTable(source.name)
        self.nnz = 0
        self.n_features = 0
        self._limits, self._weights = rows, weights
        self._seen = 0
        self._spool = RowSpool(source.is_sparse) if copy or source.parses else None
        self._codes = Column(np.int32)
        try:
            self._read([one for one in (statistics, survey) if one is not None], report)
        except BaseException:
            self.close()
            raise

    @property
    def n_rows(self) -> int:
        """Number of rows that are taken in."""
        return self._codes.length

    @property
    def is_raw(self) -> bool:
        """Whether blocks have raw svmlight indices as columns, as many as occur."""
        return self.source.n_features is None

    @property
    def first_feature(self) -> int:
        """Column of raw blocks that is feature 0: 1 where indices count from 1."""
        return int(getattr(self.source, "first_feature", 0))

    def blocks(self, order: NDArray[np.int64] | None) -> Iterator[tuple[Rows, NDArray[np.int32]]]:
        """Return rows and their provisional codes, all in order or those of an order."""
        if order is not None:
            assert self._spool is not None
            yield from permuted(self._spool, self._codes, order)
            return
        start = 0
        again = self._spool.blocks() if self._spool is not None else self._source_rows()
        for rows in again:
            yield rows, self._codes.read(start, start + rows.shape[0])
            start += rows.shape[0]

    def weights(self, order: NDArray[np.int64] | None) -> NDArray[np.float64] | None:
        """Return the weights of the rows that `blocks` returns, if rows have any."""
        if self._weights is None:
            return None
        start = self._limits[0] or 0
        values = self._weights.taken(start, start + self._seen)
        return values if order is None else values[order]

    def update_statistics(self, statistics: ScalingStatistics, chosen: NDArray[np.int64]) -> None:
        """Show statistics the rows that are chosen."""
        mask = np.zeros(self.n_rows, np.bool_)
        mask[chosen] = True
        start = 0
        for rows, _ in self.blocks(None):
            stop = start + rows.shape[0]
            statistics.update(rows[mask[start:stop]])
            start = stop

    def close(self) -> None:
        """Free the copy."""
        self._codes.close()
        if self._spool is not None:
            self._spool.close()

    def _source_rows(self) -> Iterator[Rows]:
        for rows, _ in self._wanted():
            yield rows

    def _wanted(self) -> Iterator[tuple[Any, Any]]:
        """Return the blocks of the source as far as they are taken in."""
        blocks, self._seen = self._counted(limit_rows(self.source.blocks(), *self._limits)), 0
        if self._weights is None:
            return blocks
        return self._weights.left(blocks, self._limits[0] or 0, self.source.name)

    def _counted(self, blocks: Iterator[tuple[Any, Any]]) -> Iterator[tuple[Any, Any]]:
        for rows, labels in blocks:
            self._seen += rows.shape[0]
            yield rows, labels

    def _read(self, shown: Sequence[ScalingStatistics | Survey], report: Report) -> None:
        name = self.source.name
        for rows, labels in ahead(self._wanted()):
            if labels is None:
                raise InputError(f"{name}: no labels found (see --label)")
            self._codes.append(self.labels.add(labels))
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


def limit_rows(
    blocks: Iterator[Block], start: int | None, stop: int | None
) -> Iterator[tuple[Any, Any]]:
    """Cut blocks to the rows start:stop; nothing after the last wanted row is read."""
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
