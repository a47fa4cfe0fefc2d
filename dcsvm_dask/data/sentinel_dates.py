"""Dates that stand for missing ones, such as 9999-12-31, in columns of dates."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.data.sentinels import FAR, LEAST_OTHERS, LEAST_ROWS, least_rows
from dcsvm_dask.readers.preparing.csv_tables import CsvTable
from dcsvm_dask.readers.preparing.dates import DAYS, NUMBERS_OF_DATE, date_parts
from dcsvm_dask.readers.preparing.encoders import DATE, Encoder
from dcsvm_dask.readers.preparing.source import PreparedSource
from dcsvm_dask.readers.preparing.words import different, tidy
from dcsvm_dask.readers.source import Source

_USUAL = ("0001-01-01", "1899-12-30", "1900-01-01", "1970-01-01", "2999-12-31", "9999-12-31")
USUAL: NDArray[np.int64] = np.array(_USUAL, "M8[D]").astype(np.int64)
"""Dates that programs and people write where there is none, in days since 1970. The first day that
a database or a sheet has, and the last one."""
_EARLY, _LATE = np.array(["1902-01-01", "2100-01-01"], "M8[D]").astype(np.int64).tolist()
"""Before and from which on any date may be such a one: tables hardly have real ones there."""
OFTEN = 10
"""How many times as many rows one of these has as any other date, where it is among others."""
MOST_WORDS = 4
"""Ways of writing a date that a message names."""


class SentinelDate(NamedTuple):
    """A date of a column that may stand for missing ones.

    Attributes
    ----------
    day : int
        Since 1970.
    share : float
        Of the rows.
    least, greatest : int
        Of the dates that are none of this kind.
    is_far : bool
        Whether it lies outside of these.
    """

    day: int
    share: float
    least: int
    greatest: int
    is_far: bool


def sentinel_dates(days: NDArray[np.int64]) -> list[SentinelDate]:
    """Return the dates of a column that may stand for missing ones.

    One of `USUAL` is such a date where the gap to the others is wider than these, or it has
    `OFTEN` times as many rows as each of them; any other early or late date where the gap is wider
    by `FAR`.

    Parameters
    ----------
    days : ndarray, shape (n,), int64
        Days since 1970 of a sample of rows.
    """
    n, (values, counts) = len(days), np.unique(days, return_counts=True)
    is_candidate = counts >= least_rows(n)
    is_end = (values == values.min()) | (values == values.max())
    is_candidate &= np.isin(values, USUAL) | (is_end & ((values < _EARLY) | (values >= _LATE)))
    others, of_others = values[~is_candidate], counts[~is_candidate]
    if n < LEAST_ROWS or len(others) < LEAST_OTHERS:
        return []
    least, greatest = int(others.min()), int(others.max())
    found = []
    for day, count in zip(
        values[is_candidate].tolist(), counts[is_candidate].tolist(), strict=True
    ):
        is_usual = day in USUAL
        wide = (1.0 if is_usual else FAR) * (greatest - least)
        is_far = max(least - day, day - greatest) > wide
        if is_far or (is_usual and count >= OFTEN * of_others.max()):
            found.append(SentinelDate(day, count / n, least, greatest, is_far))
    return found


def sentinel_dates_warnings(
    source: Source, rows: NDArray[np.float64], *, is_text: bool, is_all: bool
) -> list[str]:
    """Return a sentence for each date that may stand for missing ones.

    Parameters
    ----------
    source : Source
    rows : ndarray, shape (n, d)
        A sample of its rows.
    is_text : bool
        Whether the table is delimited text, whose words for missing cells can be chosen.
    is_all : bool
        Whether shares are of all rows, not of a sample.
    """
    about, messages = "" if is_all else "about ", []
    for encoder, features in columns_of_dates(source):
        for one in sentinel_dates(_days(encoder, rows[:, features])):
            how = "lies outside of" if one.is_far else "is far more frequent than"
            words = _words(source, encoder, one.day) if is_text else []
            messages.append(
                f"the date {_written(one.day)} {how} all others in the column {encoder.name!r} "
                f"({about}{one.share:.1%} of the rows; others are {_written(one.least)} to "
                f"{_written(one.greatest)}); where it stands for a missing value, {_remedy(words)}"
            )
    return messages


def columns_of_dates(source: Source) -> Iterator[tuple[Encoder, slice]]:
    """Yield how each column of dates became numbers, and its features."""
    made = source.preparation if isinstance(source, PreparedSource) else None
    first = 0
    for encoder in () if made is None else made.encoders:
        stop = first + len(encoder.features)
        if encoder.kind == DATE:
            yield encoder, slice(first, stop)
        first = stop


def _days(encoder: Encoder, parts: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the dates that the features of a column have, as days since 1970."""
    if encoder.words == (DAYS,):
        # These are in UTC: midnight elsewhere is half a day away at most.
        near = np.rint(parts[:, 0]).astype(np.int64)
        return np.where(np.isin(near, USUAL), near, np.floor(parts[:, 0]).astype(np.int64))
    # A part of a date that was filled in is a median.
    year, month, day = (
        np.floor(parts[:, encoder.words.index(part)]).astype(np.int64)
        for part in ("year", "month", "day")
    )
    months = (12 * (year - 1970) + month - 1).astype("M8[M]")
    return np.asarray(months.astype("M8[D]").astype(np.int64) + day - 1)


def _words(source: Source, encoder: Encoder, day: int) -> list[str]:
    """Return how the cells of a column have a date; the text is read again."""
    assert isinstance(source, PreparedSource)
    table, names = source.table, source.table.names
    if not isinstance(table, CsvTable) or names is None or encoder.name not in names:
        return [_written(day)]
    found: dict[str, None] = {}
    for (cells,) in table.batches([names.index(encoder.name)]):
        words: Any = different(tidy(cells, table.missing_words))[0]
        parts, _ = date_parts(words, encoder.form)
        own = parts[:, [NUMBERS_OF_DATE.index(word) for word in encoder.words]]
        dates = np.flatnonzero(~np.isnan(own).any(axis=1))
        same = dates[_days(encoder, own[dates]) == day]
        found |= dict.fromkeys(words[k].as_py() for k in same.tolist())
    return [*found][:MOST_WORDS] or [_written(day)]


def _written(day: int) -> str:
    return str(np.datetime64(day, "D"))


def _remedy(words: list[str]) -> str:
    if not words:
        return "write an empty cell instead, and give --missing median, indicator or drop"
    named = ",".join(f'"{word}"' if "," in word else word for word in words)
    return (
        "give --missing median, indicator or drop with "
        f"{shlex.quote(f'--missing-words={named}')} (and the words of other empty cells)"
    )
