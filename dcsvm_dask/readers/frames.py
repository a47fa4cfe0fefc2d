"""Data frames of pandas and Polars as sources of dense rows with names of columns.

Neither library is imported: frames are recognised by their attributes, see `frame_checks`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.errors import InputError
from dcsvm_dask.readers.columns import NO_LABEL, Expected, column_layout, kept_columns
from dcsvm_dask.readers.frame_checks import is_frame, is_numeric, is_of_pandas, warn_of_order
from dcsvm_dask.readers.labels import from_objects
from dcsvm_dask.readers.preparing.choices import Choices
from dcsvm_dask.readers.preparing.memory_tables import FrameTable
from dcsvm_dask.readers.preparing.source import PreparedSource
from dcsvm_dask.readers.source import (
    NO_LABEL_REMEDY,
    ArraySource,
    Block,
    Reading,
    Source,
    check_labels,
    check_unmasked,
    finish_block,
    name_of,
    spans,
)


class FrameSource:
    """Rows of a data frame; one of its columns is the label, unless labels are given.

    Parameters
    ----------
    frame : pandas.DataFrame or polars.DataFrame
    y : array or series, shape (n,), optional
        Labels that are no column of the frame.
    name : str
        Name of the source in messages.
    label : str or int, optional
        Name or position of the label column; see `columns` for the default.
    expected : Expected, optional
        Columns of the training table, for later rows; these may lack labels.
    labelled : bool, default True
        Whether to read labels, where there are any.
    drop : sequence of str
        Names of columns to leave out.

    Attributes
    ----------
    frame : pandas.DataFrame or polars.DataFrame
    flags : list of int
        Features that are columns of yes and no.
    """

    parses = False
    is_sparse = False

    def __init__(
        self,
        frame: Any,
        y: Any = None,
        *,
        name: str,
        label: str | int | None = None,
        expected: Expected | None = None,
        labelled: bool = True,
        drop: Sequence[str] = (),
    ) -> None:
        self.name, self.frame = name, frame
        self._n = int(frame.shape[0])
        columns = list(frame.columns)
        names = [str(column) for column in columns]
        if y is not None and expected is None:
            kept = [names[k] for k in kept_columns(name, len(names), names, drop)]
            expected = Expected(len(kept), kept)
        layout = column_layout(name, len(names), names, label=label, expected=expected, drop=drop)
        self.n_features: int | None = len(layout.features)
        self.feature_names = layout.names
        if self._n == 0 or self.n_features == 0:
            raise InputError(f"{name}: empty: {self._n} rows, {self.n_features} features")
        self._features = [columns[k] for k in layout.features]
        for column in self._features:
            self._check(column)
        kinds = (str(frame[column].dtype).lower() for column in self._features)
        self.flags = [k for k, kind in enumerate(kinds) if kind.startswith("bool")]
        self._y = None if y is None else np.asarray(y)
        if self._y is not None:
            check_labels(self._y.shape, self._n, name)
        place = layout.label if y is None else None
        self._label = None if place is None or not labelled else columns[place]
        self._labelled = self._y is None and place is not None and labelled
        self.reading = Reading(
            "data frame",
            label=name_of(y) if place is None else names[place],
            position=layout.position,
        )

    def blocks(self) -> Iterator[Block]:
        """Yield the blocks in order."""
        for start, stop in spans(self._n, 4 * len(self._features)):
            part = self.frame.iloc[start:stop] if is_of_pandas(self.frame) else None
            if part is None:
                part = self.frame.slice(start, stop - start)
            rows = np.empty((stop - start, len(self._features)))
            for k, column in enumerate(self._features):
                rows[:, k] = _numbers(part[column])
            labels = None if self._y is None else self._y[start:stop]
            if self._labelled:
                labels = self._labels(part[self._label], start)
            yield finish_block(rows, self.name, start, self.feature_names), labels

    def _check(self, column: Any) -> None:
        kind = self.frame[column].dtype
        if not is_numeric(kind):
            raise InputError(f"{self.name}: the column {column!r} must be numeric, got {kind}")

    def _labels(self, series: Any, start: int) -> NDArray[Any]:
        missing = np.asarray(series.isna() if is_of_pandas(series) else series.is_null())
        if missing.any():
            row = start + int(np.flatnonzero(missing)[0])
            raise InputError(
                f"{self.name}: row {row} (counted from 0) has no label; {NO_LABEL_REMEDY}"
            )
        return from_objects(series.to_list())


def memory_source(
    X: Any,
    y: Any = None,
    *,
    name: str,
    label: str | int | None = None,
    expected: Expected | None = None,
    labelled: bool = True,
    drop: Sequence[str] = (),
    choices: Choices | None = None,
) -> Source:
    """Return rows in memory as a source: a data frame, an array or a sparse matrix.

    Parameters
    ----------
    X : data frame, array or sparse matrix, shape (n, d)
    y : array or series, shape (n,), optional
        Labels.
    name : str
        Name of the source in messages.
    label : str or int, optional
        Name or position of the label column of a data frame.
    expected : Expected, optional
        Columns of the training table, for later rows; these may lack labels.
    labelled : bool, default True
        Whether to read labels, where there are any.
    drop : sequence of str
        Names of columns of a data frame to leave out.
    choices : Choices, optional
        What is done with the columns of a training frame that are not numbers.

    Returns
    -------
    Source

    Raises
    ------
    InputError
        If X is not in memory, or the parameters do not fit it.
    """
    if y is not None and label is not None:
        raise InputError(f"{name}: both y and label {label!r} are given; give one of them")
    choices = choices or Choices()
    warn_of_order(X, y, name)
    for part in (X, y):
        check_unmasked(part, name if part is X else f"{name}: labels")
    if is_frame(X):
        how: dict[str, Any] = {
            "label": label, "expected": expected, "labelled": labelled, "drop": drop
        }  # fmt: skip
        later = expected is not None and expected.columns is not None
        if later or choices.given or (expected is None and _has_words(X, name, label, drop, y)):
            table = FrameTable(X, name)
            given = None if y is None else np.asarray(y)
            if given is not None:
                check_labels(given.shape, int(X.shape[0]), name)
            return PreparedSource(table, choices=choices, y=given, **how)
        return FrameSource(X, y, name=name, **how)
    for word in choices.given:
        raise InputError(f"{name}: {word} cannot be used: an array has no names of columns")
    if hasattr(type(X), "columns"):
        raise InputError(
            f"{name}: {type(X).__module__}.{type(X).__name__} is not a data frame of pandas or "
            "Polars in memory; convert it, for example with compute(), collect() or to_pandas()"
        )
    if label not in (None, NO_LABEL) or drop:
        raise InputError(
            f"{name}: an array has no names for {'drop' if label is None else f'label {label!r}'}; "
            "give labels as y, or a data frame"
        )
    return ArraySource(X, y, name)


def _has_words(X: Any, name: str, label: str | int | None, drop: Sequence[str], y: Any) -> bool:
    """Return whether a feature of a frame is no column of numbers."""
    names = [str(column) for column in X.columns]
    if len(names) < 2 and y is None:
        return False
    if y is None:
        features = column_layout(name, len(names), names, label=label, drop=drop).features
    else:
        features = [k for k, one in enumerate(names) if one not in drop]
    kinds = list(X.dtypes)
    return not all(is_numeric(kinds[k]) for k in features)


def _numbers(series: Any) -> NDArray[Any]:
    """Return a column as numbers; missing values are NaN, which later checks refuse."""
    if not is_of_pandas(series):
        return np.asarray(series.cast(float).to_numpy())
    if isinstance(series.dtype, np.dtype):
        return np.asarray(series.to_numpy())
    return np.asarray(series.to_numpy(dtype=np.float64, na_value=np.nan))
