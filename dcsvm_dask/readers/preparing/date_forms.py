"""The form of a column's dates, found batch by batch: one that all of its cells have."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.readers.preparing.dates import DATE_FORMATS, are_dates, form_in_words

LEAST_SHARE = 0.5
"""Share of dates among the cells of a column from which on the others are mistakes."""


class DateForms:
    """The forms that all cells so far have.

    Attributes
    ----------
    possible : tuple of str
        Those forms; empty where there is none.
    odd : tuple (row, problem) or None
        The first cell that is no date of the form of those before it, in a column of dates.
    """

    def __init__(self) -> None:
        self.possible: tuple[str, ...] = DATE_FORMATS
        self.odd: tuple[int, str] | None = None
        self._example: str | None = None
        self._n_dates = 0

    @property
    def form(self) -> str | None:
        """The first of the forms that all cells have; None: there was no cell, or there is none."""
        return self.possible[0] if self.possible and self._example is not None else None

    def update(self, words: Any, first_rows: NDArray[np.int64], counts: NDArray[np.int64]) -> None:
        """Add cells.

        Parameters
        ----------
        words : pyarrow.Array
            Different words; missing ones are null.
        first_rows, counts : ndarray of int64
            The first row of each, and how many cells have it.
        """
        there = np.asarray(words.is_valid())
        if not self.possible or not there.any():
            return
        kept = words.drop_null()
        still = tuple(form for form in self.possible if are_dates(kept, form).all())
        if still:
            self._n_dates += int(counts[there].sum())
        else:
            self._look_for_odd(kept, first_rows[there], counts[there])
        self.possible = still
        if self._example is None:
            self._example = str(kept[int(np.argmin(first_rows[there]))].as_py())

    def _look_for_odd(
        self, words: Any, first_rows: NDArray[np.int64], counts: NDArray[np.int64]
    ) -> None:
        fits: NDArray[np.bool_] = np.array([are_dates(words, form) for form in DATE_FORMATS])
        dated = np.asarray(fits.any(axis=0))
        n_dates = self._n_dates + counts[dated].sum()
        if n_dates < LEAST_SHARE * (self._n_dates + counts.sum()):
            return  # words
        possible: NDArray[np.bool_] = np.array([form in self.possible for form in DATE_FORMATS])
        example = self._example
        for k in np.argsort(first_rows, kind="stable"):
            word = str(words[int(k)].as_py())
            left = possible & fits[:, k]
            if not left.any():
                self.odd = int(first_rows[k]), _problem(word, bool(dated[k]), possible, example)
                return
            possible = left
            example = example or word


def _problem(word: str, is_date: bool, possible: NDArray[np.bool_], example: str | None) -> str:
    """Return what is wrong with a cell, and what to do."""
    if not is_date:
        return (
            f"is not a date: {word[:40]!r}; write a date, or name it as a word for an empty cell: "
            "--missing-words WORD,..."
        )
    form = form_in_words(DATE_FORMATS[int(np.argmax(possible))])
    return (
        f"is a date of another form than those before it: {word[:40]!r} is not {form}, as "
        f"{example!r} is; write all dates of the column as year-month-day, or give --dates drop"
    )
