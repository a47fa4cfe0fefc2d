"""Decision values of models in memory, on several threads."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.estimators.checking import FEW_VALUES
from dcsvm_dask.estimators.pools import one_thread_each
from dcsvm_dask.kernels import Rows
from dcsvm_dask.kernels.threads import for_each
from dcsvm_dask.models.blocks import BlocksModel
from dcsvm_dask.models.model import Model, decide, rounding
from dcsvm_dask.solvers import machines_of

# Where rounding to float32 might change a decision value by more, kernel values are in float64; it
# is a bound, some hundred times what errors are.
COARSE = 0.1
BATCH = 4096
"""Rows that a thread decides at a time."""


def decided(model: Model, rows: Rows, mode: str, threads: int) -> NDArray[np.float64]:
    """Return the decision values of a model of two classes.

    By kernel values in float64 where few are needed, or where rounding would tell.
    """
    few = rows.shape[0] * model.n_support <= FEW_VALUES
    exactly = few or rounding(model.kernel, rows, model.support, model.coef) > COARSE
    dtype: Any = np.float64 if exactly else np.float32
    values = np.empty(rows.shape[0])

    def work(start: int) -> None:
        part = slice(start, start + BATCH)
        values[part] = decide(model, rows[part], mode, dtype=dtype)

    with one_thread_each():
        for_each(work, range(0, rows.shape[0], BATCH), threads)
    return values


def early_values(model: Model | BlocksModel, rows: Rows, threads: int) -> NDArray[np.float64]:
    """Return the decision values of a level's machines, above 0 for the positive class of each.

    Returns
    -------
    ndarray, shape (n, n_machines), float64
    """
    if isinstance(model, Model):  # there the second class is positive
        return -decided(model, rows, "early", threads)[:, None]
    few = rows.shape[0] * model.n_support <= FEW_VALUES * model.n_blocks
    dtype: Any = np.float64 if few or model.rounding(rows) > COARSE else np.float32
    n_machines = len(machines_of(model.n_classes, model.scheme))
    values = np.empty((rows.shape[0], n_machines))

    def work(start: int) -> None:
        part = slice(start, start + BATCH)
        values[part] = model.decide(rows[part], dtype=dtype)

    with one_thread_each():
        for_each(work, range(0, rows.shape[0], BATCH), threads)
    return values
