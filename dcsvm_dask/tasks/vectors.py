"""Vectors of a caller, checked."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dcsvm_dask.errors import InputError


def vector(value: ArrayLike, name: str, n: int) -> NDArray[np.float64]:
    """Return one finite float64 value for each row, from one for all or one for each.

    Parameters
    ----------
    value : float or array, shape (n,)
    name : str
        Name for messages.
    n : int
        Number of rows.

    Raises
    ------
    InputError
    """
    array = np.asarray(value, dtype=np.float64)
    if array.shape not in {(), (n,)}:
        raise InputError(
            f"{name} has the shape {array.shape}: give one number or one for each of the {n} rows."
        )
    if not np.isfinite(array).all():
        raise InputError(f"{name} holds a value that is not finite: give finite numbers.")
    return array.copy() if array.shape else np.full(n, array)
