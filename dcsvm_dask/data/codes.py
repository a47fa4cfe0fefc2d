"""Columns of numbers that are codes: with leading zeros, ZIP codes by their names, and dates."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.data.sentinels import LEAST_OTHERS, LEAST_ROWS
from dcsvm_dask.readers.columns import listed
from dcsvm_dask.readers.identifiers import words_of
from dcsvm_dask.readers.preparing.text_columns import columns_of_text
from dcsvm_dask.readers.preparing.words import different, tidy
from dcsvm_dask.readers.source import Source
from dcsvm_dask.readers.survey import Survey

LEAST_DIGITS = 4
"""Of codes: numbers of fewer digits are often written with zeros before them."""
_POSTAL = ("zip", "zipcode", "postcode", "postalcode", "plz")
_PAIRS = (("zip", "code"), ("postal", "code"), ("post", "code"))
_OF_CODES = ("prefix", "number", "no", "nr", "id")
"""Words after those; other ones, as in zip_population, name what lies there."""
_QUANTITIES = frozenset({
    "age", "average", "avg", "count", "density", "income", "max", "mean", "median", "min", "num",
    "per", "pop", "population", "price", "rate", "rent", "share", "size", "sum", "total", "value",
})  # fmt: skip
"""Words before those that name what lies there, too."""
_FIRST, _LAST = 19000101, 21001231
"""Dates in the form 20200131 lie between these."""
_NO_DATE = 99_990_000
"""Numbers above it stand for no date, or for no end, as 99991231."""
LEAST_MONTHS = 12
"""Different months in the form 202001: other numbers hardly end in 01 to 12 alone."""
_EXACT = 2.0**53
"""Whole numbers above it are rounded in float64."""
LEAST_ROUNDED = 1e11
_ROUNDED = r"^\d\.\d{1,5}E\+(1[1-9]|2\d)$"
_LONG = r"^(\dE\+(1[1-9]|2\d)|\d{5,11})$"
"""Spreadsheets write numbers of 12 digits or more so, which have six digits then."""


def codes_warnings(source: Source, survey: Survey, rows: NDArray[np.float64]) -> list[str]:
    """Return a sentence for the columns of numbers that are codes, and one for those of dates.

    Parameters
    ----------
    source : Source
        One whose features have names.
    survey : Survey
        Of all of its rows.
    rows : ndarray, shape (n, d)
        A sample of them.
    """
    names, found = source.feature_names or [], []
    whole = [j for j in survey.whole() if j < min(len(names), rows.shape[1])]
    dates = [j for j in whole if _are_dates(rows[:, j])]
    if dates:
        found.append(_of_dates([names[j] for j in dates], _dated(rows[:, dates[0]])[0]))
    codes = [j for j in whole if j not in dates]
    months = [j for j in codes if _are_months(rows[:, j])]
    if months:
        found.append(_of_dates([names[j] for j in months], 100 * rows[0, months[0]] + 1))
        codes = [j for j in codes if j not in months]
    written, rounded = _written(source, codes, rows)
    rounded |= {
        names[j]: f"{rows[0, j]:.0f}"
        for j in codes
        if names[j] not in {*written, *rounded} and len(rows) and rows[:, j].min() > _EXACT
    }
    for column, sample in rounded.items():
        how = "as spreadsheets write long numbers" if "E" in sample else "beyond 2^53"
        found.append(
            f"the numbers of the column {column!r}, such as {sample}, are rounded, {how}, so that "
            f"different ones may be equal; where these are identifiers, leave them out "
            f"({_drop(column)})"
        )
    named = {names[j]: "" for j in codes if _is_postal(names[j]) and names[j] not in written}
    for column, sample in {**written, **named}.items():
        what = "have exponents without a sign" if "E" in sample else "have leading zeros"
        reason = f", such as {sample!r}, {what}" if sample else " are codes by its name"
        found.append(
            f"the numbers of the column {column!r}{reason}, and differences between them mean "
            f"nothing; where these are codes, give --one-hot {_quoted(column)}, or leave it out "
            f"({_drop(column)})"
        )
    return found


def target_dates_warning(targets: NDArray[np.float64]) -> str | None:
    """Return that targets look like dates such as 20200131 or months such as 202001; else None."""
    targets = np.asarray(targets, np.float64)
    if not (_are_dates(targets) or _are_months(targets)):
        return None
    return (
        f"the targets, such as {_dated(targets)[0]:.0f}, look like dates, and differences between "
        "them mean nothing; write numbers such as the days since a day of your choice"
    )


def _of_dates(names: Sequence[str], first: float) -> str:
    """Return that columns look like dates, of which the first is such as 20200131."""
    day = f"{int(first)}"
    return (
        f"the numbers of the {_columns(names)}, such as {day}, look like "
        f"dates, and differences between them mean nothing; write them as "
        f"{day[:4]}-{day[4:6]}-{day[6:]} and give --dates parts, or leave them out "
        f"({_drop(names[0])})"
    )


def _dated(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return values without those that stand for no date, 0 and 99999999, if most are others."""
    others = values[(values != 0) & (values < _NO_DATE)]
    return others if 2 * len(others) > len(values) else values


