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
TEXT, CELLS, FEATURES = "text", "cells", "features"
"""Delimited text, whose words for missing cells can be chosen; tables that have such cells; rows
that have none."""
SHOWN = 8
"""Columns that a message names."""
_CODE = re.compile(r"-?(99+(\.\d+)?|1000+|8888+|7777+|1e\+\d\d)|-1|-?32768|32767|65535")
"""Numbers that programs and people write where there is none."""
_NINES = re.compile(r"-99+(\.\d+)?")


class Sentinel(NamedTuple):
    """A value of a column that lies far outside of all others and is repeated.

    Attributes
    ----------
    feature : int
    value : float
    share : float
        Of the rows.
    least, greatest : float
        Of the other values.
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

    Such a value is the least or the greatest of its column, and the gap to the next one is wider
    than all others together. Below 0 a number of nines is one where no other value is negative. 0
    is none: many columns are mostly 0.

    Parameters
    ----------
    rows : ndarray, shape (n, d)
        A sample.
    low, high : ndarray, shape (d,)
        The least and the greatest value of each feature in all rows.
    """
    n = len(rows)
    least = max(LEAST_ROWS, LEAST_SHARE * n)
    if n < least:
        return []
    found = []
    columns = np.ascontiguousarray(rows.T)
    for ends in (low, high):
        often = (rows == ends).sum(axis=0)
        for j in np.flatnonzero((often >= least) & (often < n) & (ends != 0.0)).tolist():
            value, others = float(ends[j]), columns[j][columns[j] != ends[j]]
            first, last = float(others.min()), float(others.max())
            if _is_far(value, first, last) and np.unique(others).size >= LEAST_OTHERS:
                found.append(Sentinel(j, value, float(often[j] / n), first, last))
    return sorted(found)


def told_of_sentinels(
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
    said = []
    for value in dict.fromkeys(one.value for one in found):
        own = [one for one in found if one.value == value]
        columns = [
            f"{names[one.feature]!r} ({about}{one.share:.1%} of the rows; others are "
            f"{one.least:.6g} to {one.greatest:.6g})"
            for one in own[:SHOWN]
        ]
        more = f" and {len(own) - SHOWN:,} more" if len(own) > SHOWN else ""
        column = "column" if len(own) == 1 else "columns"
        said.append(
            f"the value {_written(value)} lies outside of all others in the {column} "
            f"{', '.join(columns)}{more}; where it stands for a missing value, "
            f"{_remedy(value, how)}"
        )
    return said


def _is_far(value: float, least: float, greatest: float) -> bool:
    """Return whether a value lies far outside of all others, which are in a range."""
    gap, width = max(least - value, value - greatest), greatest - least
    word = _written(value)
    if not _CODE.fullmatch(word):
        return gap > FAR * width
    if _NINES.fullmatch(word) and least >= 0.0:
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
