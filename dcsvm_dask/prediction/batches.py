"""Batches of rows to predict: from a data set, a raw file or arrays."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels import Rows, is_sparse
from dcsvm_dask.masking import masked
from dcsvm_dask.methods.choice import Choice
from dcsvm_dask.methods.predict import Decided, decide_given, decide_stored
from dcsvm_dask.numbers import counted
from dcsvm_dask.readers.columns import LABEL_NAMES, match_names
from dcsvm_dask.readers.frames import memory_source
from dcsvm_dask.readers.lines import by_line
from dcsvm_dask.readers.open import find_format, later_encoding, open_source
from dcsvm_dask.readers.outside import OutsideCounts
from dcsvm_dask.readers.preparing.cell_counts import CellCounts
from dcsvm_dask.readers.preparing.later_flags import flags_doubts
from dcsvm_dask.readers.preparing.totals import totals_doubt
from dcsvm_dask.readers.source import ARCHIVES, Source, is_delimited, parts_to_fill, round_block
from dcsvm_dask.readers.svmlight import SvmlightSource
from dcsvm_dask.runtime.clients import gathered
from dcsvm_dask.storage.dataset import DataSet
from dcsvm_dask.storage.dataset_commit import PARTS, is_data_set
from dcsvm_dask.storage.location import Location
from dcsvm_dask.storage.preparation import Preparation
from dcsvm_dask.storage.rows.read import stack_rows, take_rows

MOST_ROWS = 65536
LEAST_ROWS = 16384
STORED_BYTES = 16 << 20
"""Bytes of rows of a data set that a task reads."""
SENT_BYTES = 4 << 20
"""Bytes of rows of a file that are sent to a task."""
BATCHES = 64
"""Number of batches of a data set, unless they are too small."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Consecutive rows."""

    n_rows: int
    y: NDArray[Any] | None
    """Codes of the true classes, or the targets, where they are known and needed."""
    function: Callable[..., Decided]
    arguments: tuple[Any, ...]
    """Arguments of the function after the choice of the model."""
    read: Callable[[], Rows]
    """Returns the rows, in the form and scaling of the training rows."""

    def call(self, choice: Choice) -> tuple[Callable[..., Decided], tuple[Any, ...]]:
        """Return the call that computes the decision values of the rows."""
        return self.function, (choice, *self.arguments)


