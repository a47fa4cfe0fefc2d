"""Learning a preparation of columns from training rows."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.errors import InputError
from dcsvm_dask.readers.memory import check_bound
from dcsvm_dask.readers.preparing.cells import (
    PARENTHESES,
    doubtful_comma,
    flags_in,
    hint_for_dash,
    in_parentheses,
    is_date,
    is_text,
    missing_of,
    numbers_of,
    with_minus,
)
from dcsvm_dask.readers.preparing.choices import Choices
from dcsvm_dask.readers.preparing.date_forms import DateForms
from dcsvm_dask.readers.preparing.dates import DAYS, NUMBERS_OF_DATE, PARTS, date_parts
from dcsvm_dask.readers.preparing.encoders import (
    DATE,
    FLAG,
    NUMBER,
    ONE_HOT,
    ORDINAL,
    BadCellError,
    Encoder,
    shown,
)
from dcsvm_dask.readers.preparing.words import different

MOST_CATEGORIES = 1000
"""Of a column that becomes a feature for each."""
MANY_CATEGORIES = 50
"""Above it "auto" leaves the choice to the user."""
_COMMA = re.compile(r"[+-]?(\d*|\d{1,3}([. '\u2019\u00a0\u202f]\d{3})+)(,\d+)?([eE][+-]?\d+)?")
"""Numbers whose comma begins the decimals, as --decimal , reads them."""
HEADER_AGAIN = "is the name of the column again; leave out lines that repeat the header"
_GROUPED = re.compile(r"\W*[1-9]\d{0,2}(,\d{3})+\W*")
"""Numbers whose commas may be between thousands."""
_DOTTED = re.compile(r"\d+(\.\d+){2,}")
"""Addresses and versions, such as 192.168.0.12, which are no numbers."""
_POINT = re.compile(r"'[+-]?(\d*|\d{1,3}(,\d{3})+)\.\d+'")
_EITHER_MARK = re.compile(r"[+-]?[\d.,]+")
_CLEAR_POINT = r",.*\.|\.(\d{1,2}|\d{4,})$|^[+-]?0?\.\d+$"
"""In numbers whose dot begins the decimals and separates no thousands."""
_SIGNS = re.compile(r"[$€£¥]?\s?[+-]?\d[\d.,'\u2019\u00a0\u202f ]*\s?[%$€£¥°]?")
"""Numbers with signs of currencies, per cent, or between thousands."""
_UNITS = re.compile(_SIGNS.pattern + r"\s?[^\W\d_]{0,4}")
"""Those, or numbers with a unit; some codes look like these."""
_DATES = re.compile(r"\d{1,4}([-/. ])(\d{1,2}|[A-Za-z]{3,9})\1\d{1,4}\b.*")
"""What looks like dates, perhaps with times."""
_DECIMAL = re.compile(r"[+-]?\d*\.\d+")
MANY_DECIMALS = 10
"""Distinct decimals from which on a column is one of numbers, whatever else it holds."""
_TIMES = re.compile(r"(-?\d+ days?,? )?[+-]?\d{1,3}:\d{2}(:\d{2}([.,]\d+)?)?(\s?[AaPp]\.?[Mm]\.?)?")
"""Times of the day and durations, such as 1 days 02:00:00."""
_MONTH = (
    "(jan(uary)?|feb(ruary)?|mar(ch)?|apr(il)?|may|june?|july?|aug(ust)?|sept?(ember)?|oct(ober)?|"
    "nov(ember)?|dec(ember)?)"
)
_BY_MONTH = re.compile(
    rf"\d{{1,2}}[- ]?{_MONTH}[- ]?\d{{2,4}}([: ]\d.*)?|{_MONTH}[- ']?\d{{2,4}}",
    re.IGNORECASE,
)
"""Dates of forms that are not read: 01JAN2024, as SAS writes them, and Jan-24, as Excel does."""
MOST_WORDS = 100_000
"""Distinct words of a column that are counted."""
SMALL_NUMBER = 100
"""Whole numbers below this, in parentheses, may be categories where a column has nothing else."""


class ColumnFacts:
    """What the training rows say of a column, collected batch by batch.

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


