"""Columns that follow the target, as a copy of it in another unit does."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.data.leaks import LEAST_ROWS, LOOKED_AT, by_name
from dcsvm_dask.readers.columns import listed

LEAST_CORRELATION = 0.9999
"""Of the ranks of column and target (Spearman)."""


def target_leaks(
    rows: NDArray[np.float64], y: NDArray[np.float64], columns: Sequence[tuple[str, slice]]
) -> list[str]:
    """Return the columns that are the target itself or a monotone function of it, in a sample.

    A table of one column is one of a curve, which may well rise from end to end.

    Parameters
    ----------
    rows : ndarray, shape (n, d)
    y : ndarray, shape (n,)
        Targets.
    columns : sequence of (str, slice)
        See `leaks`; those of several features, as of categories, are left out.
    """
    if len(columns) < 2 or len(y) < LEAST_ROWS:
        return []
    single = [(name, part.start) for name, part in columns if part.stop - part.start == 1]
    few = slice(None, None, -(-len(y) // LOOKED_AT))
    for part in (few, slice(None)):  # a few rows rule most columns out
        places = [place for _, place in single]
        kept = _follow(rows[part][:, places], y[part])
        single = [one for one, follows in zip(single, kept.tolist(), strict=True) if follows]
    return [name for name, _ in single]


def target_leaks_warning(
    names: Sequence[str], n: int, *, is_all: bool, drops: bool = True
) -> str | None:
    """Return the warning of columns that follow the target in n rows; None: of none.

    See `leaks_warning`.
    """
    if not names:
        return None
    which = "the column" if len(names) == 1 else "each of the columns"
    return (
        f"{which} {listed([repr(name) for name in names])} orders all {n:,} rows"
        f"{'' if is_all else ' of a sample'} as the target does; where it is a copy of the target, "
        "or known only with it, leave it out"
        f"{by_name(names) if drops else ''}"
    )


def _follow(values: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which columns have ranks that correlate with those of the target."""
    from scipy import stats  # which takes a third of a second to import

    n, ranks = len(y), np.column_stack([y, values])
    ranks = stats.rankdata(ranks, axis=0) - (n + 1) / 2
    length = np.sqrt((ranks**2).sum(axis=0))
    length[length == 0.0] = np.inf  # of constant columns
    found = np.abs(ranks[:, 0] @ ranks[:, 1:]) / (length[0] * length[1:])
    return np.asarray(found > LEAST_CORRELATION)
