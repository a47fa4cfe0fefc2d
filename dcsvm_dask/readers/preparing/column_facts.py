"""Facts of a column on the training rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.readers.memory import check_bound
from dcsvm_dask.readers.preparing.cells import (
    doubtful_comma,
    in_parentheses,
    is_date,
    is_text,
    missing_of,
    numbers_of,
    with_minus,
)
from dcsvm_dask.readers.preparing.date_forms import DateForms
from dcsvm_dask.readers.preparing.dates import NUMBERS_OF_DATE, PARTS, date_parts
from dcsvm_dask.readers.preparing.encoders import shown
from dcsvm_dask.readers.preparing.words import different

_CLEAR_POINT = r",.*\.|\.(\d{1,2}|\d{4,})$|^[+-]?0?\.\d+$"
"""In numbers whose dot begins the decimals and separates no thousands."""
MOST_WORDS = 100_000
"""Distinct words of a column that are counted."""
SMALL_NUMBER = 100
"""Whole numbers below this, in parentheses, may be categories where a column has nothing else."""


class ColumnFacts:
    """Facts of a column on the training rows, collected batch by batch.

    Parameters
    ----------
    name : str
    as_words : bool
        Whether its cells are categories or ordered words, also where they are numbers.
    decimal : {".", ","}
    keeps : bool
        Whether its numbers are kept, for their median.
    is_text : bool
        Whether its numbers are parsed text, and so written without a sign.
    """

    def __init__(
        self, name: str, *, as_words: bool, decimal: str, keeps: bool, is_text: bool = False
    ) -> None:
        self.name, self._is_text = name, is_text
        self.as_words, self._decimal, self._keeps = as_words, decimal, keeps
        self.n_missing, self.n_wrong, self.n_numbers = 0, 0, 0
        self.first_missing: int | None = None
        self.first_wrong: tuple[int, str] | None = None
        self.signs: set[str] = set()
        self.n_parentheses = self.n_listed = 0
        self.comma: str | None = None
        self.comma_is_clear = decimal == ","
        self.point: str | None = None
        self.words: Counter[str] = Counter()
        self.has_many = False
        self.dates = DateForms()
        self.typed_date = False
        self.hours = False
        self._numbers: list[NDArray[np.float64]] = []
        self._dates: list[tuple[Any, NDArray[np.int64]]] = []

    def update(self, column: Any, rows: NDArray[np.int64]) -> None:
        """Add cells.

        Parameters
        ----------
        column : pyarrow.Array
            Its words as `tidy` returns them.
        rows : ndarray of int64
            The numbers of their rows, for messages.
        """
        if is_date(column.type):
            self._note_missing(missing_of(column), rows)
            self.typed_date = True
            self._look_at_dates(column, np.ones(len(column), np.int64))
        elif self.as_words or is_text(column.type):
            self._look_at_words(column, rows)
        else:
            numbers, _, _ = numbers_of(column, self._decimal)
            missing = np.isnan(numbers)
            self._note_missing(missing, rows)
            self._keep(numbers[~missing])
            if self._is_text and not missing.all():
                self.signs.add("")

    def _look_at_words(self, column: Any, rows: NDArray[np.int64]) -> None:
        import pyarrow as pa

        words, codes, counts = different(column)
        if self.as_words:
            self._note_missing(np.asarray(words.is_null())[codes], rows)
            self._count(words, counts)
            return
        numbers, wrong, sign = numbers_of(words, self._decimal)
        missing = np.isnan(numbers) & ~wrong
        if missing.any():
            self._note_missing(missing[codes], rows)
        good = ~(missing | wrong)
        if sign is not None:
            self.signs.add(sign)
        if good.any():
            self._keep(numbers[codes][good[codes]])
            inside = good & in_parentheses(words)
            self.n_parentheses += int(counts[inside].sum())
            with np.errstate(invalid="ignore"):
                small = (np.abs(numbers) < SMALL_NUMBER) & (numbers == np.rint(numbers))
            self.n_listed += int(counts[inside & small].sum())
            self._look_at_marks(words.filter(pa.array(good)))
        if wrong.any():
            first = int(np.flatnonzero(wrong[codes])[0])
            if self.first_wrong is None:
                self.first_wrong = int(rows[first]), shown(words[codes[first]])
            self.n_wrong += int(counts[wrong].sum())
            first_rows = np.zeros(len(words), np.int64)
            first_rows[codes[::-1]] = rows[::-1]  # of several the last one stays
            self.dates.update(words, first_rows, counts)
            if self.dates.possible:
                self._look_at_dates(words, counts)
            self._count(words, counts)

    def _look_at_marks(self, words: Any) -> None:
        """Note a number whose comma may begin the decimals, and one whose dot clearly does.

        See `doubtful_comma`.
        """
        import pyarrow.compute as pc

        if self.point is None and self._decimal == ".":
            found = words.filter(pc.match_substring_regex(with_minus(words), pattern=_CLEAR_POINT))
            self.point = shown(found[0]) if len(found) else None
        if not self.comma_is_clear:
            sample, self.comma_is_clear = doubtful_comma(words)
            self.comma = self.comma or sample

    def _keep(self, numbers: NDArray[np.float64]) -> None:
        self.n_numbers += len(numbers)
        if self._keeps:
            self._numbers.append(numbers)

    def _note_missing(self, missing: NDArray[np.bool_], rows: NDArray[np.int64]) -> None:
        if missing.any():
            self.n_missing += int(missing.sum())
            if self.first_missing is None:
                self.first_missing = int(rows[np.flatnonzero(missing)[0]])

    def only_word_in(self, row: int) -> str | None:
        """Return the cell of a row, where it is the only one that is no number; else None."""
        if self.n_wrong != 1 or self.first_wrong is None or self.first_wrong[0] != row:
            return None
        return self.first_wrong[1][1:-1]  # without its quotation marks

    @property
    def option_name(self) -> str:
        """Its name as an option of a command takes it."""
        return f"'{self.name}'" if " " in self.name else self.name

    @property
    def n_categories(self) -> str:
        """The number of its words, for messages."""
        many = f"over {MOST_WORDS:,}" if self.has_many else f"{len(self.words):,}"
        return f"{many} categories"

    @property
    def is_empty(self) -> bool:
        """Whether no cell has a value."""
        return not (self.n_numbers or self.n_wrong or self.words or self.typed_date)

    @property
    def nbytes(self) -> int:
        """Bytes of the numbers that are kept."""
        parts = (array.nbytes for pair in self._dates for array in pair)
        return sum(values.nbytes for values in self._numbers) + sum(parts)

    def median(self) -> float:
        """Return the median of the numbers that were kept; 0 without any."""
        return float(np.median(np.concatenate(self._numbers))) if self.n_numbers else 0.0

    def median_date(self, parts: Sequence[str]) -> tuple[float, ...]:
        """Return the median of some numbers of the dates that were kept."""
        values = np.concatenate([date_parts(date, self.dates.form)[0] for date, _ in self._dates])
        counts = np.concatenate([count for _, count in self._dates])
        there = ~np.isnan(values).any(axis=1)
        values, counts = values[there], counts[there]
        return tuple(
            _weighted_median(values[:, NUMBERS_OF_DATE.index(part)], counts) for part in parts
        )

    def usual_word(self) -> str | None:
        """Return the most frequent word, of several the first in the alphabet."""
        return min(self.words, key=lambda word: (-self.words[word], word), default=None)

    def _look_at_dates(self, dates: Any, counts: NDArray[np.int64]) -> None:
        parts, _ = date_parts(dates, self.dates.form)
        self.hours |= bool((parts[:, PARTS.index("hour")] > 0).any())
        if self._keeps:
            self._dates.append((dates, counts))

    def _count(self, words: Any, counts: NDArray[np.int64]) -> None:
        if self.has_many:
            return
        for word, count in zip(words.to_pylist(), counts.tolist(), strict=True):
            if word is not None:
                self.words[word] += count
        self.has_many = len(self.words) > MOST_WORDS


def _weighted_median(values: NDArray[np.float64], counts: NDArray[np.int64]) -> float:
    """Return the median of values that occur so many times each."""
    order = np.argsort(values)
    upto = np.cumsum(counts[order])
    middle = [(upto[-1] - 1) // 2, upto[-1] // 2]
    return float(values[order][np.searchsorted(upto, middle, side="right")].mean())


def check_kept(facts: Sequence[ColumnFacts], name: str) -> None:
    """Refuse numbers that are kept for their medians and exceed the memory bound.

    Raises
    ------
    InputError
    """
    check_bound(2 * sum(one.nbytes for one in facts), name, "the medians of its columns")
