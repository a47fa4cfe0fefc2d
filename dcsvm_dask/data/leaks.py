"""Columns that predict the label alone, as a copy of it or what follows from it does."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.readers.columns import listed
from dcsvm_dask.readers.preparing.encoders import ONE_HOT, Encoder
from dcsvm_dask.readers.preparing.source import PreparedSource
from dcsvm_dask.readers.source import Source

LEAST_ROWS, LEAST_OF_CLASS = 50, 10
WRONG, WRONG_OF_OTHERS = 1e-3, 0.1
"""Most rows whose label the column does not predict: of all, and of those outside of the largest
class."""
RARE = 0.05
"""Most rows, of all, in classes of fewer rows than `LEAST_OF_CLASS`, such as slips of the pen, that
are not looked at."""
LEAST_OF_VALUE = 10
"""Rows of a value from which on it predicts a class."""
MANY_ROWS = 1000
"""Of fewer, the measurements of two classes may well lie apart."""
LOOKED_AT, FEW_VALUES = 256, 64
"""Rows that rule most columns out, and values of a column of which each may predict a class."""


class Leak(NamedTuple):
    """A column, and the share of the rows whose label it predicts."""

    name: str
    share: float


def leaks(
    rows: NDArray[np.float64], y: NDArray[np.int64], columns: Sequence[tuple[str, slice]]
) -> list[Leak]:
    """Return the columns that predict the label of nearly all rows of a sample.

    A column predicts it by its values, where each of them is that of one class, or by one range for
    each class: of many rows, or by distinct whole numbers, as identifiers are.

    Parameters
    ----------
    rows : ndarray, shape (n, d)
    y : ndarray, shape (n,)
        Codes of their classes.
    columns : sequence of (str, slice)
        The name and the features of each column: one, or one for each category.
    """
    total = len(y)
    is_frequent = np.bincount(y) >= LEAST_OF_CLASS
    frequent = is_frequent[y]
    if total - int(frequent.sum()) <= RARE * total:
        rows, y = rows[frequent], (np.cumsum(is_frequent) - 1)[y[frequent]]
    n, counts = len(y), np.bincount(y)
    if not columns or n < LEAST_ROWS or is_frequent.sum() < 2:
        return []
    most = min(WRONG * n, WRONG_OF_OTHERS * (n - int(counts.max())))
    few = slice(None, None, -(-n // LOOKED_AT))
    some = np.column_stack([_as_one(rows[few, features]) for _, features in columns])
    found = []
    for k in np.flatnonzero(_are_possible(some, y[few], most)).tolist():
        if min(_wrong_by_value(some[:, k], y[few], 0), _wrong_by_range(some[:, k], y[few])) > most:
            continue
        name, features = columns[k]
        values = _as_one(rows[:, features])
        wrong = _wrong_by_value(values, y, LEAST_OF_VALUE)
        if wrong > most and (n >= MANY_ROWS or _are_distinct_whole(values)):
            wrong = _wrong_by_range(values, y)
        if wrong <= most:
            found.append(Leak(name, 1.0 - (wrong + total - n) / total))
    return found


def leaks_warning(found: Sequence[Leak], n: int, *, is_all: bool, drops: bool = True) -> str | None:
    """Return the warning of columns that predict the label of nearly all of n rows; None: of none.

    Parameters
    ----------
    found : sequence of Leak
    n : int
    is_all : bool
        Whether these are all rows, not a sample.
    drops : bool, default True
        Whether columns have names by which an ingest leaves them out.
    """
    if not found:
        return None
    which = "the column" if len(found) == 1 else "each of the columns"
    names = listed([repr(one.name) for one in found])
    share = min(one.share for one in found)
    rows = f"{'all' if share == 1.0 else f'{min(share, 0.999):.1%} of'} {n:,} rows"
    return (
        f"{which} {names} alone predicts the label for {rows}{'' if is_all else ' of a sample'}; "
        "where it is a copy of the label, or known only with it, leave it out"
        f"{by_name([one.name for one in found]) if drops else ''}"
    )


def by_name(names: Sequence[str]) -> str:
    """Return how columns are left out by their names, in brackets."""
    dropped = shlex.quote(names[0]) if len(names) == 1 else "NAME"
    return f" (--drop {dropped}, in Python drop=[NAME])"


def columns_of(source: Source, names: Sequence[str]) -> list[tuple[str, slice]]:
    """Return the name and the features of each column; of prepared columns they have their own."""
    made = source.preparation if isinstance(source, PreparedSource) else None
    if made is None:
        return [(name, slice(j, j + 1)) for j, name in enumerate(names)]
    return list(_of_encoders(made.encoders))


def _of_encoders(encoders: Sequence[Encoder]) -> Iterator[tuple[str, slice]]:
    first = 0
    for one in encoders:
        stop = first + len(one.features)
        if one.kind == ONE_HOT:
            yield one.name, slice(first, stop)
        else:  # parts of a date, or a number and whether it is missing, are looked at apart
            yield from ((one.name, slice(j, j + 1)) for j in range(first, stop))
        first = stop


def _as_one(features: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a number for the values of a column's features."""
    return features @ np.arange(1.0, features.shape[1] + 1.0)


def _are_possible(
    values: NDArray[np.float64], y: NDArray[np.int64], most: float
) -> NDArray[np.bool_]:
    """Return which columns may predict all labels but `most`, by a few rows."""
    order = np.argsort(y, kind="stable")
    values, y = values[order], y[order]
    places = np.argsort(values, axis=0, kind="stable")  # of equal values by class
    sorted_y, values = y[places], np.take_along_axis(values, places, axis=0)
    changes, equal = sorted_y[1:] != sorted_y[:-1], values[1:] == values[:-1]
    mixed = (changes & equal).sum(axis=0) > most  # at least a row of each such value is wrong
    many = (~equal).sum(axis=0) >= FEW_VALUES
    spread = changes.sum(axis=0) > len(np.unique(y)) - 1 + 2 * most
    return ~(mixed | (many & spread))


def _wrong_by_value(values: NDArray[np.float64], y: NDArray[np.int64], least: int) -> int:
    """Return how many rows are not of the class that most rows with their value have.

    Rows whose value has fewer than `least` count as wrong, and all where there are many values.
    """
    distinct, codes = np.unique(values, return_inverse=True)
    if len(distinct) > FEW_VALUES:
        return len(y)
    classes = int(y.max()) + 1
    table = np.bincount(codes * classes + y, minlength=len(distinct) * classes)
    table = table.reshape(-1, classes)
    often = table.sum(axis=1) >= least
    return len(y) - int(table[often].max(axis=1).sum())


def _wrong_by_range(values: NDArray[np.float64], y: NDArray[np.int64]) -> int:
    """Return how many rows are of another class than their place among sorted values predicts.

    Each class has as many places as it has rows. Rows with equal values are in the worst order.
    """
    counts = np.bincount(y)
    places = np.argsort(np.argsort(values, kind="stable"))
    means = np.bincount(y, weights=places) / np.maximum(counts, 1)
    order = np.argsort(means, kind="stable")
    rank = np.argsort(order)
    found = y[np.lexsort((-rank[y], values))]
    return int((found != np.repeat(order, counts[order])).sum())


def _are_distinct_whole(values: NDArray[np.float64]) -> bool:
    return bool((values == np.floor(values)).all()) and np.unique(values).size == values.size
