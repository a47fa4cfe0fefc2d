"""Negative numbers of later tables in the forms that a first table may have, too."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.readers.preparing.cells import MINUS


def with_minus_signs(text: NDArray[np.uint8], delimiter: str) -> NDArray[np.uint8]:
    """Return a text with a minus for the one of typesetting, and for numbers in parentheses.

    Both stand at the begin of cells. Blanks before the minus keep all positions as they are.

    Parameters
    ----------
    text : uint8 array
        Whole lines.
    delimiter : str
        Between cells.
    """
    mark = re.escape(delimiter.encode())
    begin = rb"(?m)(^|(?<=%b))([ \"]*)" % mark
    minus = re.compile(begin + MINUS.encode() + rb"(?=[\d.])")
    parentheses = re.compile(begin + rb"\(([\d.]+)\)(?=[ \"]*(?:%b|\r?$))" % mark)
    found = minus.sub(rb"\1\2  -", text.tobytes())
    return np.frombuffer(bytearray(parentheses.sub(rb"\1\2 -\3", found)), np.uint8)
