"""Columns of a table that may mean something else than what they were read as."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from dcsvm_dask.readers.preparing.cells import (
    DASHES,
    doubtful_comma,
    hint_for_words,
    is_number,
    is_text,
    numbers_of,
)
from dcsvm_dask.readers.preparing.column_facts import ColumnFacts
from dcsvm_dask.readers.preparing.dates import are_dates, form_in_words
from dcsvm_dask.readers.preparing.encoders import DATE, NUMBER, ONE_HOT, ORDINAL, Encoder
from dcsvm_dask.readers.preparing.words import different

NA = "NA"
NA_SHARE = 0.05
"""Share of cells from which on NA may be a category."""
_QUANTITY = re.compile(r"[<>~]?\s?[+-]?\d+([.,]\d+)?(\s?/\s?\d+|\s?[^\W\d_]{1,5}[²³]?)")
"""Numbers with a unit, and fractions."""
_WHOLE = re.compile(r"[+-]?\d+([.,]\d+)?")
_YEARS = re.compile(r"(\d{4})[/\u2013-](\d\d|\d{4})")
"""School years and others that begin within a year, such as 2019/20."""
LEAST_QUANTITIES = 8
"""Different ones from which on these are hardly categories."""
SHOWN = 3
"""Groups of words that a message names."""


class NaCells:
    """Counts the cells of each column that are the word NA.

    Parameters
    ----------
    names : sequence of str
        The columns.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._n_rows = 0
        self._counts = dict.fromkeys(names, 0)

    def update(self, batch: Sequence[Any]) -> None:
        """Add the cells of a batch, a `pyarrow.Array` for each column."""
        import pyarrow.compute as pc

        self._n_rows += len(batch[0])
        for name, column in zip(self._counts, batch, strict=True):
            if is_text(column.type):
                words, _, counts = different(column)
                trimmed = pc.utf8_trim_whitespace(words)
                is_na = np.asarray(pc.fill_null(pc.equal(trimmed, NA), False))
                self._counts[name] += int(counts[is_na].sum())

    def share(self, name: str) -> float:
        """Return the share of a column's cells that are the word NA."""
        return self._counts[name] / max(1, self._n_rows)


def doubts(
    facts: Sequence[ColumnFacts],
    encoders: Sequence[Encoder],
    na: NaCells | None,
    *,
    comma_separated: bool,
) -> list[str]:
    """Return a sentence for each doubt about what columns became.

    Parameters
    ----------
    facts : sequence of ColumnFacts
        Of all columns.
    encoders : sequence of Encoder
        Of those that are features.
    na : NaCells or None
        None: the user gives the words of missing cells.
    comma_separated : bool
        Whether commas separate the cells, so that those within are hardly marks of decimals.
    """
    known = {one.name: one for one in facts}
    found = [
        text
        for encoder in encoders
        for text in (
            _alike(encoder),
            _of_years(encoder, known[encoder.name]) or _of_units(encoder, known[encoder.name]),
            _of_dates(encoder, known[encoder.name]),
            _of_na(encoder, na),
            _of_dashes(encoder),
            None if comma_separated else _of_commas(encoder, known[encoder.name]),
        )
    ]
    return [text for text in found if text is not None]


def spelled_alike(words: Iterable[Any]) -> str | None:
    """Return the words that differ only by case, blanks or Unicode form, for a message.

    An accented letter is one code point or two, and looks the same, as a word does with a space of
    no width. None without any such words.
    """
    groups = defaultdict(list)
    for word in words:
        if isinstance(word, str):
            groups["".join(_seen(word).split()).casefold()].append(word)
    alike = [" and ".join(_distinguished(group)) for group in groups.values() if group[1:]]
    more = f" and {len(alike) - SHOWN:,} more" if len(alike) > SHOWN else ""
    return ", ".join(alike[:SHOWN]) + more if alike else None


def _distinguished(words: Sequence[str]) -> list[str]:
    """Return words for a message, with escapes where they would look the same."""
    same = len({_seen(word) for word in words}) < len(words)
    return [ascii(word) if same else repr(word) for word in sorted(words)]


def _seen(word: str) -> str:
    """Return a word as it is seen: accents as one code point, without characters of no width."""
    composed = unicodedata.normalize("NFC", word)
    return "".join(letter for letter in composed if unicodedata.category(letter) != "Cf")


def _alike(encoder: Encoder) -> str | None:
    alike = spelled_alike(encoder.words) if encoder.kind == ONE_HOT else None
    if alike is None:
        return None
    return (
        f"the column {encoder.name!r} has categories that differ only by case, blanks or Unicode "
        f"form: {alike}; write them alike where they mean the same"
    )


def _of_units(encoder: Encoder, facts: ColumnFacts) -> str | None:
    """Return that categories are numbers with units, or fractions; None where they are not.

    The user may have declared them categories.
    """
    words = encoder.words
    if encoder.kind != ONE_HOT or facts.as_words or len(words) < LEAST_QUANTITIES:
        return None
    numbers = {re.sub(r"[^\d.,/]", "", word) for word in words}
    with_unit = [word for word in words if _QUANTITY.fullmatch(word)]
    others = set(words).difference(with_unit)  # 500 beside 1.2k
    if 2 * min(len(numbers), len(with_unit)) < len(words):
        return None
    if not all(map(_WHOLE.fullmatch, others)):
        return None
    return (
        f"the categories of the column {encoder.name!r}, such as {with_unit[0]!r}, are "
        f"{len(words):,} numbers with units or fractions, of which no order is learned; write them "
        "as plain numbers of one unit where they are quantities"
    )


