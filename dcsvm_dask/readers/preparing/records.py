"""Where records of delimited text end, whose cells in quotation marks may have newlines."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.compiled import njit

QUOTE = 34
_LF, _CR = 10, 13


def end_of_records(text: NDArray[np.uint8], delimiter: str) -> int:
    """Return the position after the last newline of a text that ends a record.

    Parameters
    ----------
    text : uint8 array
        Begins with a record and ends with a newline.
    delimiter : str
        The byte between cells.
    """
    if not (text == QUOTE).any():
        return len(text)
    return int(_end(text, ord(delimiter)))


@njit(cache=True, nogil=True)
def _end(text: Any, delimiter: int) -> int:
    """Quotation marks begin a cell or are part of it; two of them within such a cell are one."""
    end = 0
    begins, quoted = True, False
    for k in range(text.size):
        byte = text[k]
        if quoted:
            # Of two marks the first ends the cell and the second, as it seems, begins it again.
            if byte == QUOTE:
                quoted = False
                begins = True
        elif byte == QUOTE and begins:
            quoted = True
        elif byte == _LF:
            begins = True
            end = k + 1
        else:
            begins = byte in (delimiter, _CR)
    return end
