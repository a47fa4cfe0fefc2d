"""Values that stand for missing ones, such as -999, in columns of numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

LEAST_ROWS, LEAST_SHARE = 10, 0.01
"""Rows that have the value, and their share of all."""
LEAST_OTHERS = 5
"""Distinct other values: a column of fewer is one of categories."""
FAR = 10.0
"""How many times wider than all other values the gap is to a value of any other form."""
HEAVY = 100.0
"""How many times wider all values of a sample are than most of them, where still greater ones are
likely among all rows."""
OUTLIER = 1e4
"""How many times wider than most other values the gap is to a value that is a mistake."""
FREQUENT, FREQUENT_GAP, FREQUENT_OTHERS = 10.0, 0.1, 20
"""How many times more frequent than any other value a number of nines is that stands above all
others, by which share of their range, and of how many different ones."""
TEXT, CELLS, FEATURES = "text", "cells", "features"
"""Delimited text, whose words for missing cells can be chosen; tables that have such cells; rows
that have none."""
SHOWN = 8
"""Columns that a message names."""
_CODE = re.compile(r"-?(99+(\.\d+)?|1000+|8888+|7777+|1e\+\d\d)|-1|-9|-?32768|32767|65535")
"""Numbers that programs and people write where there is none."""
_NINES = re.compile(r"-99+(\.\d+)?")
_POSITIVE_NINES = re.compile(r"99+(\.9*)?")


class Sentinel(NamedTuple):
    """A value of a column that lies far outside of all others and is repeated.

    Attributes
    ----------
    feature : int
    value : float
    share : float
        Of the rows.
    least, greatest : float
        Of the values that are none of this kind.
    """

    feature: int
    value: float
    share: float
    least: float
    greatest: float


def sentinels(
    rows: NDArray[np.float64], low: NDArray[np.float64], high: NDArray[np.float64]
) -> list[Sentinel]:
    """Return the values that may stand for missing ones.

    Such a value is the least or the greatest of its column, perhaps but for others of this kind,
    and the gap to the next one is wider than all others together. Below 0 a number of nines is one
    where no other value is negative. Above all others a number of nines is one, too, where it is
    much more frequent than any other of many values. 0 is none: many columns are mostly 0.

    Parameters
    ----------
    rows : ndarray, shape (n, d)
        A sample.
    low, high : ndarray, shape (d,)
        The least and the greatest value of each feature in all rows.
    """
    n = len(rows)
    if n < LEAST_ROWS:
        return []
    found, least = [], least_rows(n)
    often: NDArray[np.bool_] = np.array(
        [(rows == ends).sum(axis=0) >= least for ends in (low, high)]
    )
    for j in np.flatnonzero(often.any(axis=0) & (low < high)).tolist():
        # Of a sample only these ends are those of all rows.
        own, counts = np.unique(rows[:, j], return_counts=True)
        found += _of_column(j, own, counts, (own[0] == low[j], own[-1] == high[j]))
    return found


def least_rows(n: int) -> float:
    """Return how many of n rows have a value that may stand for missing ones."""
    return max(LEAST_ROWS, LEAST_SHARE * n)


def _of_column(
    j: int, values: NDArray[np.float64], counts: NDArray[np.int64], sides: tuple[bool, bool]
) -> list[Sentinel]:
    """Return which of a column's distinct values, which ascend, may stand for missing ones.

    Where one is found, the next one is looked at: -9999 and -999 may both be.
    """
    n = int(counts.sum())
    may_be = (counts >= least_rows(n)) & (values != 0.0)
    first, last, found = 0, len(values) - 1, list[int]()
    while last - first >= LEAST_OTHERS:
        ends = [k for k, side in zip((first, last), sides, strict=True) if side and may_be[k]]
        far = [k for k in ends if _is_far(values[k], *_others(values, may_be, first, last, k))]
        if not far and last in ends and _is_frequent(values, counts, first, last):
            far = [last]
        if not far and len(ends) == 2 and last - first > LEAST_OTHERS:
            far = ends if _hide_each_other(values[first : last + 1]) else []
        if not far:
            break
        found += far
        first, last = first + (first in far), last - (last in far)
    return [
        Sentinel(
            j, float(values[k]), float(counts[k] / n), float(values[first]), float(values[last])
        )
        for k in sorted(found)
    ]


def _others(
    values: NDArray[np.float64], may_be: NDArray[np.bool_], first: int, last: int, k: int
) -> tuple[float, float]:
    """Return the range of the values first..last but one at an end, k.

    Below 0, after a number of nines, it begins above all others of these.
    """
    least = first + (k == first)
    if k == first and _is_nines(values[k]):
        while last - least >= LEAST_OTHERS and may_be[least] and _is_nines(values[least]):
            least += 1
    return float(values[least]), float(values[last - (k == last)])


def _is_nines(value: float) -> bool:
    """Return whether a value is a negative number of nines."""
    return _NINES.fullmatch(_written(value)) is not None


def _is_frequent(
    values: NDArray[np.float64], counts: NDArray[np.int64], first: int, last: int
) -> bool:
    """Return whether the greatest of some values is a number of nines that most cells have."""
    if last - first < FREQUENT_OTHERS or not _POSITIVE_NINES.fullmatch(_written(values[last])):
        return False
    gap, width = values[last] - values[last - 1], values[last - 1] - values[first]
    return bool(gap > FREQUENT_GAP * width and counts[last] > FREQUENT * counts[first:last].max())


def _hide_each_other(values: NDArray[np.float64]) -> bool:
    """Return whether both ends, such as -999 and 999, are codes far from all between them."""
    ends, between = values[[0, -1]].tolist(), values[[1, -2]].tolist()
    return all(_CODE.fullmatch(_written(end)) and _is_far(end, *between) for end in ends)


def sentinels_warnings(
    found: Sequence[Sentinel], names: Sequence[str], *, how: str, is_all: bool
) -> list[str]:
    """Return a sentence for each value that may stand for missing ones.

    Parameters
    ----------
    found : sequence of Sentinel
    names : sequence of str
        Of the features.
    how : {TEXT, CELLS, FEATURES}
        What the value is replaced in.
    is_all : bool
        Whether shares are of all rows, not of a sample.
    """
    about = "" if is_all else "about "
    messages = []
    for value in dict.fromkeys(one.value for one in found):
        own = [one for one in found if one.value == value]
        columns = [
            f"{names[one.feature]!r} ({about}{one.share:.1%} of the rows; others are "
            f"{one.least:.6g} to {one.greatest:.6g})"
            for one in own[:SHOWN]
        ]
        more = f" and {len(own) - SHOWN:,} more" if len(own) > SHOWN else ""
        column = "column" if len(own) == 1 else "columns"
        messages.append(
            f"the value {_written(value)} lies outside of all others in the {column} "
            f"{', '.join(columns)}{more}; where it stands for a missing value, "
            f"{_remedy(value, how)}"
        )
    return messages


def target_sentinels_warnings(targets: NDArray[np.float64], *, is_all: bool) -> list[str]:
    """Return a sentence for each target that may stand for a missing one.

    Parameters
    ----------
    targets : ndarray, shape (n,)
        Those of a sample.
    is_all : bool
        Whether the sample is of all rows.
    """
    column = np.asarray(targets, np.float64)[:, None]
    about = "" if is_all else "about "
    return [
        f"the target {_written(one.value)} lies outside of all others ({about}{one.share:.1%} of "
        f"the rows; others are {one.least:.6g} to {one.greatest:.6g}); where it stands for a "
        "missing target, leave such rows out of the table"
        for one in sentinels(column, column.min(axis=0), column.max(axis=0))
    ]


def outliers_warnings(
    rows: NDArray[np.float64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    names: Sequence[str],
    *,
    is_all: bool,
) -> list[str]:
    """Return a sentence for each column with a value beside which all others are nearly equal.

    Parameters
    ----------
    rows : ndarray, shape (n, d)
        A sample.
    low, high : ndarray, shape (d,)
        The least and the greatest value of each feature in all rows.
    names : sequence of str
        Of the features.
    is_all : bool
        Whether the sample is of all rows.
    """
    messages = list[str]()
    for j in range(rows.shape[1]) if len(rows) >= LEAST_ROWS else ():
        inner = rows[(rows[:, j] > low[j]) & (rows[:, j] < high[j]), j]
        if len(inner) < 0.8 * len(rows) or np.unique(inner).size < LEAST_OTHERS:
            continue
        least, greatest = float(inner.min()), float(inner.max())
        if not is_all and greatest - least > HEAVY * np.ptp(np.quantile(inner, [0.1, 0.9])):
            continue
        value = max(low[j], high[j], key=lambda end: max(least - end, end - greatest))
        if max(least - value, value - greatest) > OUTLIER * (greatest - least):
            messages.append(
                f"the value {value:.6g} of the column {names[j]!r} is so far from the others "
                f"({least:.6g} to {greatest:.6g}) that these are nearly equal once features are "
                "scaled; correct it, or leave that row out"
            )
    return messages[:SHOWN]


def looks_missing(label: float, labels: Sequence[float]) -> bool:
    """Return whether a label that is a number is a code such as -999, far from all others.

    Parameters
    ----------
    label : int or float
    labels : sequence of int or float
        All labels that are numbers.
    """
    others = [abs(one) for one in labels if one != label]
    far = bool(others) and abs(label) > 9 * max(*others, 1)
    return far and _NINES.fullmatch(_written(float(label))) is not None


def _is_far(value: float, least: float, greatest: float) -> bool:
    """Return whether a value lies far outside of all others, which are in a range."""
    gap, width = max(least - value, value - greatest), greatest - least
    word = _written(value)
    if not _CODE.fullmatch(word):
        return gap > FAR * width
    if _is_nines(value) and least >= 0.0:
        return True
    # -1 is the least value of rows that were scaled to -1..1.
    return gap > width and not max(abs(value), -least, greatest) <= 1.0


def _written(value: float) -> str:
    return f"{value:.0f}" if value == int(value) and abs(value) < 1e16 else f"{value:.10g}"


def _remedy(value: float, how: str) -> str:
    if how == FEATURES:
        return "write another number instead, such as the median of the feature"
    if how == CELLS:
        return "write an empty cell instead, and give --missing median, indicator or drop"
    word = _written(value)
    words = word if "." in word or "e" in word else f"{word},{word}.0"
    return (
        f"give --missing median, indicator or drop with --missing-words={words} (and the words of "
        "other empty cells)"
    )