def encoder_of(facts: ColumnFacts, choices: Choices) -> Encoder | None:
    """Return how a column becomes features; None: it is left out.

    Raises
    ------
    InputError, BadCellError
        If the choices do not say what to do with it.
    """
    name, fill, shows = facts.name, choices.missing in ("median", "indicator"), False
    shows = choices.missing == "indicator" and facts.n_missing > 0
    if facts.n_missing and choices.missing == "refuse":
        assert facts.first_missing is not None
        raise BadCellError(
            facts.first_missing,
            name,
            f"is empty, as {facts.n_missing:,} of the training rows are there; fill in or drop "
            "such rows, or give --missing drop, median or indicator, or --drop the column",
        )
    if name in choices.ordinal:
        return _ordinal(facts, choices.ordinal[name], fill, shows)
    if name in choices.one_hot:
        return _one_hot(facts, fill, shows)
    if facts.dates.odd is not None and choices.dates != "drop":
        raise BadCellError(facts.dates.odd[0], name, facts.dates.odd[1])
    is_dates = facts.dates.form is not None and not facts.n_numbers
    if is_dates or facts.typed_date or facts.dates.odd is not None:
        if choices.dates == "drop":
            return None
        if choices.dates is None:
            sample = "" if facts.typed_date else f", such as {next(iter(facts.words))!r}"
            raise InputError(
                f"the column {name!r} holds dates{sample}; give --dates parts (year, month, day, "
                "weekday, hour as numbers), --dates days (since 1970) or --dates drop"
            )
        parts: tuple[str, ...] = PARTS if facts.hours else PARTS[:-1]
        if choices.dates == DAYS:
            parts = (DAYS,)
        middle = facts.median_date(parts) if fill else None
        return Encoder(name, DATE, parts, facts.dates.form, middle, shows)
    if not facts.n_wrong:
        if len(facts.signs) > 1:
            raise InputError(
                f"the column {name!r} holds numbers with {max(facts.signs)} and without: write all "
                f"in one way, or --drop {_quoted(name)}"
            )
        sign = max(facts.signs, default="")
        if 0 < facts.n_numbers == facts.n_listed and not sign:
            raise InputError(
                f"every cell of the column {name!r} is in parentheses, which makes numbers "
                f"negative: give --one-hot {_quoted(name)} where these are categories, or write a "
                "minus"
            )
        form = (sign + PARENTHESES if facts.n_parentheses else sign) or None
        median = facts.median() if fill else None
        return Encoder(name, NUMBER, form=form, fill=median, indicator=shows)
    flags = None if facts.has_many or facts.n_numbers else flags_in(list(facts.words))
    if flags is not None:
        usual = flags.get(facts.usual_word() or "") if fill else None
        return Encoder(name, FLAG, fill=usual, indicator=shows)
    assert facts.first_wrong is not None
    row, word = facts.first_wrong
    if choices.decimal == "," and _POINT.fullmatch(word):
        problem = f"is not a number: {word}; with --decimal , a dot separates thousands: "
        raise BadCellError(row, name, f"{problem}write all decimals with the same mark")
    grouped = "," in word or word.count(".") > 1
    commas = grouped and all(_COMMA.fullmatch(one) for one in facts.words)
    mixed = grouped and facts.point is not None and bool(_COMMA.fullmatch(word.strip("'")))
    numeric = mixed and all(_EITHER_MARK.fullmatch(one) for one in facts.words)
    clear = commas or facts.point is not None or choices.decimal == ","
    comma = None if clear else _with_comma(facts.words)
    if comma is not None:
        raise InputError(
            f"the column {name!r} holds numbers with decimal commas, such as {comma!r}"
            f"{_beside(facts.words)}: give "
            f"--decimal , (in Python decimal=','), or --one-hot {_quoted(name)} where these are "
            "categories"
        )
    # Beside words (1) may be a word, too.
    mostly = facts.n_numbers - facts.n_parentheses >= facts.n_wrong
    if mostly or commas or numeric or _has_decimals(facts):
        if word == repr(name):
            raise BadCellError(row, name, HEADER_AGAIN)
        hint = ""
        flags = flags_in([one for one in facts.words if not any(map(str.isdigit, one))])
        if flags is not None:
            hint = "; write yes and no as 1 and 0 in all rows"
        elif mixed:
            hint = f"; the column has {facts.point}, too: write all decimals with the same mark"
        elif dash := hint_for_dash(word.strip("'")):
            hint = dash
        elif commas:
            hint = "; give --decimal , where a comma begins the decimals"
        elif any(map(str.isdigit, word)):
            hint = (
                "; write it as a number, or where such cells are categories give --one-hot "
                f"{_quoted(name)}"
            )
        is_value = flags is not None or commas or any(map(str.isdigit, word))
        words = () if is_value else tuple(facts.words)
        raise BadCellError(row, name, f"is not a number: {word}{hint}", words)
    dotted = all(map(_DOTTED.fullmatch, facts.words))
    signed = not dotted and all(map(_SIGNS.fullmatch, facts.words))
    few = not facts.has_many and len(facts.words) <= MANY_CATEGORIES
    other = signed or _are_times(facts.words) or _are_months(facts.words)
    if choices.auto and few and not other:
        return _one_hot(facts, fill, shows)
    units = not dotted and all(map(_UNITS.fullmatch, facts.words))
    raise InputError(f"the column {name!r} {_needs(facts, numeric=signed or units)}")