class StoredRows:
    """Rows of a data set, which tasks read.

    Parameters
    ----------
    data : DataSet
    prepared : Preparation
        Of the run that predicts.
    labelled : bool
        Whether true classes or targets are needed.

    Raises
    ------
    InputError
        If features, scaling or classes differ from those of the run's training data.
    """

    def __init__(self, data: DataSet, prepared: Preparation, *, labelled: bool) -> None:
        self.name = data.url
        self.n_rows: int | None = data.n_rows
        self._data = data
        self._read_y = prepared.y_of(data) if labelled else None
        self._features: list[int] | None = None
        names, wanted = data.feature_names, prepared.feature_names
        if names is not None and wanted is not None:
            if names != wanted:
                self._features = match_names(data.url, names, wanted)
        elif data.n_features != prepared.n_features:
            raise InputError(
                f"{data.url}: has {data.n_features} features, the model was trained on "
                f"{prepared.n_features}"
            )
        if not prepared.scales_like(data, self._features):
            ours = "unscaled" if prepared.scaling is None else f"scaled ({prepared.scaling.kind})"
            raise InputError(
                f"{data.url}: was scaled differently from the data that the model was trained on "
                f"({ours}); ingest it as the test part of those (--test), or give the raw file, "
                "which is then scaled like them"
            )

    cells, outside = CellCounts(), dict[str, dict[str, float]]()
    """A data set was prepared at its ingest."""
    fewer_features = None
    doubts: Sequence[str] = ()
    """It has all features."""

    def take(self, index: NDArray[np.int64]) -> Rows:
        """Return the rows of an ascending index."""
        rows = take_rows(self._data.rows, index)
        return rows if self._features is None else rows[:, self._features]

    def batches(self) -> Iterator[Batch]:
        """Yield the batches in order."""
        data = self._data
        per_row = max(1, data.rows.nbytes_of(0, data.n_rows) // max(1, data.n_rows))
        rows = min(MOST_ROWS, STORED_BYTES // per_row, max(LEAST_ROWS, data.n_rows // BATCHES))
        # Whole chunks, so that none is decompressed twice.
        rows = max(1, rows // data.chunk_rows) * data.chunk_rows
        for start in range(0, data.n_rows, rows):
            stop = min(start + rows, data.n_rows)
            y = None if self._read_y is None else self._read_y(start, stop)
            where = data.url, start, stop, self._features
            yield Batch(stop - start, y, decide_stored, where, partial(self._read, start, stop))

    def _read(self, start: int, stop: int) -> Rows:
        rows = self._data.rows.read(start, stop)
        return rows if self._features is None else rows[:, self._features]


class SentRows:
    """Rows of a file or of arrays, read and scaled in this process and sent to tasks.

    Parameters
    ----------
    source : Source
    prepared : Preparation
        Of the run that predicts.
    labelled : bool
        Whether true classes or targets are needed.
    """

    def __init__(self, source: Source, prepared: Preparation, *, labelled: bool) -> None:
        self.name = masked(source.name)
        self.n_rows: int | None = None
        self._source = source
        self._prepared = prepared
        self._labelled = labelled
        self._outside = OutsideCounts(prepared.ranges)

    def batches(self) -> Iterator[Batch]:
        """Yield the batches in order.

        Raises
        ------
        InputError
            If the rows have other features than the model, or labels are needed and missing or
            unknown.
        """
        seen, is_text = 0, is_delimited(self._source)
        for rows, labels in self._source.blocks():
            y = None
            if self._labelled:
                if labels is None:
                    raise InputError(
                        f"{self.name}: has no labels to compare predictions with{self._absent()}"
                    )
                with by_line(self._source):
                    y = self._prepared.y(labels, self.name, seen, is_text=is_text)
            for start, stop, part in parts_to_fill(rows, dense=not self._prepared.is_sparse):
                self._outside.update(part)
                ready = prepare_rows(part, self._prepared, self.name, seen + start)
                yield from self._cut(ready, None if y is None else y[start:stop])
            seen += rows.shape[0]

    @property
    def cells(self) -> CellCounts:
        """Counts of cells of the rows so far that the training rows did not prepare for."""
        found = getattr(self._source, "cells", None)
        return found if isinstance(found, CellCounts) else CellCounts()

    @property
    def outside(self) -> dict[str, dict[str, float]]:
        """Features with cells far outside of the training rows; see `OutsideCounts.to_json`."""
        return self._outside.to_json(self._prepared.feature_names)

    @property
    def fewer_features(self) -> str | None:
        """That svmlight text names fewer features than the model has, after reading; else None."""
        of_model = self._prepared.n_features
        if not isinstance(self._source, SvmlightSource) or self._source.n_named >= of_model:
            return None
        return (
            f"{self.name}: names {counted(self._source.n_named, 'feature')}, the model was trained "
            f"on {of_model:,}; absent ones count as zero"
        )

    @property
    def doubts(self) -> list[str]:
        """What is doubtful, after reading: totals in the last row, commas, shares, yes and no."""
        found = [totals_doubt(self._source), *getattr(self._source, "later_doubts", ())]
        flags, ranges = getattr(self._source, "flags", ()), self._prepared.ranges
        found += flags_doubts(flags, self._prepared.feature_names, ranges)
        return [f"{self.name}: {doubt}" for doubt in found if doubt is not None]

    def _absent(self) -> str:
        """Return which label column is missing, where it is found by name, and what to do."""
        expected, found = self._prepared.expected(), ""
        if self._source.feature_names is not None and expected.label is not None:
            found = f": no column {expected.label!r}"
        elif self._source.feature_names is not None and expected.names is not None:
            found = f": no column is called {', '.join(LABEL_NAMES[:-1])} or {LABEL_NAMES[-1]}"
        signs = " +1 (like the training rows) or -1" if self._prepared.one_class else ""
        return (
            f"{found}; add labels{signs}, or predict without them: dcsvm predict (in Python "
            "run.predict)"
        )

    def _cut(self, rows: Rows, y: NDArray[Any] | None) -> Iterator[Batch]:
        n = rows.shape[0]
        size = rows.data.nbytes + rows.indices.nbytes if is_sparse(rows) else rows.nbytes
        step = min(MOST_ROWS, max(1, SENT_BYTES * n // max(1, size)))
        for start in range(0, n, step):
            part = slice(start, min(start + step, n))
            yield Batch(
                part.stop - start,
                None if y is None else y[part],
                decide_given,
                (rows[part],),
                partial(rows.__getitem__, part),
            )


def prepare_rows(rows: Rows, prepared: Preparation, name: str, first_row: int = 0) -> Rows:
    """Return raw rows in the form and scaling of the training rows, after checks.

    Parameters
    ----------
    rows : ndarray or csr_array, shape (n, n_features)
    prepared : Preparation
    name : str
        Their source, for messages.
    first_row : int, default 0
        Number of the first row, for messages.

    Returns
    -------
    ndarray or csr_array, float32

    Raises
    ------
    InputError
        If they have other features than the model, or a scaled value is too large for float32.
    """
    if rows.shape[1] != prepared.n_features:
        raise InputError(
            f"{name}: has {rows.shape[1]} features, the model was trained on {prepared.n_features}"
        )
    if is_sparse(rows) and not prepared.is_sparse:
        rows = rows.toarray()
    if prepared.scaling is not None:
        rows = prepared.scaling.apply(rows)
        name = f"{name} after scaling"
    return rows if rows.dtype == np.float32 else round_block(rows, name, first_row)


def open_batches(
    data: Any, prepared: Preparation, *, labelled: bool, encoding: str | None = None
) -> StoredRows | SentRows:
    """Return the rows to predict.

    Parameters
    ----------
    data : str, path, DataSet, data frame, array, sparse matrix or tuple (X, y)
        A data set or a part of it, a raw file, a frame, or arrays, before scaling. Features are
        found by name where they have names. Rows in Dask are brought into memory.
    prepared : Preparation
        Of the run that predicts.
    labelled : bool
        Whether true classes or targets are needed.
    encoding : str, optional
        Encoding of text without a byte order mark; by default that of the training data.

    Returns
    -------
    StoredRows or SentRows

    Raises
    ------
    InputError
        If the rows cannot be read or do not fit the training data.
    """
    if isinstance(data, DataSet):
        return StoredRows(data, prepared, labelled=labelled)
    if isinstance(data, str | os.PathLike | Location):
        if is_data_set(data):
            return StoredRows(DataSet.open(data), prepared, labelled=labelled)
        source = open_raw_file(data, prepared, labelled=labelled, encoding=encoding)
        return SentRows(source, prepared, labelled=labelled)
    X, y = data if isinstance(data, tuple) else (data, None)
    X, y = gathered(X), gathered(y, "y")
    return SentRows(rows_in_memory(X, y, prepared, labelled=labelled), prepared, labelled=labelled)


def rows_in_memory(X: Any, y: Any, prepared: Preparation, *, labelled: bool) -> Source:
    """Return an array or a data frame as a source with the features of the training data.

    Parameters
    ----------
    X : array, sparse matrix or data frame, shape (n, d)
    y : array, shape (n,), or None
        Labels.
    prepared : Preparation
        Of the run that predicts.
    labelled : bool
        Whether labels are needed.

    Returns
    -------
    Source
    """
    return memory_source(X, y, name="X", expected=prepared.expected(), labelled=labelled)


def prepared_rows(X: Any, prepared: Preparation) -> Rows:
    """Return rows in memory as the model takes them: numbers, scaled.

    Parameters
    ----------
    X : array, sparse matrix or data frame, shape (n, d)
        A data frame has the columns of the training table, in any order.
    prepared : Preparation
        Of the run that predicts.

    Returns
    -------
    ndarray or csr_array, shape (n, n_features), float32
    """
    source = rows_in_memory(X, None, prepared, labelled=False)
    blocks: list[Rows] = []
    for rows, _ in source.blocks():
        first = sum(block.shape[0] for block in blocks)
        blocks.append(prepare_rows(rows, prepared, source.name, first))
    return stack_rows(blocks, prepared.n_features, any(map(is_sparse, blocks)))


def open_raw_file(
    path: str | os.PathLike[str] | Location,
    prepared: Preparation,
    *,
    labelled: bool,
    encoding: str | None = None,
) -> Source:
    """Return a raw file as a source with the features of the training data.

    Parameters
    ----------
    path : str, path or Location
        ``FILE/test`` is the test part of an archive.
    prepared : Preparation
        Of the run that predicts.
    labelled : bool
        Whether labels are needed.
    encoding : str, optional
        Encoding of text without a byte order mark; by default that of the training data.

    Returns
    -------
    Source
    """
    text = path.url if isinstance(path, Location) else os.fspath(path)
    part = "train"
    home, _, name = text.rstrip("/").rpartition("/")
    if name in PARTS and home and not Location.of(text).exists():
        text, part = home, name
    reading = prepared.reading
    if encoding is None:
        encoding = later_encoding(text, reading.get("encoding"))
    kind = find_format(text, encoding)
    first, label, array = reading.get("first_feature"), None, None
    if reading.get("format") in ARCHIVES and kind in ("npz", "zarr"):
        array = reading.get("array")
        label = reading.get("label") if labelled else None  # otherwise it has its usual name
    if kind == "svmlight" and first != 1:
        first = _first_feature(text, first, prepared.n_features, encoding)
    return open_source(
        text,
        part=part,
        label=label,
        n_features=prepared.n_features,
        first_feature=first,
        header=reading.get("header"),
        encoding=encoding,
        expected=prepared.expected(),
        labelled=labelled,
        data=array,
    )


def _first_feature(path: str, recorded: int | None, n_features: int, encoding: str | None) -> int:
    """Return the first index of a svmlight file: 1, unless 0 occurs in it.

    If the training file counted from 0, only an index that is too large proves otherwise.
    """
    source, widest = SvmlightSource(path, encoding=encoding), 0
    for rows, _ in source.blocks():
        widest = max(widest, rows.shape[1])
    if recorded is None or widest > n_features:
        return source.first_feature
    return recorded