def _of_years(encoder: Encoder, facts: ColumnFacts) -> str | None:
    """Return that categories are years; None where they are not, or are to be categories."""
    found = [_YEARS.fullmatch(word) for word in encoder.words]
    if encoder.kind != ONE_HOT or facts.as_words or not found or None in found:
        return None
    ends = [(int(one[1]) + 1, one[2]) for one in found if one is not None]
    if not all(str(year).endswith(end) for year, end in ends):
        return None
    return (
        f"the categories of the column {encoder.name!r}, such as {encoder.words[0]!r}, are "
        "years, of which no order is learned, and later years are none of them; write the year "
        f"that each begins in, such as {encoder.words[0][:4]}, where their order matters"
    )


def _of_dates(encoder: Encoder, facts: ColumnFacts) -> str | None:
    """Return that day and month may be the other way round, where all dates could be both."""
    import pyarrow as pa

    form = encoder.form
    if encoder.kind != DATE or form is None or facts.has_many or "." in form:
        return None  # dates with dots begin with the day everywhere
    days = [form.lower().find(letter) for letter in ("%d", "%m", "%y")]
    if -1 in days or days[2] < max(days[:2]):  # a date that begins with the year is clear
        return None
    other = form.translate(str.maketrans("dm", "md"))
    if not are_dates(pa.array(list(facts.words), pa.string()), other).all():
        return None
    return (
        f"the dates of the column {encoder.name!r}, such as {next(iter(facts.words))!r}, are read "
        f"as {form_in_words(form)}, but all could be {form_in_words(other)}, too; write them as "
        "year-month-day where that is meant"
    )


def _of_commas(encoder: Encoder, facts: ColumnFacts) -> str | None:
    if encoder.kind != NUMBER or facts.comma_is_clear or facts.comma is None:
        return None
    return of_commas(encoder.name, facts.comma)


def of_commas(name: str, sample: str) -> str:
    """Return that the commas in the numbers of a column may begin the decimals."""
    return (
        f"the numbers of the column {name!r} with a comma, such as {sample!r}, all "
        "have three digits after it; they are read as thousands: where a comma begins the "
        "decimals, give --decimal , (in Python decimal=',')"
    )


class LaterCommas:
    """Looks for numbers of later rows whose commas may begin the decimals.

    Parameters
    ----------
    encoders : sequence of Encoder
        Of the columns that are looked at.
    """

    def __init__(self, encoders: Sequence[Encoder]) -> None:
        self._places = [k for k, one in enumerate(encoders) if one.kind == NUMBER]
        self._names = [one.name for one in encoders]
        self._samples: dict[int, str] = {}
        self._clear: set[int] = set()

    def update(self, columns: Sequence[Any]) -> None:
        """Add cells of all columns."""
        for k in self._places:
            if k not in self._clear and is_text(columns[k].type):
                sample, is_clear = doubtful_comma(different(columns[k])[0])
                if is_clear:
                    self._clear.add(k)
                elif sample is not None:
                    self._samples.setdefault(k, sample)

    def doubts(self) -> list[str]:
        """Return a sentence for each column of whose numbers none shows what its commas mean."""
        return [
            f"the numbers of the column {self._names[k]!r} with a comma, such as {sample!r}, all "
            "have three digits after it; they are read as thousands: where a comma begins the "
            "decimals, write a point there, as in the training table"
            for k, sample in self._samples.items()
            if k not in self._clear
        ]


class LaterShares:
    """Looks for later numbers that may be shares of 1, where the training table had per cent.

    Parameters
    ----------
    encoders : sequence of Encoder
        Of the columns that are looked at.
    """

    def __init__(self, encoders: Sequence[Encoder]) -> None:
        self._names = {k: one.name for k, one in enumerate(encoders) if _is_per_cent(one)}
        self._largest = dict.fromkeys(self._names, 0.0)

    def update(self, columns: Sequence[Any]) -> None:
        """Add cells of all columns; those of text have a sign, or are refused."""
        for k in self._names:
            if is_number(columns[k].type):
                numbers = np.abs(numbers_of(columns[k], ".")[0])
                self._largest[k] = float(np.nanmax(numbers, initial=self._largest[k]))

    def doubts(self) -> list[str]:
        """Return a sentence for each column whose numbers are all at most 1."""
        return [
            f"the numbers of the column {self._names[k]!r} are at most {largest:g}, and those of "
            "the training table had %: multiply them by 100 where they are shares of 1"
            for k, largest in self._largest.items()
            if 0.0 < largest <= 1.0
        ]


def _is_per_cent(encoder: Encoder) -> bool:
    return encoder.kind == NUMBER and (encoder.form or "").startswith("%")


def _of_na(encoder: Encoder, na: NaCells | None) -> str | None:
    share = 0.0 if na is None else na.share(encoder.name)
    # With an indicator it is a category: the feature that marks empty cells.
    if encoder.kind not in (ONE_HOT, ORDINAL) or encoder.indicator or share <= NA_SHARE:
        return None
    return (
        f"NA stands in {share:.0%} of the cells of the column {encoder.name!r} and is read as an "
        "empty cell; where it is a category, name the words of empty cells without it: "
        '--missing-words WORD,..., or "" for none (in Python missing_words=[])'
    )


def _of_dashes(encoder: Encoder) -> str | None:
    """Return that a category is a dash, which stands in empty cells of many tables."""
    found = [word for word in encoder.words if word in DASHES] if encoder.kind == ONE_HOT else []
    if not found:
        return None
    return (
        f"the column {encoder.name!r} has the category {found[0]!r} (U+{ord(found[0]):04X})"
        f"{hint_for_words(found)}"
    )
