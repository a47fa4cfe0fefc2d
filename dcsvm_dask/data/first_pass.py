"""The first pass over the sources of a data set: what has to be known before rows are written."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.data.row_sample import RowSample
from dcsvm_dask.data.scan import Report, Scan, Table
from dcsvm_dask.data.split import Split, classes_of
from dcsvm_dask.readers.labels import Label, LabelTable, choose_classes
from dcsvm_dask.readers.scaling import LEARNED
from dcsvm_dask.readers.signs import SignTable
from dcsvm_dask.readers.source import is_delimited
from dcsvm_dask.readers.statistics import ScalingStatistics
from dcsvm_dask.readers.survey import Survey
from dcsvm_dask.readers.targets import TargetTable
from dcsvm_dask.readers.weights import Weights


@dataclass(frozen=True)
class Scanned:
    """What the first pass has found."""

    train: Any
    """The scan of the training part, a `Scan` or what a source with rows elsewhere has instead."""
    test: Any
    """The scan of the test part, which is that of the training part where that is split."""
    order: NDArray[np.int64] | None
    """The training rows; None: all, as they lie."""
    test_order: NDArray[np.int64] | None
    """Rows that a test fraction holds out; None: there is no test fraction."""
    code_of: dict[Label, int]
    """The class of each label; empty of targets."""
    classes: list[Label]
    """The labels in order of their classes; empty of targets."""
    statistics: ScalingStatistics
    survey: Survey
    sample: RowSample | None
    has_classes: bool
    to_end: bool
    """Whether the last row of the source is among those that were read."""

    @property
    def test_source(self) -> Any:
        """The source of the test part, if it has one of its own."""
        return None if self.test is self.train else self.test.source

    @property
    def codes(self) -> list[int] | None:
        """The class of each label of the training part; None of targets."""
        return [self.code_of[label] for label in self.train.y.labels] if self.has_classes else None


@dataclass(frozen=True, kw_only=True)
class FirstPass:
    """How sources are read for the first time; see `dcsvm_dask.ingest`."""

    rows: tuple[int | None, int | None]
    """The rows of the source that are read, as in a slice."""
    table: Callable[[str], Table]
    """Returns what reads y, given the name of a source."""
    decimal: str
    scale: str
    split: Split
    weights: Weights | None
    """Those of all rows of the source."""
    positive: Sequence[Label] | None

    @contextlib.contextmanager
    def scanned(self, source: Any, test_source: Any, report: Report) -> Iterator[Scanned]:
        """Read the sources; what was copied of them lasts as long as the context.

        Parameters
        ----------
        source : Source
        test_source : Source or None
            That of the test part, where it has one of its own.
        report : callable
            Called with lines about the progress.
        """
        with contextlib.ExitStack() as stack:
            statistics, survey = ScalingStatistics(self.scale, source.name), Survey()
            sample = RowSample() if _is_sampled(source) else None
            permutes = self.split.permutes
            train = _scan(
                source,
                self.rows,
                table=self.table,
                copy=permutes,
                # Where rows are permuted it is not known yet which of them train.
                statistics=None if permutes else statistics,
                weights=self.weights,
                survey=survey,
                **({} if sample is None else {"sample": sample}),
                report=report,
            )
            stack.callback(train.close)
            classes, code_of = self._classes(train.y)
            test = train
            if test_source is not None:
                test = self._scan_test(test_source, train.y, report)
                stack.callback(test.close)
            if isinstance(train.y, SignTable):
                assert isinstance(test.y, SignTable)
                train.y.check_positive(test.y)
            order, test_order = self._order(train)
            if order is not None and self.scale in LEARNED:
                train.update_statistics(statistics, order)
            yield Scanned(
                train=train,
                test=test,
                order=order,
                test_order=test_order,
                code_of=code_of,
                classes=classes,
                statistics=statistics,
                survey=survey,
                sample=sample,
                has_classes=self._has_classes,
                to_end=self.rows[1] is None,
            )

    @property
    def _has_classes(self) -> bool:
        return self.table is LabelTable

    def _classes(self, y: Any) -> tuple[list[Label], dict[Label, int]]:
        """Return the classes of labels in order, and the class of each label; none of targets."""
        if not self._has_classes:
            return [], {}
        y.check_classes()
        return choose_classes(y, self.positive)

    def _scan_test(self, source: Any, y: Table, report: Report) -> Any:
        """Scan the source of the test part, whose targets have the form of the training part's."""
        table = self.table
        if isinstance(y, TargetTable):
            is_text = is_delimited(source)
            table = partial(TargetTable, decimal=self.decimal, form=y.form or "", is_text=is_text)
        return _scan(source, (None, None), table=table, copy=False, statistics=None, report=report)

    def _order(self, train: Any) -> tuple[NDArray[np.int64] | None, NDArray[np.int64] | None]:
        """Return the training rows and those that are held out of them; see `Split.order`."""
        classes = None
        if self.split.chooses:
            classes = classes_of(train.y, train.y_values(), self.positive)
        return self.split.order(train.n_rows, classes)


def _scan(source: Any, rows: tuple[int | None, int | None], **how: Any) -> Any:
    """Scan a source; a source with a method `scan` scans itself."""
    elsewhere = getattr(source, "scan", None)
    return Scan(source, rows, **how) if elsewhere is None else elsewhere(rows, **how)


def _is_sampled(source: Any) -> bool:
    """Return whether rows of a source are sampled, to look for doubtful values in them.

    Collections are read elsewhere, and a data set was looked at when it was made. Of arrays and
    svmlight text, whose features have no names, those are that have sparse rows.
    """
    if hasattr(source, "scan") or hasattr(source, "about"):
        return False
    return source.feature_names is not None or bool(source.is_sparse)
