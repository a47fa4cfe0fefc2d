"""The preparation of a table's columns in the form that an ONNX graph has for it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.models.onnx_table import Column
from dcsvm_dask.readers.preparing.cells import FLAGS
from dcsvm_dask.readers.preparing.encoders import (
    DATE,
    FLAG,
    NUMBER,
    ONE_HOT,
    Encoder,
    places_of_numbers,
)
from dcsvm_dask.readers.preparing.preparation import ColumnPreparation

Vector = NDArray[np.float64]


def onnx_columns(columns: ColumnPreparation) -> tuple[Column, ...]:
    """Return the inputs of a graph: the columns, and of dates their parts."""
    return tuple(
        one for encoder in columns.encoders for one in _inputs(encoder, columns.empty_words)
    )


def _inputs(encoder: Encoder, empty: Sequence[str]) -> Iterator[Column]:
    name, fills = encoder.name, _fills(encoder)
    if encoder.kind == DATE:
        for part in encoder.words:
            # The feature that says whether the date is missing comes after all parts.
            shows = encoder.indicator and part == encoder.words[-1]
            yield Column(f"{name} {part}", fill=next(fills), indicator=shows)
        return
    if encoder.kind == NUMBER:
        yield Column(name, fill=next(fills), indicator=encoder.indicator)
        return
    codes = {word: float(k) for k, word in enumerate(encoder.words)}
    if encoder.kind == FLAG:
        codes = {
            form: float(k)
            for pair in FLAGS
            for k, word in enumerate(pair)
            for form in (word, word.upper(), word.capitalize())
        }
    categories = len(codes) if encoder.kind == ONE_HOT else 0
    forms = _forms_of_numbers(encoder.words) if categories else {}
    other = -1.0 if categories else np.nan  # a word never met has zeros
    yield Column(
        name,
        {**forms, **codes},
        other,
        categories,
        empty,
        next(fills),
        encoder.indicator,
        by_number=bool(forms),
    )


def _forms_of_numbers(categories: Sequence[str]) -> dict[str, float]:
    """Return the codes of categories that are numbers as pandas and Python write these.

    A graph looks words up and cannot compare their numbers, so that 1 and 1.0 are two words.
    """
    return {
        form: float(k)
        for number, k in places_of_numbers(categories).items()
        for form in (repr(number), f"{number:.0f}" if number.is_integer() else repr(number))
    }


def _fills(encoder: Encoder) -> Iterator[Vector | None]:
    """Yield the features of a missing cell; of a date those of each part apart."""
    fill, width = encoder.fill, max(1, len(encoder.words))
    if fill is None and not encoder.indicator:
        yield from itertools.repeat(None)
    elif encoder.kind == ONE_HOT:
        yield np.array([float(word == fill) for word in encoder.words])
    else:
        yield from np.broadcast_to(np.array(fill or 0.0, np.float64), (width,))[:, None]
