"""What a user chooses to be done with the columns of a table."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dcsvm_dask.errors import InputError

AUTO = "auto"
MISSING = ("refuse", "drop", "median", "indicator")
DATES = ("drop", "parts", "days")
DECIMALS = (".", ",")


@dataclass(frozen=True)
class Choices:
    """Choices of a user for the columns of a training table; see `dcsvm_dask.ingest`.

    Attributes
    ----------
    columns : tuple of str
        The features; empty: all columns but the label and those that are dropped.
    one_hot : tuple of str
        Columns that become a feature for each category.
    auto : bool
        Whether all other columns of up to 50 words do, too.
    ordinal : dict of str to tuple of str
        Columns of ordered words, with the words from low to high.
    missing : {"refuse", "drop", "median", "indicator"}
    dates : {"drop", "parts", "days"} or None
        None: a column of dates is refused.
    decimal : {".", ","}
    missing_words : tuple of str or None
        Words that mean a missing cell, beside an empty one; None: the usual ones.
    not_plain : bool
        Whether a text is known to have other cells than plain numbers, although its beginning has
        not. No choice of users.
    """

    columns: tuple[str, ...] = ()
    one_hot: tuple[str, ...] = ()
    auto: bool = False
    ordinal: dict[str, tuple[str, ...]] = field(default_factory=dict)
    missing: str = "refuse"
    dates: str | None = None
    decimal: str = "."
    missing_words: tuple[str, ...] | None = None
    not_plain: bool = False

    @property
    def given(self) -> dict[str, Any]:
        """The choices that are not the usual ones, by the names that users give them."""
        usual, found = Choices(), dict[str, Any]()
        for name, value in vars(self).items():
            if value != getattr(usual, name):
                found["one_hot" if name == "auto" else name] = value
        return found

    @classmethod
    def of(
        cls,
        columns: Any = (),
        one_hot: Any = (),
        ordinal: Any = None,
        missing: Any = "refuse",
        dates: Any = None,
        decimal: Any = ".",
        missing_words: Any = None,
    ) -> Choices:
        """Return checked choices.

        Raises
        ------
        InputError
            If one is impossible.
        """
        for word, value, known in (
            ("missing", missing, MISSING),
            ("dates", dates, (None, *DATES)),
            ("decimal", decimal, DECIMALS),
        ):
            if value not in known:
                named = ", ".join(repr(one) for one in known if one is not None)
                raise InputError(f"{word} must be one of {named}, got {value!r:.80}")
        hot = (AUTO,) if one_hot == AUTO else _names("one_hot", one_hot)
        found = cls(
            _names("columns", columns),
            tuple(name for name in hot if name != AUTO),
            AUTO in hot,
            _levels(ordinal),
            missing,
            dates,
            decimal,
            _words(missing_words),
        )
        both = set(found.one_hot) & set(found.ordinal)
        if both:
            raise InputError(f"{min(both)}: is named by one_hot and by ordinal; choose one")
        return found

    @property
    def named(self) -> tuple[str, ...]:
        """The columns that one_hot and ordinal name."""
        return (*self.one_hot, *self.ordinal)


def parse_names(text: str) -> tuple[str, ...]:
    """Return the names of a comma-separated list; a name with a comma stands in quotes."""
    parts = next(csv.reader([text], skipinitialspace=True), [])
    return tuple(part.strip() for part in parts if part.strip())


def parse_ordinal(texts: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the ordered words of columns that were given as ``COL:low<mid<high``.

    Raises
    ------
    InputError
        If one is of another form.
    """
    found = {}
    for text in texts:
        name, colon, order = text.rpartition(":")
        words = tuple(word.strip() for word in order.split("<"))
        if not (colon and name):
            raise InputError(f"ordinal must be COL:low<mid<high, got {text!r:.80}")
        found[name.strip()] = words
    return found


def _names(word: str, given: Any) -> tuple[str, ...]:
    if isinstance(given, str) or not isinstance(given, Sequence):
        more = ' or "auto"' if word == "one_hot" else ""
        raise InputError(f"{word} must be a list of names of columns{more}, got {given!r:.80}")
    if not all(isinstance(name, str) for name in given):
        raise InputError(f"{word} must be a list of names of columns, got {given!r:.80}")
    return tuple(given)


def _words(given: Any) -> tuple[str, ...] | None:
    """Return the words of missing cells; an empty cell is one without being named."""
    if given is None:
        return None
    if isinstance(given, str) or not all(isinstance(word, str) for word in given):
        raise InputError(f"missing_words must be a list of words, got {given!r:.80}")
    return tuple(sorted({word.strip() for word in given} - {""}))


def _levels(given: Any) -> dict[str, tuple[str, ...]]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise InputError(
            "ordinal must be a table of columns with their words from low to high, "
            f"got {given!r:.80}"
        )
    found = {}
    for name, words in given.items():
        if isinstance(words, str) or not isinstance(words, Sequence):
            words = (words,)
        levels = tuple(str(word) for word in words)
        if len(levels) < 2 or len(set(levels)) < len(levels) or "" in levels:
            raise InputError(
                f"ordinal {name}: give two or more different words from low to high, such as "
                f"low<mid<high, got {'<'.join(levels)!r:.80}"
            )
        found[str(name)] = levels
    return found
