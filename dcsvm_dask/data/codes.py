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
        day = f"{int(rows[0, dates[0]])}"
        found.append(
            f"the numbers of the {_columns([names[j] for j in dates])}, such as {day}, look like "
            f"dates, and differences between them mean nothing; write them as "
            f"{day[:4]}-{day[4:6]}-{day[6:]} and give --dates parts, or leave them out "
            f"({_drop(names[dates[0]])})"
        )
    codes = [j for j in whole if j not in dates]
    written = _written(source, codes)
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


def _are_dates(values: NDArray[np.float64]) -> bool:
    """Return whether all values are dates such as 20200131, and not all of one or two days."""
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


def _written(source: Source, features: Sequence[int]) -> dict[str, str]:
    """Return the columns of a delimited text whose numbers are written as codes, each with one.

    They have zeros before them, and all as many digits; or some have the form 1E5, which programs
    write as 1e+05 or 1E+05. The first block of the text is looked at.
    """
    import pyarrow.compute as pc

    columns = list(columns_of_text(source, features))
    if not columns:
        return {}
    table = columns[0][0]
    batch = next(iter(table.batches([place for _, _, place in columns])), [])
    found = {}
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
    return found


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
