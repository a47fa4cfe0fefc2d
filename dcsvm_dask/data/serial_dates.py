"""Columns that are dates by their name, and hold dates as numbers by which programs count."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.data.sentinels import LEAST_OTHERS, LEAST_ROWS
from dcsvm_dask.readers.columns import listed
from dcsvm_dask.readers.identifiers import words_of

_DATES = frozenset({"birthday", "datetime", "datum", "dob", "fecha", "timestamp"})
_TIMES = frozenset({"day", "dt", "time", "ts"})
"""Words of other things, too, such as durations and the time of the day in seconds."""
_NO_DATES = frozenset({"update", "candidate", "mandate", "validate", "consolidate"})
"""Words that end in "date" and are none."""
_EXCEL = datetime(1899, 12, 30, tzinfo=UTC)
_UNIX = datetime(1970, 1, 1, tzinfo=UTC)
_COUNTS = (
    ("as Excel counts days", _EXCEL, 86_400.0, 25_000.0, 60_000.0),  # 1968 to 2064
    ("in seconds since 1970", _UNIX, 1.0, 3e8, 3e9),  # 1979 to 2065
    ("in milliseconds since 1970", _UNIX, 1e-3, 3e11, 3e12),
)
"""How programs count: since when, seconds of one, the least and the greatest number."""
_LONGEST = 40 * 365.25 * 86_400.0
"""Seconds between the dates of a column that is named by such a word."""


def serial_dates_warning(names: Sequence[str], rows: NDArray[np.float64]) -> str | None:
    """Return a sentence for the columns of dates that are numbers; None without any.

    Parameters
    ----------
    names : sequence of str
        Of the features.
    rows : ndarray, shape (n, d)
        A sample of rows.
    """
    found = [
        (name, how, since + timedelta(seconds=float(rows[0, j]) * size))
        for j, name in enumerate(names[: rows.shape[1]])
        if (names_date := _names_date(name)) or _names_time(name)
        for how, since, size, low, high in _COUNTS
        if _lie_within(rows[:, j], low, high)
        if names_date or np.ptp(rows[:, j]) * size <= _LONGEST
    ]
    if not found:
        return None
    name, how, first = found[0]
    several = len(found) > 1
    quoted = f"'{name}'" if " " in name else name
    return (
        f"the numbers of the column{'s' if several else ''} "
        f"{listed([repr(one) for one, _, _ in found])} look like dates {how} (the first is "
        f"{first:%Y-%m-%d}); write them so and give --dates parts, or leave them out "
        f"(--drop {quoted}, in Python drop=[NAME])"
    )


def _names_date(name: str) -> bool:
    words = [word.lower() for word in words_of(name)]
    return any(one in _DATES or (one.endswith("date") and one not in _NO_DATES) for one in words)


def _names_time(name: str) -> bool:
    return any(word.lower() in _TIMES for word in words_of(name))


def _lie_within(values: NDArray[np.float64], low: float, high: float) -> bool:
    """Return whether values are of many different days between two."""
    if len(values) < LEAST_ROWS or not (values.min() >= low and values.max() <= high):
        return False
    return len(np.unique(values)) >= LEAST_OTHERS
