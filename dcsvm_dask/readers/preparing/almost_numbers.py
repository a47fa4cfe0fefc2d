"""Columns of numbers in which some cells are none."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np

from dcsvm_dask.errors import InputError
from dcsvm_dask.readers.preparing.cells import flags_in, hint_for_dash, numbers_of
from dcsvm_dask.readers.preparing.column_facts import ColumnFacts
from dcsvm_dask.readers.preparing.encoders import BadCellError, shown

HEADER_AGAIN = "is the name of the column again; leave out lines that repeat the header"
MANY_DECIMALS = 10
"""Distinct decimals from which on a column is one of numbers, whatever else it holds."""
_COMMA = re.compile(r"[+-]?(\d*|\d{1,3}([. '\u2019\u00a0\u202f]\d{3})+)(,\d+)?([eE][+-]?\d+)?")
"""Numbers whose comma begins the decimals, as --decimal , reads them."""
_GROUPED = re.compile(r"\W*[1-9]\d{0,2}(,\d{3})+\W*")
"""Numbers whose commas may be between thousands."""
_POINT = re.compile(r"'[+-]?(\d*|\d{1,3}(,\d{3})+)\.\d+'")
_UNUSUAL = {
    re.compile(r"'[+-]?[\d.,]+ ?[kKmMbB]'"): "all its digits, such as 1200 for 1.2k",
    re.compile(r"'[\d.,]+-'"): "the minus before the number",
    re.compile(r"'[+-]?[\d.]+[dD][+-]?\d+'"): "the exponent with E, such as 1E+02 for 1D+02",
}
"""Forms of numbers that are not read, and what to write instead."""
_FORTRAN = re.compile(r"[+-]?\d*\.\d*[dD][+-]?\d+")
_EITHER_MARK = re.compile(r"[+-]?[\d.,]+")
_DECIMAL = re.compile(r"[+-]?\d*\.\d+")


def refuse_almost_numbers(facts: ColumnFacts, decimal: str) -> None:
    """Refuse a column of words that are to be numbers, as its other cells are or by their form.

    Parameters
    ----------
    facts : ColumnFacts
        Of a column with cells that are no numbers.
    decimal : {".", ","}

    Raises
    ------
    InputError, BadCellError
    """
    assert facts.first_wrong is not None
    row, word = facts.first_wrong
    if decimal == "," and _POINT.fullmatch(word):
        problem = f"is not a number: {word}; with --decimal , a dot separates thousands: "
        raise BadCellError(row, facts.name, f"{problem}write all decimals with the same mark")
    grouped = "," in word or word.count(".") > 1
    commas = grouped and all(_COMMA.fullmatch(one) for one in facts.words)
    mixed = grouped and facts.point is not None and bool(_COMMA.fullmatch(word.strip("'")))
    numeric = mixed and all(_EITHER_MARK.fullmatch(one) for one in facts.words)
    if not (commas or facts.point is not None or decimal == ","):
        _refuse_decimal_commas(facts)
    # Beside words (1) may be a word, too.
    mostly = facts.n_numbers - facts.n_parentheses >= facts.n_wrong
    if mostly or commas or numeric or _has_decimals(facts):
        raise _not_a_number(facts, row, word, commas=commas, mixed=mixed)


def _refuse_decimal_commas(facts: ColumnFacts) -> None:
    comma = _with_comma(facts.words)
    if comma is not None:
        raise InputError(
            f"the column {facts.name!r} holds numbers with decimal commas, such as {comma!r}"
            f"{_beside(facts.words)}: give --decimal , (in Python decimal=','), or --one-hot "
            f"{facts.option_name} where these are categories"
        )


def _not_a_number(
    facts: ColumnFacts, row: int, word: str, *, commas: bool, mixed: bool
) -> BadCellError:
    """Return the error of a cell among numbers, with what to do.

    Parameters
    ----------
    facts : ColumnFacts
    row : int
    word : str
        The cell, in quotation marks.
    commas : bool
        Whether all words are numbers with decimal commas.
    mixed : bool
        Whether the cell is a number with a decimal comma, and others have a decimal point.
    """
    if word == repr(facts.name):
        return BadCellError(row, facts.name, HEADER_AGAIN)
    has_digit = any(map(str.isdigit, word))
    flags = flags_in([one for one in facts.words if not any(map(str.isdigit, one))])
    hint = ""
    if flags is not None:
        hint = "; write yes and no as 1 and 0 in all rows"
    elif mixed:
        hint = f"; the column has {facts.point}, too: write all decimals with the same mark"
    elif dash := hint_for_dash(word.strip("'")):
        hint = dash
    elif commas:
        hint = "; give --decimal , where a comma begins the decimals"
    elif has_digit:
        forms = (written for form, written in _UNUSUAL.items() if form.fullmatch(word))
        hint = (
            f"; write {next(forms, 'it as a number')}, or where such cells are categories give "
            f"--one-hot {facts.option_name}"
        )
    is_value = flags is not None or commas or has_digit
    words = () if is_value else tuple(facts.words)
    return BadCellError(row, facts.name, f"is not a number: {word}{hint}", words)


def _has_decimals(facts: ColumnFacts) -> bool:
    """Return whether most words of a column are decimals, whatever word most of its cells have.

    So are words with an exponent of Fortran, where all are of that form.
    """
    if all(map(_FORTRAN.fullmatch, facts.words)):
        return True
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
