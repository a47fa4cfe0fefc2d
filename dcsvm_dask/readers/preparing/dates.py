"""Dates in cells: their forms, and the numbers that they become."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.readers.preparing.cells import filled, is_date

DATE_FORMATS = (
    "%Y-%m-%d", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M", "%Y/%m/%d",
    "%d.%m.%Y", "%d.%m.%Y %H:%M", "%m/%d/%Y", "%d/%m/%Y", "%m/%d/%Y %H:%M", "%d/%m/%Y %H:%M",
    "%d-%m-%Y", "%d %b %Y", "%d-%b-%Y", "%b %d, %Y",
    "%Y-%m-%dT%H:%M:%SZ", "%d.%m.%Y %H:%M:%S", "%m/%d/%Y %H:%M:%S", "%d/%m/%Y %H:%M:%S",
    "%m/%d/%Y %I:%M %p", "%m/%d/%y", "%d/%m/%y", "%d.%m.%y", "%d-%m-%y", "%d-%b-%y",
    "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S%z", "%Y-%m-%d %H:%M:%S%z",
)  # fmt: skip
"""Forms of dates; the first one that all cells of a column have is meant. Years of two digits are
those from 1969 to 2068. Seconds may have a fraction."""
PARTS = ("year", "month", "day", "weekday", "hour")
"""The numbers that a date becomes; Monday is weekday 0."""
DAYS = "days"
"""Or one number: days since 1970, with the time as a fraction."""
NUMBERS_OF_DATE = (*PARTS, DAYS)

_DIRECTIVES = {
    "Y": "year", "y": "year of two digits", "m": "month", "d": "day", "b": "month",
    "B": "month", "H": "hour", "I": "hour", "p": "AM or PM", "M": "minute", "S": "second",
    "z": " offset",
}  # fmt: skip
"""The parts of a form of dates, by the letters of strptime."""
_CELLS = {
    "Y": r"\d{4}", "y": r"\d{2}", "m": r"\d{1,2}", "d": r"(?P<day>\d{1,2})", "b": r"[^\d\s]+",
    "H": r"\d{1,2}", "I": r"\d{1,2}", "p": r"[AaPp][Mm]", "M": r"\d{1,2}",
    "S": r"\d{1,2}(?P<fraction>(?:[.,]\d{1,9})?)",
    "z": r"\s?(?P<offset>Z|UTC|[+-]\d{2}(?::?\d{2})?)",
}  # fmt: skip
"""How these are written: strptime itself takes 16 for the year 16."""
_FRACTION, _OFFSET = r"(:\d{1,2})[.,]\d{1,9}", r"\s?(Z|UTC|[+-]\d{2}:?\d{2}|[+-]\d{2})$"
"""What strptime does not take."""


def form_in_words(form: str) -> str:
    """Return a form of dates as people write it: day/month/year for ``%d/%m/%Y``."""
    return re.sub(
        "%(.)", lambda found: _DIRECTIVES.get(found[1], found[0]), form.replace("T%", " %")
    )


def dates_of(words: Any, form: str) -> Any:
    """Return the dates of words, null where a word is no date of the form.

    A day that its month does not have is none: strptime goes on into the next month. An offset from
    UTC changes nothing: the date is that of the place.

    Parameters
    ----------
    words : pyarrow.Array
        Of strings.
    form : str
        One of `DATE_FORMATS`, or the like.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    found = _found(words, form)
    bare = words
    if "%S" in form:
        bare = pc.replace_substring_regex(bare, pattern=_FRACTION, replacement=r"\1")
    if "%z" in form:
        bare = pc.replace_substring_regex(bare, pattern=_OFFSET, replacement="")
    dates = pc.strptime(bare, format=form.removesuffix("%z"), unit="s", error_is_null=True)
    days = pc.cast(pc.struct_field(found, "day"), "int64")
    dates = pc.if_else(pc.equal(pc.day(dates), days), dates, None)
    if "%S" not in form:
        return dates
    fractions = pc.replace_substring(pc.struct_field(found, "fraction"), ",", ".")
    fractions = pc.cast(pc.binary_join_element_wise("0", fractions, ""), pa.float64())
    microseconds = pc.cast(pc.round(pc.multiply(fractions, 1e6)), pa.int64())
    whole = pc.cast(pc.cast(dates, pa.timestamp("us")), pa.int64())
    return pc.cast(pc.add(whole, microseconds), pa.timestamp("us"))


def _found(words: Any, form: str) -> Any:
    """Return parts of dates as they are written, null where a word is not of the form."""
    import pyarrow.compute as pc

    pattern = re.sub("%(.)", lambda found: _CELLS[found[1]], re.sub(r"([.])", r"\\\1", form))
    return pc.extract_regex(words, pattern=f"^{pattern.replace(' ', chr(92) + 's+')}$")


def _offsets(words: Any, form: str | None) -> NDArray[np.float64]:
    """Return the offset from UTC of each word, in days; 0 where its form has none."""
    import pyarrow.compute as pc

    if form is None or "%z" not in form:
        return np.zeros(len(words))
    texts = pc.struct_field(_found(words, form), "offset").to_pylist()
    return np.array([_offset(text or "Z") for text in texts])


def _offset(text: str) -> float:
    digits = text.lstrip("+-").replace(":", "")
    if not digits.isdigit():  # Z or UTC
        return 0.0
    minutes = 60 * int(digits[:2]) + int(digits[2:] or 0)
    return (-minutes if text[0] == "-" else minutes) / 1440.0


def are_dates(words: Any, form: str) -> NDArray[np.bool_]:
    """Return which words are dates of a form; see `dates_of`."""
    return np.asarray(dates_of(words, form).is_valid())


def date_format(words: Any) -> str | None:
    """Return the form of dates that all cells of words have; None if they have none."""
    kept = words.drop_null()
    if not len(kept):
        return None
    return next((form for form in DATE_FORMATS if are_dates(kept, form).all()), None)


def date_parts(column: Any, form: str | None) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the numbers of dates, `NUMBERS_OF_DATE`, and which cells are no date.

    Parameters
    ----------
    column : pyarrow.Array
    form : str or None
        The form of dates that are text.

    Returns
    -------
    parts : ndarray, shape (n, 6), float64
        NaN where a cell is missing or no date.
    wrong : ndarray of bool
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    wrong, offsets = np.zeros(len(column), np.bool_), np.zeros(len(column))
    if is_date(column.type):
        dates = pc.cast(column, pa.timestamp("us", tz=getattr(column.type, "tz", None)))
    else:
        dates = dates_of(column, form or DATE_FORMATS[0])
        offsets = _offsets(column, form)
        wrong = np.asarray(pc.and_(pc.is_null(dates), pc.is_valid(column)))
    found = [pc.year(dates), pc.month(dates), pc.day(dates), pc.day_of_week(dates), pc.hour(dates)]
    microseconds = pc.cast(pc.cast(dates, pa.timestamp("us")), pa.int64())
    days = pc.divide(pc.cast(microseconds, pa.float64(), safe=False), 86_400e6)
    parts = [filled(pc.cast(one, pa.float64())) for one in (*found, days)]
    parts[-1] = parts[-1] - offsets
    return np.column_stack(parts), wrong
