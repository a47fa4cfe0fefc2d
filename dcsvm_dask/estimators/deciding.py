"""Decision values of models in memory, on several threads."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from dcsvm_dask.estimators.checking import FEW_VALUES
from dcsvm_dask.kernels import Rows
from dcsvm_dask.kernels.threads import for_each
from dcsvm_dask.models.model import Model, decide

BATCH = 4096
"""Rows that a thread decides at a time."""


def decided(model: Model, rows: Rows, mode: str, threads: int) -> NDArray[np.float64]:
    """Return the decision values of a model of two classes; few of them by float64 values."""
    dtype: Any = np.float64 if rows.shape[0] * model.n_support <= FEW_VALUES else np.float32
    values = np.empty(rows.shape[0])

    def work(start: int) -> None:
        part = slice(start, start + BATCH)
        values[part] = decide(model, rows[part], mode, dtype=dtype)

    with threadpool_limits(1):
        for_each(work, range(0, rows.shape[0], BATCH), threads)
    return values
