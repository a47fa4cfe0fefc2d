"""Learning how columns become numbers from the rows that will train, before they are read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.data.scan import Table, y_of
from dcsvm_dask.data.split import Split, classes_of
from dcsvm_dask.readers.labels import Label
from dcsvm_dask.readers.lines import by_line
from dcsvm_dask.readers.preparing.source import PreparedSource
from dcsvm_dask.readers.targets import TargetTable
from dcsvm_dask.readers.weights import Weights


def learn_columns(
    source: PreparedSource,
    *,
    rows: tuple[int | None, int | None],
    split: Split,
    weights: Weights | None,
    table: Callable[[str], Table],
    positive: Sequence[Label] | None,
) -> None:
    """Learn categories, medians and so on from training rows alone.

    Where rows are split at random their number and their classes must be known first, which takes a
    pass.

    Parameters
    ----------
    source : PreparedSource
    rows : tuple (start, stop)
        The rows that are read.
    split : Split
        Which of them train.
    weights : Weights, optional
        Weights of all rows; those of 0 are left out.
    table : callable
        Returns what reads y, given the name of the source.
    positive : sequence of labels, optional
        Labels that are joined into one class.
    """
    every = rows == (None, None) and weights is None
    if every and not split.chooses:
        source.learn()
        return
    y = table(source.name)
    masks, values, n = [], [], 0
    for size, labels in source.labels():
        mask = _read(n, n + size, rows, weights)
        n += size
        masks.append(mask)
        if split.chooses and mask.any() and not isinstance(y, TargetTable):
            given = None if labels is None else labels[mask]
            with by_line(source, lambda row: int(np.flatnonzero(np.concatenate(masks))[row])):
                values.append(y_of(y, given, int(mask.sum())))
    read = np.concatenate([np.zeros(0, np.bool_), *masks])
    if split.chooses:
        of_rows = np.concatenate(values) if values else np.zeros(0)
        order, _ = split.order(int(read.sum()), classes_of(y, of_rows, positive))
        if order is not None:
            places = np.flatnonzero(read)
            read[:] = False
            read[places[order]] = True

    def chosen(first: int, last: int) -> NDArray[np.bool_]:
        return read[first:last]

    source.learn(chosen)


def _read(
    start: int, stop: int, rows: tuple[int | None, int | None], weights: Weights | None
) -> NDArray[Any]:
    """Return which of the rows start:stop are read."""
    number = np.arange(start, stop)
    read = number >= (rows[0] or 0)
    if rows[1] is not None:
        read &= number < rows[1]
    # Weights of another number of rows are refused by the scan.
    if weights is not None and stop <= len(weights.values):
        read &= weights.values[start:stop] > 0
    return read
