"""Labels in a column of a table: numbers, or words."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.errors import InputError
from dcsvm_dask.readers.preparing.cells import (
    in_parentheses,
    is_date,
    is_number,
    labels_of_decimals,
    numbers_of,
)
from dcsvm_dask.readers.preparing.words import different


def label_values(given: Any, decimal: str, name: str) -> NDArray[Any]:
    """Return the labels of a column without missing cells.

    Parameters
    ----------
    given : pyarrow.Array
    decimal : str
        Begins the decimals of numbers in text.
    name : str
        Name of the table, for messages.

    Raises
    ------
    InputError
        If they are dates.
    """
    import pyarrow as pa

    if pa.types.is_decimal(given.type):
        return labels_of_decimals(given)
    if is_number(given.type):
        return np.asarray(given.to_numpy(zero_copy_only=False))
    if is_date(given.type):
        raise InputError(
            f"{name}: labels of type {given.type} are not supported; write them as numbers, such "
            "as the days since a day of your choice, or words"
        )
    cells, codes, _ = different(given)
    return _of_words(cells, decimal)[codes]


def _of_words(cells: Any, decimal: str) -> NDArray[Any]:
    """Return labels of text as numbers where all of them are numbers that float64 represents."""
    words = cells.to_pylist()
    if in_parentheses(cells).any():  # negative targets, or words
        return np.array(words, dtype=object)
    if decimal == ",":
        values, wrong, sign = numbers_of(cells, ",")
        if wrong.any() or sign:
            return np.array(words, dtype=object)
    else:
        try:
            values = np.array([float("nan" if "_" in word else word) for word in words])
        except ValueError:
            return np.array(words, dtype=object)
    exact = np.isfinite(values).all() and (np.abs(values) < 2.0**53).all()
    if not exact and decimal == ",":
        words = [re.sub(r"^([+-]?\d+),0*$", r"\1", word) for word in words]
    return values if exact else np.array(words, dtype=object)