def _has_decimals(facts: ColumnFacts) -> bool:
    """Return whether most words of a column are decimals, whatever word most of its cells have."""
    decimals = sum(map(bool, map(_DECIMAL.fullmatch, facts.words)))
    return decimals >= MANY_DECIMALS and decimals >= 0.8 * len(facts.words)


def _with_comma(words: Iterable[str]) -> str | None:
    """Return a number with a decimal comma, if most of some words are such, perhaps with a sign."""
    import pyarrow as pa

    every = list(words)
    numbers, _, _ = numbers_of(pa.array(every, pa.string()), ",")
    found = [word for word, number in zip(every, numbers, strict=True) if not np.isnan(number)]
    decimal = [word for word in found if "," in word]
    if all(map(_GROUPED.fullmatch, decimal)):  # these may be commas between thousands
        return None
    return decimal[0] if decimal and 2 * len(found) > len(every) else None


def _beside(words: Iterable[str]) -> str:
    """Return that a column has words, too, beside numbers with decimal commas; else ""."""
    import pyarrow as pa

    every = pa.array(list(words), pa.string())
    others = every.filter(pa.array(numbers_of(every, ",")[1]))
    return f", beside words, such as {shown(others[0])}" if len(others) else ""


def _are_times(words: Iterable[str]) -> bool:
    return all(map(_TIMES.fullmatch, words))


def _are_months(words: Iterable[str]) -> bool:
    return all(map(_BY_MONTH.fullmatch, words))


def _needs(facts: ColumnFacts, *, numeric: bool) -> str:
    """Return what a column of words holds, and what must be chosen for it."""
    name, sample = _quoted(facts.name), repr(next(iter(facts.words))[:40])
    if numeric:
        return (
            f"holds numbers with signs or units, such as {sample}: write them as plain numbers, or "
            f"give --drop {name}, or where they are categories --one-hot {name}"
        )
    held = f"{_counted(facts)}, such as {sample}"
    if _are_times(facts.words):
        return (
            f"holds times or durations without a date ({held}), which are not read: write them as "
            f"numbers, such as minutes, or give --drop {name}, or where they are categories "
            f"--one-hot {name}"
        )
    if all(map(_DATES.fullmatch, facts.words)) or _are_months(facts.words):
        return (
            f"holds what may be dates, of a form that is not read ({held}): write them as "
            "2024-01-31 or 2024-01-31 15:00:00 and give --dates parts, or give "
            f"--drop {name}, or where they are categories --one-hot {name}"
        )
    if facts.has_many or len(facts.words) > MANY_CATEGORIES:
        return (
            f"holds words ({held}): give --drop {name}, or --one-hot {name} (a feature for each), "
            f"or --ordinal {name}:low<mid<high"
        )
    return (
        f"holds words ({held}): give --one-hot {name} (a feature for each), --ordinal "
        f"{name}:low<mid<high, or --drop {name}"
    )


def refuse_unknown(name: str, choices: Choices, features: Sequence[str]) -> None:
    """Refuse choices for columns that are no features.

    Raises
    ------
    InputError
    """
    for column in choices.named:
        if column not in features:
            known = ", ".join(features[:20])
            raise InputError(f"{name}: no feature {column!r}; there are: {known}")


def check_kept(facts: Sequence[ColumnFacts], name: str) -> None:
    """Refuse numbers that are kept for their medians and exceed the memory bound.

    Raises
    ------
    InputError
    """
    check_bound(2 * sum(one.nbytes for one in facts), name, "the medians of its columns")


def _one_hot(facts: ColumnFacts, fill: bool, shows: bool) -> Encoder:
    if facts.has_many or len(facts.words) > MOST_CATEGORIES:
        raise InputError(
            f"the column {facts.name!r} has {_counted(facts)}, more than {MOST_CATEGORIES:,}, the "
            f"most that one-hot makes features of; --drop {_quoted(facts.name)}, or join rare ones"
        )
    usual = None if shows or not fill else facts.usual_word()
    return Encoder(facts.name, ONE_HOT, tuple(sorted(facts.words)), None, usual, shows)


def _ordinal(facts: ColumnFacts, levels: tuple[str, ...], fill: bool, shows: bool) -> Encoder:
    others = sorted(set(facts.words) - set(levels))
    if others:
        raise InputError(
            f"the column {facts.name!r} has the word {others[0]!r}, which --ordinal "
            f"{_quoted(facts.name)}:{'<'.join(levels)} does not name"
        )
    middle = None
    if fill:
        codes = np.repeat(np.arange(len(levels)), [facts.words[word] for word in levels])
        middle = float(np.median(codes)) if len(codes) else 0.0
    return Encoder(facts.name, ORDINAL, levels, None, middle, shows)


def _counted(facts: ColumnFacts) -> str:
    many = f"over {MOST_WORDS:,}" if facts.has_many else f"{len(facts.words):,}"
    return f"{many} categories"


def _quoted(name: str) -> str:
    return f"'{name}'" if " " in name else name