def _are_months(values: NDArray[np.float64]) -> bool:
    """Return whether all values are months such as 202001, of many months and some years."""
    if len(values) < LEAST_ROWS or not (values.min() >= 190_001 and values.max() <= 210_012):
        return False
    year, month = np.divmod(np.unique(values).astype(np.int64), 100)
    several = len(month) >= LEAST_MONTHS and len(np.unique(year)) > 1
    return several and bool(((month >= 1) & (month <= 12)).all())


def _are_dates(values: NDArray[np.float64]) -> bool:
    """Return whether all values are dates such as 20200131, and not all of one or two days."""
    values = _dated(values)
    if len(values) < LEAST_ROWS or not (values.min() >= _FIRST and values.max() <= _LAST):
        return False
    if len(different_days := np.unique(values)) < LEAST_OTHERS:
        return False
    year, rest = np.divmod(different_days.astype(np.int64), 10_000)
    month, day = np.divmod(rest, 100)
    if not ((month >= 1) & (month <= 12) & (day >= 1)).all():
        return False
    begins = (12 * (year - 1970) + month - 1).astype("M8[M]")
    last = ((begins + 1).astype("M8[D]") - begins.astype("M8[D]")).astype(np.int64)
    return bool((day <= last).all())


def _written(
    source: Source, features: Sequence[int], rows: NDArray[np.float64]
) -> tuple[dict[str, str], dict[str, str]]:
    """Return the columns of a delimited text whose numbers are written as codes, each with one.

    They have zeros before them, and all as many digits; or some have the form 1E5, which programs
    write as 1e+05 or 1E+05. Others are written as spreadsheets do that have rounded identifiers.
    The first block of the text is looked at.
    """
    import pyarrow.compute as pc

    columns = list(columns_of_text(source, features))
    found, rounded = dict[str, str](), dict[str, str]()
    if not columns:
        return found, rounded
    table = columns[0][0]
    batch = next(iter(table.batches([place for _, _, place in columns])), [])
    names = source.feature_names or []
    large = {names[j] for j in features if len(rows) and rows[:, j].max() >= LEAST_ROUNDED}
    for (_, name, _), cells in zip(columns, batch, strict=True):
        words = different(tidy(cells, table.missing_words))[0].drop_null()
        powers = words.filter(pc.match_substring_regex(words, pattern=r"^\d+E\d+$"))
        if len(powers):
            found[name] = powers[0].as_py()
        zeros = words.filter(pc.match_substring_regex(words, pattern=r"^0\d"))
        lengths = pc.unique(pc.utf8_length(words)).to_pylist()
        if len(zeros) and len(words) >= LEAST_OTHERS and len(lengths) == 1:
            digits = pc.all(pc.match_substring_regex(words, pattern=r"^\d+$")).as_py()
            if digits and lengths[0] >= LEAST_DIGITS:
                found[name] = zeros[0].as_py()
        if name in large and name not in found:
            short = words.filter(pc.match_substring_regex(words, pattern=_ROUNDED))
            whole = pc.match_substring_regex(words, pattern=f"{_ROUNDED}|{_LONG}")
            if len(short) and pc.all(whole).as_py():
                rounded[name] = short[0].as_py()
    return found, rounded


def _is_postal(name: str) -> bool:
    words = [word.lower() for word in words_of(name)]
    while words and words[-1] in _OF_CODES:
        words.pop()
    if _QUANTITIES.intersection(words):  # as median_income_zip
        return False
    return bool(words) and (words[-1] in _POSTAL or tuple(words[-2:]) in _PAIRS)


def _columns(names: Sequence[str]) -> str:
    return f"column{'s' if len(names) > 1 else ''} {listed([repr(name) for name in names])}"


def _drop(name: str) -> str:
    return f"--drop {_quoted(name)}, in Python drop=[NAME]"


def _quoted(name: str) -> str:
    return re.sub(r"^(.*\s.*)$", r"'\1'", name)
