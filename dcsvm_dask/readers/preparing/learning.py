"""Learning how columns become features from what their training rows hold."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dcsvm_dask.errors import InputError
from dcsvm_dask.readers.preparing.almost_numbers import refuse_almost_numbers
from dcsvm_dask.readers.preparing.cells import PARENTHESES, flags_in
from dcsvm_dask.readers.preparing.choices import Choices
from dcsvm_dask.readers.preparing.column_facts import ColumnFacts
from dcsvm_dask.readers.preparing.dates import DAYS, PARTS
from dcsvm_dask.readers.preparing.encoders import (
    DATE,
    FLAG,
    NUMBER,
    ONE_HOT,
    ORDINAL,
    BadCellError,
    Encoder,
)
from dcsvm_dask.readers.preparing.word_columns import choice_for, may_be_categories

MOST_CATEGORIES = 1000
"""Of a column that becomes a feature for each."""


def encoder_of(facts: ColumnFacts, choices: Choices) -> Encoder | None:
    """Return how a column becomes features; None: it is left out.

    Raises
    ------
    InputError, BadCellError
        If the choices leave open what to do with it.
    """
    name, fill = facts.name, choices.missing in ("median", "indicator")
    indicator = choices.missing == "indicator" and facts.n_missing > 0
    if choices.missing == "refuse":
        _refuse_missing(facts)
    if name in choices.ordinal:
        return _ordinal(facts, choices.ordinal[name], fill, indicator)
    if name in choices.one_hot:
        return _one_hot(facts, fill, indicator)
    if _holds_dates(facts):
        return _date(facts, choices.dates, fill, indicator)
    if not facts.n_wrong:
        return _number(facts, fill, indicator)
    flags = None if facts.has_many or facts.n_numbers else flags_in(list(facts.words))
    if flags is not None:
        usual = flags.get(facts.usual_word() or "") if fill else None
        return Encoder(name, FLAG, fill=usual, indicator=indicator)
    refuse_almost_numbers(facts, choices.decimal)
    if choices.auto and may_be_categories(facts):
        return _one_hot(facts, fill, indicator)
    raise InputError(f"the column {name!r} {choice_for(facts, auto=choices.auto)}")


def _refuse_missing(facts: ColumnFacts) -> None:
    if facts.first_missing is not None:
        raise BadCellError(
            facts.first_missing,
            facts.name,
            f"is empty, as {facts.n_missing:,} of the training rows are there; fill in or drop "
            "such rows, or give --missing drop, median or indicator, or --drop the column",
        )


def _holds_dates(facts: ColumnFacts) -> bool:
    in_words = facts.dates.form is not None and not facts.n_numbers
    return in_words or facts.typed_date or facts.dates.odd is not None


def _date(facts: ColumnFacts, dates: str | None, fill: bool, indicator: bool) -> Encoder | None:
    if dates == "drop":
        return None
    if facts.dates.odd is not None:
        raise BadCellError(facts.dates.odd[0], facts.name, facts.dates.odd[1])
    if dates is None:
        sample = "" if facts.typed_date else f", such as {next(iter(facts.words))!r}"
        raise InputError(
            f"the column {facts.name!r} holds dates{sample}; give --dates parts (year, month, day, "
            "weekday, hour as numbers), --dates days (since 1970) or --dates drop"
        )
    parts: tuple[str, ...] = PARTS if facts.hours else PARTS[:-1]
    if dates == DAYS:
        parts = (DAYS,)
    middle = facts.median_date(parts) if fill else None
    return Encoder(facts.name, DATE, parts, facts.dates.form, middle, indicator)


def _number(facts: ColumnFacts, fill: bool, indicator: bool) -> Encoder:
    if len(facts.signs) > 1:
        raise InputError(
            f"the column {facts.name!r} holds numbers with {max(facts.signs)} and without: write "
            f"all in one way, or --drop {facts.option_name}"
        )
    sign = max(facts.signs, default="")
    if 0 < facts.n_numbers == facts.n_listed and not sign:
        raise InputError(
            f"every cell of the column {facts.name!r} is in parentheses, which makes numbers "
            f"negative: give --one-hot {facts.option_name} where these are categories, or write a "
            "minus"
        )
    form = (sign + PARENTHESES if facts.n_parentheses else sign) or None
    median = facts.median() if fill else None
    return Encoder(facts.name, NUMBER, form=form, fill=median, indicator=indicator)


def _one_hot(facts: ColumnFacts, fill: bool, indicator: bool) -> Encoder:
    if facts.has_many or len(facts.words) > MOST_CATEGORIES:
        raise InputError(
            f"the column {facts.name!r} has {facts.n_categories}, more than {MOST_CATEGORIES:,}, "
            f"the most that one-hot makes features of; --drop {facts.option_name}, or join rare "
            "ones"
        )
    usual = None if indicator or not fill else facts.usual_word()
    return Encoder(facts.name, ONE_HOT, tuple(sorted(facts.words)), None, usual, indicator)


def _ordinal(facts: ColumnFacts, levels: tuple[str, ...], fill: bool, indicator: bool) -> Encoder:
    others = sorted(set(facts.words) - set(levels))
    if others:
        raise InputError(
            f"the column {facts.name!r} has the word {others[0]!r}, which --ordinal "
            f"{facts.option_name}:{'<'.join(levels)} does not name"
        )
    middle = None
    if fill:
        codes = np.repeat(np.arange(len(levels)), [facts.words[word] for word in levels])
        middle = float(np.median(codes)) if len(codes) else 0.0
    return Encoder(facts.name, ORDINAL, levels, None, middle, indicator)


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
