"""Kernel values of the active rows in 16 bits: half as much memory passes by at every step.

A step reads two rows of the kernel matrix. Beyond some thousand rows these come from main memory,
which takes longer than what is done with them. Steps on such values are compiled when they first
come: most problems never have them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dcsvm_dask.compiled import njit

UNIT = 1.0 / 65535.0
"""What the values are multiples of; they are rounded to the nearest."""
_LEAST_ROWS = 1536
# A value takes about as long to round as a row of them saves in so many steps.
_STEPS_OF_ROW = 4


def pays(m: int, steps: int) -> bool:
    """Return whether the values of `m` rows are to be rounded for about so many steps.

    Parameters
    ----------
    m, steps : int
    """
    return m >= _LEAST_ROWS and steps >= _STEPS_OF_ROW * m


@njit(cache=True, nogil=True, fastmath={"contract", "nsz"}, error_model="numpy")
def take_rounded(K: Any, rows: Any, out: Any) -> bool:
    """Write K[rows][:, rows] in units to `out`, shape (m, m), uint16.

    Return False, and stop, where values of these rows are below 0 or above 1.
    """
    whole = np.empty(K.shape[1], np.uint16)
    for a in range(rows.shape[0]):
        row = K[rows[a]]
        outside = np.int32(0)
        for b in range(row.shape[0]):
            value = row[b]
            inside = np.int32(value >= np.float32(0)) & np.int32(value <= np.float32(1))
            outside |= np.int32(1) - inside  # not a number is outside, too
            whole[b] = np.uint16(np.int32(value * np.float32(65535) + np.float32(0.5)))
        if outside:
            return False
        for b in range(rows.shape[0]):
            out[a, b] = whole[rows[b]]
    return True
