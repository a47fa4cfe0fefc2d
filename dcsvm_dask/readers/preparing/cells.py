"""The contents of the cells of a column: numbers, missing values, yes and no, dates."""

from __future__ import annotations

import csv
import io
import re
import shlex
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

MINUS = "\u2212"
"""The minus of typesetting, which spreadsheets and web pages write before negative numbers."""
INFINITY = "\u221e"
"""What stands for infinity."""
SHEET_ERRORS = ("#N/A", "#NA", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#NULL!")
"""What spreadsheets write for a cell without a value."""
MISSING_WORDS = (
    "", "NA", "<NA>", "N/A", "n/a", "na", "NaN", "nan", "-nan", "null", "NULL", "\\N", "None",
    "NaT", "?", "-", "--", ".", *SHEET_ERRORS,
)  # fmt: skip
"""Words that programs write for a cell without a value."""
DASHES = tuple("\u2010\u2011\u2012\u2013\u2014\u2015\u2212")
"""Typographic dashes, which stand in empty cells, too, but are not taken for such."""
WORDS_SHOWN = 5
"""Words of a column that a message names."""
LONG_WORD = 40
"""Characters from which on a cell is a sentence, not a word for no value."""
COMMENT = "#"
"""What lines of comments begin with."""
_DASH = re.compile(r"(?:^|[:$€£¥])([\u2010-\u2015\u2212\ufe58\ufe63\uff0d])\s?[\d.,]")
"""What looks like a minus before a number."""
WHOLE = re.compile(r"([+-]?\d+)(\.0*)?")
"""Whole numbers without an exponent, of which float64 may not hold all digits."""
FLAGS = (
    ("false", "true"), ("no", "yes"), ("f", "t"), ("n", "y"), ("off", "on"),
)  # fmt: skip
"""Words for 0 and 1, in lower case."""
_SIGNS = "$€£¥%"
"""Of currencies and per cent, before or after a number."""
_THOUSANDS = {
    ".": (
        r"^[+-]?[1-9]\d{0,2}([, '\x{2019}\x{a0}\x{202f}]\d{3})+(\.\d*)?$",
        "[, '\u2019\u00a0\u202f]",
    ),
    ",": (
        r"^[+-]?[1-9]\d{0,2}([. '\x{2019}\x{a0}\x{202f}]\d{3})+(,\d*)?$",
        "[. '\u2019\u00a0\u202f]",
    ),
}
"""By decimal mark: numbers with separators of thousands, and these. 0,375 is none: where commas are
such separators nobody writes it."""
PARENTHESES = "()"
"""In the form of numbers: those in parentheses are negative, as accountants write them."""
_IN_PARENTHESES = rf"^([{_SIGNS}]?)\s?\(\s?([{_SIGNS}]?\s?[\d.][^()]*?)\s?\)\s?([{_SIGNS}]?)$"
_OTHER_MINUS = rf"^([{_SIGNS}]?\s?){MINUS}(\s?[{_SIGNS}]?\s?[\d.,])"
_COMMA_OF_THREE = rf"^[+-]?[{_SIGNS}]?\s?[+-]?[1-9]\d{{0,2}},\d{{3}}\s?[{_SIGNS}]?$"
_UNDER_THOUSAND = rf"^[+-]?[{_SIGNS}]?\s?[+-]?\d{{1,3}}\s?[{_SIGNS}]?$"
_SIGNED = rf"^([+-]?)\s?[{_SIGNS}]?\s?([^{_SIGNS}]*?)\s?[{_SIGNS}]?$"


def empty_words(chosen: Sequence[str] | None) -> tuple[str, ...]:
    """Return what stands in cells without a value: nothing, and the chosen or the usual words."""
    return MISSING_WORDS if chosen is None else ("", *chosen)


def hint_for_dash(word: str) -> str:
    """Return that a dash before a number looks like a minus, for the end of a message.

    Parameters
    ----------
    word : str
        A cell, or a pair of svmlight text.

    Returns
    -------
    str
        Empty where the word has no such dash.
    """
    found = _DASH.search(word)
    return "" if found is None else f"; its dash is U+{ord(found[1]):04X}, no minus: write -"


def hint_for_words(
    words: Sequence[str], chosen: Sequence[str] | None = None, *, refuses: bool = True
) -> str:
    """Return how words among numbers become empty cells, for the end of a message.

    Parameters
    ----------
    words : sequence of str
        Cells of a column. Short ones without a digit are words.
    chosen : sequence of str, optional
        Words that mean a missing cell, as the user has named them; None: the usual ones.
    refuses : bool, default True
        Whether missing cells are refused, so that a choice for these is needed, too.

    Returns
    -------
    str
        Empty where no cell is a word.
    """
    own = [word for word in words if len(word) < LONG_WORD and not any(map(str.isdigit, word))]
    infinite = [word for word in own if INFINITY in word]
    own = [word for word in own if word not in infinite]
    if not own:
        policy = " and give --missing median, indicator or drop" if refuses else ""
        hint = f"; features are finite: write a large number, or leave the cell empty{policy}"
        return hint if infinite else ""
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(
        [*filter(None, empty_words(chosen)), *own[:WORDS_SHOWN]]
    )
    policy = "--missing median, indicator or drop with " if refuses else ""
    return (
        f"; where a word is an empty cell, give {policy}--missing-words "
        f"{shlex.quote(line.getvalue())}"
    )


def is_comment(line: str) -> bool:
    """Return whether a line of text is a comment: no row, unless a sheet's error comes first."""
    return line.startswith(COMMENT) and not line.startswith(SHEET_ERRORS)


def is_text(kind: Any) -> bool:
    """Return whether a type of Arrow is that of words, also of categories."""
    import pyarrow as pa

    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(
        pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_string_view(kind)
        or pa.types.is_null(kind)
    )


def is_date(kind: Any) -> bool:
    """Return whether a type of Arrow is that of dates."""
    import pyarrow as pa

    return bool(pa.types.is_date(kind) or pa.types.is_timestamp(kind))


def is_number(kind: Any) -> bool:
    """Return whether a type of Arrow is that of numbers or of yes and no."""
    import pyarrow as pa

    return bool(
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_decimal(kind)
    )


def numbers_of(
    column: Any, decimal: str
) -> tuple[NDArray[np.float64], NDArray[np.bool_], str | None]:
    """Return the cells of a column as numbers.

    Parameters
    ----------
    column : pyarrow.Array
    decimal : {".", ","}
        Mark before the decimals of numbers that are text.

    Returns
    -------
    values : ndarray, float64
        NaN where a cell is missing or no number.
    wrong : ndarray of bool
        Cells that are there but no number.
    sign : str or None
        The sign of a currency or per cent that all cells of text have; "" without any. None where
        the column is of numbers, or has none.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    none_wrong = np.zeros(len(column), np.bool_)
    if is_number(column.type):
        # Arrow refuses whole numbers beyond 2^53, which `doubts` names, unless it may round them.
        values = pc.cast(column, pa.float64(), safe=False)
        return filled(values), none_wrong, None
    # Most columns are numbers throughout, without blanks or missing cells.
    as_they_are = _cast(column) if decimal == "." else None
    if as_they_are is not None:
        return as_they_are, none_wrong, "" if len(column) > column.null_count else None
    words, sign = _without_sign(with_minus(column))
    pattern, separators = _THOUSANDS[decimal]
    grouped = pc.match_substring_regex(words, pattern=pattern)
    ungrouped = pc.replace_substring_regex(words, pattern=separators, replacement="")
    if decimal == ",":  # a dot that separates no thousands is another mark before decimals
        words = pc.replace_substring(words, pattern=".", replacement="?")
    plain = pc.if_else(grouped, ungrouped, words)
    if decimal == ",":
        plain = pc.replace_substring(plain, pattern=",", replacement=".")
    form = r"^[+-]?((\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|(?i:inf(inity)?))$"
    good = pc.fill_null(pc.match_substring_regex(plain, pattern=form), True)
    values = pc.cast(pc.if_else(good, plain, pa.scalar(None, pa.string())), pa.float64())
    numbers = filled(values)
    return numbers, ~np.asarray(good), None if np.isnan(numbers).all() else sign


def doubtful_comma(words: Any) -> tuple[str | None, bool]:
    """Look for numbers whose comma may separate thousands or begin the decimals.

    Parameters
    ----------
    words : pyarrow.Array
        Of numbers that are read with a decimal point.

    Returns
    -------
    sample : str or None
        A number with one comma and three digits after it.
    clear : bool
        Whether another number shows which one it is: by a decimal point, or with four digits or
        more.
    """
    import pyarrow.compute as pc

    words = pc.drop_null(words)
    signed = with_minus(words)
    comma = pc.match_substring_regex(signed, pattern=_COMMA_OF_THREE)
    either = pc.or_(comma, pc.match_substring_regex(signed, pattern=_UNDER_THOUSAND))
    sample = next(iter(words.filter(comma)[:1].to_pylist()), None)
    return sample, not pc.all(either, min_count=0).as_py()


def with_minus(words: Any) -> Any:
    """Return words with a minus for numbers in parentheses, and for those with another minus.

    (902.00) is -902.00.
    """
    import pyarrow.compute as pc

    for mark, pattern, replacement in (
        (MINUS, _OTHER_MINUS, r"\1-\2"),
        (PARENTHESES[0], _IN_PARENTHESES, r"-\1\2\3"),
    ):
        # Most columns have none, and it takes a tenth of the time to find that out.
        if pc.any(pc.match_substring(words, mark)).as_py():
            words = pc.replace_substring_regex(words, pattern=pattern, replacement=replacement)
    return words


def in_parentheses(words: Any) -> NDArray[np.bool_]:
    """Return which words are in parentheses as negative numbers are."""
    import pyarrow.compute as pc

    found = pc.match_substring_regex(words, pattern=_IN_PARENTHESES)
    return np.asarray(pc.fill_null(found, False))


def is_parsed_as_numbers(words: Any) -> bool:
    """Return whether words are numbers as they stand, or missing."""
    return _cast(words) is not None


def _without_sign(words: Any) -> tuple[Any, str]:
    """Return words without the sign that all of them have, and the sign; "" where they differ.

    12 % and 0.12 in one column are different numbers.
    """
    import pyarrow.compute as pc

    bare = pc.replace_substring_regex(words.drop_null(), pattern=f"[^{_SIGNS}]", replacement="")
    signs = pc.unique(bare).to_pylist()
    if len(signs) != 1 or len(signs[0]) != 1:
        return words, ""
    return pc.replace_substring_regex(words, pattern=_SIGNED, replacement=r"\1\2"), signs[0]


def sign_problem(sign: str | None, known: str) -> str | None:
    """Return what is wrong with the sign of later numbers; None if nothing is.

    Parameters
    ----------
    sign : str or None
        That of the later numbers, as `numbers_of` returns it.
    known : str
        That of the training rows; "" without any.
    """
    if sign is None or sign == known or (not sign and known != "%"):
        return None
    return (
        f"is a number {with_sign(sign)}, and those of the training rows are {with_sign(known)}: "
        "write it as they are"
    )


def hint_for_sign(word: str) -> str:
    """Return that a cell has a sign, and numbers of the training rows have none; else ""."""
    import pyarrow as pa

    _, wrong, sign = numbers_of(pa.array([word]), ".")
    problem = None if wrong.any() else sign_problem(sign, "")
    return "" if problem is None else f", but {problem}"


def hint_for_thousands(word: str) -> str:
    """Return how a cell is written whose thousands are separated; "" where none are."""
    separators = _THOUSANDS["."][1]
    if not re.fullmatch(rf"[+-]?[1-9]\d{{0,2}}({separators}\d{{3}})+(\.\d*)?", word):
        return ""
    hint = f"; write {re.sub(separators, '', word)}, without separators of thousands"
    if re.fullmatch(r"[+-]?\d+,\d+", word):
        hint += f", or {word.replace(',', '.')} where the comma begins the decimals"
    return f"{hint}, and others alike"


def with_sign(sign: str) -> str:
    """Return how numbers are written, by the sign that they have, or "" for none."""
    return f"with {sign}" if sign else "without a sign"


def missing_of(column: Any) -> NDArray[np.bool_]:
    """Return which cells of a column have no value."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_dictionary(column.type):
        return np.asarray(pc.is_null(column, nan_is_null=True))
    gone = np.asarray(pc.is_null(column.dictionary))
    if not (column.null_count or gone.any()):
        return np.zeros(len(column), np.bool_)
    codes = column.indices.fill_null(len(gone)).to_numpy(zero_copy_only=False)
    return np.append(gone, True)[codes]


def flags_in(words: Sequence[str]) -> dict[str, float] | None:
    """Return the number of each word, 0 or 1, if all are words for no and yes of one kind."""
    found = {word: word.lower() for word in words}
    for pair in FLAGS:
        if found and set(found.values()) <= set(pair):
            return {word: float(pair.index(low)) for word, low in found.items()}
    return None


def _cast(cells: Any) -> NDArray[np.float64] | None:
    """Return cells as numbers; None if one is none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        return filled(pc.cast(cells, pa.float64()))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None


def labels_of_decimals(column: Any) -> NDArray[Any]:
    """Return decimal labels as numbers, or as strings where float64 does not hold all digits."""
    import pyarrow as pa
    import pyarrow.compute as pc

    values = filled(pc.cast(column, pa.float64()))
    if (np.abs(values) < 2.0**53).all():
        return values
    return np.array(pc.cast(column, pa.string()).to_pylist(), dtype=object)


def filled(values: Any) -> NDArray[np.float64]:
    """Return numbers of Arrow as an array, with NaN where there are none."""
    return np.asarray(values.to_numpy(zero_copy_only=False), np.float64)
