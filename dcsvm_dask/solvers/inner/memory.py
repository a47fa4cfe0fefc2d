"""The memory that inner solvers take beside the kernel matrix of their rows."""

from __future__ import annotations

# Bytes for each pair of rows: SMO's float32 copy of active rows, at most; the factor of the
# interior point method, in float64, and some more; Newton's block, its factor and the columns
# that change.
COPY, _INTERIOR, _NEWTON = 4 * 0.57, 9, 18
SPARE = 128 << 20
"""Bytes that "auto" may take beyond SMO's copy: what any process has to spare."""


def bytes_beside(inner: str, rows: float) -> float:
    """Return the most bytes that an inner solver takes beside the kernel matrix, in float32.

    Where a solver does not converge, SMO ends its work; what one has is let go before the next.

    Parameters
    ----------
    inner : {"auto", "smo", "newton", "interior-point", "projected-gradient"}
    rows : float
        Rows of the working set.
    """
    pairs = rows**2
    copy = COPY * pairs
    if inner == "auto":
        return min(_INTERIOR * pairs, copy + SPARE)
    return {"newton": _NEWTON * pairs, "interior-point": _INTERIOR * pairs}.get(inner, copy)


def interior_rows(rows: int, itemsize: int) -> float:
    """Return how many rows the interior point method may take where "auto" turns to it.

    Parameters
    ----------
    rows : int
        Rows of the kernel matrix, whose copy is let go before.
    itemsize : int
        Bytes of a value of the kernel matrix.
    """
    room = COPY / 4 * itemsize * rows**2 + SPARE
    return float((room / _INTERIOR) ** 0.5)
