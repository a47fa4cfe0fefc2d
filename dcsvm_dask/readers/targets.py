"""Targets of any source as float64: what regression learns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.errors import InputError
from dcsvm_dask.readers.labels import plain
from dcsvm_dask.readers.lines import RowError
from dcsvm_dask.readers.preparing.cells import (
    PARENTHESES,
    in_parentheses,
    numbers_of,
    sign_problem,
    with_sign,
)
from dcsvm_dask.readers.preparing.dates import DATE_FORMATS, are_dates
from dcsvm_dask.tasks.units import MOST_TARGET

_DATE = (
    ", a date; regression learns numbers: write it as one, such as the days or years since a day "
    "of your choice"
)


class TargetTable:
    """Reads the targets of consecutive blocks of rows.

    Parameters
    ----------
    name : str
        The source, for messages.
    first_row : int, default 0
        The row of the first target.
    decimal : {".", ","}
        Mark before the decimals of numbers that are text.
    form : str, optional
        The form of the training targets, for later rows: the sign of a currency or per cent that
        all of them have, "" without any, with `PARENTHESES` after it where some are in these.
    is_text : bool, default False
        Whether targets that come as numbers are written in a text, thus without a sign.

    Attributes
    ----------
    has_comma : bool
        Whether a comma in numbers of the text was read as a separator of thousands.
    """

    dtype = np.dtype(np.float64)
    """Of the arrays that `add` returns."""

    def __init__(
        self,
        name: str,
        first_row: int = 0,
        *,
        decimal: str = ".",
        form: str | None = None,
        is_text: bool = False,
    ) -> None:
        self.name, self.has_comma, self._is_text = name, False, is_text
        self.n_rows = first_row
        self._decimal, self._is_later = decimal, form is not None
        self._sign = None if form is None else form.removesuffix(PARENTHESES)
        self._has_parentheses = False

    @property
    def form(self) -> str | None:
        """The form of the targets so far; None: none of them was text."""
        if self._sign is None:
            return None
        return self._sign + PARENTHESES if self._has_parentheses else self._sign

    def add(self, targets: NDArray[Any]) -> NDArray[np.float64]:
        """Return the targets of the next rows.

        Parameters
        ----------
        targets : array, shape (n,)
            Numbers, booleans, or strings that are numbers, perhaps with separators of thousands
            and the sign of a currency or per cent, and in parentheses where they are negative.

        Returns
        -------
        ndarray, shape (n,), float64
            -0.0 has become 0.0.

        Raises
        ------
        InputError
            If a target is missing, no number, infinite, or larger than `MOST_TARGET`.
        """
        given = plain(targets, self.name)
        values = self._numbers(given)
        with np.errstate(invalid="ignore"):
            wrong = np.flatnonzero(~(np.abs(values) <= MOST_TARGET))
        if len(wrong):
            k = int(wrong[0])
            what = (
                "no target"
                if np.isnan(values[k])
                else f"the target {given[k]!s:.40}, which is beyond {MOST_TARGET:g}"
            )
            raise RowError(self.name, self.n_rows + k, f" has {what}; fill in or drop such rows")
        self.n_rows += len(values)
        return values + 0.0

    def merge(self, other: TargetTable) -> None:
        """Count the targets of another table, whose rows follow.

        Raises
        ------
        InputError
            If those are written with another sign.
        """
        self._note_sign(other._sign)
        self._has_parentheses |= other._has_parentheses
        self.has_comma |= other.has_comma
        self.n_rows += other.n_rows

    def _numbers(self, given: NDArray[Any]) -> NDArray[np.float64]:
        if given.dtype.kind in "biuf":
            if self._is_text and self._is_later:
                self._note_sign("")
            return given.astype(np.float64)
        if given.dtype.kind not in "UO":
            what = _DATE if given.dtype.kind == "M" else " are not numbers"
            raise InputError(f"{self.name}: targets of type {given.dtype}{what}")
        words = [word.strip() if isinstance(word, str) else word for word in given.tolist()]
        if self._decimal == ".":
            found = [_number(word) for word in words]
            if None not in found:
                if any(isinstance(word, str) for word in words):
                    self._note_sign("")
                return np.array(found, np.float64)
        return self._written(given, words)

    def _written(self, given: NDArray[Any], words: list[Any]) -> NDArray[np.float64]:
        """Return words as numbers in the way in which features are read."""
        import pyarrow as pa

        texts = [None if _is_missing(word) else str(word) for word in words]
        cells = pa.array(texts, pa.string()).dictionary_encode()
        values, wrong, sign = numbers_of(cells.dictionary, self._decimal)
        codes = cells.indices.fill_null(len(values)).to_numpy(zero_copy_only=False)
        if wrong.any():
            k = int(np.argmax(np.append(wrong, False)[codes]))
            word = given[k : k + 1].tolist()[0]
            if any(are_dates(pa.array([str(word)]), form).all() for form in DATE_FORMATS):
                raise RowError(self.name, self.n_rows + k, f" has the target {word!r:.40}{_DATE}")
            raise RowError(
                self.name,
                self.n_rows + k,
                f" has the target {word!r:.40}, which is not a number; {self._remedy(str(word))}",
            )
        self._note_sign(sign)
        self._has_parentheses |= bool(in_parentheses(cells.dictionary).any())
        self.has_comma |= self._decimal == "." and any("," in word for word in texts if word)
        return np.append(values, np.nan)[codes]

    def _remedy(self, word: str) -> str:
        """Return what to do with a target that is not a number."""
        import pyarrow as pa

        may_have_comma = self._decimal == "." and not self._is_later and "," in word
        if may_have_comma and not numbers_of(pa.array([word]), ",")[1].any():
            return "give --decimal , (in Python decimal=',') where a comma begins the decimals"
        if any(map(str.isdigit, word)):
            return "write all targets as plain numbers, without units"
        return (
            "regression learns numbers (is the target in another column? see --label), and classes "
            "are ingested without --task"
        )

    def _note_sign(self, sign: str | None) -> None:
        """Refuse targets that are written with another sign than those before."""
        known = self._sign
        if sign is None or known is None:
            self._sign = sign if known is None else known
        elif self._is_later:
            if (problem := sign_problem(sign, known)) is not None:
                raise InputError(f"{self.name}: the target {problem}")
        elif sign != known:
            raise InputError(
                f"{self.name}: the targets are numbers {with_sign(known)} and {with_sign(sign)}: "
                "write all in one way"
            )


def _is_missing(word: Any) -> bool:
    return word is None or (isinstance(word, str) and word.lower() in ("", "?", "nan"))


def _number(word: Any) -> float | None:
    """Return a word as a number as it stands, NaN of a missing one; None if it is none."""
    if _is_missing(word):
        return np.nan
    try:
        # float() accepts 1_000
        return None if isinstance(word, str) and "_" in word else float(word)
    except OverflowError:  # a whole number beyond float64
        return np.inf
    except (TypeError, ValueError):
        return None
