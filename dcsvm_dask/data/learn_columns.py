"""Learning how columns become numbers from the rows that will train, before they are read."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.data.split import Split
from dcsvm_dask.readers.preparing.source import PreparedSource
from dcsvm_dask.readers.weights import Weights


def learn_columns(
    source: PreparedSource,
    *,
    rows: tuple[int | None, int | None],
    split: Split,
    weights: Weights | None,
) -> None:
    """Learn categories, medians and so on from training rows alone.

    Where rows are split at random their number must be known first, which takes a pass.

    Parameters
    ----------
    source : PreparedSource
    rows : tuple (start, stop)
        The rows that are read.
    split : Split
        Which of them train.
    weights : Weights, optional
        Weights of all rows; those of 0 are left out.
    """
    start, stop = rows
    every = rows == (None, None) and weights is None
    if every and not split.chooses:
        source.learn()
        return
    n = source.count()
    read = np.zeros(n, np.bool_)
    read[slice(start, stop)] = True
    if weights is not None and len(weights.values) == n:  # else the scan refuses them
        read &= weights.values > 0
    order, _ = split.order(int(read.sum())) if split.chooses else (None, None)
    if order is not None:
        places = np.flatnonzero(read)
        read[:] = False
        read[places[order]] = True

    def chosen(first: int, last: int) -> NDArray[np.bool_]:
        return read[first:last]

    source.learn(chosen)
