"""Columns of words: which may be categories, and what is to be chosen for the others."""

from __future__ import annotations

import re
from collections.abc import Iterable

from dcsvm_dask.readers.preparing.column_facts import ColumnFacts

MANY_CATEGORIES = 50
"""Above it "auto" leaves the choice to the user."""
_DOTTED = re.compile(r"\d+(\.\d+){2,}")
"""Addresses and versions, such as 192.168.0.12, which are no numbers."""
_SIGNS = re.compile(r"[$€£¥]?\s?[+-]?\d[\d.,'\u2019\u00a0\u202f ]*\s?[%$€£¥°]?")
"""Numbers with signs of currencies, per cent, or between thousands."""
_PLAIN = re.compile(r"[+-]?[\d.]+")
_UNITS = re.compile(_SIGNS.pattern + r"\s?[^\W\d_]{0,4}")
"""Those, or numbers with a unit; some codes look like these."""
_DATES = re.compile(r"\d{1,4}([-/. ])(\d{1,2}|[A-Za-z]{3,9})\1\d{1,4}\b.*")
"""What looks like dates, perhaps with times."""
_TIMES = re.compile(r"(-?\d+ days?,? )?[+-]?\d{1,3}:\d{2}(:\d{2}([.,]\d+)?)?(\s?[AaPp]\.?[Mm]\.?)?")
"""Times of the day and durations, such as 1 days 02:00:00."""
_MONTH = (
    "(jan(uary)?|feb(ruary)?|mar(ch)?|apr(il)?|may|june?|july?|aug(ust)?|sept?(ember)?|oct(ober)?|"
    "nov(ember)?|dec(ember)?)"
)
_BY_MONTH = re.compile(
    rf"\d{{1,2}}[- ]?{_MONTH}[- ]?\d{{2,4}}([: ]\d.*)?|{_MONTH}[- ']?\d{{2,4}}|"
    r"(19|20)\d\d([-/](0[1-9]|1[0-2])|[- ]?Q[1-4]|-?W[0-5]\d)",
    re.IGNORECASE,
)
"""Dates of forms that are not read: 01JAN2024, as SAS writes them, Jan-24, as Excel does, and
months, quarters and weeks such as 2024-01, 2024Q1 and 2024-W05."""


def may_be_categories(facts: ColumnFacts) -> bool:
    """Return whether few words of a column stand for nothing else, such as amounts or dates."""
    few = not facts.has_many and len(facts.words) <= MANY_CATEGORIES
    other = _are_almost_numbers(facts.words, _SIGNS)
    other = other or _are_times(facts.words) or _are_months(facts.words)
    return few and not other


def choice_for(facts: ColumnFacts, *, auto: bool = False) -> str:
    """Return what a column of words holds, and what must be chosen for it.

    Parameters
    ----------
    facts : ColumnFacts
    auto : bool, default False
        Whether all columns of few words are one-hot, which this one is not.
    """
    name, sample = facts.option_name, repr(next(iter(facts.words))[:40])
    hot = f"{name},auto" if auto else name
    if _are_almost_numbers(facts.words, _UNITS):
        marked = next((one for one in facts.words if not _PLAIN.fullmatch(one)), sample[1:-1])
        return (
            f"holds numbers with signs or units, such as {marked[:40]!r}: write them as plain "
            f"numbers, or give --drop {name}, or where they are categories --one-hot {hot}"
        )
    found = f"{facts.n_categories}, such as {sample}"
    if _are_times(facts.words):
        return (
            f"holds times or durations without a date ({found}), which are not read: write them as "
            f"numbers, such as minutes, or give --drop {name}, or where they are categories "
            f"--one-hot {hot}"
        )
    if all(map(_DATES.fullmatch, facts.words)) or _are_months(facts.words):
        return (
            f"holds what may be dates, of a form that is not read ({found}): write them as "
            "2024-01-31 or 2024-01-31 15:00:00 and give --dates parts, or give "
            f"--drop {name}, or where they are categories --one-hot {hot}"
        )
    if facts.has_many or len(facts.words) > MANY_CATEGORIES:
        return (
            f"holds words ({found}): give --drop {name}, or --one-hot {hot} (a feature for each), "
            f"or --ordinal {name}:low<mid<high"
        )
    return (
        f"holds words ({found}): give --one-hot {hot} (a feature for each), --ordinal "
        f"{name}:low<mid<high, or --drop {name}"
    )


def _are_almost_numbers(words: Iterable[str], form: re.Pattern[str]) -> bool:
    return all(map(form.fullmatch, words)) and not all(map(_DOTTED.fullmatch, words))


def _are_times(words: Iterable[str]) -> bool:
    return all(map(_TIMES.fullmatch, words))


def _are_months(words: Iterable[str]) -> bool:
    return all(map(_BY_MONTH.fullmatch, words))
