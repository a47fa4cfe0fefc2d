"""What becomes of a column of a table, in words."""

from __future__ import annotations

from dcsvm_dask.readers.preparing.cells import PARENTHESES
from dcsvm_dask.readers.preparing.dates import DAYS, form_in_words
from dcsvm_dask.readers.preparing.encoders import DATE, FLAG, NUMBER, ONE_HOT, ORDINAL, Encoder

SHOWN = 8
"""Categories that are named."""


def described(encoder: Encoder) -> str | None:
    """Return what becomes of a column; None of a plain number without empty cells."""
    filled = _filled(encoder)
    if encoder.kind == NUMBER and encoder.form is None and not filled:
        return None
    return _what(encoder) + filled


def _what(encoder: Encoder) -> str:
    words = encoder.words
    if encoder.kind == FLAG:
        return "yes or no: 1 or 0"
    if encoder.kind == ORDINAL:
        return "<".join(words)
    if encoder.kind == DATE:
        form = "" if encoder.form is None else f" as {form_in_words(encoder.form)}"
        became = "days since 1970" if words == (DAYS,) else ", ".join(words)
        return f"dates{form}: {became}"
    if encoder.kind == ONE_HOT:
        more = f" and {len(words) - SHOWN:,} more" if len(words) > SHOWN else ""
        named = ", ".join(word[:40] for word in words[:SHOWN])
        return f"{len(words):,} {'category' if len(words) == 1 else 'categories'}: {named}{more}"
    return form_of_numbers(encoder.form)


def form_of_numbers(form: str | None) -> str:
    """Return how numbers are written: with the sign that all have, or some in parentheses."""
    sign = (form or "").removesuffix(PARENTHESES)
    text = f"{NUMBER}, written with {sign}" if sign else NUMBER
    return text if sign == (form or "") else f"{text}, negative where in parentheses"


def _filled(encoder: Encoder) -> str:
    """Return what stands for empty cells; nothing where no training row has one."""
    count, shows = encoder.n_missing, encoder.indicator
    if count == 0 or (encoder.fill is None and not shows):
        return ""
    with_what = "0 in all of these" if encoder.fill is None else f"filled with {_fill(encoder)}"
    more = f", and a feature {encoder.features[-1]!r}" if shows else ""
    if count is None:  # an older data set has no counts
        return f"; empty cells are {with_what}{more}"
    return f"; {count:,} empty {'cell' if count == 1 else 'cells'}, {with_what}{more}"


def _fill(encoder: Encoder) -> str:
    fill = encoder.fill
    if isinstance(fill, tuple):
        named = zip(encoder.words, fill, strict=True)
        return ", ".join(f"{part} {value:.10g}" for part, value in named)
    if isinstance(fill, float | int):
        is_word = encoder.kind == ORDINAL and float(fill).is_integer()
        return encoder.words[int(fill)] if is_word else f"{fill:.10g}"
    return str(fill)
