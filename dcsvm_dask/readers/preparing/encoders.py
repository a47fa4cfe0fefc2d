"""A column of a table as features: numbers, flags, categories, ordered words, parts of dates."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.readers.preparing.cell_counts import CellCounts
from dcsvm_dask.readers.preparing.cells import (
    PARENTHESES,
    flags_in,
    hint_for_dash,
    is_date,
    is_number,
    numbers_of,
    sign_problem,
)
from dcsvm_dask.readers.preparing.dates import (
    DATE_FORMATS,
    NUMBERS_OF_DATE,
    date_format,
    date_parts,
    form_in_words,
)
from dcsvm_dask.readers.preparing.features import Features
from dcsvm_dask.readers.preparing.words import different

NUMBER, FLAG, ONE_HOT, ORDINAL, DATE = "number", "flag", "one-hot", "ordinal", "date"
KINDS = (NUMBER, FLAG, ONE_HOT, ORDINAL, DATE)


_FILL_IN = (
    "fill in or drop such rows, or ingest the training data with --missing median (or indicator), "
    "which fills in those of new rows, too"
)


class BadCellError(Exception):
    """A cell that cannot become a number.

    Parameters
    ----------
    row : int
        Its row in the batch.
    column : str
        Name of its column.
    problem : str
        What is wrong, and what to do.
    words : sequence of str
        Words of the column that may stand for no value.
    """

    def __init__(self, row: int, column: str, problem: str, words: Sequence[str] = ()) -> None:
        super().__init__(problem)
        self.row, self.column, self.problem, self.words = row, column, problem, words


@dataclass(frozen=True)
class Encoder:
    """Makes features of a column, as it was learned on training rows.

    Attributes
    ----------
    name : str
        The column.
    kind : str
        One of `KINDS`.
    words : tuple of str
        Categories, ordered words, or the parts of a date; empty for numbers and flags.
    form : str or None
        Form of dates that are text; or the sign of a currency or per cent that all numbers have,
        with `PARENTHESES` after it where some are in these.
    fill : float, str, tuple of float or None
        What stands for a missing cell: a number, a category, or a number for each part of a date.
        None: such cells are refused.
    indicator : bool
        Whether a feature marks missing cells.
    n_missing : int or None
        Missing cells of the training rows; None: not counted.
    """

    name: str
    kind: str
    words: tuple[str, ...] = ()
    form: str | None = None
    fill: float | str | tuple[float, ...] | None = None
    indicator: bool = False
    n_missing: int | None = None

    @property
    def features(self) -> list[str]:
        """Names of the features."""
        found = [self.name]
        if self.kind == ONE_HOT:
            found = [f"{self.name}={word}" for word in self.words]
        elif self.kind == DATE:
            found = [f"{self.name} {part}" for part in self.words]
        return [*found, f"{self.name} missing"] if self.indicator else found

    @property
    def is_plain(self) -> bool:
        """Whether the feature is the column's own number."""
        as_it_is = self.fill is None and self.form is None and not self.indicator
        return self.kind == NUMBER and as_it_is

    @property
    def is_plain_number(self) -> bool:
        """Whether the column is of numbers without signs, where cells may be missing."""
        return self.kind == NUMBER and self.form is None

    def encode(self, column: Any, decimal: str, counts: CellCounts | None = None) -> Features:
        """Return the features of some cells.

        Parameters
        ----------
        column : pyarrow.Array
            Its words as `tidy` returns them.
        decimal : {".", ","}
        counts : CellCounts, optional
            Counts cells that are filled in or hold an unknown category.

        Returns
        -------
        Features

        Raises
        ------
        BadCellError
            If a cell is missing and there is no value to fill in, or is not of the column's kind.
        """
        cells, codes, times = column, None, None
        as_it_is = {NUMBER: is_number, DATE: is_date}.get(self.kind)
        if as_it_is is None or not as_it_is(column.type):
            cells, codes, times = different(column)
        values, missing = self._values(cells, codes, decimal)
        if missing.any():
            if self.fill is None and not self.indicator:
                raise BadCellError(_first(missing, codes), self.name, f"is empty; {_FILL_IN}")
            values = values if values.flags.writeable else values.copy()
            values[missing] = self._stand_in(values.shape[1])
        if counts is not None:
            self._count(values, missing, times, counts)
        return Features(np.column_stack([values, missing]) if self.indicator else values, codes)

    def to_json(self) -> dict[str, Any]:
        """Return JSON values, for `from_json`."""
        return {**asdict(self), "words": list(self.words)}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Encoder:
        """Return an encoder from the result of `to_json`."""
        if value["kind"] not in KINDS or not isinstance(value["name"], str):
            raise ValueError(f"no column of this kind: {value!r:.80}")
        fill = value["fill"]
        fill = tuple(map(float, fill)) if isinstance(fill, list) else fill
        return cls(**{**value, "words": tuple(map(str, value["words"])), "fill": fill})

    def _count(
        self,
        values: NDArray[np.float64],
        missing: NDArray[np.bool_],
        times: NDArray[np.int64] | None,
        counts: CellCounts,
    ) -> None:
        """Count cells, each of which occurs so many times."""
        times = np.ones(len(values), np.int64) if times is None else times
        if missing.any():
            counts.filled[self.name] += int(times[missing].sum())
        if self.kind == ONE_HOT:
            unknown = ~(missing | values.any(axis=1))
            if unknown.any():
                counts.unknown[self.name] += int(times[unknown].sum())

    def _stand_in(self, width: int) -> NDArray[np.float64]:
        if self.kind == ONE_HOT:
            return np.array([float(word == self.fill) for word in self.words])
        return np.broadcast_to(np.array(self.fill or 0.0, np.float64), (width,))

    def _values(
        self, cells: Any, codes: NDArray[np.int64] | None, decimal: str
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return the features, NaN or 0 where cells are missing, and which cells are.

        The codes are those of the cell of each row, for messages.
        """
        if self.kind == NUMBER:
            numbers, wrong, sign = numbers_of(cells, decimal)
            if wrong.any():  # yes and no, which another format has as 1 and 0
                numbers, wrong = _with_flags(cells, numbers, wrong)
            self._refuse(wrong, cells, codes, "is not a number", decimal)
            self._check_sign(sign, numbers, codes)
            return numbers[:, None], np.isnan(numbers)
        if self.kind == DATE:
            form = self.form
            if form is None and not is_date(cells.type):  # another format had a type of dates
                form = date_format(cells) or DATE_FORMATS[0]
            parts, wrong = date_parts(cells, form)
            written = form_in_words(form or DATE_FORMATS[0])
            self._refuse(wrong, cells, codes, f"is not a date written as {written}")
            missing = np.asarray(np.isnan(parts).any(axis=1))
            return parts[:, [NUMBERS_OF_DATE.index(part) for part in self.words]], missing
        missing = np.asarray(cells.is_null())
        if self.kind == ONE_HOT:
            return _indicators(cells, self.words), missing
        known = _known_flags(cells.drop_null().to_pylist()) if self.kind == FLAG else None
        if self.kind == ORDINAL:
            known = {word: float(k) for k, word in enumerate(self.words)}
        numbers = _looked_up(cells, known or {})
        what = "is neither yes nor no" if self.kind == FLAG else "is not " + ", ".join(self.words)
        self._refuse(np.isnan(numbers) & ~missing, cells, codes, what)
        return numbers[:, None], missing

    def _check_sign(
        self, sign: str | None, numbers: NDArray[np.float64], codes: NDArray[np.int64] | None
    ) -> None:
        """Refuse numbers with another sign than those of the training rows, or without a %."""
        problem = sign_problem(sign, (self.form or "").removesuffix(PARENTHESES))
        if problem is not None:
            raise BadCellError(_first(~np.isnan(numbers), codes), self.name, problem)

    def _refuse(
        self,
        wrong: NDArray[np.bool_],
        cells: Any,
        codes: NDArray[np.int64] | None,
        what: str,
        decimal: str = "",
    ) -> None:
        if wrong.any():
            row = _first(wrong, codes)
            word = shown(cells[row if codes is None else int(codes[row])])
            hint = hint_for_mark(word, decimal)
            if self.kind == NUMBER:
                hint += hint_for_dash(word.strip("'"))
            raise BadCellError(row, self.name, f"{what}: {word}{hint}")


def hint_for_mark(word: str, decimal: str) -> str:
    """Return that numbers have another mark before their decimals than those of the training.

    Parameters
    ----------
    word : str
        A cell in quotation marks.
    decimal : {".", ",", ""}
        The mark of the training table; "" where it has none.
    """
    other = {".": ",", ",": "."}.get(decimal)
    if other is None or not re.fullmatch(rf"'[+-]?[\d{decimal}]*[{other}]\d+'", word):
        return ""
    mark = {".": "points", ",": "commas"}[decimal]
    return f"; the training table has decimal {mark}: write those of other tables alike"


def _first(chosen: NDArray[np.bool_], codes: NDArray[np.int64] | None) -> int:
    """Return the first row that has one of the chosen cells."""
    return int(np.argmax(chosen if codes is None else chosen[codes]))


def _known_flags(words: Sequence[str]) -> dict[str, float] | None:
    """Return the number of each word for yes and no, also of 1 and 0, which mean the same."""
    numbers = {word: float(word) for word in words if word in ("0", "1", "0.0", "1.0")}
    others = [word for word in words if word not in numbers]
    known = flags_in(others) if others else {}
    return None if known is None else {**known, **numbers}


def _with_flags(
    column: Any, numbers: NDArray[np.float64], wrong: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return numbers in which words for yes and no are 1 and 0, and which cells are neither."""
    known = flags_in([word for word in column.drop_null().to_pylist() if word not in "01"])
    if known is None:
        return numbers, wrong
    looked_up = _looked_up(column, known)
    return np.where(wrong, looked_up, numbers), wrong & np.isnan(looked_up)


def shown(cell: Any) -> str:
    """Return a cell for a message."""
    return repr(str(cell.as_py()).strip()[:40])


def _positions(words: Any, known: list[str]) -> NDArray[np.int64]:
    """Return the position of each word in a list; -1 for others and for missing ones."""
    import pyarrow as pa
    import pyarrow.compute as pc

    found = pc.index_in(words, value_set=pa.array(known, pa.string()))
    valid = pc.if_else(pc.is_valid(words), found, pa.scalar(None, pa.int32()))
    return np.asarray(pc.fill_null(valid, -1).to_numpy(zero_copy_only=False), np.int64)


def _looked_up(words: Any, known: dict[str, float]) -> NDArray[np.float64]:
    """Return the number of each word; NaN for words without one."""
    values = np.array([*known.values(), np.nan])
    return np.asarray(values[_positions(words, list(known))])


def _number(word: str | None) -> float | None:
    try:
        return None if word is None else float(word)
    except ValueError:
        return None


def places_of_numbers(categories: Sequence[str]) -> dict[float, int]:
    """Return the place of each category by its number.

    It is empty where a category is no number, or two are the same one: then categories are words.
    """
    place = {_number(category): k for k, category in enumerate(categories)}
    if None in place or len(place) < len(categories):
        return {}
    return {number: k for number, k in place.items() if number is not None}


def _places_by_number(words: Any, categories: tuple[str, ...]) -> NDArray[np.int64]:
    """Return the place of each word's number among the categories; -1 where it has none."""
    place = places_of_numbers(categories)
    found = (None if not place else _number(word) for word in words.to_pylist())
    return np.array([-1 if one is None else place.get(one, -1) for one in found], np.int64)


def _indicators(words: Any, categories: tuple[str, ...]) -> NDArray[np.float64]:
    """Return a column for each category; a word that is none of them has zeros.

    Of categories that are numbers 1.0 is 1: pandas writes whole numbers so beside empty cells.
    """
    places = _positions(words, list(categories))
    if (places < 0).any():
        places = np.where(places < 0, _places_by_number(words, categories), places)
    found = np.zeros((len(places), len(categories)))
    rows = np.flatnonzero(places >= 0)
    found[rows, places[rows]] = 1.0
    return found
