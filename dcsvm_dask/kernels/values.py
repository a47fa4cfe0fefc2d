"""Kernel functions in compiled code: what turns products and distances into kernel values."""

from __future__ import annotations

from typing import Any

import numpy as np

from dcsvm_dask.compiled import njit
from dcsvm_dask.kernels.kinds import EXPONENTIAL, IDENTITY, POWER
from dcsvm_dask.kernels.vectors import INNER, LOOP_FLAGS, exp2, prefer_wide_vectors


@njit(**INNER, fastmath=LOOP_FLAGS, error_model="numpy")
def to_values(T: Any, function: Any, scale: Any, degree: Any, coef0: Any, a: Any, b: Any) -> None:
    """Turn inner products or distances into kernel values, in place.

    EXPONENTIAL: 2**min(scale (T[j, i] + a[i] + b[j]), 0); POWER: (scale T + coef0)**degree;
    TANH: tanh((scale T + coef0) ln(2) / 2). `scale` and `coef0` come divided by the unit of the
    kernel's kind.
    """
    prefer_wide_vectors()
    if function == IDENTITY:
        return
    rows = T.shape[1]
    zero = T.dtype.type(0)
    one = T.dtype.type(1)
    base = np.empty(rows, T.dtype)
    for j in range(T.shape[0]):
        if function == EXPONENTIAL:
            bj = b[j]
            for i in range(rows):
                t = (T[j, i] + (a[i] + bj)) * scale
                T[j, i] = exp2(zero if t > zero else t)
        elif function == POWER:
            for i in range(rows):
                base[i] = T[j, i] * scale + coef0
                T[j, i] = base[i]
            for _ in range(degree - 1):
                for i in range(rows):
                    T[j, i] *= base[i]
        else:
            # tanh(u) = (1 - e) / (1 + e) for u > 0, with e = exp(-2 u).
            for i in range(rows):
                t = T[j, i] * scale + coef0
                e = exp2(-abs(t))
                value = (one - e) / (one + e)
                T[j, i] = -value if t < zero else value
