"""The order in which rows are learned, a piece of an epoch at a time."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.kernels import Rows, stacked
from dcsvm_dask.methods.budget.options import CHUNK_ROWS
from dcsvm_dask.methods.problem import Problem
from dcsvm_dask.methods.sizes import share
from dcsvm_dask.random_streams import BUDGET, generator

Index = NDArray[np.int64]


def pieces_in_order(
    problem: Problem, span: tuple[int, int], part: tuple[int, int], pieces: int, *, whole: bool
) -> Iterator[tuple[Index, Rows, Index]]:
    """Yield variables, their rows, and the order in which these are learned, for some pieces.

    In an epoch every row comes once. Where all rows are in memory their order is a random
    permutation; else a piece has random chunks, and a random permutation of their rows.

    Parameters
    ----------
    problem : Problem
    span : tuple of int
        The first piece, counted through all epochs, and the one after the last.
    part : tuple of int
        The share of the rows, and the number of shares.
    pieces : int
        Pieces of an epoch.
    whole : bool
        Whether the rows are in memory all at once.

    Yields
    ------
    index : ndarray, shape (m,), int64
    rows : ndarray or CSR, shape (m, d), float32
    order : ndarray, shape (steps,), int64
        Positions in `index`.
    """
    start, stop = share(problem.n, *part)
    seed = problem.settings.seed
    if whole:
        index, rows = np.arange(start, stop), problem.X.read(start, stop)
    for number in range(*span):
        epoch, piece = divmod(number, pieces)
        rng = generator(seed, BUDGET, epoch, part[0])
        if whole:
            first, last = share(stop - start, piece, pieces)
            yield index, rows, rng.permutation(stop - start)[first:last]
            continue
        borders = [*range(start, stop, CHUNK_ROWS), stop]
        chunks = rng.permutation(len(borders) - 1)
        mine = np.sort(chunks[slice(*share(len(chunks), piece, pieces))])
        spans = [(borders[chunk], borders[chunk + 1]) for chunk in mine]
        index = np.concatenate([np.arange(*one) for one in spans])
        rows = stacked([problem.X.read(*one) for one in spans])
        yield index, rows, generator(seed, BUDGET, epoch, part[0], piece).permutation(len(index))
