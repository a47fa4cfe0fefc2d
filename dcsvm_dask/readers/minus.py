"""Negative numbers of later tables in the forms that a first table may have, too."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.readers.preparing.cells import MINUS

_QUOTED = re.compile(rb'"[^"]*("|$)')


def with_minus_signs(
    text: NDArray[np.uint8], delimiter: str, columns: Collection[int]
) -> NDArray[np.uint8]:
    """Return a text with a minus for the one of typesetting, and for numbers in parentheses.

    Both stand at the begin of cells. Blanks before the minus keep all positions as they are.
    Labels such as (1) stay.

    Parameters
    ----------
    text : uint8 array
        Whole lines.
    delimiter : str
        Between cells.
    columns : collection of int
        Those of numbers.
    """
    mark = re.escape(delimiter.encode())
    begin = rb"(?m)(^|(?<=%b))([ \"]*)" % mark
    minus = re.compile(begin + MINUS.encode() + rb"(?=[\d.])")
    parentheses = re.compile(begin + rb"\(([\d.]+)\)(?=[ \"]*(?:%b|\r?$))" % mark)
    found = text.tobytes()

    def written(form: bytes) -> Callable[[re.Match[bytes]], bytes]:
        def replaced(match: re.Match[bytes]) -> bytes:
            start = match.start()
            line = found[found.rfind(b"\n", 0, start) + 1 : start]
            column = _QUOTED.sub(b"", line).count(delimiter.encode())
            return match.expand(form) if column in columns else match[0]

        return replaced

    found = minus.sub(written(rb"\1\2  -"), found)
    found = parentheses.sub(written(rb"\1\2 -\3"), found)
    return np.frombuffer(bytearray(found), np.uint8)
