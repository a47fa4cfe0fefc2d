"""Class labels as an array."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.readers.labels import Label


def label_array(classes: list[Label]) -> NDArray[Any]:
    """Return class labels as an array: bool, int64, float64, or strings where none holds all."""
    if classes and all(isinstance(c, bool) for c in classes):
        return np.array(classes, dtype=np.bool_)
    if all(isinstance(c, int) and -(2**63) <= c < 2**63 for c in classes):
        return np.array(classes, dtype=np.int64)
    if not any(isinstance(c, str) for c in classes):
        values = np.array([float(c) for c in classes])
        if values.tolist() == classes:  # whole numbers above 2^53 may have no float
            return values
    return np.array([str(c) for c in classes])
